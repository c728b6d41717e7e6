"""Fair share: charges, lifts and turns, with known numbers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.batch import Batch
from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec
from headway.core.request import Request
from headway.core.rules import Eviction, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, FINISHED, WAITING, Sequence
from headway.policies.order.fair_share import FairShare
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from tests.strategies import Scenario, crowds


class Steps:
    """A scheduler that is stepped by hand: iterations take a second each."""

    def __init__(self, order: str = "fair-share", **sizes: object) -> None:
        defaults = {"token_budget": 1000, "max_sequences": 8, "kv_tokens": 10_000, "memory": "prompt-fit(safety=1)"}
        self.engine = EngineProfile("steps", cost=Piecewise(1.0, 0.0, 0), **{**defaults, **sizes})  # type: ignore[arg-type]
        self.scheduler = Policy.of(order).build(self.engine)
        self.now = 0.0
        self.outputs: dict[Sequence, int] = {}
        assert isinstance(self.scheduler.order, FairShare)
        self.order: FairShare = self.scheduler.order

    def send(
        self, tenant: str, prompt: int = 10, output: int = 5, predicted: float | None = None, weight: float = 1.0
    ) -> Sequence:
        row = len(self.outputs)
        request = Request(row, self.now, prompt, None, predicted, tenant, None, 0, None, weight)
        seq = self.scheduler.submit(request, self.now)
        self.outputs[seq] = output
        return seq

    def step(self, times: int = 1) -> Batch:
        """Run iterations; return the last one."""
        batch = Batch()
        block, clock = self.engine.decode_block, self.scheduler.ledger.clock
        for _ in range(times):
            clock = self.scheduler.ledger.clock
            left = {seq: self.outputs[seq] - seq.generated_at(clock, block) for seq in self.scheduler.residents}
            ending = [(seq, block - rest) for seq, rest in left.items() if seq.state == DECODING and rest < block]
            batch = self.scheduler.plan(self.now, ending)
            self.now += 1.0
            ran = [seq for seq in self.scheduler.residents if seq.state == DECODING]
            done = [seq for seq in ran if left[seq] <= block and batch.decodes]
            emitted = 1 if self.engine.first_token == "prefill" else 0
            done += [seq for seq in batch.joined if seq.generated + emitted >= self.outputs[seq]]
            self.scheduler.complete(batch, self.now, done)
        return batch

    def time(self, tenant: str) -> float:
        return self.order.times.time(self.order.accounts[tenant])

    def times(self, tenant: str, steps: int) -> list[float]:
        """The tenant's time after each of the next steps."""
        return [self.time(tenant) for _ in range(steps) if self.step()]


def test_work_is_charged_when_it_is_done() -> None:
    run = Steps()
    run.send("a", prompt=10, output=5)
    assert run.time("a") == 0
    assert run.times("a", 6) == [10, 12, 14, 16, 18, 18]  # the first token comes with the prompt


def test_the_first_token_needs_a_decode_where_the_engine_says_so() -> None:
    run = Steps(first_token="decode")
    run.send("a", prompt=10, output=5)
    assert run.times("a", 7) == [10, 12, 14, 16, 18, 20, 20]


def test_prompts_are_charged_as_they_are_filled() -> None:
    run = Steps("fair-share(w_in=3)", chunk_cap=4)
    run.send("a", prompt=10, output=2)
    assert run.times("a", 4) == [12, 24, 30, 32]


def test_the_last_block_is_charged_as_far_as_it_is_used() -> None:
    run = Steps(decode_block=4)
    run.send("a", prompt=10, output=7)  # one with the prompt, 4, 2
    assert run.times("a", 3) == [10, 18, 22]


def test_what_an_eviction_makes_necessary_again_is_free() -> None:
    run = Steps(kv_tokens=30)
    run.send("a", prompt=10, output=9)
    second = run.send("b", prompt=10, output=9)
    assert run.times("b", 7) == [10, 12, 14, 16, 18, 20, 20]  # 15 tokens each, and no room for more
    assert second.evictions == 1
    run.step(2)
    assert run.time("a") == 26
    # Of 16 positions one is computed for the first time, that of the last token.
    assert run.times("b", 4) == [21, 23, 25, 25]
    assert second.state == FINISHED


def test_a_weight_divides_charges() -> None:
    run = Steps()
    run.send("a", weight=2.5)
    assert run.times("a", 2) == [4, 4.8]


def test_a_new_weight_leaves_what_was_charged() -> None:
    run = Steps()
    run.send("a", prompt=10, output=9)
    run.step(3)
    assert run.time("a") == 14
    run.send("a", prompt=100, output=9, weight=0.5)
    assert run.time("a") == 14
    run.step()
    assert run.time("a") == 14 + (100 + 2) / 0.5


