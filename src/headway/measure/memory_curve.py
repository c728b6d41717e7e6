"""A memory rule over its knob: for each setting how full the KV cache is, and how many evictions that costs.

Source: Past-Future Scheduler for LLM Serving under SLA Guarantees (ASPLOS 2025), use of memory against evictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.measure.intervals import Interval, mean_interval
from headway.measure.memory import MemoryUse

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """One setting of a memory rule, over one seed or several.

    Attributes:
        memory: spec of the rule.
        value: of its knob; None for a rule without one.
        seeds: seeds that it was run under.
        whole: use of memory in each seed, until the queue was empty.
        steady: the same after the start-up; empty where a run has no such part.
        used: share of the capacity, of the part that counts; float64 [seeds].
        evictions: events per 100 requests of that part; float64 [seeds].
        requests: requests of that part, in all seeds.
    """

    memory: str
    value: float | None
    seeds: tuple[int, ...]
    whole: tuple[MemoryUse, ...]
    steady: tuple[MemoryUse, ...]
    used: Floats
    evictions: Floats
    requests: int

    @classmethod
    def of(
        cls,
        memory: str,
        value: float | None,
        seeds: Sequence[int],
        whole: Sequence[MemoryUse],
        steady: Sequence[MemoryUse],
        requests: int,
    ) -> Point:
        """Make a point of its runs; with a `steady` part this counts, of `requests` requests a run."""
        shown = steady or whole
        return cls(
            memory,
            value,
            tuple(seeds),
            tuple(whole),
            tuple(steady),
            np.array([use.used_mean or 0.0 for use in shown]),
            np.array([use.eviction_events for use in shown], dtype=np.float64) * 100 / requests,
            requests * len(shown),
        )

    @property
    def used_mean(self) -> float:
        """Share of the capacity in use, mean over seeds."""
        return float(self.used.mean())

    @property
    def evictions_mean(self) -> float:
        """Evictions per 100 requests, mean over seeds."""
        return float(self.evictions.mean())

    @property
    def used_interval(self) -> Interval | None:
        """95 % interval of the mean use; None for one seed."""
        return mean_interval(self.used)

    @property
    def evictions_interval(self) -> Interval | None:
        """95 % interval of the mean evictions, not below 0; None for one seed."""
        interval = mean_interval(self.evictions)
        return interval and Interval(max(0.0, interval.low), interval.high)

    @property
    def shown(self) -> MemoryUse:
        """Use of memory in the part that counts, mean over seeds."""
        return MemoryUse.over_seeds(self.steady or self.whole)

    def to_dict(self) -> dict[str, Any]:
        """Return the point's entry in `--json`."""
        used, evictions = self.used_interval, self.evictions_interval
        return {
            "memory": self.memory,
            "value": self.value,
            "seeds": list(self.seeds),
            "used": self.used_mean,
            "used_ci95": used and used.to_list(),
            "evictions_per_100": self.evictions_mean,
            "evictions_per_100_ci95": evictions and evictions.to_list(),
            "whole": MemoryUse.over_seeds(self.whole).to_dict(),
            "steady": MemoryUse.over_seeds(self.steady).to_dict() if self.steady else None,
        }


@dataclass(frozen=True)
class Curve:
    """The settings of one memory rule.

    Attributes:
        rule: its spec without the knob.
        knob: name of the option that was turned; None for a rule without one.
        points: from the careful end to the bold one.
    """

    rule: str
    knob: str | None
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the curve's entry in `--json`."""
        return {"rule": self.rule, "knob": self.knob, "points": [point.to_dict() for point in self.points]}
