"""Requests to schedule: drawn from distributions or read from a trace."""

from headway.workload.named import workload, workloads
from headway.workload.tenants import TenantsFile
from headway.workload.tenants_toml import read_tenants
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace, open_trace, read_trace, write_trace

__all__ = [
    "SeededTrace",
    "TenantsFile",
    "Trace",
    "open_trace",
    "read_tenants",
    "read_trace",
    "workload",
    "workloads",
    "write_trace",
]
