"""What a memory rule made of the KV cache: use, what the future required, evictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class MemoryUse:
    """KV memory over one stretch of a run; source: Past-Future (ASPLOS 2025), the controlled comparison.

    Attributes:
        used_mean: live KV tokens as a share of the capacity, mean over iterations.
        used_max: the same, the most.
        future_required_mean: peak that the residents' true lengths will require, as a share of the capacity, mean over
            admission rounds; None where it was not watched.
        decode_steps: iterations in which requests decoded.
        eviction_events: evictions.
        evicted_requests: requests that were evicted at least once.
        recomputed_tokens: prompt positions that were filled again.
    """

    used_mean: float | None
    used_max: float | None
    future_required_mean: float | None
    decode_steps: float
    eviction_events: float
    evicted_requests: float
    recomputed_tokens: float

    @classmethod
    def over_seeds(cls, uses: Sequence[MemoryUse]) -> MemoryUse:
        """Average each figure over the seeds that have it."""
        means: dict[str, float | None] = {}
        for field in fields(cls):
            known = [value for value in (getattr(use, field.name) for use in uses) if value is not None]
            means[field.name] = math.fsum(known) / len(known) if known else None
        return cls(**means)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the part of `--json` that is the same for the whole run and its steady part."""
        return {
            "used_mean": self.used_mean,
            "used_max": self.used_max,
            "future_required_mean": self.future_required_mean,
            "decode_steps": self.decode_steps,
            "evictions": {
                "events": self.eviction_events,
                "requests": self.evicted_requests,
                "recomputed_tokens": self.recomputed_tokens,
            },
        }
