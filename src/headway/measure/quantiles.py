"""Mean, quantiles and maximum of a set of values: one definition for the whole project.

The p-quantile of n values is their order statistic number ceil(p·n): the smallest value that at least a share
p of the values do not exceed. It is always a value that occurred, never an interpolation. With weights a
value counts as often as its weight says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from headway.core.quantile import rank
from headway.measure.intervals import Interval, mean_interval

STATISTICS = ("mean", "p50", "p90", "p99", "max")
"""The statistics that every measure is given by."""

LEVELS = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
"""P50, P90 and P99."""


def quantile(values: np.ndarray, p: Fraction) -> float | None:
    """Return the order statistic ceil(p·n) of the values (any order, no NaN); None when there are none."""
    if values.size == 0:
        return None
    index = rank(p, values.size) - 1
    return float(np.partition(values, index)[index])


@dataclass(frozen=True)
class Stats:
    """Mean, P50, P90, P99 and maximum, in the unit of the values (seconds); None where there are no values.

    Over several seeds each is the mean over the seeds, and `ci95` holds its 95 % interval under the same
    name.
    """

    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    max: float | None = None
    ci95: Mapping[str, Interval | None] | None = None

    @classmethod
    def of(cls, values: np.ndarray) -> Stats:
        """Describe float64 values [n]; NaN stands for "has none" and is left out."""
        values = values[~np.isnan(values)]
        if values.size == 0:
            return cls()
        indices = [rank(p, values.size) - 1 for p in LEVELS]
        ordered = np.partition(values, indices)
        p50, p90, p99 = (float(ordered[index]) for index in indices)
        return cls(float(values.mean()), p50, p90, p99, float(values.max()))

    @classmethod
    def over_seeds(cls, stats: Sequence[Stats]) -> Stats:
        """Average each statistic over seeds; a seed that has no value for it does not take part in it."""
        means: dict[str, float | None] = {}
        intervals: dict[str, Interval | None] = {}
        for name in STATISTICS:
            values = [value for value in (getattr(one, name) for one in stats) if value is not None]
            means[name] = math.fsum(values) / len(values) if values else None
            intervals[name] = mean_interval(values)
        return cls(**means, ci95=intervals)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `{"mean": 1.2, …, "ci95": {"mean": [1.1, 1.3], …}}`."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in STATISTICS}
        plain["ci95"] = self.ci95 and {name: interval and interval.to_list() for name, interval in self.ci95.items()}
        return plain
