"""Curves of memory rules made by hand."""

from __future__ import annotations

import numpy as np

from headway.measure.frontier import Frontier
from headway.measure.memory import MemoryUse
from headway.measure.memory_curve import Curve, Point

REQUESTS = 1000  # in a run


def use(used: float, events: float) -> MemoryUse:
    return MemoryUse(used, min(1.0, used + 0.05), None, 100.0, events, min(events, 900.0), events * 2000.0)


def point(memory: str, value: float | None, *runs: tuple[float, float]) -> Point:
    """A setting whose runs (one a seed) had these uses (shares) and evictions per 100 requests."""
    uses = [use(used, rate * REQUESTS / 100) for used, rate in runs]
    return Point.of(memory, value, range(len(runs)), uses, uses, REQUESTS)


def curve(rule: str, *settings: tuple[float, float], seeds: int = 1, spread: float = 0.0) -> Curve:
    """A rule whose settings have these uses and rates; seeds differ by a factor of `spread` in the rate."""
    knob = {"watermark": "level", "conservative": "overcommit"}.get(rule.partition("(")[0], "reserve")
    factors = np.linspace(1 - spread, 1 + spread, seeds) if seeds > 1 else np.ones(1)
    points = [
        point(f"{rule}({knob}={number})", float(number), *((used, rate * factor) for factor in factors))
        for number, (used, rate) in enumerate(settings, 1)
    ]
    return Curve(rule, knob, tuple(points))


PAST_FUTURE = ((0.80, 0.0), (0.86, 0.1), (0.90, 1.0), (0.94, 10.0))
WATERMARK = ((0.75, 2.0), (0.85, 6.0), (0.92, 10.0), (0.96, 25.0))


def typical(seeds: int = 1, *, partial: bool = False, notes: tuple[str, ...] = ("A note.",)) -> Frontier:
    """Past-Future is ahead up to 92 %, then level; the oracle reaches 95 %."""
    return Frontier(
        settings={
            "headway": "1.2.3",
            "command": "headway frontier d1",
            "workload": "d1",
            "engine": "past-future-table1",
            "policy": "fcfs",
            "steady_after": 1000,
            "requests": 2000,
            "length_factor": None,
        },
        part="steady",
        curves=(
            curve("past-future", *PAST_FUTURE, seeds=seeds, spread=0.2),
            curve("watermark", *WATERMARK, seeds=seeds, spread=0.1),
            Curve("oracle", None, (point("oracle", None, *([(0.95, 0.0)] * seeds)),)),
        ),
        partial=partial,
        notes=notes,
    )
