"""Promoted fractions: how many of the long requests do aggressive ageing and QBA send ahead, at which load?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.core.errors import InvalidInput
from headway.core.spec import number
from headway.theory.priority import TwoClasses, Waits


@dataclass(frozen=True)
class PromotedFraction:
    """φ(rho), measured at a few loads: linear in between, and constant outside of what was measured.

    For AA φ is the share of predicted-long requests that had waited longer than the threshold when they started; for
    QBA, promotions over predicted-long requests. They come from runs: the model cannot tell them.
    Source: Quota-Based Aging, III-B1.

    Attributes:
        loads: rho at which it was measured, strictly ascending; at least one.
        fractions: φ there, each in [0, 1].
    """

    loads: tuple[float, ...]
    fractions: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.loads or len(self.loads) != len(self.fractions):
            raise InvalidInput(
                f"{len(self.loads)} loads and {len(self.fractions)} fractions; expected as many of both, one at least"
            )
        for load in self.loads:
            number("a load", load, 0, math.inf, open_high=True)
        if any(low >= high for low, high in zip(self.loads, self.loads[1:], strict=False)):
            raise InvalidInput(f"loads must ascend, got {list(self.loads)}")
        for fraction in self.fractions:
            number("a promoted fraction", fraction, 0, 1)

    @classmethod
    def measured(cls, points: Sequence[tuple[float, float]]) -> PromotedFraction:
        """Make it of pairs (rho, φ), in any order."""
        ordered = sorted(points)
        return cls(tuple(load for load, _ in ordered), tuple(fraction for _, fraction in ordered))

    def at(self, rho: float) -> float:
        """Return φ at a load."""
        return float(np.interp(rho, self.loads, self.fractions))

    def waits(self, traffic: TwoClasses) -> Waits:
        """Return the waits with the fraction that belongs to the load of this traffic; see `TwoClasses.promoted`."""
        return traffic.promoted(self.at(traffic.together.rho))
