"""The scheduler, one situation at a time, driven by hand."""

from __future__ import annotations

from typing import Any

import pytest

from headway.core.batch import Batch
from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import CANCELLED, DECODING, FILLING, FINISHED, REJECTED, WAITING, Sequence
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.order.fcfs import Fcfs
from tests.policies.own_shedding import TooLate


def engine(**changes: Any) -> EngineProfile:
    sizes: dict[str, Any] = {"name": "x", "token_budget": 20, "max_sequences": 8, "kv_tokens": 100}
    return EngineProfile(**{**sizes, "cost": Piecewise(1.0, 0.0), **changes})


class Bench:
    """A scheduler with a clock that ticks once an iteration, and requests by number."""

    def __init__(
        self,
        *prompts: int,
        order: Order | None = None,
        memory: MemoryRule | None = None,
        shedding: Shedding | None = None,
        victims: Eviction | None = None,
        **changes: Any,
    ) -> None:
        self.scheduler = Scheduler(
            engine(**changes), order or Fcfs(), memory or PromptFit(1), shedding or Shedding(), victims or Eviction()
        )
        self.now = 0.0
        self.seqs: list[Sequence] = []
        for prompt in prompts:
            self.submit(prompt)

    def submit(self, prompt: int, **fields: Any) -> Sequence:
        request = Request(id=len(self.seqs), arrival=self.now, prompt_tokens=prompt, **fields)
        self.seqs.append(self.scheduler.submit(request, self.now))
        return self.seqs[-1]

    def step(self, *finished: int, ending: tuple[tuple[int, int], ...] = ()) -> Batch:
        """Plan and run one iteration, in which the given requests finish."""
        batch = self.scheduler.plan(self.now, [(self.seqs[row], empty) for row, empty in ending])
        self.now += 1.0
        if batch.positions:
            self.scheduler.complete(batch, self.now, [self.seqs[row] for row in finished])
        return batch

    def steps(self, count: int) -> Batch:
        """Run so many iterations; return the last one's batch."""
        return [self.step() for _ in range(count)][-1]

    @property
    def used(self) -> int:
        return self.scheduler.ledger.used


def rows(seqs: list[Sequence]) -> list[int]:
    return [seq.request.id for seq in seqs]


def chunks(batch: Batch) -> list[tuple[int, int]]:
    return [(seq.request.id, positions) for seq, positions in batch.chunks]


def test_a_request_goes_from_the_queue_through_prompt_and_answer() -> None:
    bench = Bench(30)
    (seq,) = bench.seqs
    assert (seq.state, bench.scheduler.waiting, seq.start) == (WAITING, 1, -1.0)
    first = bench.step()
    assert (chunks(first), rows(first.admitted), rows(first.joined)) == ([(0, 20)], [0], [])
    assert (seq.state, seq.filled, seq.start, bench.scheduler.waiting) == (FILLING, 20, 0.0, 0)
    assert (bench.used, bench.scheduler.ledger.unfilled) == (20, 10)
    second = bench.step()
    assert (chunks(second), rows(second.admitted), rows(second.joined)) == ([(0, 10)], [], [0])
    assert (seq.state, bench.scheduler.decodes) == (DECODING, 1)
    third = bench.step()
    assert (third.decodes, third.decode_positions, third.positions, third.context) == (1, 1, 1, 31)
    assert seq.generated_at(bench.scheduler.ledger.clock, 1) == 2
    fourth = bench.step(0)
    assert fourth.context == 32
    assert (seq.state, seq.generated, bench.used, bench.scheduler.decodes) == (FINISHED, 3, 0, 0)
    assert not bench.scheduler.residents
    assert bench.step().positions == 0
    assert bench.scheduler.iterations == 4
    assert bench.scheduler.kv_token_iterations == 20 + 30 + 31 + 32
    assert bench.scheduler.kv_peak == 32
    assert (bench.scheduler.prefill_positions, bench.scheduler.decode_positions) == (30, 2)


@pytest.mark.parametrize(("first_token", "generated"), [("prefill", 1), ("decode", 0)])
def test_the_first_token_comes_with_the_prompt_or_with_the_first_decode(first_token: str, generated: int) -> None:
    bench = Bench(5, first_token=first_token)
    bench.step()
    assert bench.seqs[0].generated_at(bench.scheduler.ledger.clock, 1) == generated
    bench.step()
    assert bench.seqs[0].generated_at(bench.scheduler.ledger.clock, 1) == generated + 1
    assert bench.used == 6  # what was emitted last is held once it has been run


