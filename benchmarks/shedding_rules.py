"""What shedding rules cost.

    python benchmarks/shedding_rules.py

Microseconds for a request with a promise that arrives and is admitted later, beside so many that wait; the time to sort
the line anew after a refit; and the speed of whole simulations, with promises and with each rule.
"""

from __future__ import annotations

import math
import time

import numpy as np
import polars as pl

import headway
from headway.core.engine import preset
from headway.core.request import Request, Slo
from headway.core.sequence import FILLING, Sequence
from headway.policies.policy import Policy
from headway.policies.shedding.unreachable import Unreachable

SIZES = (100, 1_000, 10_000, 100_000)
ENGINE = preset("a100-llama3-8b")


def rule(order: str, waiting: int, rng: np.random.Generator) -> Unreachable:
    """`reject` with so many in line, none of them late."""
    scheduler = Policy.of(order, shedding="reject").build(ENGINE)
    shedding = scheduler.shedding
    assert isinstance(shedding, Unreachable)
    for row in range(waiting):
        shedding.push(request(row, rng), 0.0)
    return shedding


def request(row: int, rng: np.random.Generator) -> Sequence:
    promised = Slo(1e6 * (1.0 + rng.random()), None, None)
    return Sequence(Request(row, 0.0, int(rng.integers(100, 2000)), slo=promised), row)


def arrival_cost(order: str, waiting: int) -> float:
    """Microseconds of an arrival and of leaving the queue."""
    rng = np.random.default_rng(0)
    shedding = rule(order, waiting, rng)
    best = math.inf
    for batch in range(7):
        seqs = [request(waiting + batch * 1000 + row, rng) for row in range(1000)]
        began = time.perf_counter()
        for seq in seqs:
            shedding.push(seq, 0.0)
        for seq in seqs:
            seq.state = FILLING
            shedding.left(seq, 0.0)
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def sort_cost(waiting: int) -> float:
    """Seconds to sort the line anew."""
    shedding = rule("shortest-work", waiting, np.random.default_rng(0))
    best = math.inf
    for _ in range(3):
        began = time.perf_counter()
        shedding._line.sort(shedding.latest_start)
        best = min(best, time.perf_counter() - began)
    return best


def speed(spec: str, rate: float) -> tuple[float, float]:
    """Requests a second of a simulation, and the share that was rejected."""
    trace = headway.workload(f"qba-paper(n=20000, rate={rate})")
    promised = headway.Trace.from_frame("promised", trace.frame.with_columns(pl.lit(2.0).alias("ttft_slo")))
    best, rejected = math.inf, 0.0
    for _ in range(3):
        began = time.perf_counter()
        record = headway.simulate(promised, Policy.of("fcfs", shedding=spec), "qba-paper", timeline=False)
        best = min(best, time.perf_counter() - began)
        rejected = (record.outcomes["outcome"] == "rejected").mean() or 0.0
    return 20_000 / best, rejected


def main() -> None:
    print(f"{'us an arrival, waiting':28s}" + "".join(f"{size:>10,d}" for size in SIZES))
    for order in ("fcfs", "shortest-work"):
        print(f"reject beside {order:14s}" + "".join(f"{arrival_cost(order, size):>10.1f}" for size in SIZES))
    print(f"{'sorted anew, ms':28s}" + "".join(f"{sort_cost(size) * 1e3:>10.1f}" for size in SIZES))
    print(f"\n{'requests/s, qba-paper at':28s}{'30/s':>18s}{'60/s':>18s}")
    for spec in ("keep", "queue-cap(requests=50)", "reject", "demote"):
        cells = [speed(spec, rate) for rate in (30.0, 60.0)]
        print(f"{spec:28s}" + "".join(f"{each:>9,.0f} ({share:>4.0%})" for each, share in cells))


if __name__ == "__main__":
    main()
