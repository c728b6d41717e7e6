"""Shedding rules on random engines, orders and promises: whom they may name; invariants 1, 4, 7 and 9 beside them."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import CostModel, Linear, Piecewise, Roofline
from headway.core.request import Request, Slo
from headway.core.sequence import FINISHED, REJECTED, Sequence
from headway.policies.policy import Policy
from headway.policies.shedding.unreachable import Unreachable
from headway.simulate.engine import SimulatedEngine
from headway.testing.recording import RecordingScheduler
from headway.testing.stepping import SteppingHost
from tests.strategies import COSTS, MEMORY, ORDERS, Scenario, scenarios

RULES = ["reject", "reject(safety=1)", "demote", "demote(safety=2)", "queue-cap(requests=2)", "queue-cap(tokens=90)"]
EVERY = ORDERS | st.sampled_from(["least-slack", "combined"])
SORTS = re.compile(r"\b(psf|aa|qba)\b(?:\((.*?)\))?")  # orders that tell short requests from long ones
SECONDS = st.none() | st.sampled_from([0.02, 0.1, 0.5, 2.0, 10.0])


@st.composite
def promised(draw: st.DrawFn) -> Scenario:
    """A scenario in which most requests were promised something, and some say how long their answer will be."""
    scenario = draw(scenarios(memory=MEMORY))
    requests: list[Request] = []
    for request in scenario.requests:
        slo = draw(st.none() | st.builds(Slo, SECONDS, st.none(), SECONDS))
        predicted = draw(st.sampled_from([request.predicted, "short", 3.0, 40]))
        requests.append(request._replace(slo=slo, predicted=predicted))
    return dataclasses.replace(scenario, requests=requests)


class Kept(RecordingScheduler):
    """Keeps every sequence."""

    seqs: list[Sequence]

    def submit(self, request: Request, now: float) -> Sequence:
        seq = super().submit(request, now)
        self.seqs = [*getattr(self, "seqs", []), seq]
        return seq


def scheduler(scenario: Scenario, order: str, rule: str) -> Kept:
    chosen = Policy.of(with_threshold(order), shedding=rule, eviction=scenario.eviction)
    return Kept(scenario.engine, *chosen.rules(scenario.engine))


def with_threshold(order: str) -> str:
    """The order, such that it can tell from a number whether an answer will be long."""
    return SORTS.sub(r"\1(threshold=20, \2)", order).replace(", )", ")")


def simulated(
    scenario: Scenario, order: str, rule: str, cost: CostModel, *, fast_forward: bool = True
) -> SimulatedEngine:
    host = SimulatedEngine(
        scheduler(scenario, order, rule),
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        cost,
        fast_forward=fast_forward,
    )
    assert host.run()
    return host


def told(made: Kept) -> list[tuple[int, str | None, float | None]]:
    return [(seq.state, seq.reason, seq.retry_after) for seq in made.seqs]


@given(promised(), EVERY, st.sampled_from(RULES), st.sampled_from(COSTS))
def test_invariants_4_7_and_9(scenario: Scenario, order: str, rule: str, cost: CostModel) -> None:
    """The engine is another one than its profile says, so that the fit has something to learn."""
    fast, again = (simulated(scenario, order, rule, cost) for _ in range(2))
    slow = simulated(scenario, order, rule, cost, fast_forward=False)
    live = SteppingHost(scheduler(scenario, order, rule), scenario.requests, scenario.outputs, cost)
    live.run()
    made = [host.scheduler for host in (fast, again, slow, live)]
    assert all(isinstance(each, Kept) for each in made)
    assert made[0].plans == made[1].plans == made[2].plans == made[3].plans
    assert told(made[0]) == told(made[1]) == told(made[2]) == told(made[3])
    assert list(fast.outcomes.finish) == list(slow.outcomes.finish) == [row.finish for row in live.rows]
    assert fast.outcomes.reasons == slow.outcomes.reasons


@given(promised(), EVERY, st.sampled_from(RULES), st.sampled_from(COSTS))
def test_invariant_1_and_whom_a_rule_may_name(scenario: Scenario, order: str, rule: str, cost: CostModel) -> None:
    """Everybody rejected never started, was promised something, and has a reason; the demoted finish in the end."""
    host = simulated(scenario, order, rule, cost)
    made = host.scheduler
    assert isinstance(made, Kept)
    for seq in made.seqs:
        assert seq.state in (FINISHED, REJECTED)
        shed = seq.state == REJECTED and seq.reason != "kv_capacity"
        if shed:
            assert seq.start == -1.0
            assert seq.evictions == 0
            assert host.outcomes.reasons[seq.id] == seq.reason
            assert seq.retry_after is None or 0.0 <= seq.retry_after < math.inf
        if rule.startswith("queue-cap"):
            assert not shed or (seq.reason == "queue_full" and host.outcomes.finish[seq.id] == seq.arrival)
            continue
        slo = seq.request.slo
        if slo is None or (slo.ttft is None and slo.completion is None):
            assert not shed
            assert seq.reason in (None, "kv_capacity")
        assert not shed or seq.reason in ("deadline", "unreachable")
        if rule.startswith("demote"):
            assert not shed
    assert made.waiting == len(made.demoted) == 0


@given(promised(), EVERY, st.sampled_from(["reject", "reject(safety=1)", "reject(safety=0.5)"]))
def test_nobody_starts_after_the_latest_start(scenario: Scenario, order: str, rule: str) -> None:
    """And nobody is turned away while waiting before it. The engine is what its profile says: estimates stay."""
    host = simulated(scenario, order, rule, scenario.engine.cost)
    made = host.scheduler
    assert isinstance(made, Kept)
    shedding = made.shedding
    assert isinstance(shedding, Unreachable)
    for seq in made.seqs:
        latest = shedding.latest_start(
            Sequence(seq.request, seq.ticket, scenario.engine.longest_answer)
        )  # as it arrived
        ended = host.outcomes.finish[seq.id]
        if seq.start >= 0.0:
            assert seq.start <= latest + 1e-9 * (1.0 + abs(latest))
        elif seq.reason == "deadline" and ended > seq.arrival:
            assert ended > latest - 1e-9 * (1.0 + abs(latest))
        elif seq.reason == "unreachable":
            assert latest < seq.arrival


def alone(scenario: Scenario, slo: Slo, rule: str) -> SimulatedEngine:
    """The first request of a scenario on an engine that has nothing else to do."""
    request = scenario.requests[0]._replace(slo=slo, predicted=float(scenario.outputs[0]))
    scenario = dataclasses.replace(scenario, requests=[request], outputs=scenario.outputs[:1])
    return simulated(scenario, "fcfs", rule, scenario.engine.cost)


@given(scenarios(), st.floats(0.5, 1.5), st.booleans())
def test_an_idle_engine_turns_nobody_away_who_would_be_in_time(scenario: Scenario, share: float, last: bool) -> None:
    """Nor lets anybody in who would be late: with exact estimates and safety 1 the two are the same."""
    block = scenario.engine.decode_block
    output = scenario.outputs[0] // block * block + (scenario.engine.first_token == "prefill")
    scenario = dataclasses.replace(scenario, outputs=[max(output, block)])  # whole blocks, so that none stays empty
    scenario = dataclasses.replace(scenario, requests=[scenario.requests[0]._replace(max_new_tokens=None)])
    kept = alone(scenario, Slo(), "keep").outcomes
    arrival = scenario.requests[0].arrival
    if kept.state[0] != FINISHED:
        return  # too large for the memory
    taken = (kept.finish if last else kept.first_token)[0] - arrival
    slo = Slo(completion=taken * share) if last else Slo(ttft=taken * share)
    outcome = alone(scenario, slo, "reject(safety=1)").outcomes
    if share > 1.0 + 1e-6:
        assert outcome.state[0] == FINISHED
    elif share < 1.0 - 1e-6:
        assert (outcome.state[0], outcome.reasons[0]) == (REJECTED, "unreachable")


class Walk:
    """Reject by arithmetic over lists: looks at everybody who waits, whenever it is asked."""

    def __init__(self, rule: Unreachable, by_arrival: bool) -> None:
        self.rule = rule
        self.by_arrival = by_arrival
        self.waiting: list[Sequence] = []

    def late(self, seq: Sequence, now: float) -> bool:
        latest = self.rule.latest_start(seq)
        if latest == math.inf:
            return False
        if latest < now:
            return True
        ahead = self.rule._ledger.unfilled
        for other in self.waiting:
            if self.by_arrival or self.rule.latest_start(other) <= latest:
                ahead += other.prompt
        wait = ahead * self.rule._drain.pace() * self.rule.safety
        return now + wait > self.rule._latest_start_now(seq, ahead)

    def due(self, now: float) -> set[Sequence]:
        return {seq for seq in self.waiting if self.rule.latest_start(seq) < now}


class Checked(Kept):
    """Holds every answer of the rule against the walk's."""

    walk: Walk

    def submit(self, request: Request, now: float) -> Sequence:
        rule = self.shedding
        assert isinstance(rule, Unreachable)
        walk = self.walk
        walk.waiting = [seq for seq in walk.waiting if seq.state == 0 and seq.start < 0]
        probe = Sequence(request, 10_000, self.engine.longest_answer)
        late = request.prompt_tokens <= self.engine.kv_capacity and walk.late(probe, now)
        seq = super().submit(request, now)
        assert (seq.state == REJECTED and seq.reason != "kv_capacity") == late
        if seq.state != REJECTED:
            walk.waiting.append(seq)
        assert (rule._drain.waiting, rule._drain.positions) == (
            len(walk.waiting),
            sum(each.prompt for each in walk.waiting),
        )
        return seq

    def plan(self, now: float, ending: object = ()) -> object:  # type: ignore[override]
        walk = self.walk
        walk.waiting = [seq for seq in walk.waiting if seq.state == 0 and seq.start < 0]
        due = walk.due(now)
        batch = super().plan(now, ending)  # type: ignore[arg-type]
        assert {seq for seq in batch.ended if seq.reason == "deadline"} == due
        return batch


@given(promised(), st.sampled_from(["fcfs", "shortest-work(aging=3)"]), st.sampled_from([0.5, 1.0, 1.2]))
def test_the_line_answers_as_a_walk_over_everybody(scenario: Scenario, order: str, safety: float) -> None:
    rules = Policy.of(order, shedding=f"reject(safety={safety})").rules(scenario.engine)
    made = Checked(scenario.engine, *rules)
    assert isinstance(made.shedding, Unreachable)
    made.walk = Walk(made.shedding, made.order.by_arrival)
    SteppingHost(made, scenario.requests, scenario.outputs, scenario.engine.cost).run()


@pytest.mark.parametrize("cost", COSTS)
def test_the_cost_models_of_these_tests_are_met_exactly(cost: CostModel) -> None:
    """Otherwise what is said here of exact estimates would mean nothing."""
    assert isinstance(cost, Linear | Piecewise | Roofline)
