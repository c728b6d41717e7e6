"""The grid of the evaluation: which runs each part needs, every one of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from headway.core.engine import preset
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.studies.cells import Cell, Row
from headway.studies.source import Source

Measure = Callable[[RunRecord, Sla | None], Row]

ENGINE = "qba-paper"
REQUESTS = 5000
REFERENCE = 32.0
"""Requests/s of every part but the load sweep: 0.99 of what the engine can take."""

POLICIES = ("fcfs", "psf", "aa", "qba")
LOADS = tuple(float(rate) for rate in range(26, 41))
CALIBRATED, PROMOTED = 30.0, (25.0, 27.0, 29.0, 31.0, 33.0)
"""Loads of the runs that the reduced model takes its service times and its promoted fractions from (IV-A5)."""
QUOTAS = tuple(range(2, 15, 2))
LEVELS = tuple(round(0.5 + 0.05 * step, 2) for step in range(11))
ERRORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
QUOTA, LEVEL = 5, 0.8
"""k and gamma where they are not varied."""

SIMULATED = ("fig2", "fig3", "fig4", "fig5")
WINDOWS = "table2"
PARTS = (*SIMULATED, WINDOWS)


@dataclass(frozen=True)
class Point:
    """An operating point: a policy under a load, with its parameters and the errors of its predictions.

    Attributes:
        policy: its short name.
        rate: requests per second.
        k: of QBA.
        gamma: of AA and QBA.
        short_to_long: probability that a short request is predicted long.
        long_to_short: probability that a long request is predicted short.
    """

    policy: str
    rate: float = REFERENCE
    k: int = QUOTA
    gamma: float = LEVEL
    short_to_long: float = 0.0
    long_to_short: float = 0.0

    @property
    def spec(self) -> str:
        """The policy with its parameters, where they are not the default."""
        options = [f"k={self.k}"] * (self.k != QUOTA) + [f"gamma={self.gamma}"] * (self.gamma != LEVEL)
        return f"{self.policy}({', '.join(options)})" if options else self.policy


CALIBRATION = (Point("fcfs", CALIBRATED), *(Point(policy, rate) for policy in ("aa", "qba") for rate in PROMOTED))


def with_errors(policy: str, short_to_long: float = 0.0, long_to_short: float = 0.0) -> Point:
    """Return a point under errors of prediction; FCFS asks for no prediction, so it is the one without."""
    if policy == "fcfs":
        return Point(policy)
    return Point(policy, short_to_long=short_to_long, long_to_short=long_to_short)


def points_of(part: str) -> tuple[Point, ...]:
    """Return the points that a part needs, in the order in which it shows them."""
    return tuple(dict.fromkeys(_points(part)))


def _points(part: str) -> Iterator[Point]:
    if part == "fig2":
        yield from (Point(policy, rate) for policy in POLICIES for rate in LOADS)
        yield from CALIBRATION
    elif part == "fig3":
        yield from (Point(policy) for policy in POLICIES)
        yield from (Point("qba", k=k) for k in QUOTAS)
        yield from (Point(policy, gamma=gamma) for policy in ("qba", "aa") for gamma in LEVELS)
    elif part == "fig4":
        yield from (with_errors(policy, short_to_long=error) for policy in POLICIES for error in ERRORS)
    elif part == "fig5":
        yield from (with_errors(policy, long_to_short=error) for policy in POLICIES for error in ERRORS)


def all_points(parts: Iterable[str]) -> tuple[Point, ...]:
    """Return the points of several parts, each once, those together that run the same requests."""
    points = dict.fromkeys(point for part in parts for point in points_of(part))
    return tuple(sorted(points, key=lambda point: (point.rate, point.short_to_long, point.long_to_short)))


def cells_of(
    points: Sequence[Point], seeds: Iterable[int], requests: int, measure: Callable[[Point], Measure]
) -> list[Cell]:
    """Return a cell for every seed and point, seed by seed: an interruption leaves whole seeds.

    All policies run the same requests (paired seeds), which neighbours share. `measure` says what is kept of a point.
    """
    engine = preset(ENGINE)
    policies = {point: Policy.of(point.spec) for point in points}
    return [
        Cell(
            _source(point.rate, point.short_to_long, point.long_to_short, requests),
            seed,
            policies[point],
            engine,
            measure=measure(point),
        )
        for seed in seeds
        for point in points
    ]


@cache
def _source(rate: float, short_to_long: float, long_to_short: float, requests: int) -> Source:
    return Source(f"qba-paper(n={requests}, rate={rate:g})", epsilon_sl=short_to_long, epsilon_ls=long_to_short)
