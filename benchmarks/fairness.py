"""What sharing between tenants costs: microseconds of the scheduler an iteration, as a live engine calls it.

    python benchmarks/fairness.py

With each request that ends, one of a random tenant arrives, so that as many run and wait all the time. Every iteration
is planned, none is taken at once with others. Time is that of `submit`, `plan` and `complete` together.
"""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.policies.policy import Policy

SLOTS = EngineProfile("limited by slots", 2048, 256, 1_000_000, Piecewise(1.0, 0.0, 0))
MEMORY = EngineProfile("limited by memory", 2048, 1024, 100_000, Piecewise(1.0, 0.0, 0), memory="conservative")
ORDERS = ("fcfs", "fair-share", "fair-share(charge=predicted)", "fair-share(inner=shortest-work())")
CASES = ((1, 0), (1, 100_000), (1000, 0), (1000, 100_000))  # tenants, waiting
ITERATIONS = 4000


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

    def draw(self, count: int) -> list[tuple[Request, int]]:
        prompts, outputs = self.rng.integers(20, 400, count).tolist(), self.rng.integers(20, 400, count).tolist()
        drawn: list[tuple[Request, int]] = []
        for prompt, output, tenant in zip(
            prompts, outputs, self.rng.integers(0, len(self.names), count).tolist(), strict=True
        ):
            request = Request(self.sent, float(self.sent), prompt, output, output * 1.2, self.names[tenant])
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
    host.send(host.draw(waiting + 250), 0.0)
    ended = 0
    for iteration in range(1500 + ITERATIONS):
        if iteration == 1500:
            host.seconds = 0.0
        host.send(host.draw(ended), float(iteration))
        ended = host.step(float(iteration))
    return host.seconds / ITERATIONS * 1e6


def main() -> None:
    names = [f"{tenants:,d} / {waiting:,d}" for tenants, waiting in CASES]
    for engine in (SLOTS, MEMORY):
        print(
            f"{engine.name}: tenants / waiting, us an iteration\n{'':34s}" + "".join(f"{name:>16s}" for name in names)
        )
        for order in ORDERS:
            cells = [min(cost(engine, order, *case) for _ in range(3)) for case in CASES]
            print(f"{order:34s}" + "".join(f"{cell:>16.1f}" for cell in cells))


if __name__ == "__main__":
    main()
