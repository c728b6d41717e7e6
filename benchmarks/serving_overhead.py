"""What scheduling and the API cost a server: microseconds an iteration, milliseconds to the first token.

Runs on the fake backend, so that everything but computing is measured. An iteration of a real model is given in seconds
(SmolLM2-135M in Q4_0 on two threads with 16 running: 0.0235), to say what share the rest is of it.

    python benchmarks/serving_overhead.py --iteration 0.0235
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
from headway.serve.backend import Row, Sampling
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iteration", type=float, default=0.0235, help="seconds that a real model computes")
    told = parser.parse_args()
    print(f"{RUNNING} running, {WAITING:,} waiting: everything but computing, of an iteration of {told.iteration:g} s")
    for policy in ("fcfs", "psf", "qba", "shortest-work", "least-slack", "fair-share", "combined"):
        spent = microseconds(policy)
        print(f"  {policy:<16}{spent:>8.0f} us{spent / told.iteration / 1e4:>8.2f} %")
    through, direct = first_token()
    added = through - direct
    print(f"first token: {through:.2f} ms through HTTP, {direct:.2f} ms from the loop: the API adds {added:.2f} ms")


if __name__ == "__main__":
    main()