@pytest.mark.parametrize("charge", ["iteration", "predicted"])
def test_without_a_predicted_number_work_is_charged(charge: str) -> None:
    run = Steps(f"fair-share(charge={charge})")
    run.send("a", prompt=10, output=5)
    assert run.times("a", 5) == [10, 12, 14, 16, 18]


def test_admissions_cost_one_unit_each_and_nothing_else() -> None:
    run = Steps("fair-share(charge=admission)")
    run.send("a", prompt=10, output=50, weight=0.5)
    run.send("a", prompt=500, output=3, weight=0.5)
    assert run.times("a", 3) == [4, 4, 4]


def test_the_prediction_is_charged_at_admission_and_what_goes_beyond_it_later() -> None:
    run = Steps("fair-share(charge=predicted)")
    run.send("a", prompt=10, output=7, predicted=4)  # 3 decodes are predicted, 6 come
    assert run.times("a", 8) == [16, 16, 16, 16, 18, 20, 22, 22]


def test_what_was_predicted_and_never_came_is_given_back() -> None:
    run = Steps("fair-share(charge=predicted)")
    run.send("a", prompt=10, output=3, predicted=20.5)
    assert run.times("a", 4) == [10 + 2 * 20, 50, 10 + 2 * 2, 14]


def test_a_prediction_is_settled_when_the_client_leaves() -> None:
    run = Steps("fair-share(charge=predicted)", chunk_cap=4)
    early, late = run.send("a", prompt=10, predicted=50), run.send("b", prompt=4, output=50, predicted=50)
    run.step(2)
    assert (run.time("a"), run.time("b")) == (8 + 2 * 49, 4 + 2 * 49)
    run.scheduler.cancel(early, run.now)  # its prompt was not even filled
    run.scheduler.cancel(late, run.now)
    assert (run.time("a"), run.time("b")) == (8, 6)


def test_an_eviction_settles_the_prediction_and_the_return_pays_for_the_rest() -> None:
    run = Steps("fair-share(charge=predicted)", kv_tokens=30)
    run.send("a", prompt=10, output=9)
    second = run.send("b", prompt=10, output=12, predicted=11)
    assert run.times("b", 7) == [30, 30, 30, 30, 30, 30, 20]  # 10 decodes were predicted, 5 were done
    assert (second.evictions, second.generated) == (1, 6)
    run.step(2)
    # The next token comes with the prompt; 4 of the 5 after it are predicted.
    assert run.times("b", 7) == [29, 29, 29, 29, 29, 31, 31]
    assert second.state == FINISHED


@pytest.mark.parametrize(("output", "charged"), [(4, 3), (9, 8), (10, 9), (11, 10), (13, 12), (14, 13), (30, 29)])
def test_predictions_and_blocks_end_with_what_was_decoded(output: int, charged: int) -> None:
    """10 positions are predicted, which take three blocks of 4."""
    run = Steps("fair-share(charge=predicted)", decode_block=4)
    seq = run.send("a", prompt=10, output=output, predicted=11)
    while seq.state != FINISHED:
        run.step()
        assert run.time("a") >= 10 + 2 * min(10, charged)
    assert run.time("a") == 10 + 2 * charged


def test_a_refund_may_change_whose_turn_it_is() -> None:
    run = Steps("fair-share(charge=predicted)", max_sequences=2)
    run.send("a", prompt=10, output=3, predicted=100)
    run.send("b", prompt=10, output=30, predicted=20)
    run.step()
    run.send("b")
    run.send("a")
    assert (run.time("a"), run.time("b")) == (208, 48)
    assert [seq.request.tenant for seq in run.step(3).admitted] == ["a"]


def test_the_smallest_time_goes_first_then_the_oldest_request_then_the_lower_id() -> None:
    run = Steps(max_sequences=1)
    for tenant in ("b", "a", "b"):
        run.send(tenant, output=1)
    assert [run.step().admitted[0].request.tenant for _ in range(3)] == ["b", "a", "b"]
    run = Steps(max_sequences=1)
    run.send("b", output=1)
    run.now = 1.0
    late = run.send("a", output=1, weight=0.5)
    run.step()
    late_b = run.send("b", output=1, weight=0.5)
    assert (run.step().admitted, run.step().admitted) == ([late], [late_b])  # b had had its turn


