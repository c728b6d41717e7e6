"""How sure is a mean: Student-t intervals, over seeds or over blocks of one run.

The t quantile is found from the exact finite series of Student's distribution for whole degrees of freedom
(Abramowitz & Stegun, 26.7.3 and 26.7.4), by bisection: no table, no approximation, and no need of scipy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

BLOCKS = 20
"""Blocks of the batch means; 10 to 30 are usual (Law, Simulation Modeling and Analysis, 9.5.3)."""


@dataclass(frozen=True)
class Interval:
    """An interval of confidence, in the unit of its mean."""

    low: float
    high: float

    @property
    def contains_zero(self) -> bool:
        """Whether a mean of zero is within the interval: "no significant difference"."""
        return self.low <= 0.0 <= self.high

    def within(self, low: float = -math.inf, high: float = math.inf) -> Interval:
        """Return the part of it in which the mean can be at all."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))

    def to_list(self) -> list[float]:
        """Return `[low, high]`."""
        return [self.low, self.high]


def _inside(theta: float, freedom: int) -> float:
    """Return P(|T| < √freedom · tan θ) for Student's T with `freedom` degrees of freedom."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return (theta + sine * total) * 2.0 / math.pi if odd else sine * total


@cache
def student_t(freedom: int, confidence: float = 0.95) -> float:
    """Return the t with P(|T| < t) = confidence, for T with `freedom` ≥ 1 degrees of freedom."""
    low, high = 0.0, math.pi / 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return math.sqrt(freedom) * math.tan(middle)
        if _inside(middle, freedom) < confidence:
            low = middle
        else:
            high = middle


def mean_interval(values: Sequence[float] | np.ndarray) -> Interval | None:
    """Return the 95 % Student-t interval of the mean of independent values; None with fewer than two."""
    n = len(values)
    if n < 2:
        return None
    center = math.fsum(values) / n
    half = student_t(n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(center - half, center + half)


def batch_means(values: np.ndarray) -> Interval | None:
    """Return the 95 % interval of the mean of one run's values [n], given in order of arrival.

    Successive requests wait together, so their values are not independent; the means of 20 contiguous blocks
    nearly are, if a block is long against the busy periods. Near saturation it is not: the blocks then count as
    fewer, n (1 - r) / (1 + r) for a correlation r from one block to the next, as in an autoregressive series. Even so
    the interval is somewhat too narrow there; several seeds, or windows of the trace, tell more. None with fewer than
    two values a block.
    """
    if values.size < 2 * BLOCKS:
        return None
    means = np.array([block.mean() for block in np.array_split(values, BLOCKS)])
    correlation = _correlation(means)
    worth = BLOCKS * (1 - correlation) / (1 + correlation)  # blocks, were they independent
    half = student_t(max(1, math.floor(worth) - 1)) * float(np.std(means, ddof=1)) / math.sqrt(worth)
    center = float(values.mean())
    return Interval(center - half, center + half)


def _correlation(means: np.ndarray) -> float:
    """Return the correlation from one of few values to the next, in [0, 0.95].

    What is estimated from n values is too small by (1 + 4 r) / n (Kendall, Biometrika 41, 1954).
    """
    apart = means - means.mean()
    scatter = float(apart @ apart)
    raw = float(apart[1:] @ apart[:-1]) / scatter if scatter > 0 else 0.0
    return min(max(raw + (1 + 4 * max(raw, 0.0)) / means.size, 0.0), 0.95)
