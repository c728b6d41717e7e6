"""Closed loops and clients that leave, computed by hand: one second an iteration, four positions in each."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import CANCELLED, FINISHED, Sequence
from headway.measure.record import RunRecord
from headway.policies.policy import Policy
from headway.simulate.engine import MOST_SAMPLES, SimulatedEngine
from headway.simulate.run import simulate
from headway.workload.trace import Trace
from tests.testing.test_helpers import Late, Never

BOTH = pytest.mark.parametrize("fast_forward", [True, False])


def engine(**changes: Any) -> EngineProfile:
    sizes: dict[str, Any] = {"name": "x", "token_budget": 4, "max_sequences": 4, "kv_tokens": 10_000}
    return EngineProfile(**{**sizes, "cost": Piecewise(1.0, 0.0), "memory": "prompt-fit(safety=1)", **changes})


def run(rows: list[tuple[float, int, int]], profile: EngineProfile, **asked: Any) -> RunRecord:
    """Run requests of (arrival, prompt, output)."""
    frame = pl.DataFrame(rows, schema=["arrival", "prompt_tokens", "output_tokens"], orient="row")
    return simulate(Trace.from_frame("made", frame), asked.pop("policy", "fcfs"), profile, **asked)


def column(record: RunRecord, name: str) -> list[Any]:
    return record.outcomes[name].to_list()


@BOTH
def test_each_client_sends_its_next_request_when_its_last_one_has_ended(fast_forward: bool) -> None:
    """Two clients; all answers have two tokens, so that each takes its prompt's iterations and one more."""
    rows = [(5.0, 4, 2), (6.0, 4, 2), (7.0, 3, 2), (900.0, 1, 2)]
    record = run(rows, engine(max_sequences=1), clients=2, fast_forward=fast_forward)
    assert column(record, "arrival") == [0.0, 0.0, 2.0, 4.0]
    assert column(record, "start") == [0.0, 2.0, 4.0, 6.0]
    assert column(record, "finish") == [2.0, 4.0, 6.0, 8.0]
    assert record.totals.seconds == 8.0


def test_a_rejected_request_frees_its_client_at_once() -> None:
    record = run([(0.0, 11, 2), (0.0, 12, 2), (0.0, 4, 2), (0.0, 4, 2)], engine(kv_tokens=10), clients=1)
    assert column(record, "outcome") == ["rejected", "rejected", "finished", "finished"]
    assert column(record, "arrival") == [0.0, 0.0, 0.0, 2.0]


def test_a_request_that_outgrows_the_memory_frees_its_client() -> None:
    record = run([(0.0, 4, 50), (0.0, 4, 2)], engine(kv_tokens=10), clients=1)
    assert column(record, "outcome") == ["rejected", "finished"]
    assert column(record, "arrival") == [0.0, column(record, "finish")[0]]


@BOTH
def test_who_waits_too_long_in_the_queue_leaves(fast_forward: bool) -> None:
    """One slot is taken for a thousand iterations, in which nobody else can start and nothing else happens."""
    rows = [(0.0, 4, 1000), (10.5, 4, 5), (11.0, 4, 5)]
    record = run(rows, engine(max_sequences=1), patience=20.0, fast_forward=fast_forward)
    assert column(record, "outcome") == ["finished", "cancelled", "cancelled"]
    assert column(record, "reason") == [None, "client_left", "client_left"]
    assert column(record, "finish") == [1000.0, 31.0, 31.0]
    assert column(record, "start") == [0.0, None, None]
    assert record.totals.wasted_tokens == 0


@BOTH
def test_a_prompt_that_is_half_filled_is_wasted(fast_forward: bool) -> None:
    """Request 0 decodes; request 1 gets three positions an iteration from 1 s on, and leaves at 21 s after 60."""
    rows = [(0.0, 4, 1000), (0.5, 400, 5)]
    record = run(rows, engine(), patience=20.0, fast_forward=fast_forward)
    assert column(record, "outcome") == ["finished", "cancelled"]
    assert column(record, "finish") == [1000.0, 21.0]
    assert record.totals.wasted_tokens == 60
    assert column(record, "output_tokens") == [1000, 0]
    assert record.totals.prefill_positions == 64


@BOTH
def test_who_decodes_leaves_when_a_pause_is_too_long(fast_forward: bool) -> None:
    """Prefill-first: 0 has its tokens at 1, 2 and 3 s, then 1's prompt takes ten iterations; 0 leaves after three."""
    rows = [(0.0, 4, 1000), (2.5, 40, 3)]
    record = run(rows, engine(mode="prefill-first"), patience=3.0, fast_forward=fast_forward)
    assert column(record, "outcome") == ["cancelled", "cancelled"]
    assert column(record, "finish") == [6.0, 6.0]
    assert column(record, "largest_gap") == [1.0, None]
    assert record.totals.wasted_tokens == (4 + 3) + 12
    patient = run(rows, engine(mode="prefill-first"), patience=11.5, fast_forward=fast_forward)
    assert column(patient, "outcome") == ["finished", "finished"]
    assert column(patient, "largest_gap")[0] == 11.0
    assert patient.totals.wasted_tokens == 0


@BOTH
def test_who_joined_in_a_pause_has_heard_of_it_later(fast_forward: bool) -> None:
    """0 has its last token at 2 s, 1 its first one at 3 s; from then on there are prompts to fill."""
    rows = [(0.0, 4, 1000), (1.5, 4, 1000), (1.5, 40, 3), (3.5, 40, 3)]
    record = run(rows, engine(mode="prefill-first"), patience=8.0, fast_forward=fast_forward)
    assert column(record, "finish") == [10.0, 11.0, 10.0, 12.0]
    assert column(record, "first_token") == [1.0, 3.0, None, None]
    assert record.totals.wasted_tokens == (4 + 2) + (4 + 1) + 28 + 8