def test_the_inner_order_ranks_the_requests_of_a_tenant() -> None:
    run = Steps("fair-share(inner=shortest-work(aging=0))", max_sequences=1)
    sent = [run.send(tenant, prompt, output=1) for tenant, prompt in (("a", 30), ("b", 20), ("a", 10), ("b", 15))]
    # a has the oldest request, then 10 positions; b 15, then a 40.
    assert [run.step().admitted[0] for _ in range(4)] == [sent[2], sent[3], sent[0], sent[1]]


def test_a_request_that_memory_refuses_blocks_the_other_tenants() -> None:
    run = Steps(kv_tokens=100)
    run.send("a", prompt=50, output=30)
    large = run.send("b", prompt=60)
    run.send("c", prompt=10)
    batch = run.step()
    assert len(batch.admitted) == 1
    run.step(29)
    assert run.step().admitted[0] is large


def test_a_tenant_that_returns_starts_level_with_the_least_of_those_that_run() -> None:
    run = Steps()
    run.send("a", output=100)
    run.send("c", prompt=30, output=100)
    run.step(6)
    assert (run.time("a"), run.time("c")) == (20, 40)
    run.send("b")
    assert run.time("b") == 20


def test_a_tenant_that_was_served_more_keeps_its_debt() -> None:
    run = Steps()
    run.send("a", output=100)
    run.send("b", prompt=500, output=1)
    run.step(3)
    run.send("b")
    assert (run.time("a"), run.time("b")) == (14, 500)


def test_with_nobody_there_a_tenant_starts_at_the_floor() -> None:
    run = Steps()
    for _ in range(3):
        run.send("a", prompt=10, output=1)
        run.step()
    assert (run.time("a"), run.order.times.floor) == (30, 20)
    run.send("b")
    assert run.time("b") == 20


def test_one_long_answer_neither_pulls_the_level_down_nor_saves_up_credit() -> None:
    """The least of the active tenants has had little, and asked for no more: others are not level with it."""
    run = Steps(max_sequences=3)
    run.send("slow", prompt=1, output=100)
    for _ in range(30):
        run.send("busy", prompt=100, output=1)
        run.send("busy", prompt=100, output=1)
        run.step()
    floor = run.order.times.floor
    assert floor > 5000 > 100 > run.time("slow")
    run.send("new")
    run.send("slow")
    assert run.time("new") == run.time("slow") == floor


def test_the_wrong_lift_keeps_credit_while_the_others_only_run() -> None:
    run = Steps("fair-share(lift=waiting)")
    run.send("a", output=100)
    run.step(6)
    run.send("b")
    assert (run.time("a"), run.time("b")) == (20, 0)
    run = Steps("fair-share(lift=waiting)", max_sequences=1)
    run.send("a", output=100)
    run.step(6)
    run.send("a")
    run.send("b")
    assert (run.time("a"), run.time("b")) == (20, 20)


def test_a_cancelled_request_is_not_active() -> None:
    run = Steps(max_sequences=1)
    run.send("a", output=100)
    run.step()
    waiting = run.send("b")
    assert run.time("b") == 10
    run.step(5)
    run.scheduler.cancel(waiting, run.now)
    run.send("c")
    assert run.time("c") == 20  # b waits no more, so that a is the least


def test_a_demoted_request_waits_outside_its_account() -> None:
    class Late(Shedding):
        """Demotes whoever has waited for two seconds."""

        idle = False
        demotes = True

        def __init__(self) -> None:
            self.line: list[Sequence] = []

        def push(self, seq: Sequence, now: float) -> bool:
            self.line.append(seq)
            return False

        def due(self, now: float) -> list[Sequence]:
            return [seq for seq in self.line if seq.state == WAITING and now >= seq.arrival + 2]

    run = Steps(max_sequences=1)
    order, memory, _, eviction = Policy.of("fair-share").rules(run.engine)
    run.scheduler = Scheduler(run.engine, order, memory, Late(), eviction)
    assert isinstance(order, FairShare)
    run.order = order
    run.send("a", output=10)
    run.step()
    demoted = run.send("b", output=1)
    run.step(5)
    account = run.order.accounts["b"]
    assert (account.waiting, account.active) == (0, False)
    run.step(5)
    assert demoted.state == FINISHED
    assert (account.waiting, account.running) == (0, 0)
    assert run.time("b") == 10 + 10  # it was lifted to a when it came, and then served


def test_a_tenant_that_comes_and_goes_has_one_place_in_line() -> None:
    """Places that pile up would be looked through one by one."""
    run = Steps(max_sequences=1)
    run.send("b", output=1000)
    for _ in range(50):
        seq = run.send("a")
        run.step()
        run.scheduler.cancel(seq, run.now)
    assert len(run.order.times._waiting._heap) <= 2
    assert len(run.order.times._active._heap) <= 2


