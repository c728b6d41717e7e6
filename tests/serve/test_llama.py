"""llama.cpp in process, with the real default model: what it holds is what the scheduler thinks that it holds."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.core.errors import InvalidInput
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence
from headway.policies.policy import Policy
from headway.serve.backend import BackendFailed, Row, Sampling
from headway.serve.backends.llama import LlamaBackend
from headway.serve.calibrate import calibrate
from headway.serve.config import Config
from headway.serve.job import LENGTH, Job, Question
from headway.serve.loop import EngineLoop
from headway.serve.model import find_model
from headway.serve.watch import Watch

PATIENCE = 120.0


@pytest.fixture(scope="module")
def model() -> Path:
    return find_model()


@pytest.fixture
def backend(model: Path) -> Iterator[LlamaBackend]:
    one = LlamaBackend(model, kv_tokens=512, slots=4, budget=64, threads=1)
    yield one
    one.shutdown()


def greedy(backend: LlamaBackend, text: str, tokens: int, slot: int = 0) -> list[int]:
    """Generate by hand."""
    backend.open(slot, Sampling(temperature=0))
    prompt = backend.vocabulary.tokens(text)
    said = backend.decode([Row(slot, prompt, 0, wanted=True)])
    for position in range(len(prompt), len(prompt) + tokens - 1):
        said += backend.decode([Row(slot, said[-1:], position, wanted=True)])
    backend.close(slot)
    return said


def test_text_to_tokens_and_back(backend: LlamaBackend):
    vocabulary = backend.vocabulary
    text = "Grüße, 漢字 😀 and <|im_end|>"
    assert vocabulary.text(vocabulary.tokens(text)) == text
    assert len(vocabulary.tokens("<|im_end|>", special=True)) == 1 < len(vocabulary.tokens("<|im_end|>"))
    assert vocabulary.ends(vocabulary.tokens("<|im_end|>", special=True)[0])
    half = vocabulary.tokens("😀")[:1]
    assert vocabulary.text(half).endswith("\N{REPLACEMENT CHARACTER}")
    assert vocabulary.text(vocabulary.tokens(" leading")) == " leading"


def test_the_models_own_template(backend: LlamaBackend):
    prompt = backend.vocabulary.chat([{"role": "user", "content": "Hi"}])
    assert prompt.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


def test_a_mixed_batch_says_what_one_alone_says(backend: LlamaBackend):
    alone = [greedy(backend, text, 4) for text in ("The capital of France is", "One, two, three,")]
    prompts = [backend.vocabulary.tokens(text) for text in ("The capital of France is", "One, two, three,")]
    for slot in (1, 2):
        backend.open(slot, Sampling(temperature=0))
    first = backend.decode([Row(1, prompts[0], 0, wanted=True), Row(2, prompts[1][:2], 0, wanted=False)])
    both = backend.decode([Row(1, first, len(prompts[0]), wanted=True), Row(2, prompts[1][2:], 2, wanted=True)])
    assert [first[0], both[0]] == alone[0][:2]
    assert both[1] == alone[1][0]
    assert (backend.held(1), backend.held(2)) == (len(prompts[0]) + 1, len(prompts[1]))
    backend.drop(1)
    assert backend.held(1) == 0


def test_a_seed_gives_the_same_draws(backend: LlamaBackend):
    prompt = backend.vocabulary.tokens("Once upon a time")

    def drawn(seed: int | None) -> list[int]:
        backend.open(0, Sampling(temperature=1.5, top_k=50, top_p=0.95, seed=seed))
        said = backend.decode([Row(0, prompt, 0, wanted=True)])
        for position in range(len(prompt), len(prompt) + 12):
            said += backend.decode([Row(0, said[-1:], position, wanted=True)])
        backend.close(0)
        return said

    assert drawn(7) == drawn(7)
    assert len({tuple(drawn(seed)) for seed in (7, 8, 9)}) > 1


def test_more_than_it_holds_is_a_failure_and_a_reset_mends_it(backend: LlamaBackend):
    backend.open(0, Sampling(temperature=0))
    for position in range(0, 512, 64):
        backend.decode([Row(0, [5] * 64, position, wanted=False)])
    with pytest.raises(BackendFailed):
        backend.decode([Row(0, [5] * 64, 512, wanted=False)])
    backend.reset()
    assert len(greedy(backend, "Hello", 2)) == 2


def test_what_is_no_model(tmp_path: Path):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(InvalidInput, match=r"x\.gguf"):
        LlamaBackend(path, kv_tokens=512, slots=1, budget=64, threads=1)


def test_calibration_finds_times_and_leaves_nothing(backend: LlamaBackend):
    cost = calibrate(backend)
    assert cost.prefill > 0
    assert cost.decode > 0
    assert not any(backend.held(slot) for slot in range(4))


class Accountant(Watch):
    """After every iteration: what llama.cpp holds of each request is what the scheduler's ledger says."""

    def __init__(self, backend: LlamaBackend, jobs: dict[Sequence, Job]) -> None:
        self.backend, self.jobs, self.checked = backend, jobs, 0

    def check(self, scheduler: Scheduler) -> None:
        held = {seq: seq.held_at(scheduler.ledger.clock, 1) for seq in scheduler.residents}
        assert sum(held.values()) == scheduler.ledger.used
        for seq, tokens in held.items():
            assert self.backend.held(self.jobs[seq].slot) == tokens
        self.checked += 1

    def ran(self, batch: object, now: float, computing: float, booking: float, scheduler: Scheduler) -> None:  # type: ignore[override]
        self.check(scheduler)


@pytest.mark.parametrize("policy", ["fcfs", "shortest-work"])
def test_kv_is_what_the_ledger_says_also_over_evictions(model: Path, policy: str):
    backend = LlamaBackend(model, kv_tokens=160, slots=4, budget=32, threads=1)
    jobs: dict[Sequence, Job] = {}
    accountant = Accountant(backend, jobs)
    engine = Config(kv_tokens=160, slots=4, token_budget=32).make_engine("x", calibrate(backend))
    loop = EngineLoop(lambda: Policy.of(policy, memory="watermark(level=1)").build(engine), backend, accountant)
    heard: list[queue.Queue[tuple[str, int, str | None]]] = []
    for number in range(6):
        box: queue.Queue[tuple[str, int, str | None]] = queue.Queue()
        job = loop.reserve(Request(0, 0.0, 10), lambda *piece, box=box: box.put(piece))
        prompt = backend.vocabulary.tokens(f"Number {number}. " + "and so on " * (2 * number))
        loop.enter(job, Question(prompt, 40, 40, Sampling(temperature=0), endless=True))
        jobs[job.seq] = job
        heard.append(box)
    loop.start()
    for box in heard:
        tokens, why = 0, None
        while why is None:
            _, count, why = box.get(timeout=PATIENCE)
            tokens += count
        assert (tokens, why) == (40, LENGTH)
    seen: list[int] = []
    loop.observe(lambda scheduler: seen.append(scheduler.evictions))
    loop.close(0.0)
    assert seen[0] > 0, "nobody was evicted, so that nothing was shown"
    assert accountant.checked > 40
    assert not any(backend.held(slot) for slot in range(4))
    backend.shutdown()
