"""Who was turned away or put back: why, and how soon they were told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway.measure.latency import mean_count
from headway.measure.quantiles import Stats
from headway.measure.record import RunRecord


@dataclass(frozen=True)
class Refusals:
    """Requests that the engine or the shedding rule turned away or demoted; means over seeds.

    Attributes:
        by_reason: rejected requests by reason: "deadline" (out of reach when it was refused), "unreachable" (out of
            reach of an idle engine), "queue_full", "kv_capacity" (never fits the memory).
        seconds: arrival to refusal, of rejected requests that were never started.
        demoted: requests that were put behind all others; they are not rejected.
    """

    by_reason: Mapping[str, float]
    seconds: Stats
    demoted: float

    @classmethod
    def of(cls, record: RunRecord) -> Refusals:
        """Count those of one run."""
        rejected = record.outcomes.filter(pl.col("outcome") == "rejected")
        reasons = rejected.group_by(pl.col("reason").fill_null("unknown")).len().sort("reason")
        refused = rejected.filter(pl.col("start").is_null())
        seconds = (refused["finish"] - refused["arrival"]).to_numpy()
        return cls(dict(reasons.iter_rows()), Stats.of(np.asarray(seconds, dtype=np.float64)), record.totals.demoted)

    @classmethod
    def over_seeds(cls, refusals: Sequence[Refusals]) -> Refusals:
        """Average over seeds; a reason that a seed does not have counts as 0 there."""
        reasons = sorted({reason for one in refusals for reason in one.by_reason})
        return cls(
            {reason: mean_count([one.by_reason.get(reason, 0) for one in refusals]) for reason in reasons},
            Stats.over_seeds([one.seconds for one in refusals]),
            mean_count([one.demoted for one in refusals]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the entries of `--json`; `refusal_seconds` is None where nobody was refused."""
        seconds = self.seconds
        told = None if seconds.max is None else {"p50": seconds.p50, "p99": seconds.p99, "max": seconds.max}
        return {"rejected_by_reason": dict(self.by_reason), "refusal_seconds": told, "demoted": self.demoted}