def test_an_answer_without_tokens_ends_with_its_prompt() -> None:
    bench = Bench(5, first_token="decode")
    batch = bench.step(0)
    assert (batch.prefill_positions, batch.decodes) == (5, 0)
    assert (bench.seqs[0].state, bench.seqs[0].generated, bench.used) == (FINISHED, 0, 0)


def test_the_last_block_may_stay_empty_in_part() -> None:
    bench = Bench(5, 5, decode_block=4, first_token="decode")
    bench.step()
    bench.step()
    batch = bench.step(0, ending=((0, 3),))
    assert (batch.decodes, batch.decode_positions) == (2, 5)
    assert (bench.seqs[0].state, bench.seqs[0].generated) == (FINISHED, 5)
    assert bench.used == 5 + 8


def test_a_prompt_above_the_capacity_is_rejected_at_once() -> None:
    bench = Bench(101, 100)
    large, fitting = bench.seqs
    assert (large.state, large.reason) == (REJECTED, "kv_capacity")
    assert bench.scheduler.waiting == 1
    bench.scheduler.cancel(large, 0.0)
    assert large.state == REJECTED
    assert rows(bench.step().admitted) == [1]
    assert fitting.state == FILLING


def test_a_prompt_above_the_safe_level_is_admitted_alone() -> None:
    bench = Bench(10, 60, 5, memory=PromptFit(0.5))
    assert rows(bench.step().admitted) == [0]
    assert rows(bench.step().admitted) == []  # it blocks the small one behind it
    bench.step(0)
    assert rows(bench.step().admitted) == [1]
    assert bench.scheduler.waiting == 1


def test_the_head_that_memory_refuses_blocks_until_something_leaves() -> None:
    bench = Bench(20, 90, 1)
    bench.step()
    assert rows(bench.steps(3).admitted) == []
    assert bench.scheduler.quiet() > 0  # and nobody needs to be asked in between
    bench.step(0)
    assert rows(bench.step().admitted) == [1]


def test_admission_stops_at_the_slots() -> None:
    bench = Bench(1, 1, 1, 1, max_sequences=3)
    assert rows(bench.step(1).admitted) == [0, 1, 2]
    assert rows(bench.step().admitted) == [3]


def test_decodes_come_first_then_prompts_in_order_of_admission() -> None:
    bench = Bench(10, 8, 30, 4)
    assert chunks(bench.step()) == [(0, 10), (1, 8), (2, 2)]
    batch = bench.step()
    assert (batch.decodes, chunks(batch)) == (2, [(2, 18)])
    batch = bench.step()
    assert (batch.decodes, chunks(batch)) == (2, [(2, 10), (3, 4)])
    assert rows(batch.joined) == [2, 3]


def test_a_chunk_cap_leaves_budget_to_others() -> None:
    bench = Bench(18, 7, 3, chunk_cap=8)
    assert chunks(bench.step()) == [(0, 8), (1, 7), (2, 3)]
    batch = bench.step()
    assert (chunks(batch), batch.decodes) == ([(0, 8)], 2)
    assert chunks(bench.step()) == [(0, 2)]


def test_partial_prompts_limits_how_many_are_half_filled() -> None:
    bench = Bench(18, 17, 3, chunk_cap=6, partial_prompts=1)
    assert chunks(bench.step()) == [(0, 6)]
    assert chunks(bench.step()) == [(0, 6)]
    assert chunks(bench.step()) == [(0, 6), (1, 6)]  # the first is complete: the next may begin
    two = Bench(18, 17, 3, chunk_cap=6, partial_prompts=2)
    assert chunks(two.step()) == [(0, 6), (1, 6)]


def test_prompts_that_find_no_space_wait_in_order() -> None:
    bench = Bench(30, 30, 30, token_budget=20, chunk_cap=10)
    assert chunks(bench.step()) == [(0, 10), (1, 10)]
    bench.submit(1)
    assert chunks(bench.step()) == [(0, 10), (1, 10)]
    assert chunks(bench.step()) == [(0, 10), (1, 10)]
    batch = bench.step()
    assert (batch.decodes, chunks(batch)) == (2, [(2, 10), (3, 1)])


