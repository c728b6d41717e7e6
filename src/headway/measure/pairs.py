"""By how much do two policies differ, and is it more than chance?

Policies are compared on the same requests, so what makes a seed or a stretch of the trace hard for one makes
it hard for the other, and the differences scatter far less than the policies themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headway.measure.intervals import Interval, batch_means, mean_interval
from headway.measure.latency import waits
from headway.measure.record import RunRecord
from headway.measure.summary import Summary


@dataclass(frozen=True)
class PairedDifference:
    """By how much two policies differ on the same requests.

    Attributes:
        a: a policy's spec.
        b: another's.
        metric: what differs, as a path into the summary: "wait.mean".
        difference: of a less that of b, seconds; None if either has no value.
        ci95: 95 % interval of the difference; None where it cannot be told.
        relative: the difference as a share of b; None if b is 0.
        method: "seeds" (independent repetitions) or "batch means" (20 blocks of one run).
        requests: how many requests it is of: those that both started; None where it is of means over seeds.
        same: every request had the same outcome under both, so that there is no difference to be sure of.
    """

    a: str
    b: str
    metric: str
    difference: float | None
    ci95: Interval | None
    relative: float | None
    method: str
    requests: int | None = None
    same: bool = False

    @property
    def significant(self) -> bool | None:
        """Whether the interval over seeds excludes 0; None without one, since a single run's is not sure enough."""
        return None if self.ci95 is None or self.method != "seeds" else not self.ci95.contains_zero

    def to_dict(self) -> dict[str, Any]:
        """Return the pair's entry in `--json`."""
        return {
            "a": self.a,
            "b": self.b,
            "metric": self.metric,
            "difference": self.difference,
            "ci95": self.ci95 and self.ci95.to_list(),
            "relative": self.relative,
            "significant": self.significant,
            "method": self.method,
            "requests": self.requests,
            "same_outcomes": self.same,
        }

    def reversed(self, base: float | None) -> PairedDifference:
        """Return b less a; `base` is a's own value, of which it is a share."""
        difference = None if self.difference is None else -self.difference
        interval = self.ci95 and Interval(-self.ci95.high, -self.ci95.low)
        return replace(
            self, a=self.b, b=self.a, difference=difference, ci95=interval, relative=_share(difference, base)
        )


def paired_difference(a: Sequence[Summary], b: Sequence[Summary], first: Mapping[str, RunRecord]) -> PairedDifference:
    """Return the difference in mean wait of two policies.

    Args:
        a: a policy's summaries, one a seed.
        b: another's, of the same seeds.
        first: each policy's run of the first seed; with one seed, or seeds that all give the same, the difference is
            taken request by request, over the requests that both started.
    """
    names = a[0].policy, b[0].policy
    means = [(x.latency.wait.mean, y.latency.wait.mean) for x, y in zip(a, b, strict=True)]
    if len(set(means)) == 1 and all(name in first for name in names):
        # One run, or the same run over and over: repetitions that draw nothing are no sample.
        one, other = _paired_waits(first[names[0]], first[names[1]])
        method, interval, requests = "batch means", batch_means(one - other), one.size
    else:
        known = np.array([pair for pair in means if None not in pair], dtype=np.float64).reshape(-1, 2)
        one, other = known[:, 0], known[:, 1]
        method, interval, requests = "seeds", mean_interval(one - other), None
    difference = float((one - other).mean()) if one.size else None
    base = float(other.mean()) if other.size else None
    share, same = _share(difference, base), _same_outcomes(a, b, first)
    return PairedDifference(*names, "wait.mean", difference, interval, share, method, requests, same)


def _same_outcomes(a: Sequence[Summary], b: Sequence[Summary], first: Mapping[str, RunRecord]) -> bool:
    """Whether every request of the first seed ended alike at the same times, and the figures of all seeds agree."""
    runs = [first.get(one[0].policy) for one in (a, b)]
    if runs[0] is None or runs[1] is None or not runs[0].outcomes.equals(runs[1].outcomes):
        return False
    return all(_figures(x) == _figures(y) for x, y in zip(a, b, strict=True))


def _figures(one: Summary) -> tuple[object, ...]:
    """Return figures that are of whole requests: those between tokens depend on how a run was cut into segments."""
    times = one.latency.wait, one.latency.ttft, one.latency.e2e
    return *times, one.finished, one.cancelled, one.expired, one.refusals, one.longest_wait


def _paired_waits(a: RunRecord, b: RunRecord) -> tuple[np.ndarray, np.ndarray]:
    """Return the waits of the requests that both runs started, in order of arrival, seconds."""
    one, other = a.outcomes, b.outcomes
    if not one["id"].equals(other["id"]):
        # An interrupted run lacks requests, or lists them in another order. With clients the two runs have arrival
        # times of their own: the order is that of the first.
        one = one.join(other.select("id"), on="id", how="semi").sort("arrival", "id")
        place = one.select("id").with_row_index("place")
        other = other.join(place, on="id", how="inner").sort("place")
    wait, reference = waits(one), waits(other)
    both = ~np.isnan(wait) & ~np.isnan(reference)
    return wait[both], reference[both]


def _share(difference: float | None, base: float | None) -> float | None:
    return difference / base if difference is not None and base else None