def test_an_arrival_says_whether_the_answer_may_change() -> None:
    run = Steps()
    run.send("a", prompt=50, output=80)
    run.step()
    order = run.order
    tickets = itertools.count(1)

    def arrives(tenant: str) -> tuple[Sequence, bool]:
        seq = Sequence(Request(ticket := next(tickets), run.now, 10, None, None, tenant), ticket)
        return seq, order.push(seq, run.now)

    first, changes = arrives("a")
    assert changes
    assert order.candidate(run.now, 10, None) is first
    assert arrives("a")[1] is False  # behind another request of the tenant whose turn it is
    other, changes = arrives("b")
    assert changes  # it did not wait
    assert order.candidate(run.now, 10, None) is first  # both are at 50, and a came first
    assert arrives("b")[1] is False
    order.rested(1, None, 0)
    assert order.candidate(run.now, 10, None) is other  # a has decoded
    assert arrives("a")[1] is False


def test_a_block_that_uses_up_what_was_predicted_charges_all_of_it_at_once() -> None:
    """Four positions are paid for, in blocks of three: the second block charges two more at its end."""
    run = Steps("fair-share(charge=predicted)", decode_block=3)
    run.send("a", prompt=10, output=20, predicted=5)
    assert run.times("a", 3) == [18, 18, 22]
    run = Steps("fair-share(charge=predicted)", decode_block=3)
    run.send("a", prompt=10, output=20, predicted=5)
    run.step()
    assert run.order.charge.steady_for() == 1


class Promising(FairShare):
    """Checks what it has promised to the scheduler: for how long answers hold, and that an arrival changed nothing."""

    until = -1  # the clock up to which it said that its answer holds

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        self.until = -1
        return super().candidate(now, space, refused)

    def gone(self, seq: Sequence) -> None:
        self.until = -1
        super().gone(seq)

    def steady_for(self) -> int:
        steps = super().steady_for()
        self.until = -1 if self.returned else self.charge.clock + steps  # type: ignore[attr-defined]
        return steps

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        super().rested(steps, filling, positions)
        if self.charge.clock <= self.until:  # type: ignore[attr-defined]
            assert self.times.least() is self._turn

    def push(self, seq: Sequence, now: float) -> bool:
        before = self.times.least()
        answer = None if before is None else before.order.candidate(now, 1, None)
        changed = super().push(seq, now)
        if changed:
            self.until = -1
        else:
            assert self.times.least() is before
            assert before is not None
            assert before is not self._turn or before.order.candidate(now, 1, None) is answer
        return changed


OPTIONS: list[dict[str, Any]] = [{}, {"charge": "predicted"}, {"w_in": 3, "w_out": 0.5}, {"inner": "shortest-work"}]


@given(st.sampled_from(OPTIONS), crowds())
def test_answers_hold_as_long_as_was_promised(options: dict[str, Any], scenario: Scenario) -> None:
    order = Promising(**options)
    order.attach(scenario.engine)
    memory = Policy.of("fcfs").rules(scenario.engine)[1]
    host = SimulatedEngine(
        Scheduler(scenario.engine, order, memory, Shedding(), Eviction()),
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        scenario.engine.cost,
    )
    assert host.run()


def test_a_run_leaves_nothing_behind() -> None:
    for order in ("fair-share", "fair-share(charge=predicted)"):
        run = Steps(order, kv_tokens=60)
        for tenant, predicted in itertools.product("abc", [None, 3, 50]):
            run.send(tenant, output=12, predicted=predicted)
        run.step(200)
        charge = run.order.charge
        assert not any(getattr(charge, name) for name in ("_decoding", "_prepaid") if hasattr(charge, name))
        for account in run.order.accounts.values():
            assert not account.active
            assert (account.counted, account.since) == (0, 0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fair-share(inner=fair-share)", "unknown inner order 'fair-share'"),
        ("fair-share(inner=qba(k=0))", "k must be >= 1, got 0"),
        ("fair-share(charge=iterations)", "did you mean 'iteration'"),
        ("fair-share(lift=idle)", "lift: unknown value idle"),
        ("fair-share(w_in=-1)", "w_in must be in .*got -1"),
        ("fair-share(w_out=inf)", "w_out must be in"),
    ],
)
def test_options_out_of_range_are_named(spec: str, message: str) -> None:
    with pytest.raises(InvalidSpec, match=message) as caught:
        Policy.of(spec)
    assert "\n" not in str(caught.value)
