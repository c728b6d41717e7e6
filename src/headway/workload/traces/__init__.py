"""Traces from files: one reader a format."""

from headway.workload.traces.detect import read_trace
from headway.workload.traces.own import write_trace

__all__ = ["read_trace", "write_trace"]
