"""What does a journal cost? Time of a simulation that keeps one, over that of one that does not.

    python benchmarks/journal.py [TRACE] [--pairs 20]

Both kinds run in turns in one process (off on on off ...), CPU seconds; the ratio is that of the medians, with the
5 % and 95 % quantiles of the ratios of neighbours, and that of the best runs. TRACE is any trace file that Headway
reads, and runs on a100-llama3-8b; without it those rows are left out.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies.source import Source
from headway.workload import Trace, read_trace
from headway.workload.labels import label
from headway.workload.tenants_toml import read_tenants

TENANTS = "examples/noisy-neighbour.toml"
RUNS = [
    ("qba-paper(n=5000)", None, "fcfs", None, "qba-paper"),
    ("qba-paper(n=5000)", None, "qba", None, "qba-paper"),
    ("lognormal(n=5000, rate=8)", None, "fcfs", None, "a100-llama3-8b"),
    ("lognormal(n=5000, rate=20)", None, "fcfs", None, "a100-llama3-8b"),
    ("lognormal(n=5000, rate=20)", None, "least-slack", None, "a100-llama3-8b"),
    ("d1(n=1500)", None, "fcfs", "past-future", "past-future-table1"),
    (TENANTS, 10, "fair-share", None, "a100-llama3-8b"),
    (TENANTS, 10, "combined", None, "a100-llama3-8b"),
]
"""Requests, at how many a second where not as they come, order, memory rule where not the engine's, engine."""


def seconds(trace: Trace, policy: Policy, engine: str, *, journal: bool) -> float:
    """CPU seconds of one run."""
    began = time.process_time()
    simulate(trace, policy, engine, journal=journal)
    return time.process_time() - began


def show(name: str, trace: Trace, policy: Policy, engine: str, pairs: int) -> None:
    off, on = np.empty(pairs), np.empty(pairs)
    for pair in range(pairs):
        for keeps in (False, True) if pair % 2 == 0 else (True, False):
            (on if keeps else off)[pair] = seconds(trace, policy, engine, journal=keeps)
    low, high = np.quantile(on / off, [0.05, 0.95])
    ratio, best = np.median(on) / np.median(off), on.min() / off.min()
    rules = policy.name if policy.memory is None else f"{policy.name}, {policy.memory}"
    print(
        f"{name:34s} {rules:18s} {np.median(off) / len(trace) * 1e6:>7.1f} us/request"
        f"  ratio {ratio:.3f} ({low:.3f} to {high:.3f})  of the best {best:.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=20)
    chosen = parser.parse_args()
    for origin, rate, order, memory, engine in RUNS:
        source = Source(read_tenants(origin) if origin == TENANTS else origin, rate=rate)
        show(origin, source.requests(0), Policy.of(order, memory), engine, chosen.pairs)
    if chosen.trace is not None:
        trace = label(read_trace(chosen.trace))
        for order in ("fcfs", "qba"):
            show(trace.name[:34], trace, Policy.of(order), "a100-llama3-8b", chosen.pairs)


if __name__ == "__main__":
    main()
