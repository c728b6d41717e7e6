"""What scheduling and the API cost a server: microseconds an iteration, milliseconds to the first token.

Runs on the fake backend, so that everything but computing is measured. An iteration of a real model is given in seconds
(SmolLM2-135M in Q4_0 on two threads with 16 running: 0.0235), to say what share the rest is of it.

    python benchmarks/serving_overhead.py --iteration 0.0235 --model MODEL.gguf
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Sequence as Items
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.serve.served import serving

from headway.core.cost import Linear
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.policies.policy import Policy
from headway.serve.backend import Backend, Row, Sampling
from headway.serve.job import Question
from headway.serve.loop import EngineLoop
from headway.serve.metrics import Metrics
from headway.testing.fake_backend import FakeBackend

RUNNING, WAITING, ITERATIONS = 16, 1000, 400


class Timed(FakeBackend):
    """Answers at once with the same byte, and keeps how long the loop was away between two iterations."""

    def __init__(self) -> None:
        super().__init__(kv_tokens=1_000_000, slots=RUNNING, budget=128, context=100_000)
        self.left = 0.0
        self.away: list[float] = []
        self.full = threading.Event()

    def decode(self, rows: Items[Row]) -> list[int]:
        now = time.perf_counter()
        if len(rows) == RUNNING and all(len(row.tokens) == 1 for row in rows):
            self.away.append(now - self.left)
            if len(self.away) > ITERATIONS:
                self.full.set()
        found = [122] * sum(row.wanted for row in rows)
        self.left = time.perf_counter()
        return found

    def held(self, slot: int) -> int:
        return 0


def microseconds(policy: str) -> float:
    """Median of what lies between two iterations, 16 decoding and 1,000 waiting, with all metrics."""
    backend = Timed()
    engine = EngineProfile("fake", 128, RUNNING, 1_000_000, Linear(0.003, 0.001, 0.0013))
    chosen = Policy.of(policy, shedding="reject")
    metrics = Metrics()
    loop = EngineLoop(lambda: chosen.build(engine), backend, metrics)
    for number in range(RUNNING + WAITING):
        predicted = ("short", "long")[number % 2]
        request = Request(0, 0.0, 16, 60_000, predicted=predicted, tenant=f"t{number % 10}")
        job = loop.reserve(request, lambda *_: None)
        loop.enter(job, Question([65] * 16, 60_000, 60_000, Sampling(temperature=0)))
    loop.start()
    backend.full.wait(120)
    loop.close(0.0)
    return statistics.median(backend.away) * 1e6


def first_token() -> tuple[float, float]:
    """Median milliseconds to the first token of a stream: through HTTP, and asking the loop itself."""
    with serving(FakeBackend()) as server, httpx.Client(base_url=server.url) as http:
        loop, spans, direct = server.service.loop, list[float](), list[float]()
        for _ in range(300):
            began = time.perf_counter()
            with http.stream("POST", "/v1/completions", json={"prompt": "hello", "stream": True}) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data: {") and json.loads(line[6:])["choices"][0]["text"]:
                        spans.append(time.perf_counter() - began)
                        break
            came = threading.Event()
            began = time.perf_counter()
            job = loop.reserve(Request(0, 0.0, 5), lambda text, *_, came=came: came.set() if text else None)
            loop.enter(job, Question(list(b"hello"), 10))
            came.wait(10)
            direct.append(time.perf_counter() - began)
    return statistics.median(spans) * 1000, statistics.median(direct) * 1000


def refusals(backend: Backend) -> list[float]:
    """Milliseconds to an early rejection, through HTTP, while as many answers as fit are computed [200], in order."""
    with serving(backend, "least-slack", shedding="reject") as server, httpx.Client(base_url=server.url) as http:
        busy = [threading.Thread(target=occupy, args=(server.url,), daemon=True) for _ in range(RUNNING)]
        for one in busy:
            one.start()
        while server.metric("headway_requests_running") < RUNNING:
            time.sleep(0.01)
        spans: list[float] = []
        for _ in range(200):
            began = time.perf_counter()
            answer = http.post("/v1/completions", json={"prompt": "word " * 1000}, headers={"x-llm-d-slo-ttft-ms": "1"})
            spans.append((time.perf_counter() - began) * 1000)
            assert answer.status_code in (400, 429), answer.text
        assert server.metric("headway_requests_running") == RUNNING
        server.service.loop.stop()
        for one in busy:
            one.join()
        return sorted(spans)


def occupy(url: str) -> None:
    body = {"prompt": "a story", "max_tokens": 400, "ignore_eos": True, "stream": True}
    with httpx.stream("POST", f"{url}/v1/completions", json=body, timeout=600) as answer:
        for _ in answer.iter_lines():
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iteration", type=float, default=0.0235, help="seconds that a real model computes")
    parser.add_argument("--model", type=Path, help="a GGUF model, to refuse requests beside real computing")
    told = parser.parse_args()
    print(f"{RUNNING} running, {WAITING:,} waiting: everything but computing, of an iteration of {told.iteration:g} s")
    for policy in ("fcfs", "psf", "qba", "shortest-work", "least-slack", "fair-share", "combined"):
        spent = microseconds(policy)
        print(f"  {policy:<16}{spent:>8.0f} us{spent / told.iteration / 1e4:>8.2f} %")
    through, direct = first_token()
    added = through - direct
    print(f"first token: {through:.2f} ms through HTTP, {direct:.2f} ms from the loop: the API adds {added:.2f} ms")
    slept = FakeBackend(lambda _: "z" * 400, kv_tokens=100_000, cost=Linear(0.0235, 0.0, 0.0))
    backends: dict[str, Backend] = {"a backend that sleeps": slept}
    if told.model is not None:
        from headway.serve.backends.llama import LlamaBackend  # noqa: PLC0415 - the other figures need no llama.cpp

        backends["llama.cpp on one thread"] = LlamaBackend(told.model, kv_tokens=16384, slots=16, budget=128, threads=1)
    for name, backend in backends.items():
        spans = refusals(backend)
        print(f"early rejection beside {name}: median {spans[100]:.2f} ms, P99 {spans[197]:.2f} ms, client included")


if __name__ == "__main__":
    main()
