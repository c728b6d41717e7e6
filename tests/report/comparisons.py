"""Comparisons to show: small, made by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.workload.trace import Trace
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


ENGINE = EngineProfile("small", 64, 4, 1000, Piecewise(0.01, 0.0))


def of_tenants(
    names: tuple[str, ...] = ("noisy", "quiet"),
    policies: tuple[str | Policy, ...] = ("fcfs", "fair-share"),
    seeds: int = 1,
    sla: Sla | None = None,
    **columns: object,
) -> Comparison:
    """Real runs on a small engine: the first tenant sends four times what each other one sends."""
    builder = ComparisonBuilder(SETTINGS, sla=sla)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        whose = [names[0]] * 160 + [name for name in names[1:] for _ in range(40)]
        n = len(whose)
        columns = {"class": whose, "ttft_slo": [2.0 if name == names[-1] else None for name in whose], **columns}
        frame = pl.DataFrame(
            {
                "arrival": rng.uniform(0, 3, n),
                "prompt_tokens": rng.integers(1, 60, n),
                "output_tokens": rng.integers(1, 30, n),
                "tenant": whose,
                **columns,
            }
        ).select(pl.all().exclude(pl.Null))
        for policy in policies:
            builder.add(simulate(Trace.from_frame("trace.csv", frame.sort("arrival")), policy, ENGINE, seed=seed))
    return builder.build()
