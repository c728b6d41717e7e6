"""What an interval from one run is worth: how often it holds the true difference in mean wait.

    python benchmarks/one_run.py [--seeds 100]

Runs of qba-paper (5000 requests) under four policies. For every pair and rate: the share of seeds whose interval of
batch means holds the mean difference over all seeds, with the correction for blocks that are like the next and without.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from headway.measure.intervals import BLOCKS, Interval, batch_means, mean_interval
from headway.measure.latency import waits
from headway.simulate.run import simulate
from headway.workload import workload

POLICIES = ("fcfs", "psf", "aa", "qba")
RATES = (24, 28, 30, 32)


def paired_waits(rate: int, seeds: int) -> list[dict[str, np.ndarray]]:
    """Waits in seconds of each seed's requests, by policy."""
    runs = []
    for seed in range(seeds):
        trace = workload(f"qba-paper(rate={rate})", seed)
        records = {name: simulate(trace, name, "qba-paper", seed=seed, timeline=False) for name in POLICIES}
        runs.append({name: waits(record.outcomes) for name, record in records.items()})
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    print(f"{'requests/s':12s}{'pair':14s}{'corrected':>10s}{'plain':>8s}")
    for rate in RATES:
        runs = paired_waits(rate, seeds)
        for a, b in itertools.combinations(POLICIES, 2):
            differences = [run[a] - run[b] for run in runs]
            truth = np.mean([values.mean() for values in differences])
            shares = []
            for interval in (batch_means, plain):
                found = [interval(values) for values in differences]
                shares.append(np.mean([one is not None and one.low <= truth <= one.high for one in found]))
            print(f"{rate:<12d}{a + ' - ' + b:14s}{shares[0]:>10.2f}{shares[1]:>8.2f}")


def plain(values: np.ndarray) -> Interval | None:
    """Interval of the block means, as if they were independent."""
    return mean_interval([float(block.mean()) for block in np.array_split(values, BLOCKS)])


if __name__ == "__main__":
    main()
