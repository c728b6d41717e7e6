"""Invariant 7 on the server's own loop: a live run, recorded and simulated again, made the same plans.

The loop runs in its own thread on a backend that really holds what it is told; only its clock is ours, so that a run
can be repeated: an iteration takes what the cost model says, and requests arrive while it is computed. Shedding rules
are left out: a server judges who arrives at once, with what was booked by then, and a simulation at the next boundary.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence as Items
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.batch import Batch
from headway.core.cost import Linear
from headway.core.engine import EngineProfile
from headway.core.request import Request, Slo
from headway.core.sequence import Sequence
from headway.policies.policy import Policy
from headway.serve.backend import Row
from headway.serve.job import LENGTH, REJECTED, Job, Question
from headway.serve.loop import EngineLoop
from headway.serve.watch import Watch
from headway.simulate.engine import SimulatedEngine
from headway.testing.fake_backend import FakeBackend
from headway.testing.recording import RecordingScheduler

PATIENCE = 20.0  # seconds, after which a test has hung
COST = Linear(0.01, 1e-4, 2e-4, 1e-6)
ORDERS = st.sampled_from(
    [
        "fcfs",
        "psf",
        "aa(gamma=0.5)",
        "qba(k=2, gamma=0.3)",
        "shortest-work(aging=3)",
        "fair-share(inner=psf)",
        "least-slack(band=0.1)",
        "combined(chunk=9, band=0.05)",
    ]
)
MEMORY = st.sampled_from(
    ["prompt-fit(safety=1)", "watermark", "past-future(window=4, seed_length=20)", "ema", "conservative"]
)


@dataclass
class Asked:
    """A request, and how long its answer is."""

    request: Request
    answer: int


@st.composite
def crowds(draw: st.DrawFn) -> list[Asked]:
    at, asked = 0.0, list[Asked]()
    for number in range(draw(st.integers(1, 25))):
        at += draw(st.sampled_from([0.0001, 0.001, 0.01, 0.05, 2.0]))  # no two at once: the loop waits for no second
        answer = draw(st.integers(1, 40))
        request = Request(
            number,
            at,
            draw(st.integers(1, 60)),
            answer,
            draw(st.sampled_from(["short", "long"])),
            draw(st.sampled_from("ab")),
            slo=draw(st.sampled_from([None, Slo(0.05), Slo(0.5, 0.02), Slo(completion=1.0)])),
        )
        asked.append(Asked(request, answer))
    return asked


class Recorded(RecordingScheduler):
    """Knows its latest plan, which says how long the iteration takes."""

    latest: Batch

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        self.latest = super().plan(now, ending)
        return self.latest


class Live(FakeBackend):
    """Lets time pass while it computes, and requests arrive meanwhile."""

    def __init__(self, engine: EngineProfile, policy: Policy, asked: list[Asked]) -> None:
        super().__init__(
            lambda prompt: "z" * 100, kv_tokens=engine.kv_tokens, slots=engine.slots, budget=engine.token_budget
        )
        self.now = 0.0
        self.coming = asked[::-1]
        self.jobs: list[Job] = []
        self.ended: list[threading.Event] = []
        self.scheduler = Recorded(engine, *policy.rules(engine))
        self.loop = EngineLoop(lambda: self.scheduler, self, Watch(), clock=lambda: self.now)

    def decode(self, rows: Items[Row]) -> list[int]:
        batch = self.scheduler.latest
        end = self.now + COST.seconds(batch.prefill_positions, batch.decode_positions, batch.context)
        self.arrive(end)
        self.now = end
        return super().decode(rows)

    def arrive(self, until: float) -> None:
        while self.coming and self.coming[-1].request.arrival <= until:
            one = self.coming.pop()
            self.now = one.request.arrival
            ended = threading.Event()
            job = self.loop.reserve(one.request, lambda _text, _tokens, why, ended=ended: ended.set() if why else None)
            prompt = [65] * one.request.prompt_tokens
            self.loop.enter(job, Question(prompt, one.answer, one.answer, endless=True))
            if job.ended is not None:
                ended.set()
            self.jobs.append(job)
            self.ended.append(ended)

    def run(self) -> None:
        """Serve everybody; where nobody is served, time jumps to the next arrival."""
        self.loop.start()
        deadline = time.monotonic() + PATIENCE
        while self.coming or self.loop.unfinished:
            assert time.monotonic() < deadline, "it hangs"
            if self.loop.unfinished == 0:
                self.arrive(self.coming[-1].request.arrival)
            else:
                time.sleep(0.0005)
        self.loop.close(0.0)
        assert all(event.is_set() for event in self.ended)


@settings(deadline=None)
@given(crowds(), ORDERS, MEMORY, st.integers(4, 40), st.integers(1, 6), st.integers(110, 300))
def test_a_recorded_live_run_is_what_the_simulator_does(
    asked: list[Asked], order: str, memory: str, budget: int, slots: int, kv_tokens: int
) -> None:
    engine = EngineProfile("live", max(budget, slots), slots, kv_tokens, COST)
    policy = Policy.of(order, memory)
    live = Live(engine, policy, asked)
    live.run()

    scheduler = RecordingScheduler(engine, *policy.rules(engine))
    requests = [one.request._replace(id=row) for row, one in enumerate(asked)]
    arrivals = [request.arrival for request in requests]
    host = SimulatedEngine(scheduler, iter(requests), arrivals, [one.answer for one in asked], COST)
    assert host.run()

    assert [renumbered(plan) for plan in live.scheduler.plans] == scheduler.plans
    for row, job in enumerate(live.jobs):
        assert len(job.generated) == host.outcomes.generated[row]
        assert job.ended in (LENGTH, REJECTED)
        if job.ended == LENGTH:
            assert job.last_token == host.outcomes.finish[row]


def renumbered(plan: tuple[tuple[object, ...], ...]) -> tuple[tuple[object, ...], ...]:
    """The loop counts its requests from 1."""

    def less(one: object) -> object:
        return (one[0] - 1, one[1]) if isinstance(one, tuple) else one - 1  # type: ignore[operator]

    return tuple(part if part[0] == "decode" else (part[0], *map(less, part[1:])) for part in plan)
