"""A world in which the paper is right: figures made by hand such that every claim comes out, with noise over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from headway.studies.papers.qba.grid import LOADS, PARTS, Point, all_points
from headway.studies.papers.qba.measures import FIGURES, Name
from headway.studies.papers.qba.model import Modelled
from headway.studies.papers.qba.runs import Floats, Runs
from headway.studies.papers.qba.windows import Windows

SEEDS = 100
POINTS = all_points(PARTS)
_AT: dict[str, dict[Name, float]] = {  # 32 requests/s
    "fcfs": {"mean": 2.19, "p99": 5.13, "short": 5.1, "long": 5.2},
    "psf": {"mean": 0.83, "p99": 9.75, "short": 1.24, "long": 11.1},
    "aa": {"mean": 2.08, "p99": 5.54, "short": 5.6, "long": 3.85},
    "qba": {"mean": 1.39, "p99": 6.36, "short": 3.44, "long": 7.64},
}
_OF_K: dict[Name, dict[int, float]] = {
    "mean": {2: 1.745, 4: 1.60, 6: 1.20, 8: 1.0, 10: 0.94, 12: 0.90, 14: 0.88},
    "p99": {2: 6.1, 4: 5.7, 6: 7.0, 8: 8.0, 10: 8.6, 12: 9.0, 14: 9.2},
    "long": {2: 4.0, 4: 6.0, 6: 8.5, 8: 9.5, 10: 10.0, 12: 10.4, 14: 10.6},
}
_OF_ERROR: dict[tuple[str, str], dict[Name, list[float]]] = {  # at 0, 0.05, 0.1, 0.2, 0.3, 0.4
    ("psf", "sl"): {
        "mean": [0.83, 0.88, 0.94, 1.05, 1.16, 1.27],
        "short": [1.24, 7.03, 7.3, 7.5, 7.6, 7.7],
        "long": [11.1, 10.6, 10.1, 9.0, 8.0, 6.9],
    },
    ("qba", "sl"): {
        "mean": [1.41, 1.25, 1.13, 1.2, 1.22, 1.25],
        "short": [3.44, 5.8, 7.59, 7.6, 7.65, 7.7],
        "long": [7.64, 8.8, 9.45, 8.5, 7.6, 7.0],
    },
    ("psf", "ls"): {
        "mean": [0.83, 0.84, 0.85, 0.87, 0.89, 0.91],
        "short": [1.24, 1.28, 1.32, 1.37, 1.42, 1.48],
        "long": [11.1, 11.9, 12.6, 14.2, 15.7, 17.29],
    },
    ("qba", "ls"): {
        "mean": [1.41, 1.48, 1.54, 1.67, 1.8, 1.92],
        "short": [3.44, 3.7, 3.9, 4.3, 4.8, 5.23],
        "long": [7.64, 7.3, 7.0, 6.4, 5.9, 5.27],
    },
    ("aa", "ls"): {"long": [3.85, 4.1, 4.3, 4.6, 4.62, 4.65]},
}
_ERRORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)


def truth(point: Point, figure: Name) -> float:
    """Return the mean of a figure at a point."""
    if figure in ("throughput", "batch", "oom"):
        return {"throughput": 22_000.0, "batch": 0.9, "oom": 0.0}[figure]
    if figure in ("ttft", "ttft p99"):
        return truth(point, "mean" if figure == "ttft" else "p99") + 0.1
    base = _over_load(point.policy, point.rate, figure)
    if point.k != 5:
        return _OF_K.get(figure, {}).get(point.k, base)
    if point.gamma != 0.8:
        return _of_gamma(point, figure, base)
    error = point.short_to_long or point.long_to_short
    if error:
        table = _OF_ERROR.get((point.policy, "sl" if point.short_to_long else "ls"), {})
        return table[figure][_ERRORS.index(error)] if figure in table else base
    return base


def _over_load(policy: str, rate: float, figure: Name) -> float:
    more = rate - 32
    fcfs, psf = 2.19 * math.exp(0.33 * more), 0.83 * math.exp(0.25 * more)
    if figure == "mean":
        aa = fcfs * (0.83 + 0.27 * ((rate - 26) / 14) ** 2)
        return {"fcfs": fcfs, "psf": psf, "aa": aa, "qba": fcfs - 0.59 * (fcfs - psf)}[policy]
    if figure == "p99":
        low = {"fcfs": 1.0, "psf": 1.6, "aa": 1.05, "qba": 1.02}
        high = {"fcfs": 1.0, "psf": 1.9, "aa": 1.08, "qba": 1.24}
        return 5.13 * math.exp(0.3 * more) * (low if rate < 29 else high)[policy]
    return _AT[policy][figure] * math.exp(0.3 * more)


def _of_gamma(point: Point, figure: Name, base: float) -> float:
    if point.policy == "aa":
        return 8.0 if point.gamma == 1 and figure == "p99" else base + (0.8 - point.gamma) * 3.2
    if point.gamma == 1:
        return {"mean": 0.95, "p99": 8.5}.get(figure, base)
    return base * (1 + 0.1 * (0.8 - point.gamma))


def world(points: Iterable[Point] = POINTS, *, seeds: int = SEEDS, spread: float = 0.3) -> Runs:
    """Return runs: all points share most of a seed's luck, which is log-normal, and have a little of their own."""
    random = np.random.default_rng(7)
    shared = np.exp(random.normal(0, spread, seeds))
    shared /= shared.mean()

    def drawn(value: float) -> Floats:
        return value * shared * np.exp(random.normal(0, 0.02, seeds))

    return Runs({point: {name: drawn(truth(point, name)) for name in FIGURES} for point in points})


