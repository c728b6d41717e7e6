"""Requests to schedule: drawn from distributions or read from a trace."""

from headway.workload.named import workload, workloads
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace, open_trace, read_trace, write_trace

__all__ = ["SeededTrace", "Trace", "open_trace", "read_trace", "workload", "workloads", "write_trace"]