def test_three_half_filled_prompts_and_space_for_two() -> None:
    bench = Bench(20, 20, 20, 1, token_budget=12, chunk_cap=5)
    assert chunks(bench.step()) == [(0, 5), (1, 5), (2, 2)]
    assert chunks(bench.step()) == [(0, 5), (1, 5), (2, 2)]
    assert chunks(bench.steps(2)) == [(0, 5), (1, 5), (2, 2)]
    batch = bench.step()
    assert (batch.decodes, chunks(batch)) == (2, [(2, 5), (3, 1)])


def test_a_half_filled_prompt_may_find_no_space_left() -> None:
    bench = Bench(1, 1, 20, 20, token_budget=16, decode_block=4, chunk_cap=8)
    assert chunks(bench.step()) == [(0, 1), (1, 1), (2, 8), (3, 6)]
    batch = bench.step()
    assert (batch.decode_positions, chunks(batch)) == (8, [(2, 8)])
    assert chunks(bench.step()) == [(2, 4), (3, 4)]


@pytest.mark.parametrize("interval", [1, 3])
def test_rounds_come_at_their_interval_of_decode_iterations(interval: int) -> None:
    bench = Bench(4, admission_interval=interval)
    bench.step()  # with nothing to decode, every iteration is a round
    admitted_at = []
    for clock in range(7):
        bench.submit(1)
        if bench.step().admitted:
            admitted_at.append(clock)
    assert admitted_at == [clock for clock in range(7) if clock == 0 or clock % interval == 0][interval == 3 :]


def test_prefill_first_pauses_decodes_while_there_are_prompts() -> None:
    bench = Bench(5, mode="prefill-first")
    bench.step()
    bench.submit(30)
    batch = bench.step()
    assert (batch.decodes, batch.decode_positions, chunks(batch)) == (0, 0, [(1, 20)])
    assert chunks(bench.step()) == [(1, 10)]
    batch = bench.step()
    assert (batch.decodes, chunks(batch)) == (2, [])
    assert bench.scheduler.ledger.clock == 1


class TestCancel:
    def test_while_it_waits(self) -> None:
        bench = Bench(100, 5, 6)
        bench.step()
        bench.scheduler.cancel(bench.seqs[1], 1.0)
        assert (bench.seqs[1].state, bench.scheduler.waiting) == (CANCELLED, 1)
        bench.scheduler.cancel(bench.seqs[0], 1.0)
        assert rows(bench.step().admitted) == [2]

    def test_while_its_prompt_is_filled(self) -> None:
        bench = Bench(30, 5)
        bench.step()
        bench.scheduler.cancel(bench.seqs[0], 1.0)
        assert bench.seqs[0].state == CANCELLED
        assert (bench.used, bench.scheduler.ledger.unfilled, bench.scheduler.ledger.residents) == (0, 0, 0)
        assert chunks(bench.step()) == [(1, 5)]

    def test_while_it_decodes(self) -> None:
        bench = Bench(10, 10)
        bench.steps(3)
        bench.scheduler.cancel(bench.seqs[0], 3.0)
        assert (bench.seqs[0].state, bench.seqs[0].generated) == (CANCELLED, 3)
        assert bench.used == 12
        assert rows(list(bench.scheduler.residents)) == [1]
        assert bench.step().decodes == 1

    def test_after_it_was_evicted(self) -> None:
        bench = Bench(50, 40, kv_tokens=100, token_budget=100)
        while not bench.step().evicted:
            pass
        bench.scheduler.cancel(bench.seqs[1], bench.now)
        assert (bench.seqs[1].state, bench.scheduler.waiting) == (CANCELLED, 0)
        assert bench.step().admitted == []

    def test_after_it_has_ended(self) -> None:
        bench = Bench(10)
        bench.step()
        bench.step(0)
        bench.scheduler.cancel(bench.seqs[0], 2.0)
        assert bench.seqs[0].state == FINISHED
        assert bench.used == 0

    def test_it_makes_room_for_the_head(self) -> None:
        bench = Bench(90, 20)
        bench.steps(8)
        assert bench.scheduler.waiting == 1
        bench.scheduler.cancel(bench.seqs[0], bench.now)
        assert rows(bench.step().admitted) == [1]