@BOTH
def test_after_an_eviction_patience_counts_from_the_last_token(fast_forward: bool) -> None:
    """Both grow to 12 tokens at 2 s; 1 is evicted, last heard at 2 s, and finds no room as long as 0 decodes."""
    rows = [(0.0, 4, 6), (0.0, 4, 60)]
    profile = engine(kv_tokens=11, token_budget=8)
    record = run(rows, profile, patience=2.0, fast_forward=fast_forward)
    assert column(record, "outcome") == ["finished", "cancelled"]
    assert column(record, "evictions") == [0, 1]
    assert column(record, "finish") == [6.0, 4.0]
    assert record.totals.wasted_tokens == 4 + 2


def test_a_token_in_the_very_iteration_in_which_patience_ends_is_in_time() -> None:
    record = run([(0.0, 8, 1)], engine(), patience=1.5)
    assert column(record, "outcome") == ["finished"]
    assert column(record, "first_token") == [2.0]
    assert column(run([(0.0, 12, 1)], engine(), patience=1.5), "finish") == [2.0]


@BOTH
def test_what_is_sent_instead_starts_at_the_same_boundary(fast_forward: bool) -> None:
    """One client's request decodes all the time; the other's are too long, fit, are too long again, and fit."""
    rows = [(0.0, 1, 90), (0.0, 100, 5), (0.0, 3, 2), (0.0, 100, 5), (0.0, 3, 1)]
    record = run(rows, engine(), clients=2, patience=3.0, fast_forward=fast_forward)
    assert column(record, "outcome") == ["finished", "cancelled", "finished", "cancelled", "finished"]
    assert column(record, "arrival") == [0.0, 0.0, 3.0, 5.0, 8.0]
    assert column(record, "start") == [0.0, 0.0, 3.0, 5.0, 8.0]
    assert column(record, "finish") == [90.0, 3.0, 5.0, 8.0, 9.0]


class Listening(Scheduler):
    """Remembers who was cancelled."""

    def cancel(self, seq: Sequence, now: float) -> None:
        super().cancel(seq, now)
        self.seen = [*getattr(self, "seen", []), seq.id]


def test_those_who_leave_together_go_in_the_order_in_which_they_came() -> None:
    """0 to 3 decode before a pause, 4 fills its prompt: all five leave at 5 s, whatever they waited for."""
    profile = engine(mode="prefill-first", token_budget=8, max_sequences=8)
    scheduler = Listening(profile, *Policy.of("fcfs").rules(profile))
    requests = [*(Request(row, 0.0, 2) for row in range(4)), Request(4, 1.0, 100)]
    arrivals = [request.arrival for request in requests]
    host = SimulatedEngine(scheduler, iter(requests), arrivals, [90] * 5, profile.cost, patience=4.0)
    assert host.run()
    assert scheduler.seen == [0, 1, 2, 3, 4]
    assert list(host.outcomes.finish) == [5.0] * 5
    assert set(host.outcomes.state) == {CANCELLED}


def test_who_finished_in_the_meantime_does_not_leave() -> None:
    record = run([(0.0, 4, 100), (3.0, 4, 2)], engine(), patience=10.0)
    assert column(record, "outcome") == ["finished", "finished"]


@pytest.mark.parametrize("order", [Late, Never])
def test_an_idle_engine_wakes_for_clients_that_leave(order: type) -> None:
    """An order that names nobody would otherwise leave them waiting for ever."""
    record = run([(0.0, 4, 2), (1.5, 4, 2)], engine(), policy=Policy.of(order), patience=2.5)
    assert column(record, "finish") == [2.5, 4.0]
    assert set(column(record, "reason")) == {"client_left"}
    assert record.totals.iterations == 0


def test_deadlines_that_are_void_do_not_pile_up() -> None:
    """Five thousand short requests, and patience that outlasts them all."""
    profile = engine(token_budget=64)
    requests = [Request(row, float(row), 2) for row in range(5000)]
    scheduler = Policy.of("fcfs").build(profile)
    host = SimulatedEngine(
        scheduler, iter(requests), [request.arrival for request in requests], [2] * 5000, profile.cost, patience=1e9
    )
    assert host.run()
    assert set(host.outcomes.state) == {FINISHED}
    assert host.patience is not None
    assert len(host.patience._deadlines) < 1100


def test_the_timeline_of_a_closed_loop_is_thinned_out() -> None:
    """A run whose length nobody knows before keeps a bounded number of samples, from its begin to its end."""
    frame = pl.DataFrame({"arrival": [0.0] * 9000, "prompt_tokens": [2] * 9000, "output_tokens": [2] * 9000})
    record = simulate(Trace.from_frame("many", frame), "fcfs", engine(), clients=1)
    times = record.timeline["time"]
    assert MOST_SAMPLES / 2 <= len(times) < MOST_SAMPLES
    assert times[0] == 0.0
    assert times[-1] > 0.99 * record.totals.seconds
    assert times.is_sorted()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"clients": 0}, "clients must be >= 1, got 0"),
        ({"clients": 1.5}, "clients must be a whole number >= 1, got 1.5"),
        ({"clients": True}, "clients must be a whole number >= 1, got true"),
        ({"patience": 0}, "patience must be in (0, inf), got 0"),
        ({"patience": -1.0}, "patience must be in (0, inf), got -1"),
        ({"patience": float("nan")}, "patience must be a number in (0, inf), got nan"),
        ({"patience": float("inf")}, "patience must be in (0, inf), got inf"),
    ],
)
def test_what_no_client_can_be(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        run([(0.0, 1, 1)], engine(), **asked)
    assert str(caught.value) == said
