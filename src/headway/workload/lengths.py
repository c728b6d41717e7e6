"""How many tokens requests have. Each function: a shape, a count and a stream → whole tokens, int64 [n].

A longer draw from the same stream starts with the shorter one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.core.errors import InvalidWorkload
from headway.workload.columns import MOST
from headway.workload.limits import number, whole

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class Lognormal:
    """`clip(round(exp(mu + sigma·z)), low, high)` tokens for standard normal z.

    Attributes:
        mu: mean of the logarithm.
        sigma: standard deviation of the logarithm.
        low: fewest tokens.
        high: most tokens.
    """

    mu: float
    sigma: float
    low: int = 1
    high: int = MOST

    @classmethod
    def of_mean(cls, mean: float, cv: float, low: int = 1, high: int = MOST) -> Lognormal:
        """Return the lognormal with this mean (tokens) and cv, before rounding and clipping."""
        variance = math.log1p(cv**2)
        return cls(math.log(mean) - variance / 2, math.sqrt(variance), low, high)

    def tokens(self, z: NDArray[np.float64]) -> Tokens:
        """Return the token counts at standard normal values."""
        return np.clip(np.rint(np.exp(self.mu + self.sigma * z)), self.low, self.high).astype(np.int64)


def lognormal(shape: Lognormal, n: int, rng: np.random.Generator) -> Tokens:
    """Draw independent lognormal lengths."""
    return shape.tokens(rng.standard_normal(whole("n", n, 1)))


def lognormal_pair(
    prompt: Lognormal, output: Lognormal, correlation: float, n: int, rng: np.random.Generator
) -> tuple[Tokens, Tokens]:
    """Draw prompt and output lengths whose logarithms have this correlation."""
    rho = number("correlation", correlation, -1.0, 1.0)
    first, second = rng.standard_normal((whole("n", n, 1), 2)).T
    return prompt.tokens(first), output.tokens(rho * first + math.sqrt(1.0 - rho**2) * second)


def constant(tokens: int, n: int, rng: np.random.Generator) -> Tokens:  # noqa: ARG001 - the shape of all lengths
    """Return the same length n times."""
    return np.full(whole("n", n, 1), whole("tokens", tokens, 0, MOST), dtype=np.int64)


def uniform(low: int, high: int, n: int, rng: np.random.Generator) -> Tokens:
    """Draw whole numbers from `low` to `high`, both included, all equally likely."""
    if whole("low", low, 0, MOST) > whole("high", high, 0, MOST):
        raise InvalidWorkload(f"low must not be above high, got low {low} and high {high}")
    return rng.integers(low, high, whole("n", n, 1), endpoint=True)


def empirical(observed: ArrayLike, n: int, rng: np.random.Generator) -> Tokens:
    """Draw rows of what was observed, with replacement.

    Args:
        observed: int64 [m] lengths, or [m, 2] prompt and output lengths, which stay together.
        n: rows to draw.
        rng: the stream.

    Returns:
        int64 [n], or [n, 2].
    """
    rows = np.asarray(observed, dtype=np.int64)
    if rows.size == 0:
        raise InvalidWorkload("no observed lengths to draw from; expected at least one")
    return rows[rng.integers(0, len(rows), whole("n", n, 1))]