class TestEviction:
    def test_the_youngest_goes_back_to_the_head(self) -> None:
        bench = Bench(30, 30, 30, 5, token_budget=100)
        assert rows(bench.step().admitted) == [0, 1, 2, 3]  # 95 tokens
        assert bench.step().context == 99
        batch = bench.step()
        assert rows(batch.evicted) == [3]
        assert (batch.decodes, batch.context) == (3, 96)
        assert batch.admitted == []  # it would take its victim back at once
        last = bench.seqs[3]
        assert (last.state, last.evictions, last.generated, last.prompt, last.filled) == (WAITING, 1, 2, 7, 0)
        bench.submit(1)
        assert rows(bench.step().admitted) == []
        assert bench.scheduler.waiting == 2

    def test_several_return_in_the_order_in_which_they_ran(self) -> None:
        bench = Bench(20, 20, 20, 20, 18, token_budget=100)
        bench.step()  # 98 tokens; five more in the next iteration
        bench.submit(1)
        batch = bench.step()
        assert rows(batch.evicted) == [4]
        while bench.scheduler.decodes > 3:
            batch = bench.step()
        assert rows(batch.evicted) == [3]
        bench.step(0, 1)
        assert rows(bench.step().admitted) == [3, 4, 5]

    def test_what_was_generated_is_filled_again_and_counted(self) -> None:
        bench = Bench(50, 44, token_budget=100)
        assert rows(bench.step().joined) == [0, 1]
        bench.steps(3)  # 100 tokens, four generated by each
        assert rows(bench.step(0).evicted) == [1]
        seq = bench.seqs[1]
        assert seq.prompt == 48
        batch = bench.step()
        assert chunks(batch) == [(1, 48)]
        assert bench.scheduler.recomputed == 47  # the last token was sent, and never read
        assert (seq.state, seq.generated, seq.start) == (DECODING, 5, 0.0)
        bench.step(1)
        assert seq.generated == 6

    def test_a_half_filled_prompt_may_be_the_victim(self) -> None:
        bench = Bench(60, token_budget=60, chunk_cap=20, kv_tokens=104)
        bench.steps(3)
        bench.submit(43)
        batch = bench.steps(2)
        assert (chunks(batch), batch.context) == ([(1, 20)], 102)
        assert chunks(bench.step()) == [(1, 1)]  # all that is left of the memory
        batch = bench.step()
        assert rows(batch.evicted) == [1]
        assert (bench.seqs[1].prompt, bench.seqs[1].generated) == (43, 0)
        assert (bench.used, bench.scheduler.ledger.unfilled) == (64, 0)

    def test_half_filled_prompts_that_hold_everything_give_way(self) -> None:
        class Greedy(MemoryRule):
            def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
                return True

        bench = Bench(80, 80, chunk_cap=50, token_budget=100, memory=Greedy())
        assert bench.step().context == 100
        batch = bench.step()
        assert rows(batch.evicted) == [1]
        assert (chunks(batch), rows(batch.joined)) == ([(0, 30)], [0])
        assert (bench.seqs[1].state, bench.used) == (WAITING, 80)

    def test_alone_above_the_capacity_it_ends(self) -> None:
        bench = Bench(98, 5, token_budget=100)
        bench.step()
        bench.steps(2)
        batch = bench.step()
        seq = bench.seqs[0]
        assert rows(batch.ended) == [0]
        assert (seq.state, seq.reason, seq.generated) == (REJECTED, "kv_capacity", 3)
        assert rows(batch.admitted) == [1]  # the same iteration goes on with the next
        assert bench.used == 5

    def test_a_victim_that_can_never_come_back_ends(self) -> None:
        class Oldest(Eviction):
            def victim(self, residents: dict[Sequence, None], ledger: KvLedger) -> Sequence:
                return next(iter(residents))

        bench = Bench(96, victims=Oldest(), token_budget=100, decode_block=8, first_token="prefill", kv_tokens=104)
        bench.step()
        bench.step()  # 104 tokens, nine generated: 105 to fill again
        bench.submit(1)
        batch = bench.step()
        assert rows(batch.ended) == [0]
        assert bench.seqs[0].reason == "kv_capacity"
        two = Bench(88, 4, victims=Oldest(), token_budget=100, decode_block=8, kv_tokens=100)
        two.step()
        batch = two.step()
        assert rows(batch.evicted) == [0]
        assert two.seqs[0].prompt == 89

    def test_everybody_may_go_in_prefill_first_mode_and_the_head_starts(self) -> None:
        bench = Bench(50, 44, token_budget=100, mode="prefill-first")
        bench.steps(4)
        batch = bench.step()
        assert (rows(batch.evicted), batch.decodes) == ([1], 1)

    def test_rules_are_told_who_left(self) -> None:
        told: list[str] = []

        class Listening(PromptFit):
            keeps_books = True

            def admitted(self, seq: Sequence, ledger: KvLedger) -> None:
                told.append(f"admitted {seq.request.id}")

            def joined(self, seq: Sequence, ledger: KvLedger) -> None:
                told.append(f"joined {seq.request.id}")

            def left(self, seq: Sequence, ledger: KvLedger) -> None:
                told.append(f"left {seq.request.id}")

            def finished(self, seq: Sequence, ledger: KvLedger) -> None:
                told.append(f"finished {seq.request.id} {seq.generated}")

        bench = Bench(50, 44, token_budget=100, memory=Listening(1))
        bench.steps(4)
        bench.step(0)
        assert told == [
            *("admitted 0", "admitted 1", "joined 0", "joined 1"),
            *("left 1", "left 0", "finished 0 5"),
        ]
        bench.step()
        bench.scheduler.cancel(bench.seqs[1], bench.now)
        assert told[7:] == ["admitted 1", "joined 1", "left 1"]


