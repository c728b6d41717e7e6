"""The whole product against the whole brute force: fast engine and orders, naive engine and model orders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.core.spec import parse_spec
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.testing.naive import NaiveEngine
from headway.testing.stepping import SteppingHost
from tests.policies.models import MODELS
from tests.strategies import COUNTING, ORDERS, Scenario, crowds, scenarios


def brute_force(scenario: Scenario, order: str) -> NaiveEngine:
    spec = parse_spec(order)
    model, memory = MODELS[spec.name](**spec.arguments), Policy.of(order).rules(scenario.engine)[1]
    model.attach(scenario.engine)
    engine = NaiveEngine(
        scenario.engine, model, memory, scenario.requests, scenario.outputs, scenario.engine.cost, scenario.cancels
    )
    engine.run()
    return engine


@given(scenarios(), ORDERS, st.booleans())
def test_simulated_engine_and_orders_equal_the_brute_force(scenario: Scenario, order: str, fast_forward: bool) -> None:
    check(scenario, order, fast_forward=fast_forward)


@given(crowds(), COUNTING)
def test_the_same_where_decoding_changes_whose_turn_it_is(scenario: Scenario, order: str) -> None:
    check(scenario, order, fast_forward=True)


def check(scenario: Scenario, order: str, *, fast_forward: bool) -> None:
    arrivals = [request.arrival for request in scenario.requests]
    scheduler = Policy.of(order).build(scenario.engine)
    host = SimulatedEngine(
        scheduler, iter(scenario.requests), arrivals, scenario.outputs, scenario.engine.cost, fast_forward=fast_forward
    )
    assert host.run()
    naive = brute_force(scenario, order)
    assert [*map(str, host.outcomes.start)] == [str(row.start) for row in naive.rows]
    assert [*map(str, host.outcomes.finish)] == [str(row.finish) for row in naive.rows]
    assert list(host.outcomes.state) == [row.seq.state for row in naive.rows]
    assert (scheduler.iterations, scheduler.oom_events) == (naive.iterations, naive.oom_events)


@given(scenarios(cancels=True), ORDERS)
def test_live_host_and_orders_equal_the_brute_force(scenario: Scenario, order: str) -> None:
    scheduler = Policy.of(order).build(scenario.engine)
    live = SteppingHost(scheduler, scenario.requests, scenario.outputs, scenario.engine.cost, scenario.cancels).run()
    naive = brute_force(scenario, order)
    assert [str(row.finish) for row in live] == [str(row.finish) for row in naive.rows]
    assert [row.seq.state for row in live] == [row.seq.state for row in naive.rows]
