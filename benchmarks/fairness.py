"""What sharing between tenants costs: microseconds of the scheduler an iteration, as a live engine calls it.

    python benchmarks/fairness.py

With each request that ends, one of a random tenant arrives, so that as many run and wait all the time. Every iteration
is planned, none is taken at once with others. Time is that of `submit`, `plan` and `complete` together. Those that wait
at first came one after the other over 1000 seconds, with one of three promises, so that of 100,000 some fifty are
within half a second of the most urgent one.
"""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request, Slo
from headway.core.sequence import Sequence
from headway.policies.policy import Policy

SLOTS = EngineProfile("limited by slots", 2048, 256, 1_000_000, Piecewise(1.0, 0.0, 0))
MEMORY = EngineProfile("limited by memory", 2048, 1024, 100_000, Piecewise(1.0, 0.0, 0), memory="conservative")
POSITIONS = EngineProfile("limited by positions", 400, 1024, 1_000_000, Piecewise(1.0, 0.0, 0))
ORDERS = (
    "fcfs",
    "fair-share",
    "fair-share(charge=predicted)",
    "least-slack",
    "fair-share(inner=least-slack)",
    "combined",
    "combined(band=0)",
    "combined(band=inf)",
)
PROMISES = (Slo(ttft=2000.0), Slo(ttft=2600.0, itl=5.0), Slo(completion=6000.0))
OPENED = 1000.0  # seconds over which those that wait at first came
CASES = ((1, 0), (1, 100_000), (1000, 0), (1000, 100_000))  # tenants, waiting
WARM_UP, ITERATIONS = 800, 2000
ROUNDS = 2  # in turns; the better one counts


class Host:
    """Keeps the calendar of ends; draws requests."""

    def __init__(self, engine: EngineProfile, order: str, tenants: int) -> None:
        self.scheduler = Policy.of(order).build(engine)
        self.rng = np.random.default_rng(0)
        self.names = [f"tenant-{number}" for number in range(tenants)]
        self.ends: dict[int, list[Sequence]] = defaultdict(list)
        self.outputs: dict[Sequence, int] = {}
        self.sent = 0
        self.seconds = 0.0

    def draw(self, count: int, since: float, until: float) -> list[tuple[Request, int]]:
        """Return requests that arrive one after the other between two times, and the lengths of their answers."""
        arrivals = np.linspace(since, until, count).tolist()
        prompts, outputs = self.rng.integers(20, 400, count).tolist(), self.rng.integers(20, 400, count).tolist()
        drawn: list[tuple[Request, int]] = []
        tenants = self.rng.integers(0, len(self.names), count).tolist()
        for at, prompt, output, tenant in zip(arrivals, prompts, outputs, tenants, strict=True):
            promise = PROMISES[self.sent % len(PROMISES)]
            request = Request(self.sent, at, prompt, output, output * 1.2, self.names[tenant], slo=promise)
            drawn.append((request, output))
            self.sent += 1
        return drawn

    def send(self, drawn: list[tuple[Request, int]], now: float) -> None:
        began = time.process_time()
        sequences = [self.scheduler.submit(request, now) for request, _ in drawn]
        self.seconds += time.process_time() - began
        for seq, (_, output) in zip(sequences, drawn, strict=True):
            self.outputs[seq] = output

    def step(self, now: float) -> int:
        """One iteration; return how many requests ended."""
        scheduler = self.scheduler
        began = time.process_time()
        batch = scheduler.plan(now)
        self.seconds += time.process_time() - began
        clock = scheduler.ledger.clock + 1
        finished = self.ends.pop(clock, []) if batch.decodes else []
        for seq in batch.joined:
            due = clock + self.outputs.pop(seq) - 1 - (not batch.decodes)
            self.ends[due].append(seq) if due > clock else finished.append(seq)
        began = time.process_time()
        scheduler.complete(batch, now + 1.0, finished)
        self.seconds += time.process_time() - began
        return len(finished)


def cost(engine: EngineProfile, order: str, tenants: int, waiting: int) -> float:
    """Microseconds of the scheduler an iteration, once the engine is full."""
    host = Host(engine, order, tenants)
    host.send(host.draw(waiting + 250, 0.0, OPENED), OPENED)
    ended = 0
    for iteration in range(WARM_UP + ITERATIONS):
        if iteration == WARM_UP:
            host.seconds = 0.0
        now = OPENED + iteration
        host.send(host.draw(ended, now, now), now)
        ended = host.step(now)
    return host.seconds / ITERATIONS * 1e6


def main() -> None:
    names = [f"{tenants:,d} / {waiting:,d}" for tenants, waiting in CASES]
    for engine in (SLOTS, MEMORY, POSITIONS):
        print(f"{engine.name}: tenants / waiting, us an iteration; the last for one of the first")
        print(" " * 34 + "".join(f"{name:>16s}" for name in names), flush=True)
        for order in ORDERS:
            rounds = [[cost(engine, order, *case) for case in CASES] for _ in range(ROUNDS)]
            cells = np.min(rounds, axis=0)
            print(
                f"{order:34s}" + "".join(f"{cell:16.1f}" for cell in cells) + f"{cells[-1] / cells[0]:8.2f}", flush=True
            )


if __name__ == "__main__":
    main()