def test_without_eviction_an_excess_is_counted() -> None:
    bench = Bench(50, 48, token_budget=100, eviction=False)
    bench.steps(2)
    assert (bench.used, bench.scheduler.oom_events) == (100, 0)
    bench.steps(3)
    assert (bench.used, bench.scheduler.oom_events, bench.scheduler.kv_peak) == (106, 3, 106)
    assert bench.scheduler.decodes == 2


class TestQuiet:
    """`advance` and `quiet` against the same steps planned one by one."""

    def test_nothing_runs(self) -> None:
        assert Bench().scheduler.quiet() == 0

    def test_somebody_could_be_admitted(self) -> None:
        bench = Bench(4, 4, token_budget=4)
        bench.step()
        assert bench.scheduler.quiet() == 0

    def test_until_the_memory_is_full(self) -> None:
        bench = Bench(40, 40, token_budget=100)
        bench.step()
        assert bench.scheduler.quiet() == 10
        other = Bench(40, 40, token_budget=100)
        other.steps(8)
        bench.scheduler.advance(7)
        for name in ("iterations", "decode_positions", "kv_token_iterations", "kv_peak"):
            assert getattr(bench.scheduler, name) == getattr(other.scheduler, name)
        assert (bench.used, bench.scheduler.ledger.clock) == (other.used, other.scheduler.ledger.clock)
        assert bench.scheduler.quiet() == 3
        bench.scheduler.advance(3)
        assert bench.scheduler.quiet() == 0
        assert rows(bench.step().evicted) == [1]

    def test_past_the_capacity_each_step_counts(self) -> None:
        bench = Bench(50, 49, token_budget=100, eviction=False)
        bench.step()
        assert bench.scheduler.quiet() == 0  # the first excess is planned
        bench.step()
        assert bench.scheduler.quiet() > 1000
        bench.scheduler.advance(5)
        assert bench.scheduler.oom_events == 6

    def test_until_the_next_round(self) -> None:
        bench = Bench(4, admission_interval=5)
        bench.steps(2)
        bench.submit(3)
        assert bench.scheduler.quiet() == 4
        bench.scheduler.advance(4)
        assert bench.scheduler.quiet() == 0
        assert rows(bench.step().admitted) == [1]


