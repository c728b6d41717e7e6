"""What must hold for clients: closed loops of every size, and clients that leave."""

from __future__ import annotations

import dataclasses
import math

from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequence import CANCELLED, FINISHED, OUTCOMES, REJECTED
from headway.simulate.engine import SimulatedEngine
from tests.invariants.test_engines_agree import same, simulated
from tests.invariants.test_every_plan import observer
from tests.strategies import CLIENTS, MEMORY, NOBODY, ORDERS, PATIENCE, Scenario, scenarios


def longest_iteration(scenario: Scenario) -> float:
    """No iteration takes longer, in seconds: all that it may hold, on a memory that is as full as it can be."""
    engine = scenario.engine
    budget, held = engine.token_budget, sum(request.prompt_tokens for request in scenario.requests)
    return engine.cost.seconds(budget, budget, held + sum(scenario.outputs))


def in_system(host: SimulatedEngine) -> int:
    """The most requests that were sent and had not ended, at any time."""
    events = [(sent, 1) for sent in host.arrivals[:-1]] + [(end, -1) for end in host.outcomes.finish]
    most = now = 0
    for _, change in sorted(events):  # of equal times ends go first
        now += change
        most = max(most, now)
    return most


@given(scenarios(memory=MEMORY, clients=CLIENTS, patience=NOBODY | PATIENCE), ORDERS)
def test_a_closed_loop_never_has_more_requests_than_clients(scenario: Scenario, order: str) -> None:
    host = simulated(scenario, order, fast_forward=True)
    assert scenario.clients is not None
    sent = host.arrivals[:-1]
    assert sent == sorted(sent)
    assert sent[: scenario.clients] == [0.0] * min(scenario.clients, len(sent))
    assert in_system(host) <= scenario.clients
    if REJECTED not in host.outcomes.state:  # of such an end a client may hear at the next boundary only
        assert sent[scenario.clients :] == sorted(host.outcomes.finish)[: max(len(sent) - scenario.clients, 0)]


@given(scenarios(clients=NOBODY | CLIENTS, patience=NOBODY | PATIENCE), ORDERS)
def test_invariants_1_2_3_and_8_with_clients(scenario: Scenario, order: str) -> None:
    """Everybody ends once, in one way, and nothing is left behind in the books."""
    watched = observer(scenario.engine, order)
    host = SimulatedEngine(
        watched,
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        scenario.engine.cost,
        fast_forward=False,
        clients=scenario.clients,
        patience=scenario.patience,
    )
    assert host.run()
    watched.check_end()
    assert all(state in OUTCOMES for state in host.outcomes.state)
    assert scenario.patience is not None or CANCELLED not in host.outcomes.state


@given(scenarios(memory=MEMORY, clients=NOBODY | CLIENTS, patience=PATIENCE), ORDERS)
def test_nobody_waits_for_a_first_token_beyond_patience_and_an_iteration(scenario: Scenario, order: str) -> None:
    host = simulated(scenario, order, fast_forward=True)
    patience, slack = scenario.patience, longest_iteration(scenario)
    assert patience is not None
    assert host.scheduler.ledger.used == host.scheduler.ledger.unfilled == 0
    outcomes = host.outcomes
    for sent, first, end, state in zip(
        host.arrivals, outcomes.first_token, outcomes.finish, outcomes.state, strict=False
    ):
        heard = end if math.isnan(first) else first
        assert heard - sent <= (patience + slack) * (1 + 1e-9)
        if state == CANCELLED:
            assert end - sent >= patience * (1 - 1e-9)
    gaps = host.decoding.stray[1::2]  # across evictions and pauses
    assert max(gaps, default=0.0) <= (patience + slack) * (1 + 1e-9)


@given(scenarios(memory=MEMORY, clients=st.just(1)), ORDERS)
def test_a_single_client_never_waits(scenario: Scenario, order: str) -> None:
    host = simulated(scenario, order, fast_forward=True)
    for sent, start, state in zip(host.arrivals, host.outcomes.start, host.outcomes.state, strict=False):
        assert start == sent or (state == REJECTED and math.isnan(start))


@given(scenarios(memory=MEMORY), ORDERS, st.integers(0, 3))
def test_enough_clients_send_everything_at_once(scenario: Scenario, order: str, more: int) -> None:
    at_once = dataclasses.replace(scenario, requests=[one._replace(arrival=0.0) for one in scenario.requests])
    looped = dataclasses.replace(scenario, clients=len(scenario.requests) + more)
    expected, found = (simulated(one, order, fast_forward=True) for one in (at_once, looped))
    assert found.arrivals == expected.arrivals
    assert found.scheduler.plans == expected.scheduler.plans
    for column in ("start", "first_token", "finish"):
        assert same(list(getattr(found.outcomes, column)), list(getattr(expected.outcomes, column)))


@given(scenarios(memory=MEMORY, clients=NOBODY | CLIENTS), ORDERS)
def test_boundless_patience_changes_nothing(scenario: Scenario, order: str) -> None:
    without, patient = (
        simulated(dataclasses.replace(scenario, patience=patience), order, fast_forward=True)
        for patience in (None, 1e9)
    )
    assert without.scheduler.plans == patient.scheduler.plans
    assert same(list(without.outcomes.finish), list(patient.outcomes.finish))
    assert set(patient.outcomes.state) <= {FINISHED, REJECTED}
