"""The journal by hand: what it notes at a boundary, and that it notes a thing once."""

from __future__ import annotations

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.journal import BARRIERS, DECODES, DEMOTED, EVENTS, EVICTED, HELD, NOBODY, RETURNED, Journal
from headway.core.request import Request, Slo
from headway.core.scheduler import Scheduler
from headway.policies.policy import Policy
from headway.policies.shares import Shares

ENGINE = EngineProfile(
    "small", token_budget=8, max_sequences=4, kv_tokens=100, cost=Piecewise(1.0, 0.0, 0), memory="prompt-fit(safety=1)"
)


class Host:
    """Steps a scheduler with a journal: an iteration takes a second."""

    def __init__(self, policy: Policy, engine: EngineProfile = ENGINE) -> None:
        self.scheduler: Scheduler = policy.build(engine)
        self.journal = Journal(self.scheduler)
        self.now = 0.0
        self.ids = 0

    def submit(self, *prompts: int, tenant: str = "a", slo: Slo | None = None) -> None:
        for prompt in prompts:
            self.scheduler.submit(Request(self.ids, self.now, prompt, tenant=tenant, slo=slo), self.now)
            self.ids += 1

    def step(self, iterations: int = 1, finished: tuple[int, ...] = ()) -> None:
        for _ in range(iterations):
            batch = self.scheduler.plan(self.now)
            if batch.evicted or batch.ended:
                self.journal.unsettle()
            if self.scheduler.partials[:1] != [self.journal.filling]:
                self.journal.planned(self.now, batch)
            self.now += 1.0
            ends = [seq for seq in self.scheduler.residents if seq.id in finished]
            self.scheduler.complete(batch, self.now, ends)

    @property
    def barriers(self) -> list[tuple[float, str, int]]:
        self.journal.pack()
        notes = self.journal.barriers
        return [(notes[i], BARRIERS[int(notes[i + 1])], int(notes[i + 2])) for i in range(0, len(notes), 3)]

    @property
    def events(self) -> list[tuple[float, int, int]]:
        notes = self.journal.events
        return [(notes[i], int(notes[i + 1]), int(notes[i + 2])) for i in range(0, len(notes), 3)]


def made(**changes: object) -> EngineProfile:
    return EngineProfile(**{**{name: getattr(ENGINE, name) for name in ENGINE.__dataclass_fields__}, **changes})


def test_nothing_keeps_anybody_out_of_an_engine_with_room():
    host = Host(Policy.of("fcfs"))
    host.submit(3)
    host.step(5)
    assert host.barriers == []  # as it is before the first note


def test_prompts_take_the_budget():
    host = Host(Policy.of("fcfs"))
    host.submit(20)
    host.submit(5, tenant="b")
    host.step(3)
    assert host.barriers == [(0.0, "budget", 0), (2.0, "budget", NOBODY)]
    assert list(host.journal.chunks) == [2.0, 0, 4, 2.0, 1, 4]  # the end of one, the beginning of the other


def test_as_many_prompts_as_may_be_are_partly_filled():
    host = Host(Policy.of("fcfs"), made(partial_prompts=1, chunk_cap=4))
    host.submit(12, 4)
    host.step(3)
    assert host.barriers == [(0.0, "partials", 0), (2.0, "budget", 0)]


def test_all_slots_are_taken():
    host = Host(Policy.of("fcfs"), made(max_sequences=2))
    host.submit(2, 2, 2)
    host.step(4)
    assert host.barriers == [(0.0, "slots", NOBODY)]


def test_memory_refuses_with_what_was_free():
    host = Host(Policy.of("fcfs"), made(kv_tokens=20, eviction=False))
    host.submit(7)
    host.step()
    host.submit(13, 1)
    host.step(3)
    assert host.barriers == [(1.0, "memory", 1)]
    assert list(host.journal.refusals) == [1.0, 1, 12]
    host.step(finished=(0,))
    host.step()
    assert host.barriers[-1] == (5.0, "budget", 1)


def test_no_round_of_admission_is_due():
    host = Host(Policy.of("fcfs"), made(admission_interval=4))
    host.submit(2)
    host.step(2)
    host.submit(2)
    host.step(5)
    assert host.barriers == [(2.0, "interval", NOBODY), (5.0, "open", NOBODY)]


def test_no_waiting_prompt_fits_what_is_left():
    host = Host(Policy.of("least-slack"))
    host.submit(5, 6)
    host.step(2)
    assert host.barriers[0] == (0.0, "fit", 0)


def test_evicted_and_back():
    host = Host(Policy.of("fcfs", "watermark(level=1, charge=prompt)"), made(kv_tokens=12, block_size=1))
    host.submit(4, 4)
    host.step(4)
    assert host.events == [(3.0, 1, EVICTED)]
    host.step()
    assert host.events[1:] == [(4.0, 1, RETURNED)]
    assert (3.0, "eviction", NOBODY) in host.barriers


def test_demoted_once():
    host = Host(Policy.of("fcfs", shedding="demote"), made(max_sequences=1))
    host.submit(2)
    host.submit(2, slo=Slo(ttft=2.0))
    host.step(6)
    assert [event[1:] for event in host.events] == [(1, DEMOTED)]


def test_with_pools_everybodys_decode_slot_is_noted():
    host = Host(Policy.of("fcfs", shares=Shares.of(pools=0.875)))  # one decode slot, seven positions for prompts
    host.submit(3, 3)
    host.step(2)
    assert host.events == [(1.0, 0, HELD), (1.0, 1, HELD), (1.0, 0, DECODES)]
    host.step(1, finished=(0,))
    host.step()
    assert host.events[3:] == [(3.0, 1, DECODES)]


@pytest.mark.parametrize("words", [BARRIERS, EVENTS])
def test_every_code_has_a_word_of_its_own(words: tuple[str, ...]):
    assert len(set(words)) == len(words)


def test_prompts_of_one_tenant_take_the_budget_and_are_noted_once():
    host = Host(Policy.of("fcfs"))
    host.submit(20, 5, 9)
    host.step(3)
    assert host.barriers == [(0.0, "budget", 0)]
    assert list(host.journal.chunks) == []