class TestShedding:
    def test_who_cannot_make_it_is_rejected_with_the_reason(self) -> None:
        bench = Bench(90, 50, 60, shedding=TooLate(2.5))
        bench.steps(2)
        assert bench.scheduler.steady_until() == 2.5
        bench.submit(7)
        assert bench.step().ended == []
        batch = bench.step()
        assert rows(batch.ended) == [1, 2]  # the running one is left alone
        assert [(seq.state, seq.reason) for seq in batch.ended] == [(REJECTED, "too_late")] * 2
        assert bench.scheduler.waiting == 1 - len(batch.admitted)
        assert bench.seqs[0].state == FILLING
        bench.steps(2)
        assert bench.seqs[3].state == DECODING

    def test_the_base_class_keeps_everybody(self) -> None:
        shedding = Shedding()
        shedding.push(Sequence(Request(0, 0.0, 1), 0), 0.0)
        assert shedding.due(1e9) == []
        assert shedding.steady_until() == float("inf")

    def test_who_runs_already_is_not_shed(self) -> None:
        class Sloppy(Shedding):
            idle = False

            def due(self, now: float) -> list[Sequence]:
                return bench.seqs if now >= 1.0 else []

        bench = Bench(5, 99, shedding=Sloppy())
        bench.step()
        batch = bench.step()
        assert (rows(batch.ended), bench.seqs[0].state, batch.decodes) == ([1], DECODING, 1)

    def test_an_empty_plan_is_no_iteration(self) -> None:
        """Somebody is shed, and the order has nobody to name."""

        class Nobody(Order):
            def push(self, seq: Sequence, now: float) -> bool:
                """Forget it."""
                return False

        bench = Bench(5, 5, order=Nobody(), shedding=TooLate(0.5))
        assert bench.step().positions == 0
        bench.submit(5)
        batch = bench.step()
        assert (rows(batch.ended), batch.positions) == ([0, 1], 0)
        assert bench.scheduler.iterations == 0
        assert bench.scheduler.waiting == 1

    def test_when_the_queue_is_shed_whole_there_is_nothing_to_run(self) -> None:
        bench = Bench(5, order=LastFirst(), shedding=TooLate(0.0))
        batch = bench.step()
        assert (rows(batch.ended), batch.positions, bench.scheduler.waiting) == ([0], 0, 0)


class TestPrefixCache:
    """Prompts in blocks of ten tokens; two requests with the same hashes begin alike."""

    def bench(self, **changes: Any) -> Bench:
        return Bench(**{"prefix_cache": 100, "token_budget": 100, "kv_tokens": 200, **changes})

    def submit(self, bench: Bench, prompt: int, *blocks: int) -> Sequence:
        return bench.submit(prompt, blocks=blocks, block_tokens=10)

    def test_a_prompt_hits_what_a_complete_one_left(self) -> None:
        bench = self.bench()
        self.submit(bench, 35, 1, 2, 3, 4)
        self.submit(bench, 38, 1, 2, 3, 5)
        assert chunks(bench.step()) == [(0, 35), (1, 38)]  # nothing was complete when the second one started
        self.submit(bench, 45, 1, 2, 3, 6, 7)
        batch = bench.step()
        assert chunks(batch) == [(2, 15)]
        assert (batch.prefill_positions, batch.decode_positions, batch.context) == (15, 2, 35 + 38 + 2 + 45)
        assert rows(batch.joined) == [2]
        assert bench.scheduler.cache is not None
        assert (bench.scheduler.cache.hit_tokens, bench.scheduler.cache.used) == (30, 40)
        assert bench.scheduler.prefill_positions == 35 + 38 + 15
        bench.step(0, 1, 2)
        assert (bench.used, bench.scheduler.ledger.unfilled) == (0, 0)

    def test_a_position_is_computed_in_any_case(self) -> None:
        bench = self.bench()
        self.submit(bench, 30, 1, 2, 3)
        bench.step()
        self.submit(bench, 30, 1, 2, 3)
        self.submit(bench, 31, 1, 2, 3, 4)
        assert chunks(bench.step()) == [(1, 10), (2, 1)]

    def test_what_is_cached_takes_no_budget(self) -> None:
        bench = self.bench(token_budget=20)
        self.submit(bench, 40, 1, 2, 3, 4)
        bench.steps(2)
        self.submit(bench, 50, 1, 2, 3, 4, 5)
        self.submit(bench, 30, 1, 2, 6)
        assert chunks(bench.step()) == [(1, 10), (2, 9)]
        assert bench.used == 41 + 50 + 29

    def test_memory_is_asked_for_the_whole_prompt(self) -> None:
        bench = self.bench(kv_tokens=100)
        self.submit(bench, 45, 1, 2, 3, 4)
        bench.step()
        self.submit(bench, 56, 1, 2, 3, 4, 5)
        assert rows(bench.step().admitted) == []
        self.submit(bench, 5)
        bench.step(0)
        assert chunks(bench.step()) == [(1, 16), (2, 5)]

    def test_an_evicted_request_hits_its_own_prompt(self) -> None:
        bench = self.bench(kv_tokens=100, token_budget=100)
        self.submit(bench, 50)
        self.submit(bench, 44, 1, 2, 3, 4)
        bench.steps(4)
        assert rows(bench.step(0).evicted) == [1]
        assert chunks(bench.step()) == [(1, 8)]  # of 44 and 4 generated
        assert bench.scheduler.recomputed == 7

    def test_blocks_go_into_the_cache_with_the_last_chunk_only(self) -> None:
        bench = self.bench(token_budget=20)
        seq = self.submit(bench, 50, 1, 2, 3, 4)
        bench.steps(2)
        bench.scheduler.cancel(seq, bench.now)
        self.submit(bench, 30, 1, 2, 3)
        assert chunks(bench.step()) == [(1, 20)]

    def test_a_cache_never_makes_memory_overflow(self) -> None:
        class Greedy(MemoryRule):
            def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
                return True

        bench = self.bench(kv_tokens=100, memory=Greedy(), block_size=4)
        self.submit(bench, 40, 1, 2, 3, 4)
        bench.step()
        self.submit(bench, 80, 1, 2, 3, 4, 5)
        batch = bench.step()
        assert chunks(batch) == [(1, 16)]  # all the rest, beside 44 and the 40 that were cached
        self.submit(bench, 40, 1, 2, 3, 4)
        batch = bench.step()
        assert (chunks(batch), rows(batch.admitted)) == ([], [2])  # it holds nothing: no block is free
        assert (bench.seqs[2].filled, bench.used + bench.scheduler.ledger.spare) == (0, 100)

    def test_without_eviction_what_is_cached_may_exceed_the_memory(self) -> None:
        class Greedy(MemoryRule):
            def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
                return True

        bench = self.bench(kv_tokens=100, memory=Greedy(), eviction=False)
        self.submit(bench, 90, 1, 2, 3)
        bench.step()
        self.submit(bench, 31, 1, 2, 3)
        assert chunks(bench.step()) == [(1, 1)]
        assert (bench.used, bench.scheduler.oom_events) == (122, 1)