def without_excess() -> Runs:
    """Return the world of the model: AA never waits longer than FCFS. The paper's other claims exclude it."""
    found = world()
    tamed = {
        point: {**figures, "mean": 0.9 * found.of_seeds(Point("fcfs", point.rate), "mean")}
        for point, figures in found.values.items()
        if point.policy == "aa" and point.gamma == 0.8 and point.rate in LOADS
    }
    return Runs({**found.values, **tamed})


def modelled(runs: Runs | None = None, *, last: float = 31, aa: float = 0.7) -> Modelled:
    """Return curves that have the paper's order: with one number of servers everywhere, with another up to a load.

    `aa` is AA's share of FCFS's mean wait.
    """
    shares = {"fcfs": 1.0, "aa": aa, "qba": 0.69, "psf": 0.5}
    waits = {
        (name, policy, rate): (
            math.inf if name == "fitted" and rate > last else scale * share * math.exp(0.3 * (rate - 26))
        )
        for name, scale in (("literal", 0.001), ("fitted", 0.3))
        for policy, share in shares.items()
        for rate in LOADS
    }
    return Modelled({"literal": 7.0, "fitted": 4.1}, waits, runs or without_excess())


def windows() -> Windows:
    """Return a hundred windows as Table II has them."""
    random = np.random.default_rng(3)
    luck = np.exp(random.normal(0, 0.2, 100))
    luck /= np.median(luck)
    truths: dict[str, dict[Name, float]] = {
        "fcfs": {"mean": 0.50, "long": 0.77, "p99": 0.8, "short": 0.8},
        "psf": {"mean": 0.345, "long": 2.10, "p99": 1.5, "short": 0.3},
        "aa": {"mean": 0.45, "long": 1.0, "p99": 0.9, "short": 0.6},
        "qba": {"mean": 0.41, "long": 1.45, "p99": 1.1, "short": 0.5},
    }
    return Windows(
        {
            policy: {
                **{name: value * luck for name, value in figures.items()},
                "ttft": (figures["mean"] + 0.1) * luck,
                "ttft p99": (figures["p99"] + 0.1) * luck,
                "throughput": np.full(100, 24_700.0),
                "batch": np.full(100, 0.9),
                "oom": np.zeros(100),
            }
            for policy, figures in truths.items()
        },
        requests=200,
        scv=2.9,
        tokens=770.0,
        long_share=0.4,
    )
