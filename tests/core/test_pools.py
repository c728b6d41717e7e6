"""Pools, driven by hand: prompts and decodes each have their part, and whoever is ready waits for a slot."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from headway.core.batch import Batch
from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidEngine
from headway.core.pools import PooledEngine
from headway.core.request import Request, Slo
from headway.core.rules import Eviction, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import CANCELLED, FINISHED, READY, REJECTED, WAITING, Sequence
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.order.fair_share import FairShare
from headway.policies.order.fcfs import Fcfs
from headway.policies.order.least_slack import LeastSlack
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.engine import SimulatedEngine
from headway.testing.stepping import SteppingHost


def engine(**changes: Any) -> PooledEngine:
    """Half of 100 positions is the prompts'; six decodes of 8 fit the other half."""
    sizes: dict[str, Any] = {"name": "x", "token_budget": 100, "max_sequences": 50, "kv_tokens": 10_000}
    made = {**sizes, "cost": Piecewise(1.0, 0.0), "decode_block": 8, "prompt_share": Fraction(1, 2), **changes}
    return PooledEngine(**made)


class Bench:
    """A scheduler with a clock that ticks once an iteration, and requests by number."""

    def __init__(self, order: Order | None = None, **changes: Any) -> None:
        sizes = engine(**changes)
        order = order or Fcfs()
        order.attach(sizes)
        self.scheduler = Scheduler(sizes, order, PromptFit(1), Shedding(), Eviction())
        self.now = 0.0
        self.seqs: list[Sequence] = []

    def submit(self, *prompts: int, **fields: Any) -> None:
        for prompt in prompts:
            request = Request(len(self.seqs), self.now, prompt, **fields)
            self.seqs.append(self.scheduler.submit(request, self.now))

    def step(self, *finished: int) -> Batch:
        batch = self.scheduler.plan(self.now)
        self.now += 1.0
        if batch.positions:
            self.scheduler.complete(batch, self.now, [self.seqs[row] for row in finished])
        return batch

    def ready(self) -> list[int]:
        return [seq.id for seq in self.scheduler.ready]


def rows(seqs: Any) -> list[int]:
    return [seq.id for seq in seqs]


def test_sizes() -> None:
    assert (engine().prompt_space(0), engine().prompt_space(6), engine().decode_slots, engine().slots) == (
        50,
        50,
        6,
        50,
    )
    third = engine(prompt_share=Fraction(1, 3))
    assert (third.prompt_space(0), third.decode_slots) == (33, 8)
    assert engine(prompt_share=Fraction(1, 1000)).prompt_space(0) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prompt_share": Fraction(93, 100)}, "pools = 0.93; expected a smaller share: 7 of 100 positions are left"),
        ({"mode": "prefill-first"}, "pools = 0.5; expected none in mode prefill-first"),
    ],
)
def test_engines_that_cannot_be_split(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidEngine) as caught:
        engine(**changes)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_neither_pool_takes_what_the_other_leaves() -> None:
    bench = Bench()
    bench.submit(120)
    assert [bench.step().prefill_positions for _ in range(3)] == [50, 50, 20]
    assert bench.step().decode_positions == 8
    bench.submit(200)
    batch = bench.step()
    assert (batch.prefill_positions, batch.decode_positions) == (50, 8)


def test_who_finds_no_slot_waits_with_its_kv_and_goes_on_in_the_next_iteration_with_a_free_one() -> None:
    bench = Bench()
    bench.submit(*[10] * 12)
    assert rows(bench.step().joined) == [0, 1, 2, 3, 4]
    batch = bench.step()  # five decode, and five more prompts are complete
    assert (batch.decodes, rows(batch.joined), rows(batch.held)) == (5, [], [5, 6, 7, 8, 9])
    assert {seq.state for seq in bench.seqs[5:10]} == {READY}
    assert bench.seqs[5].ready_at == 2.0
    batch = bench.step(0, 1)
    assert (rows(batch.resumed), batch.decodes, rows(batch.held)) == ([5], 6, [10, 11])
    assert bench.scheduler.quiet() == 0
    assert bench.ready() == [6, 7, 8, 9, 10, 11]
    assert bench.scheduler.ledger.used == 3 * (10 + 2 * 8) + (10 + 8) + 6 * 10
    batch = bench.step()
    assert (rows(batch.resumed), batch.decodes) == ([6, 7], 6)
    assert bench.scheduler.quiet() > 100  # until somebody ends, nothing is decided


def test_fair_shares_slots_between_residents() -> None:
    """Six slots are taken by a; the first free one is b's, although four of a's requests are ready before it."""
    bench = Bench(FairShare())
    bench.submit(*[5] * 10, tenant="a")
    bench.step()
    assert bench.ready() == list(range(10))  # ten at once: at the next boundary the order chooses
    assert rows(bench.step().resumed) == [0, 1, 2, 3, 4, 5]
    bench.submit(5, 5, tenant="b")
    bench.step(0)
    batch = bench.step(1)
    assert rows(batch.resumed) == [10]
    assert rows(bench.step().resumed) == [11]
    assert bench.ready() == [6, 7, 8, 9]


