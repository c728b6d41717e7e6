"""How fast is a simulation? Requests per CPU second, in process, outcome rows included.

    python benchmarks/speed.py [TRACE] [--million]

TRACE is any trace file that Headway reads; README.md quotes the Azure conversation trace of 2023. Without it the
rows that need it are left out. Every figure is the best of several runs (start-up is not in it), and is printed beside
the cost of a fixed piece of plain Python, so that figures of different machines can be compared.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl

from headway.simulate.run import simulate
from headway.studies.source import Source
from headway.workload import Trace, read_trace, workload
from headway.workload.labels import label


def yardstick() -> float:
    """CPU seconds of two million turns of a plain loop."""
    best = np.inf
    for _ in range(5):
        began = time.process_time()
        total = 0
        for turn in range(2_000_000):
            total += turn & 3
        best = min(best, time.process_time() - began)
    return best


def cost(trace: Trace, policy: str, engine: str, runs: int = 5) -> tuple[float, int]:
    """CPU seconds of the best run, and its iterations."""
    best, iterations = np.inf, 0
    for _ in range(runs):
        began = time.process_time()
        record = simulate(trace, policy, engine)
        best = min(best, time.process_time() - began)
        iterations = record.totals.iterations
    return best, iterations


def show(name: str, trace: Trace, policy: str, engine: str, runs: int = 5) -> float:
    seconds, iterations = cost(trace, policy, engine, runs)
    each = seconds / len(trace)
    print(
        f"{name:38s} {policy:5s} {len(trace) / seconds:>10,.0f} requests/s"
        f" {each * 1e6:>7.2f} us/request {seconds / iterations * 1e6:>7.2f} us/iteration"
    )
    return each


def stretched(trace: Trace, factor: int) -> Trace:
    """The same requests with outputs `factor` times as long, arriving at a `factor`-th of the rate."""
    frame = trace.frame.with_columns(pl.col("output_tokens") * factor, pl.col("arrival") * factor)
    return Trace.from_frame(f"{trace.name} x {factor}", frame)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--million", action="store_true", help="also one million synthetic requests")
    chosen = parser.parse_args()
    print(f"yardstick: {yardstick():.3f} s for two million turns of a plain loop")
    if chosen.trace is not None:
        trace = label(read_trace(chosen.trace))
        for policy in ("fcfs", "psf", "aa", "qba"):
            show(f"{trace.name[:22]} a100-llama3-8b", trace, policy, "a100-llama3-8b")
    paper = Source("qba-paper(n=20000)").requests(0)
    for policy in ("fcfs", "psf", "aa", "qba"):
        show("qba-paper, 32 requests/s", paper, policy, "qba-paper")
    normal = workload("lognormal(n=20000, rate=4)", 0)
    short = show("outputs x 1", normal, "fcfs", "a100-llama3-8b")
    long = show("outputs x 10, a tenth of the rate", stretched(normal, 10), "fcfs", "a100-llama3-8b")
    print(f"outputs ten times as long: {long / short:.2f} times the cost of a request")
    if chosen.million:
        for policy in ("fcfs", "qba"):
            began = time.perf_counter()
            show("one million, qba-paper", Source("qba-paper(n=1000000)").requests(0), policy, "qba-paper", runs=1)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{'':38s} {time.perf_counter() - began:.1f} s with drawing them, {peak:,.0f} MiB at most")


if __name__ == "__main__":
    main()
