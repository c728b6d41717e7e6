"""What does a journal cost? Time of a simulation that keeps one, over that of one that does not.

    python benchmarks/journal.py [TRACE] [--pairs 40]

Both kinds run in turns in one process (off on on off ...), CPU seconds; the ratio is that of the medians, with the
5 % and 95 % quantiles of the ratios of neighbours. TRACE is any trace file that Headway reads, and runs on
a100-llama3-8b; without it those rows are left out.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from headway.simulate.run import simulate
from headway.studies.source import Source
from headway.workload import Trace, read_trace, workload
from headway.workload.labels import label


def seconds(trace: Trace, policy: str, engine: str, *, journal: bool) -> float:
    """CPU seconds of one run."""
    began = time.process_time()
    simulate(trace, policy, engine, journal=journal)
    return time.process_time() - began


def show(name: str, trace: Trace, policy: str, engine: str, pairs: int) -> None:
    off, on = np.empty(pairs), np.empty(pairs)
    for pair in range(pairs):
        for keeps in (False, True) if pair % 2 == 0 else (True, False):
            (on if keeps else off)[pair] = seconds(trace, policy, engine, journal=keeps)
    low, high = np.quantile(on / off, [0.05, 0.95])
    print(
        f"{name:34s} {policy:5s} {np.median(off) / len(trace) * 1e6:>7.2f} us/request"
        f"  ratio {np.median(on) / np.median(off):.3f} ({low:.3f} to {high:.3f})  of the best {on.min() / off.min():.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=40)
    chosen = parser.parse_args()
    paper = Source("qba-paper(n=5000)").requests(0)
    for policy in ("fcfs", "qba"):
        show("qba-paper, 32 requests/s", paper, policy, "qba-paper", chosen.pairs)
    for rate in (4, 8, 20):
        name = f"lognormal, {rate} requests/s"
        show(name, workload(f"lognormal(n=5000, rate={rate})", 0), "fcfs", "a100-llama3-8b", chosen.pairs)
    if chosen.trace is not None:
        trace = label(read_trace(chosen.trace))
        for policy in ("fcfs", "qba"):
            show(f"{trace.name[:20]} a100-llama3-8b", trace, policy, "a100-llama3-8b", chosen.pairs)


if __name__ == "__main__":
    main()
