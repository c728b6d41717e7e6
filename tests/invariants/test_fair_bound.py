"""Invariant 5, second half: two tenants with work waiting never differ by more than a bound (fair share).

Let the service of a tenant be `w_in * prompt positions + w_out * decode positions`, without what was computed again
after evictions, and let R be the most that its requests under way were still to receive when one of its requests was
started. While tenants i and j both have requests waiting that were never started, their services over their weights
drift apart by at most R_i / weight_i + R_j / weight_j, over any interval. The reason: whoever starts has the least
virtual time of all that wait, so that it comes to lie at most R / weight above the others before it has its next turn;
and nobody begins to wait below that level.

Where memory is reserved for whole answers (`conservative`, with limits that hold), R is at most
U = max(w_in, w_out) * KV capacity, and with weights of 1 the bound is 2U.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence as Items
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.batch import Batch
from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.policies.policy import Policy
from headway.testing.stepping import SteppingHost
from tests.service import Meter
from tests.strategies import MEMORY, engines

WEIGHTS = {"a": 1.0, "b": 1.0, "c": 2.5, "d": 0.25}
Charges = tuple[float, float]  # w_in, w_out


@dataclasses.dataclass
class Boundary:
    """Between two iterations: what each tenant has received by then, who waits, and who is started."""

    received: Counter[str]
    waiting: Counter[str]
    still_waiting: Counter[str]  # once the plan has admitted
    under_way: dict[Sequence, float]  # what each request that was ever started has received
    started: set[str]


class Watch(Meter):
    """Keeps every boundary."""

    boundaries: list[Boundary]

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        if not self.history:
            self.boundaries = []
        received, service, waiting, before = self.by_tenant.copy(), dict(self.service), self.waits(), self.never_started
        self.never_started = dict(before)
        batch = super().plan(now, ending)
        started = before.keys() - self.never_started.keys()
        self.boundaries.append(
            Boundary(
                received,
                waiting,
                self.waits(),
                {seq: units for seq, units in service.items() if seq not in self.never_started},
                {seq.request.tenant for seq in started},
            )
        )
        return batch

    def outstanding(self, tenant: str) -> float:
        """The most that the requests under way of a tenant were still to receive when one of them was started."""
        return max(
            (
                sum(
                    self.service[seq] - units
                    for seq, units in boundary.under_way.items()
                    if seq.request.tenant == tenant
                )
                for boundary in self.boundaries
                if tenant in boundary.started
            ),
            default=0.0,
        )

    def drift(self, i: str, j: str) -> float:
        """The most by which services over weights drift apart while both wait."""
        most, low, high, together = 0.0, 0.0, 0.0, False
        for boundary in self.boundaries:
            if not (boundary.waiting[i] and boundary.waiting[j]):
                together = False
                continue
            apart = boundary.received[i] / WEIGHTS[i] - boundary.received[j] / WEIGHTS[j]
            low, high = (min(low, apart), max(high, apart)) if together else (apart, apart)
            most = max(most, high - low)
            together = bool(boundary.still_waiting[i] and boundary.still_waiting[j])
        return most


@dataclasses.dataclass
class Case:
    """An engine and what it is asked to do; every request says how long its answer is at most, and it is."""

    engine: EngineProfile
    requests: list[Request]
    eviction: str = "last-admitted"

    def watched(self, order: str, charges: Charges = (1.0, 2.0)) -> Watch:
        watch = Watch(self.engine, Policy.of(order, eviction=self.eviction), *charges)
        outputs = [request.max_new_tokens or 0 for request in self.requests]
        SteppingHost(watch, self.requests, outputs, self.engine.cost).run()
        return watch


def bursts(
    engine: EngineProfile, sent: Items[tuple[float, str, int, int, int]], eviction: str = "last-admitted"
) -> Case:
    """Who sends when how many requests of which prompt and output length."""
    requests = [
        Request(0, at, prompt, output, None, tenant, None, 0, None, WEIGHTS[tenant])
        for at, tenant, count, prompt, output in sent
        for _ in range(count)
    ]
    return Case(engine, [request._replace(id=row) for row, request in enumerate(requests)], eviction)


@st.composite
def cases(draw: st.DrawFn, memory: list[str]) -> Case:
    """Tenants that send single requests and bursts, of short requests and long ones, with pauses in between."""
    engine = dataclasses.replace(draw(engines(eviction=True, memory=memory)), kv_tokens=draw(st.integers(100, 400)))
    arrival = 0.0
    sent: list[tuple[float, str, int, int, int]] = []
    for _ in range(draw(st.integers(2, 8))):
        tenant, count = draw(st.sampled_from(list(WEIGHTS))), draw(st.sampled_from([1, 1, 5, 15]))
        sent.append((arrival, tenant, count, draw(st.integers(1, 40)), draw(st.integers(1, 60))))
        arrival += draw(st.sampled_from([0.0, 0.0, 0.05, 0.5, 5.0]))
    return bursts(engine, sent, draw(st.sampled_from(["last-admitted", "least-computed"])))


CHARGES = st.tuples(st.sampled_from([1.0, 0.5, 0.0, 3.0]), st.sampled_from([2.0, 1.0, 0.0]))
INNER = st.sampled_from(["fcfs", "shortest-work"])


def spec(charges: Charges, inner: str = "fcfs") -> str:
    return f"fair-share(inner={inner}, w_in={charges[0]}, w_out={charges[1]})"


@given(cases(["conservative"]), CHARGES, INNER)
def test_invariant_5_the_bound_of_2u_where_whole_answers_are_reserved(case: Case, charges: Charges, inner: str) -> None:
    watch = case.watched(spec(charges, inner), charges)
    assert not watch.evictions
    largest = max(charges) * case.engine.kv_capacity
    for i, j in combinations(WEIGHTS, 2):
        assert watch.outstanding(i) <= largest
        assert watch.drift(i, j) <= largest / WEIGHTS[i] + largest / WEIGHTS[j] + 1e-6


@given(cases(MEMORY), CHARGES, INNER)
def test_invariant_5_under_every_memory_rule(case: Case, charges: Charges, inner: str) -> None:
    watch = case.watched(spec(charges, inner), charges)
    for i, j in combinations(WEIGHTS, 2):
        bound = watch.outstanding(i) / WEIGHTS[i] + watch.outstanding(j) / WEIGHTS[j]
        assert watch.drift(i, j) <= bound + 1e-6


STEPS = EngineProfile("steps", 64, 16, 500, Piecewise(1.0, 0.0, 0), memory="conservative")
U = 2 * 500

RETURNS = bursts(
    STEPS, [*((4.0 * step, "a", 1, 5, 20) for step in range(500)), (2002.0, "b", 200, 5, 20), (2003.0, "a", 200, 5, 20)]
)
LONG_ANSWER = bursts(
    STEPS, [(0.0, "b", 1, 5, 400), *((4.0 * step, "a", 8, 5, 5) for step in range(75)), (300.0, "b", 200, 5, 5)]
)
LONG_AND_SHORT = bursts(STEPS, [(0.0, "a", 40, 5, 200), (0.0, "b", 600, 5, 2)])


@pytest.mark.parametrize(
    "case", [RETURNS, LONG_ANSWER, LONG_AND_SHORT], ids=["returns", "long answer", "long and short"]
)
def test_the_bound_holds_where_it_is_hard(case: Case) -> None:
    assert case.watched("fair-share").drift("a", "b") <= 2 * U


@pytest.mark.parametrize(
    ("case", "order"),
    [
        (RETURNS, "fair-share(lift=waiting)"),
        (LONG_AND_SHORT, "fair-share(charge=admission)"),
        (LONG_AND_SHORT, "fcfs"),
        (RETURNS, "fcfs"),
    ],
)
def test_what_breaks_the_bound(case: Case, order: str) -> None:
    """The observer objects to orders that do not share, and to the wrong variants."""
    assert case.watched(order).drift("a", "b") > 2 * U


def test_u_counts_all_the_memory_where_prompts_cost_more_than_answers() -> None:
    """Many prompts may be under way at once, each a few positions an iteration: the longest one is no measure."""
    engine = dataclasses.replace(STEPS, chunk_cap=2)
    case = bursts(engine, [(0.0, tenant, 40, 30, 1) for tenant in "ab"])
    drift = case.watched("fair-share(w_in=1, w_out=0)", (1.0, 0.0)).drift("a", "b")
    assert 2 * 30 < drift <= 2 * 500
