"""Headway: one scheduler for LLM serving that can be simulated, served and plugged in.

```python
import headway

comparison = headway.compare("qba-paper", seeds=range(5))
print(headway.policy_frame(comparison))
```
"""

from headway.core.engine import EngineProfile
from headway.core.errors import HeadwayError, InvalidInput
from headway.core.request import Request, Slo
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence
from headway.measure import Comparison, RunRecord, policy_frame, request_frame
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.report.html import write_html
from headway.simulate.run import simulate
from headway.studies.compare import compare
from headway.studies.source import Source
from headway.studies.sweep import sweep
from headway.workload import SeededTrace, TenantsFile, Trace, read_tenants, read_trace, workload, write_trace

__all__ = [
    "Comparison",
    "EngineProfile",
    "Eviction",
    "HeadwayError",
    "InvalidInput",
    "MemoryRule",
    "Order",
    "Policy",
    "Request",
    "RunRecord",
    "Scheduler",
    "SeededTrace",
    "Sequence",
    "Shares",
    "Shedding",
    "Slo",
    "Source",
    "TenantsFile",
    "Trace",
    "compare",
    "policy_frame",
    "read_tenants",
    "read_trace",
    "request_frame",
    "simulate",
    "sweep",
    "workload",
    "write_html",
    "write_trace",
]
