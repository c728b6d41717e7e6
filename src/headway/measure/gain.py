"""Is one setting better than another? Paired figures of stretches of traffic, and one rule that decides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headway.measure.intervals import Interval, mean_interval

Judgement = Literal["better", "worse", "no significant difference", "too small to matter"]

MATERIAL = 0.01
"""A gain below this share of what there was is not worth a change, however sure it is."""

CLOSE = 0.05
"""A simpler setting is as good as the best one only if it seems to lose less than this share; few stretches of traffic
leave large differences insignificant too."""


@dataclass(frozen=True)
class Gain:
    """By how much a figure is better than another's, over stretches of traffic that both were run on.

    Attributes:
        mean: mean of the differences, in the figure's unit; above 0 is better.
        ci95: Student's t interval of that mean over the stretches; None of fewer than two.
        relative: the mean as a share of the other's mean; None where that is 0.
        stretches: how many.
    """

    mean: float
    ci95: Interval | None
    relative: float | None
    stretches: int

    @property
    def differs(self) -> bool:
        """Whether there is a difference that is more than chance, and matters."""
        return self.judgement in ("better", "worse")

    @property
    def judgement(self) -> Judgement:
        """What follows from it: nothing, where the interval contains 0 or the gain does not matter."""
        if self.ci95 is None or self.ci95.contains_zero:
            return "no significant difference"
        if self.relative is not None and abs(self.relative) < MATERIAL:
            return "too small to matter"
        return "better" if self.mean > 0 else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        return {
            "mean": self.mean,
            "ci95": self.ci95 and self.ci95.to_list(),
            "relative": self.relative,
            "stretches": self.stretches,
            "judgement": self.judgement,
        }


def gain(values: Sequence[float], reference: Sequence[float], *, lower_is_better: bool) -> Gain:
    """Compare figures of the same stretches of traffic, in the same order.

    Args:
        values: of one setting, one a stretch.
        reference: of another.
        lower_is_better: whether the figure is a time or the like.
    """
    one, other = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    apart = other - one if lower_is_better else one - other
    mean, base = math.fsum(apart) / apart.size, math.fsum(other) / other.size
    return Gain(mean, mean_interval(apart), mean / abs(base) if base else None, apart.size)


def choose(scores: Mapping[str, Sequence[float]], simplest_first: Sequence[str]) -> str:
    """Return what to judge: of those that differ neither significantly nor by much from the best, the simplest.

    The judgement itself needs other stretches of traffic than these: the best of many is best by chance too.

    Args:
        scores: by name, one a stretch, of the same stretches; higher is better.
        simplest_first: the names.
    """
    best = max(simplest_first, key=lambda name: math.fsum(scores[name]))  # of equals the simplest
    for name in simplest_first:
        behind = gain(scores[name], scores[best], lower_is_better=False)
        if behind.mean >= 0 or (not behind.differs and abs(behind.relative or 0.0) < CLOSE):
            return name
    return best
