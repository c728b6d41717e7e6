"""What the scheduler does with a shedding rule's answers: refuse at once, reject later, demote."""

from __future__ import annotations

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.rules import Eviction, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import CANCELLED, DEMOTED, FINISHED, REJECTED, WAITING, Sequence
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.order.fcfs import Fcfs

ENGINE = EngineProfile("x", 20, 8, 100, Piecewise(1.0, 0.0))


class Scripted(Shedding):
    """Refuses the rows in `refused`, and names the rows in `doomed` as due at every question."""

    idle = False

    def __init__(self, refused: tuple[int, ...] = (), doomed: tuple[int, ...] = (), demotes: bool = False) -> None:
        self.demotes = demotes
        self.refused = refused
        self.doomed = doomed
        self.seen: dict[int, Sequence] = {}
        self.gone: list[int] = []
        self.shown: list[tuple[KvLedger, Order]] = []

    def watch(self, ledger: KvLedger, order: Order) -> None:
        self.shown.append((ledger, order))

    def push(self, seq: Sequence, now: float) -> bool:
        self.seen[seq.id] = seq
        if seq.id in self.refused:
            seq.reason = "full"
            return True
        return False

    def left(self, seq: Sequence, now: float) -> None:
        self.gone.append(seq.id)

    def due(self, now: float) -> list[Sequence]:
        for row in self.doomed:
            self.seen[row].reason = "too_late"
        return [self.seen[row] for row in self.doomed]


def scheduler(rule: Scripted, *prompts: int) -> tuple[Scheduler, list[Sequence]]:
    made = Scheduler(ENGINE, Fcfs(), PromptFit(1), rule, Eviction())
    return made, [made.submit(Request(row, 0.0, prompt), 0.0) for row, prompt in enumerate(prompts)]


def test_the_rule_is_shown_its_scheduler() -> None:
    rule = Scripted()
    made, _ = scheduler(rule, 5)
    assert rule.shown == [(made.ledger, made.order)]


def test_a_refused_request_never_waits() -> None:
    made, seqs = scheduler(Scripted(refused=(1,)), 5, 5, 5)
    assert [seq.state for seq in seqs] == [WAITING, REJECTED, WAITING]
    assert seqs[1].reason == "full"
    assert made.waiting == 2
    assert [seq.id for seq in made.plan(0.0).admitted] == [0, 2]


def test_the_rule_hears_who_waits_no_more() -> None:
    rule = Scripted(doomed=(1,))
    made, seqs = scheduler(rule, 5, 5, 5, 5)
    made.cancel(seqs[2], 0.0)
    batch = made.plan(0.0)
    assert rule.gone == [2, 1, 0, 3]
    assert [seq.id for seq in batch.ended] == [1]
    assert seqs[1].state == REJECTED


def test_a_demoted_request_waits_behind_all_others() -> None:
    made, seqs = scheduler(Scripted(doomed=(0,), demotes=True), 5, 50, 5)
    batch = made.plan(0.0)
    assert [seq.id for seq in batch.admitted] == [1]
    assert (seqs[0].state, seqs[0].reason, made.waiting, made.demotions) == (DEMOTED, "too_late", 2, 1)
    for now in range(1, 3):
        made.complete(batch, float(now))
        batch = made.plan(float(now))
    assert [seq.id for seq in batch.admitted] == [2, 0]  # there is nobody else left, and space in the same iteration
    assert not made.demoted
    made.complete(batch, 5.0)
    made.complete(made.plan(5.0), 6.0, seqs)
    assert {seq.state for seq in seqs} == {FINISHED}


def test_a_demoted_request_waits_for_the_returned_too() -> None:
    made, seqs = scheduler(Scripted(doomed=(1,), demotes=True), 90, 5)
    assert [seq.id for seq in made.plan(0.0).admitted] == [0]
    assert made.waiting == len(made.demoted) == 1
    assert seqs[1].state == DEMOTED


def test_a_demoted_request_that_memory_refuses_is_asked_once_a_round() -> None:
    made, seqs = scheduler(Scripted(doomed=(1,), demotes=True), 90, 15)
    batch = made.plan(0.0)
    for now in range(1, 6):
        made.complete(batch, float(now))
        batch = made.plan(float(now))
    assert seqs[1].state == DEMOTED  # 90 + 15 is more than there is
    made.complete(batch, 6.0, [seqs[0]])
    assert [seq.id for seq in made.plan(6.0).admitted] == [1]


def test_a_demoted_request_is_pushed_again_before_it_is_admitted() -> None:
    events: list[tuple[str, int]] = []

    class Told(Fcfs):
        def push(self, seq: Sequence, now: float) -> bool:
            events.append(("push", seq.id))
            return super().push(seq, now)

        def admitted(self, seq: Sequence, now: float) -> None:
            events.append(("admitted", seq.id))

        def remove(self, seq: Sequence) -> None:
            events.append(("remove", seq.id))

    made = Scheduler(ENGINE, Told(), PromptFit(1), Scripted(doomed=(0,), demotes=True), Eviction())
    made.submit(Request(0, 0.0, 5), 0.0)
    made.plan(0.0)
    assert events == [("push", 0), ("remove", 0), ("push", 0), ("admitted", 0)]


def test_a_demoted_request_can_be_cancelled() -> None:
    rule = Scripted(doomed=(0,), demotes=True)
    made, seqs = scheduler(rule, 5, 90)
    made.plan(0.0)
    made.cancel(seqs[0], 0.0)
    assert (seqs[0].state, made.waiting, len(made.demoted)) == (CANCELLED, 0, 0)
    assert rule.gone == [1, 0]


@pytest.mark.parametrize("demotes", [False, True])
def test_who_holds_kv_is_left_alone(demotes: bool) -> None:
    rule = Scripted(demotes=demotes)
    made, seqs = scheduler(rule, 5)
    made.complete(made.plan(0.0), 1.0)
    rule.doomed = (0,)
    batch = made.plan(1.0)
    assert (batch.ended, batch.decodes) == ([], 1)
    assert seqs[0].reason != "demoted"
