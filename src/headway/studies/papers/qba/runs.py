"""What the grid's runs gave: figures of every point, seed by seed, and what is asked of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from headway.measure.findings import Judged, all_of
from headway.measure.intervals import Interval, mean_interval, student_t
from headway.studies.cells import Row
from headway.studies.papers.qba.grid import Point
from headway.studies.papers.qba.measures import FIGURES, Name

Floats = npt.NDArray[np.float64]

CLOSE = 0.10
"""As much may two figures differ that are said to be close, flat or stable: a share of their mean."""

FAR = 0.25
"""As much must figures differ at least that are said to differ sharply, severely or substantially."""

PAPER_SEEDS = 100
ROUNDED = 0.005
"""Half a unit of the last digit of what the paper reports, in seconds and as a share."""
_SLACK = 1.5  # times the combined interval: what a reported figure may differ by

Told = bool | str
"""How a comparison came out: True as the claim says; else in words what it is instead, False where none are needed."""
REVERSED, CHANCE, LITTLE = "The other way round, beyond chance,", "Not beyond chance", "By less than a quarter"
"""What a comparison is that did not come out, from the worst."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; None where one seed tells of none."""

    value: float
    interval: Interval | None

    @property
    def half(self) -> float:
        """Half the width of the interval; infinite where there is none."""
        return math.inf if self.interval is None else (self.interval.high - self.interval.low) / 2

    def text(self, unit: str = "s", scale: float = 1.0, places: int = 2) -> str:
        """Return the value with its unit."""
        return f"{self.value * scale:.{places}f} {unit}".rstrip()

    def range(self, unit: str = "s", scale: float = 1.0, places: int = 2) -> str:
        """Return the interval with its unit; nothing where there is none."""
        if self.interval is None:
            return ""
        low, high = sorted((self.interval.low * scale, self.interval.high * scale))
        return f"{low:.{places}f} to {high:.{places}f} {unit}".rstrip()

    def more(self) -> str:
        """Return the interval of a difference in seconds, as in `0.21 to 0.40 s more`; nothing where there is none."""
        return f"{self.range()} more" if self.interval else ""


@dataclass(frozen=True)
class Runs:
    """Figures of every point, the same seeds in the same order under each.

    Attributes:
        values: point → figure → its values, float64 [seeds].
    """

    values: Mapping[Point, Mapping[Name, Floats]]

    @classmethod
    def of(cls, points: Sequence[Point], rows: Mapping[int, Row], seeds: int) -> Runs:
        """Return the runs of the cells of `cells_of`: seed by seed, in each a row a point."""

        def column(place: int, path: str) -> Floats:
            found = [rows[seed * len(points) + place].get(path) for seed in range(seeds)]
            return np.array([math.nan if value is None else value for value in found])

        return cls(
            {point: {name: column(place, path) for name, path in FIGURES.items()} for place, point in enumerate(points)}
        )

    def of_seeds(self, point: Point, figure: Name) -> Floats:
        """Return a figure's values, float64 [seeds]."""
        return self.values[point][figure]

    def mean(self, point: Point, figure: Name) -> float:
        """Return a figure's mean over the seeds."""
        return float(self.of_seeds(point, figure).mean())

    def estimate(self, point: Point, figure: Name) -> Estimate:
        """Return a figure with its interval."""
        return mean_of(self.of_seeds(point, figure))

    def difference(self, a: Point, b: Point, figure: Name) -> Estimate:
        """Return a less b, on the same requests."""
        return mean_of(self.of_seeds(a, figure) - self.of_seeds(b, figure))

    def below(self, a: Point, b: Point, figure: Name) -> bool:
        """Whether a is lower than b by more than chance: the interval of the paired difference lies below 0."""
        interval = self.difference(a, b, figure).interval
        return interval is not None and interval.high < 0

    def far_below(self, a: Point, b: Point, figure: Name) -> bool:
        """Whether a is lower than b by more than chance, and by at least a quarter."""
        return self.below(a, b, figure) and self.mean(a, figure) <= (1 - FAR) * self.mean(b, figure)

    def far_above(self, a: Point, b: Point, figure: Name) -> bool:
        """Whether a is higher than b by more than chance, and by at least a quarter."""
        return self.below(b, a, figure) and self.mean(a, figure) >= (1 + FAR) * self.mean(b, figure)

    def compared(self, a: Point, b: Point, figure: Name, *, far: bool = False) -> Told:
        """Return True where a is lower than b by more than chance, and by at least a quarter if it is to be far."""
        if self.below(b, a, figure):
            return REVERSED
        if not self.below(a, b, figure):
            return CHANCE
        return not far or self.far_below(a, b, figure) or LITTLE

    def ratio(self, a: Point, b: Point, figure: Name) -> Estimate:
        """Return a over b."""
        return ratio_of(self.of_seeds(a, figure), self.of_seeds(b, figure))

    def apart(self, a: Point, b: Point, figure: Name) -> float:
        """Return by which share a differs from b in the mean."""
        below = self.mean(b, figure)
        return abs(self.mean(a, figure) / below - 1) if below else math.inf

    def share_kept(self, point: Point, figure: Name = "mean") -> Estimate:
        """Return which share of PSF's gain over FCFS a point keeps, under the same load."""
        fcfs, psf = (self.of_seeds(Point(policy, point.rate), figure) for policy in ("fcfs", "psf"))
        return ratio_of(fcfs - self.of_seeds(point, figure), fcfs - psf)


