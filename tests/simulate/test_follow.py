"""A followed request: the run is the same, and what is noted is what every single step shows."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headway.measure.life import evictions, pieces
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.simulate.follow import FollowingScheduler
from headway.simulate.run import simulate
from headway.studies.compare import compare
from headway.testing.recording import RecordingScheduler
from headway.workload import workload
from tests.strategies import MEMORY, ORDERS, Scenario, scenarios

SCARCE = "watermark(level=0.95)"


def followed(
    scenario: Scenario, order: str, row: int, *, fast_forward: bool
) -> tuple[SimulatedEngine, FollowingScheduler]:
    engine = scenario.engine
    scheduler = FollowingScheduler(row, engine, *Policy.of(order, eviction=scenario.eviction).rules(engine))
    arrivals = [request.arrival for request in scenario.requests]
    host = SimulatedEngine(
        scheduler, iter(scenario.requests), arrivals, scenario.outputs, engine.cost, fast_forward=fast_forward
    )
    assert host.run()
    return host, scheduler


def ends(scheduler: FollowingScheduler) -> list[tuple[object, ...]]:
    """Where each phase begins and ends, and with how many tokens: nothing of that is lost in a fast-forward."""
    found = pieces(scheduler.life())
    return [(piece.phase, piece.times[0], piece.times[-1], piece.held[0], piece.held[-1]) for piece in found]


@given(scenarios(memory=MEMORY), ORDERS, st.data())
@settings(max_examples=50)
def test_following_changes_nothing_and_a_fast_forward_notes_part_of_what_steps_note(
    scenario: Scenario, order: str, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, len(scenario.requests) - 1))
    fast, noted = followed(scenario, order, row, fast_forward=True)
    slow, every = followed(scenario, order, row, fast_forward=False)
    engine = scenario.engine
    plain = RecordingScheduler(engine, *Policy.of(order, eviction=scenario.eviction).rules(engine))
    arrivals = [request.arrival for request in scenario.requests]
    alone = SimulatedEngine(plain, iter(scenario.requests), arrivals, scenario.outputs, engine.cost)
    assert alone.run()
    for host in (fast, slow):
        assert list(host.outcomes.finish) == pytest.approx(list(alone.outcomes.finish), abs=0, nan_ok=True)
    assert set(noted.notes) <= set(every.notes)
    assert ends(noted) == ends(every)
    assert len(evictions(noted.life())) == len(evictions(every.life())) == alone.outcomes.evictions[row]


@given(scenarios(memory=MEMORY, eviction=True), ORDERS, st.data())
def test_notes_are_in_order_and_within_the_cache(scenario: Scenario, order: str, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(scenario.requests) - 1))
    _, scheduler = followed(scenario, order, row, fast_forward=True)
    assume(scheduler.notes)
    times = [time for time, *_ in scheduler.notes]
    assert times == sorted(times)
    assert times[0] >= scheduler.life().arrival == scenario.requests[row].arrival
    assert [phase for _, phase, _, _ in scheduler.notes].index("ended") == len(times) - 1
    for _, phase, held, used in scheduler.notes:
        assert 0 <= held <= used <= scenario.engine.kv_tokens
        assert held == 0 or phase in ("prefill", "decode")
    for piece in pieces(scheduler.life()):
        assert list(piece.held) == sorted(piece.held)


def test_a_record_has_the_life_of_the_request_that_was_asked_for() -> None:
    trace = workload("d1(n=120)")
    plain = simulate(trace, Policy.of("fcfs", SCARCE), "past-future-table1")
    row = int(plain.outcomes["evictions"].arg_max() or 0)
    record = simulate(trace, Policy.of("fcfs", SCARCE), "past-future-table1", follow=row)
    assert plain.followed is None
    assert record.followed is not None
    assert record.followed.row == row
    assert record.outcomes.equals(plain.outcomes)
    assert len(evictions(record.followed)) == record.outcomes["evictions"][row] > 0


def test_a_comparison_follows_the_most_evicted_request_of_its_first_seed() -> None:
    found = compare("d1(n=120)", ["fcfs"], memory=["oracle", SCARCE], seeds=range(2), follow=True)
    calm, scarce = found.first.values()
    assert calm.followed is None
    assert scarce.followed is not None
    assert scarce.outcomes["evictions"][scarce.followed.row] == scarce.outcomes["evictions"].max()
    plain = compare("d1(n=120)", ["fcfs"], memory=["oracle", SCARCE], seeds=range(2))
    assert all(record.followed is None for record in plain.first.values())
    alone = compare("d1(n=120)", ["fcfs"], memory=["oracle"], follow=True)
    assert next(iter(alone.first.values())).followed is None
