"""Service times by their first two moments: all that the mean-value formulas need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headway.core.errors import InvalidInput
from headway.core.spec import number

_MOST = 1e9  # seconds, and their inverse: far beyond anything that is served, and moments stay numbers
_ROUNDING = 1e-9  # relative: moments of equal numbers, computed by sums


@dataclass(frozen=True)
class Service:
    """How long a server is taken.

    Attributes:
        mean: E[S], seconds; above 0.
        second: E[S²], seconds squared; at least E[S]².
    """

    mean: float
    second: float

    def __post_init__(self) -> None:
        number("the mean service time", self.mean, 1 / _MOST, _MOST)
        number("the second moment of the service time", self.second, 0, math.inf, open_low=True, open_high=True)
        if self.second < self.mean**2 * (1 - _ROUNDING):
            raise InvalidInput(
                f"service times with a mean of {self.mean:g} s have a second moment of at least {self.mean**2:g} s², "
                f"got {self.second:g}"
            )

    @classmethod
    def of_scv(cls, mean: float, scv: float) -> Service:
        """Make it of the mean and the squared coefficient of variation: 0 constant, 1 exponential."""
        number("the mean service time", mean, 1 / _MOST, _MOST)
        scv = number("the service time's scv", scv, 0, _MOST)
        return cls(mean, mean**2 * (1 + scv))

    @classmethod
    def mixed(cls, shares: Sequence[float], parts: Sequence[Service]) -> Service:
        """Make it of several kinds of requests, each with its share; shares are relative to their sum."""
        total = math.fsum(shares)
        if not 0 < total < math.inf or min(shares) < 0:
            raise InvalidInput(f"shares of classes must not be negative, and not all 0; got {list(shares)}")
        pairs = list(zip(shares, parts, strict=True))
        return cls(
            math.fsum(share * part.mean for share, part in pairs) / total,
            math.fsum(share * part.second for share, part in pairs) / total,
        )

    @property
    def scv(self) -> float:
        """CV², the squared coefficient of variation."""
        return max(self.second / self.mean**2 - 1, 0.0)

    @property
    def residual(self) -> float:
        """E[S²] / (2·E[S]): the mean rest, in seconds, of a service that is looked at while it runs."""
        return self.second / (2 * self.mean)