class LastFirst(Order):
    """The order of one method."""

    def key(self, seq: Sequence) -> float:
        return -seq.arrival


class TestOwnOrder:
    def test_the_smallest_key_goes_first_and_a_refusal_blocks(self) -> None:
        bench = Bench(30, order=LastFirst(), token_budget=100)
        bench.now = 1.0
        bench.submit(50)
        bench.now = 2.0
        bench.submit(20)
        batch = bench.step()
        assert rows(batch.admitted) == [2, 1, 0]
        bench.submit(90)
        bench.now = 9.0
        bench.submit(91)
        assert rows(bench.step().admitted) == []

    def test_who_left_is_forgotten(self) -> None:
        bench = Bench(5, 5, order=LastFirst())
        bench.scheduler.cancel(bench.seqs[0], 0.0)
        assert rows(bench.step().admitted) == [1]
        assert bench.scheduler.steady_until() == float("inf")

    def test_the_evicted_come_first(self) -> None:
        bench = Bench(50, 44, order=LastFirst(), token_budget=100)
        bench.steps(5)
        bench.now = 50.0
        bench.submit(1)
        bench.step(0)
        assert rows(bench.step().admitted) == [1, 2]

    def test_an_order_needs_a_key(self) -> None:
        with pytest.raises(NotImplementedError):
            Bench(5, order=Order())
        with pytest.raises(NotImplementedError):
            MemoryRule().fits(Sequence(Request(0, 0.0, 1), 0), KvLedger(10, 1))


def test_a_memory_rule_that_changes_its_mind_is_asked_again() -> None:
    class Moody(MemoryRule):
        steady = False
        asked = 0

        def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
            self.asked += 1
            return ledger.clock >= 3

    memory = Moody()
    bench = Bench(5, 5, memory=memory)
    bench.step()
    assert bench.scheduler.quiet() == 0
    while not bench.step().admitted:
        assert bench.scheduler.quiet() == 0
    assert bench.scheduler.ledger.clock == 4
    assert memory.asked == 5


def test_a_sequence_shows_where_it_stands() -> None:
    bench = Bench(30)
    bench.step()
    assert repr(bench.seqs[0]) == "<Sequence 0 state=1 filled=20/30>"
    assert bench.seqs[0].held_at(bench.scheduler.ledger.clock, 1) == 20
    bench.scheduler.cancel(bench.seqs[0], 1.0)
    assert bench.seqs[0].held_at(bench.scheduler.ledger.clock, 1) == 0
