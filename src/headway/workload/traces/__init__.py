"""Traces from files: one reader a format."""

from headway.workload.traces.detect import SeededTrace, open_trace, read_trace
from headway.workload.traces.own import write_trace

__all__ = ["SeededTrace", "open_trace", "read_trace", "write_trace"]
