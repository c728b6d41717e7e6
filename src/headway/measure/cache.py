"""What a prefix cache spared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.measure.record import Totals


@dataclass(frozen=True)
class CacheUse:
    """Prompt tokens that came from the prefix cache; without one there are no figures.

    Attributes:
        hit_tokens: tokens that were not run, since the cache had them; after an eviction they may count again.
        hit_rate: the same as a share of all prompt tokens, run or not.
    """

    hit_tokens: float | None = None
    hit_rate: float | None = None

    @classmethod
    def of(cls, totals: Totals) -> CacheUse:
        """Return the figures of one run."""
        hit = totals.cached_positions
        if hit is None:
            return cls()
        filled = hit + totals.prefill_positions
        return cls(hit, hit / filled if filled else None)

    @classmethod
    def over_seeds(cls, uses: Sequence[CacheUse]) -> CacheUse:
        """Return the means over seeds."""
        return cls(_mean([use.hit_tokens for use in uses]), _mean([use.hit_rate for use in uses]))

    def to_dict(self) -> dict[str, Any]:
        """Return the part of `--json`."""
        return {"hit_tokens": self.hit_tokens, "hit_rate": self.hit_rate}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
