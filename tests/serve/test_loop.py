"""The engine loop on a fake backend: what clients are told, and what is left when they are gone."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.policies.policy import Policy
from headway.serve.backend import BackendFailed, Sampling
from headway.serve.job import CANCELLED, CLOSED, FAILED, LENGTH, REJECTED, STOP, Job, Question
from headway.serve.loop import EngineLoop
from headway.serve.watch import Watch
from headway.testing.fake_backend import FakeBackend

PATIENCE = 20.0  # seconds, after which a test has hung


class Client:
    """Hears what the loop says."""

    def __init__(
        self,
        loop: EngineLoop,
        prompt: str,
        limit: int = 1000,
        stops: tuple[str, ...] = (),
        seed: int | None = None,
    ) -> None:
        self.heard: queue.Queue[tuple[str, int, str | None]] = queue.Queue()
        self.first = threading.Event()
        self.text, self.tokens, self.why = "", 0, None
        request = Request(0, 0.0, max(len(prompt) // 4, 1))
        self.job: Job = loop.reserve(request, self._hear)
        self.why = self.job.ended
        if self.why is None:
            tokens = loop.backend.vocabulary.tokens(prompt)
            loop.enter(self.job, Question(tokens, limit, limit, Sampling(seed=seed), stops=stops))

    def _hear(self, text: str, tokens: int, why: str | None) -> None:
        self.heard.put((text, tokens, why))
        if tokens:
            self.first.set()

    def answer(self) -> tuple[str, str | None]:
        while self.why is None:
            text, tokens, self.why = self.heard.get(timeout=PATIENCE)
            self.text += text
            self.tokens += tokens
        return self.text, self.why


def maker(backend: FakeBackend, policy: str = "fcfs", **options: str) -> Callable[[], Scheduler]:
    engine = EngineProfile("fake", backend.budget, backend.slots, backend.kv_tokens, Piecewise(0.001, 0.0))
    return lambda: Policy.of(policy, **options).build(engine)


@pytest.fixture
def serve() -> Iterator[Callable[..., EngineLoop]]:
    loops: list[EngineLoop] = []

    def start(backend: FakeBackend, policy: str = "fcfs", **options: str) -> EngineLoop:
        loop = EngineLoop(maker(backend, policy, **options), backend, Watch())
        loop.start()
        loops.append(loop)
        return loop

    yield start
    for loop in loops:
        loop.close(0.0)


def is_empty(loop: EngineLoop) -> bool:
    seen: list[tuple[int, int, int]] = []
    loop.observe(lambda scheduler: seen.append((scheduler.waiting, len(scheduler.residents), scheduler.ledger.used)))
    backend = loop.backend
    return seen[0] == (0, 0, 0) and loop.unfinished == 0 and not any(map(backend.held, range(backend.slots)))


def eventually(question: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def test_many_get_their_own_answers(serve):
    loop = serve(FakeBackend(lambda prompt: prompt.upper()))
    clients = [Client(loop, f"hello {number}, 漢字 😀") for number in range(50)]
    for number, client in enumerate(clients):
        assert client.answer() == (f"HELLO {number}, 漢字 😀", STOP)
    assert is_empty(loop)


def test_an_answer_ends_at_its_limit_or_at_a_stop_string_that_is_no_part_of_it(serve):
    loop = serve(FakeBackend(lambda prompt: "one two three"))
    assert Client(loop, "x", limit=7).answer() == ("one two", LENGTH)
    assert Client(loop, "x", stops=("two", "three")).answer() == ("one ", STOP)
    assert Client(loop, "x", stops=("threes",)).answer() == ("one two three", STOP)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40)), min_size=1, max_size=12),
    st.sampled_from(["fcfs", "psf", "shortest-work", "fair-share"]),
    st.sampled_from(["last-admitted", "least-computed", "longest-remaining"]),
)
def test_evicted_answers_are_the_same(sizes: list[tuple[int, int]], policy: str, evict: str):
    texts = {f"{number}:" + "p" * prompt: "a" * output + str(number) for number, (prompt, output) in enumerate(sizes)}
    backend = FakeBackend(texts.__getitem__, kv_tokens=110, slots=4, budget=24)
    loop = EngineLoop(maker(backend, policy, memory="watermark(level=1)", eviction=evict), backend, Watch())
    loop.start()
    clients = [Client(loop, prompt) for prompt in texts]
    assert [client.answer() for client in clients] == [(answer, STOP) for answer in texts.values()]
    assert is_empty(loop)
    loop.close(0.0)


@pytest.mark.parametrize("when", ["queued", "before the first token", "in the middle"])
def test_a_client_that_leaves_leaves_nothing_behind(serve, when: str):
    backend = FakeBackend(lambda prompt: "z" * 100_000, kv_tokens=4096, slots=1, budget=8, cost=Piecewise(0.002, 0.0))
    loop = serve(backend)
    other = Client(loop, "o") if when == "queued" else None
    if other is not None:
        assert other.first.wait(PATIENCE)
    client = Client(loop, "p" * (2000 if when == "before the first token" else 4), limit=3000)
    if when == "in the middle":
        assert client.first.wait(PATIENCE)
    loop.cancel(client.job)
    assert client.answer()[1] == CANCELLED
    if other is not None:
        loop.cancel(other.job)
        other.answer()
    eventually(lambda: is_empty(loop))
    assert Client(loop, "n", limit=5).answer() == ("zzzzz", LENGTH)


def test_a_refused_request_hears_why_at_once(serve):
    backend = FakeBackend(lambda prompt: "z" * 5000, slots=1, budget=8, cost=Piecewise(0.002, 0.0))
    loop = serve(backend, shedding="queue-cap(requests=2)")
    first = Client(loop, "a")
    assert first.first.wait(PATIENCE)
    waiting = [Client(loop, "b") for _ in range(2)]
    refused = Client(loop, "c")
    assert refused.why == REJECTED
    assert refused.job.seq.reason == "queue_full"
    for client in (first, *waiting):
        loop.cancel(client.job)
    eventually(lambda: is_empty(loop))


def test_a_prompt_above_the_memory_is_refused_when_it_is_counted(serve):
    client = Client(serve(FakeBackend(kv_tokens=50)), "p" * 60)
    assert client.answer()[1] == REJECTED
    assert client.job.seq.reason == "kv_capacity"


def test_a_failure_of_the_backend_is_told_to_everybody_and_the_next_ones_are_served(serve):
    backend = FakeBackend(lambda prompt: "z" * 100, slots=2, budget=8, cost=Piecewise(0.002, 0.0))
    loop = serve(backend)
    clients = [Client(loop, "a") for _ in range(5)]
    assert clients[0].first.wait(PATIENCE)
    backend.fail = 1
    assert [client.answer()[1] for client in clients] == [FAILED] * 5
    assert Client(loop, "b", limit=3).answer() == ("zzz", LENGTH)
    assert loop.alive


def test_who_cannot_be_opened_is_dropped_alone(serve):
    class Picky(FakeBackend):
        def open(self, slot: int, sampling: Sampling) -> None:
            if sampling.seed == 13:
                raise ValueError("no such sampler")
            super().open(slot, sampling)

    loop = serve(Picky(lambda prompt: "z" * 50, slots=2))
    others = [Client(loop, f"prompt {number}") for number in range(3)]
    unlucky = [Client(loop, "x" * length, seed=13) for length in (1, 700)]
    assert [client.answer()[1] for client in unlucky] == [FAILED, FAILED]
    assert [client.answer() for client in [*others, Client(loop, "after")]] == [("z" * 50, STOP)] * 4
    assert is_empty(loop)


def test_closing_finishes_what_runs_and_ends_what_waits(serve):
    backend = FakeBackend(lambda prompt: "z" * 100, slots=1, budget=8, cost=Piecewise(0.002, 0.0))
    loop = serve(backend)
    running = Client(loop, "a")
    assert running.first.wait(PATIENCE)
    waiting = Client(loop, "b")
    loop.close(PATIENCE)
    assert running.answer() == ("z" * 100, STOP)
    assert waiting.answer()[1] == CLOSED
    assert Client(loop, "c").why == CLOSED


def test_closing_ends_what_takes_too_long(serve):
    loop = serve(FakeBackend(lambda prompt: "z" * 100_000, slots=1, budget=8, cost=Piecewise(0.002, 0.0)))
    running = Client(loop, "a")
    assert running.first.wait(PATIENCE)
    loop.close(0.05)
    assert running.answer()[1] == CLOSED


def test_another_policy_takes_who_waits_and_drops_nobody(serve):
    backend = FakeBackend(lambda prompt: prompt * 20, slots=2, budget=8, cost=Piecewise(0.001, 0.0))
    loop = serve(backend)
    clients = [Client(loop, chr(97 + number)) for number in range(12)]
    assert clients[0].first.wait(PATIENCE)
    loop.use(maker(backend, "shortest-work"))
    clients += [Client(loop, chr(97 + number)) for number in range(12, 20)]
    assert [client.answer() for client in clients] == [(chr(97 + number) * 20, STOP) for number in range(20)]
    assert is_empty(loop)
    assert type(loop.scheduler.order).__name__ == "ShortestWork"


def test_a_loop_that_ends_for_good_leaves_nobody_waiting(serve):
    backend = FakeBackend(lambda prompt: "z" * 100, slots=1, budget=8, cost=Piecewise(0.002, 0.0))
    loop = serve(backend)
    clients = [Client(loop, "a") for _ in range(3)]
    assert clients[0].first.wait(PATIENCE)

    def worse() -> None:
        raise BackendFailed("it does not come back")

    backend.reset, backend.fail = worse, 1  # type: ignore[method-assign]
    assert [client.answer()[1] for client in clients] == [FAILED] * 3
    eventually(lambda: not loop.alive)
    assert Client(loop, "b").why == CLOSED
