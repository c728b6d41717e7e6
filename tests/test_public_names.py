"""The public names: adding or removing one is a decision."""

from __future__ import annotations

import headway

NAMES = """
    Comparison EngineProfile Eviction HeadwayError InvalidInput MemoryRule Order Policy Request RunRecord Scheduler
    SeededTrace Sequence Shares Shedding Slo Source TenantsFile Trace compare policy_frame read_tenants read_trace
    request_frame simulate sweep workload write_html write_trace
"""


def test_the_public_names_are_these() -> None:
    assert sorted(headway.__all__) == NAMES.split()
    assert all(hasattr(headway, name) for name in headway.__all__)