def test_least_slack_gives_the_slot_to_whose_next_token_is_due_first() -> None:
    bench = Bench(LeastSlack(), token_budget=16, max_sequences=9)  # one slot
    bench.submit(1)
    bench.step()
    for slo in (None, Slo(completion=30.0), Slo(itl=3.0), Slo(ttft=0.1, itl=20.0)):
        bench.submit(2, slo=slo)
    assert sorted(rows(bench.step().held)) == [1, 2, 3, 4]
    bench.step(0)
    got: list[int] = []
    for _ in range(4):
        batch = bench.scheduler.plan(bench.now)
        got += rows(batch.resumed)
        bench.now += 1.0
        bench.scheduler.complete(batch, bench.now, batch.resumed)
    assert got == [3, 4, 2, 1]  # due at 5, 22 and 31, and never


def test_cancelling_and_evicting_who_is_ready() -> None:
    bench = Bench(token_budget=12, decode_block=2, kv_tokens=30)  # three slots
    bench.submit(2, 2, 2, 6, 6)
    bench.step()
    assert (bench.ready(), bench.scheduler.decodes) == ([], 3)
    bench.step()
    assert bench.ready() == [3]
    bench.step()
    assert bench.ready() == [3, 4]
    bench.scheduler.cancel(bench.seqs[3], bench.now)
    assert (bench.seqs[3].state, bench.ready(), bench.scheduler.ledger.used) == (CANCELLED, [4], 18 + 6)
    assert bench.step().decodes == 3
    batch = bench.step()  # 30 are held: the last one admitted gives way, and it is ready
    assert (rows(batch.evicted), batch.decodes, bench.ready()) == ([4], 3, [])
    assert (bench.seqs[4].state, bench.seqs[4].prompt, bench.scheduler.ledger.used) == (WAITING, 7, 30)


def test_who_has_nothing_left_to_decode_needs_no_slot() -> None:
    bench = Bench(token_budget=16)  # one slot
    bench.submit(4)
    bench.step()
    bench.submit(4)
    assert rows(bench.step(1).held) == [1]
    assert (bench.seqs[1].state, bench.seqs[1].generated, bench.ready()) == (FINISHED, 1, [])
    assert bench.scheduler.ledger.used == 4 + 8


def hosted(host: str, outputs: list[int], **changes: Any) -> tuple[list[float], list[float]]:
    """First tokens and ends of requests with prompts of 10 that all arrive at 0."""
    policy = Policy.of("fcfs", "prompt-fit(safety=1)")
    split = engine(**changes)
    scheduler = policy.build(split)
    requests = [Request(row, 0.0, 10) for row in range(len(outputs))]
    if host == "stepping":
        seen = SteppingHost(scheduler, requests, outputs, split.cost).run()
        return [row.first_token for row in seen], [row.finish for row in seen]
    simulated = SimulatedEngine(scheduler, iter(requests), [0.0] * len(outputs), outputs, split.cost)
    assert simulated.run()
    return list(simulated.outcomes.first_token), list(simulated.outcomes.finish)


@pytest.mark.parametrize("host", ["stepping", "simulated"])
def test_times_by_hand(host: str) -> None:
    """Twelve answers of 1 + 16 tokens, six slots: prompts end at 1, 2 and 3, slots are free at 3 (five) and 4 (one)."""
    first, finish = hosted(host, [17] * 12)
    assert first == [1.0] * 5 + [2.0] * 5 + [3.0] * 2
    # 0-4 decode in (1, 3); 5 in (2, 4) as the sixth; 6-10 in (3, 5); 11 in (4, 6).
    assert finish == [3.0] * 5 + [4.0] + [5.0] * 5 + [6.0]


@pytest.mark.parametrize("host", ["stepping", "simulated"])
def test_first_tokens_from_decodes_wait_for_a_slot(host: str) -> None:
    first, finish = hosted(host, [16] * 12, first_token="decode")
    assert first == [2.0] * 5 + [3.0] + [4.0] * 5 + [5.0]
    assert finish == [3.0] * 5 + [4.0] + [5.0] * 5 + [6.0]


def test_gaps_of_those_who_waited_are_their_own() -> None:
    split = engine()
    outputs = [17] * 12
    requests = [Request(row, 0.0, 10) for row in range(12)]
    scheduler = Policy.of("fcfs", "prompt-fit(safety=1)").build(split)
    host = SimulatedEngine(scheduler, iter(requests), [0.0] * 12, outputs, split.cost)
    assert host.run()
    stray = list(host.decoding.stray)
    assert dict(zip(stray[::2], stray[1::2], strict=True)) == {6: 2.0, 7: 2.0, 8: 2.0, 9: 2.0, 11: 2.0}


def test_shares_split_the_engine() -> None:
    plain = EngineProfile("x", 100, 100, 1000, Piecewise(1.0, 0.0))
    assert Shares().engine(plain) is plain
    split = Shares.of(pools=0.3).engine(plain)
    assert (split.prompt_space(7), split.decode_slots) == (30, 70)
    assert Policy.of("fcfs", shares=Shares.of(pools=0.3)).build(plain).engine == split


def test_one_too_large_for_the_memory_is_still_refused() -> None:
    bench = Bench(kv_tokens=20)
    bench.submit(21)
    assert bench.seqs[0].state == REJECTED
