"""Comparisons to show: small, made by hand."""

from __future__ import annotations

import numpy as np

from headway.measure.comparison import Comparison, ComparisonBuilder
from tests.measure.fake_runs import timeline, waiting_run

SETTINGS = {
    "headway": "1.2.3",
    "command": "headway compare trace.csv --seeds 3",
    "workload": "trace.csv",
    "engine": "a100-llama3-8b",
    "rate": 32.0,
    "epsilon_sl": 0.1,
    "limit": None,
}


def of_waits(*seeds: dict[str, list[float] | np.ndarray], **settings: object) -> Comparison:
    """For each seed, each policy's requests arrive a second apart and wait so long."""
    builder = ComparisonBuilder(SETTINGS | settings)
    for seed, waits in enumerate(seeds):
        for policy, seconds in waits.items():
            builder.add(waiting_run(policy, seconds, seed))
    return builder.build()


def typical(seeds: int = 1, n: int = 200, wall_seconds: float = 0.1) -> Comparison:
    """psf has the lowest mean and the worst long requests; every fifth request is long."""
    builder = ComparisonBuilder(SETTINGS, notes=["The arrivals were not in order: sorted."])
    for seed in range(seeds):
        waits = np.random.default_rng(seed).exponential(1.0, size=n)
        long = np.arange(n) % 5 == 4
        queue = timeline(*((float(t), (t * 7 + seed) % 11, 4, (t * 37) % 1100) for t in range(50)))
        for policy, seconds in (
            ("fcfs", waits + 2.0),
            ("psf", np.where(long, waits + 4.0, waits * 0.5)),
            ("qba(k=5)", np.where(long, waits + 3.0, waits)),
        ):
            builder.add(waiting_run(policy, seconds, seed, timeline=queue, wall_seconds=wall_seconds))
    return builder.build()