def mean_of(values: Floats) -> Estimate:
    """Return the mean of values that are independent of each other; NaN of none."""
    if not values.size:
        return Estimate(math.nan, None)
    return Estimate(float(values.mean()), mean_interval(values))


def ratio_of(a: Floats, b: Floats) -> Estimate:
    """Return the ratio of two means over the same seeds; NaN where the lower one is 0, or there are none.

    Its interval is that of the linearised ratio (Cochran, Sampling Techniques, 2.11), which needs the lower mean far
    from 0.
    """
    below = float(b.mean()) if b.size else 0.0
    value = float(a.mean()) / below if below else math.nan
    if len(a) < 2 or not math.isfinite(value):
        return Estimate(value, None)
    scatter = float((a - value * b).std(ddof=1)) / (abs(below) * math.sqrt(len(a)))
    half = student_t(len(a) - 1) * scatter
    return Estimate(value, Interval(value - half, value + half))


def close(a: float, b: float) -> bool:
    """Whether two figures are close: within a tenth of their mean."""
    return abs(a - b) <= CLOSE * abs(a + b) / 2


def flat(values: Sequence[float]) -> bool:
    """Whether figures are flat: every one within a tenth of their mean."""
    middle = math.fsum(values) / len(values)
    return all(abs(value - middle) <= CLOSE * abs(middle) for value in values)


def spread_of(values: Sequence[float]) -> float:
    """Return by which share the largest figure exceeds the smallest."""
    return max(values) / min(values) - 1 if min(values) else math.inf


def falling(runs: Runs, points: Sequence[Point], figure: Name) -> bool:
    """Whether a figure falls from each point to the next in the mean, and from the first to the last beyond chance."""
    means = [runs.mean(point, figure) for point in points]
    steps = all(later < earlier for earlier, later in pairwise(means))
    return steps and runs.below(points[-1], points[0], figure)


def agrees(found: Estimate, reported: float, seeds: int) -> bool:
    """Whether a figure lies within 1.5 times the combined interval of a reported one, which is rounded to 0.01.

    The paper gives no interval: its mean over 100 seeds is taken to have the same scatter as ours.
    """
    theirs = found.half * math.sqrt(seeds / PAPER_SEEDS)
    return (
        math.isfinite(found.half) and abs(found.value - reported) <= _SLACK * math.hypot(found.half, theirs) + ROUNDED
    )


def as_reported(point: Point, figure: Name, reported: float) -> Callable[[Runs], Judged]:
    """Return the predicate of a figure in seconds that the paper gives."""

    def judge(runs: Runs) -> Judged:
        return judged_figure(runs.estimate(point, figure), reported, len(runs.of_seeds(point, figure)))

    return judge


def judged_figure(
    found: Estimate, reported: float, seeds: int, unit: str = "s", scale: float = 1.0, places: int = 2
) -> Judged:
    """Judge a figure by the one that the paper gives."""
    verdict = all_of([agrees(found, reported, seeds)])
    apart = abs(found.value / reported - 1)
    side = "above" if abs(found.value) > abs(reported) else "below"
    why = "" if verdict == "holds" else f"Ours is {apart * 100:.0f} % {side} the reported figure, beyond chance."
    return Judged(found.text(unit, scale, places), found.range(unit, scale, places), verdict, why)


def worst(told: Iterable[Told]) -> Told:
    """Return how several comparisons came out together: as the one that came out worst."""
    missed = set(told) - {True}
    return next((words for words in (REVERSED, CHANCE, LITTLE) if words in missed), not missed)


def everywhere(held: Mapping[str, Told], of: str, interval: str = "", ours: str = "") -> Judged:
    """Judge a claim of many places, each told by what it is called."""
    missing: dict[str, list[str]] = {}
    for place, told in held.items():
        if told is not True:
            missing.setdefault(told or "Not", []).append(place)
    came_out = [told is True for told in held.values()]
    counted = f"{sum(came_out)} of {len(held)} {of}"
    why = " ".join(f"{words} at {', '.join(places)}." for words, places in sorted(missing.items()))
    return Judged(f"{ours}; {counted}" if ours else counted, interval, all_of(came_out), why)


def in_parts(parts: Mapping[str, bool], ours: str, interval: str = "") -> Judged:
    """Judge a claim of several parts, each told in words; those that did not come out are named."""
    missing = [part for part, came_out in parts.items() if not came_out]
    why = f"Did not come out: {'; '.join(missing)}." if missing else ""
    return Judged(ours, interval, all_of(list(parts.values())), why)


def percent(change: float, places: int = 0) -> str:
    """Return a share as a change in per cent, as in `+3 %`; one that rounds to nothing has no sign."""
    text = f"{change * 100:+.{places}f}"
    return f"{text.lstrip('+-') if float(text) == 0 else text} %"
