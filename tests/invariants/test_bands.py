"""The band between slack and tenants: at 0 slack alone decides, without an end the tenant does."""

from __future__ import annotations

import dataclasses

from hypothesis import given

from headway.core.request import Slo
from headway.policies.policy import Policy
from headway.testing.recording import Plan, RecordingScheduler
from headway.testing.stepping import SteppingHost
from tests.strategies import MEMORY, Scenario, scenarios


def plans(scenario: Scenario, order: str) -> list[Plan]:
    engine = scenario.engine
    scheduler = RecordingScheduler(engine, *Policy.of(order).rules(engine))
    SteppingHost(scheduler, scenario.requests, scenario.outputs, engine.cost).run()
    return scheduler.plans


def promised(scenario: Scenario) -> Scenario:
    """Everybody is promised a first token at a time of its own, so that no two are equally urgent."""
    requests = [
        request._replace(slo=Slo(0.05 + 0.0137 * ((7 * row) % 31) + 1e-6 * row))
        for row, request in enumerate(scenario.requests)
    ]
    return dataclasses.replace(scenario, requests=requests)


@given(scenarios(memory=MEMORY))
def test_a_band_of_zero_is_pure_slack(scenario: Scenario) -> None:
    asked = promised(scenario)
    slack = plans(asked, "least-slack(alpha=0)")
    assert plans(asked, "fair-share(inner=least-slack(alpha=0, band=0), nesting=slack-first)") == slack


@given(scenarios(memory=MEMORY))
def test_a_band_without_end_chooses_the_tenant_first(scenario: Scenario) -> None:
    asked = promised(scenario)
    tenant_first = plans(asked, "fair-share(inner=least-slack(alpha=0))")
    assert plans(asked, "fair-share(inner=least-slack(alpha=0, band=inf), nesting=slack-first)") == tenant_first
