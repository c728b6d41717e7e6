"""How much holds an engine, and how many engines hold a load? Points that were run, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headway.measure.intervals import Interval, mean_interval

PRECISION = 0.02
"""Share of the rate to which a capacity is found."""


@dataclass(frozen=True)
class RatePoint:
    """What was kept of an agreement at one rate.

    Attributes:
        rate: requests/s that arrive.
        kept: share of the requests whose agreement was kept, one a stretch of traffic.
    """

    rate: float
    kept: tuple[float, ...]

    @property
    def attainment(self) -> float:
        """The mean over the stretches."""
        return math.fsum(self.kept) / len(self.kept)

    @property
    def ci95(self) -> Interval | None:
        """The 95 % interval of that mean, within 0..1; None of fewer than two stretches."""
        found = mean_interval(self.kept)
        return None if found is None else found.within(0.0, 1.0)

    def holds(self, bound: float) -> bool:
        """Whether enough was kept."""
        return self.attainment >= bound

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        return {
            "rate_per_s": self.rate,
            "attainment": self.attainment,
            "ci95": self.ci95 and self.ci95.to_list(),
            "stretches": list(self.kept),
        }


@dataclass(frozen=True)
class Bracket:
    """Between which rates an engine stops to keep an agreement.

    Attributes:
        low: the highest rate up to which it is kept at every rate that was run; None if at none.
        high: the lowest rate at which it is not; None if there is none.
        again: a higher rate at which it is kept once more; None if there is none.
    """

    low: float | None
    high: float | None
    again: float | None

    @property
    def middle(self) -> float | None:
        """What to run next; None where the rate is found, or no pair of rates has it between them."""
        if self.low is None or self.high is None or self.high <= self.low * (1 + PRECISION):
            return None
        return math.sqrt(self.low * self.high)


def bracket(points: Sequence[RatePoint], bound: float) -> Bracket:
    """Return between which of the rates an engine stops to keep an agreement: the first time, from below.

    A rate that holds above one that does not is no capacity: under a rule that turns requests away, or by chance,
    attainment need not fall with the rate.
    """
    ordered = sorted(points, key=lambda point: point.rate)
    low: float | None = None
    for point in ordered:
        if not point.holds(bound):
            again = [other.rate for other in ordered if other.rate > point.rate and other.holds(bound)]
            return Bracket(low, point.rate, max(again, default=None))
        low = point.rate
    return Bracket(low, None, None)


def rate_interval(points: Sequence[RatePoint], bound: float) -> tuple[float | None, float | None]:
    """Return the rates between which the capacity lies, 95 %: where the attainment's interval meets the bound.

    Between rates that were run, the ends are taken to lie on a line. None where an end crosses nowhere.
    """
    ordered = sorted(points, key=lambda point: point.rate)

    def crossing(end: Callable[[RatePoint], float]) -> float | None:
        if not ordered or end(ordered[0]) < bound:
            return None
        for one, other in pairwise(ordered):
            a, b = end(one), end(other)
            if b < bound:
                return one.rate + (other.rate - one.rate) * (a - bound) / (a - b)
        return None

    return (
        crossing(lambda point: point.attainment if point.ci95 is None else point.ci95.low),
        crossing(lambda point: point.attainment if point.ci95 is None else point.ci95.high),
    )


@dataclass(frozen=True)
class Limit:
    """What breaks an agreement, at a rate just above the one that is held.

    Attributes:
        resource: what is short.
        because: what shows it, in a sentence.
        move: what would help, in a sentence.
        rate: requests/s of the run that was looked at.
        broken: share of the requests whose agreement was broken there.
        limits: limit of the agreement → share of these that broke it; "turned away" and "not finished" are two more.
        causes: what was in the way → share of the time that made these late.
        at_limit: what kept a waiting request out, or would have → share of the time in which it did.
        busy: share of the time in which the engine ran.
        batch: share of the token budget that was used.
        kv_peak: most KV tokens, as a share of the capacity.
    """

    resource: str
    because: str
    move: str
    rate: float
    broken: float
    limits: dict[str, float]
    causes: dict[str, float]
    at_limit: dict[str, float]
    busy: float
    batch: float
    kv_peak: float

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        return dict(vars(self))


@dataclass(frozen=True)
class Replicas:
    """How many engines hold a rate.

    Attributes:
        rate: requests/s that arrive, of all.
        count: the fewest replicas that hold it; None if it was not found.
        tried: replicas → share kept, one a stretch of traffic.
        computed: requests/s that a busy engine computes, about.
        seconds: that a stretch of traffic lasts at that rate.
    """

    rate: float
    count: int | None
    tried: dict[int, tuple[float, ...]]
    computed: float
    seconds: float

    @property
    def lasting(self) -> int:
        """How many compute as fast as requests arrive, about: with fewer queues grow, however long that takes."""
        return math.ceil(self.rate / self.computed)

    def attainment(self, count: int) -> float | None:
        """Return the mean share kept by so many; None where that was not run."""
        kept = self.tried.get(count)
        return None if kept is None else math.fsum(kept) / len(kept)

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        tried = [{"replicas": count, "attainment": self.attainment(count)} for count in sorted(self.tried)]
        return {
            "rate_per_s": self.rate,
            "count": self.count,
            "tried": tried,
            "computed_per_s": self.computed,
            "lasting": self.lasting,
            "stretch_seconds": self.seconds,
        }


@dataclass(frozen=True)
class Held:
    """One policy.

    Attributes:
        policy: its name.
        points: what was run, by rate.
        bound: share of the requests whose agreement must be kept.
        limit: what breaks it above; None where nothing does, or it was not looked at.
        replicas: how many engines hold the rate that was asked for; None where none was.
    """

    policy: str
    points: tuple[RatePoint, ...]
    bound: float
    limit: Limit | None = None
    replicas: Replicas | None = None

    @property
    def bracket(self) -> Bracket:
        """Between which rates it stops to hold."""
        return bracket(self.points, self.bound)

    @property
    def rate(self) -> float | None:
        """The highest rate that it holds, requests/s; None if none that was run."""
        return self.bracket.low

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Between which rates that lies, 95 %. It has the rate in it, as a line between two that were run need not."""
        low, high = rate_interval(self.points, self.bound)
        rate = self.rate
        if rate is None:
            return low, high
        return None if low is None else min(low, rate), None if high is None else max(high, rate)

    @property
    def at_rate(self) -> RatePoint | None:
        """What was kept at that rate."""
        return next((point for point in self.points if point.rate == self.rate), None)

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        edge = self.bracket
        return {
            "policy": self.policy,
            "rate_per_s": edge.low,
            "rate_ci95": list(self.interval),
            "breaks_at_rate_per_s": edge.high,
            "holds_again_at_rate_per_s": edge.again,
            "attainment": self.at_rate and self.at_rate.attainment,
            "points": [point.to_dict() for point in self.points],
            "limit": self.limit and self.limit.to_dict(),
            "replicas": self.replicas and self.replicas.to_dict(),
        }


@dataclass(frozen=True)
class Capacity:
    """The answer of `capacity`.

    Attributes:
        settings: what was asked, and how.
        held: the policies, in the order in which they were named.
        notes: what a reader should know.
        partial: it was interrupted.
    """

    settings: dict[str, Any]
    held: tuple[Held, ...]
    notes: tuple[str, ...]
    partial: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "headway": self.settings.get("headway"),
            "settings": {key: value for key, value in self.settings.items() if key != "headway"},
            "policies": [one.to_dict() for one in self.held],
            "notes": list(self.notes),
            "partial": self.partial,
        }
