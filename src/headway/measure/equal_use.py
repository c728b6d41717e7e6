"""Memory rules at equal use: who evicts how many times less, between which uses, and where they are level.

Evictions grow by orders of magnitude over a few points of use, so the logarithm of their rate is interpolated linearly
between two settings of a rule. A rate of zero has no logarithm and is none: of n requests it says that the rate is
below one in n. It is taken as half an eviction in all requests, and what follows from it is marked as a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np

from headway.measure.intervals import Interval, student_t
from headway.measure.memory_curve import Curve, Floats

REFERENCE = "watermark"
"""The rule of most engines: what others are measured against."""

LEVEL = 2.0
"""Rules whose evictions are within this factor of each other are called level."""

ENOUGH = 30
"""Evictions that at least one of two rules must have had for their ratio to say anything: 30 against 15 is more than
chance at 95 % where evictions do not depend on each other."""

STEP = 0.005
"""From one use to the next at which two rules are compared, as a share of the capacity."""

_ROUNDING = 1e-6  # of a step: a use that is a whole number of steps but for rounding is one

Verdict = Literal["fewer", "level", "more", "unknown"]


@dataclass(frozen=True)
class Line:
    """A rule's settings in order of use, means over seeds.

    Attributes:
        used: share of the capacity, strictly increasing; float64 [m].
        evictions: per 100 requests; float64 [m].
        floor: half an eviction in all requests, per 100.
        requests: in all seeds.
    """

    used: Floats
    evictions: Floats
    floor: float
    requests: int

    @classmethod
    def of(cls, curve: Curve, without: int | None = None) -> Line:
        """Average a curve over its seeds, one of them (by index) left out if there are others."""
        seeds = len(curve.points[0].seeds)
        kept = [seed for seed in range(seeds) if seed != without or seeds == 1]
        used = np.array([point.used[kept].mean() for point in curve.points])
        evictions = np.array([point.evictions[kept].mean() for point in curve.points])
        requests = curve.points[0].requests * len(kept) // seeds
        places, where = np.unique(used, return_inverse=True)  # settings that make no difference are one
        rates = np.bincount(where, evictions) / np.bincount(where)
        return cls(places, rates, 50.0 / requests, requests)


@dataclass(frozen=True)
class Rate:
    """Evictions per 100 requests at some use.

    Attributes:
        per_100: the rate, or what it is below.
        bound: it is below that: a neighbouring setting had no eviction at all.
    """

    per_100: float
    bound: bool


@dataclass(frozen=True)
class Ratio:
    """Two rules at the same use.

    Attributes:
        used: share of the capacity.
        a: the rate of the one.
        b: the rate of the other.
        ci95: 95 % interval of `times`, by the jackknife over seeds; None for one seed, or where a rate is a bound.
        verdict: whether the one has fewer evictions than the other (half of them at most), about as many, or more;
            "unknown" where too few were seen.
    """

    used: float
    a: Rate
    b: Rate
    ci95: Interval | None
    verdict: Verdict

    @property
    def times(self) -> float:
        """How many times fewer evictions the one has; at least so many where its rate is a bound."""
        return self.b.per_100 / self.a.per_100

    @property
    def at_least(self) -> bool:
        """The one's rate is a bound and the other's is not."""
        return self.a.bound and not self.b.bound

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in `--json`."""
        return {
            "used": self.used,
            "evictions_per_100": self.a.per_100,
            "evictions_per_100_is_bound": self.a.bound,
            "reference_per_100": self.b.per_100,
            "reference_per_100_is_bound": self.b.bound,
            "times_fewer": self.times,
            "times_fewer_ci95": self.ci95 and self.ci95.to_list(),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Stretch:
    """Neighbouring uses with the same verdict, from `low` to `high`; `ratios` at each of them."""

    ratios: tuple[Ratio, ...]

    @property
    def verdict(self) -> Verdict:
        """That of each."""
        return self.ratios[0].verdict

    @property
    def low(self) -> float:
        """The least use, as a share."""
        return self.ratios[0].used

    @property
    def high(self) -> float:
        """The largest use, as a share."""
        return self.ratios[-1].used


@dataclass(frozen=True)
class EqualUse:
    """A rule against another over all uses that both reach.

    Attributes:
        rule: the one (its spec without the knob).
        reference: the other.
        ratios: every half per cent of the capacity.
    """

    rule: str
    reference: str
    ratios: tuple[Ratio, ...]

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The uses in stretches of one verdict, from the least use on."""
        return tuple(Stretch(tuple(members)) for _, members in groupby(self.ratios, lambda one: one.verdict))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in `--json`."""
        return {"rule": self.rule, "reference": self.reference, "ratios": [one.to_dict() for one in self.ratios]}


def evictions_at(line: Line, used: float) -> Rate | None:
    """Return a rule's evictions at some use, log-interpolated; None where no setting reaches so far."""
    if not line.used[0] <= used <= line.used[-1]:
        return None
    right = int(np.searchsorted(line.used, used))
    left = right if line.used[right] == used else right - 1
    rates = np.maximum(line.evictions[[left, right]], line.floor)
    share = 0.0 if left == right else (used - line.used[left]) / (line.used[right] - line.used[left])
    logarithm = (1 - share) * math.log(rates[0]) + share * math.log(rates[1])
    return Rate(math.exp(logarithm), bool((line.evictions[[left, right]] < line.floor).any()))


def used_at(line: Line, evictions: float) -> float | None:
    """Return the most use before a rule's evictions per 100 requests exceed a rate, log-interpolated.

    None if they do so in every setting. The use of the boldest setting is returned if none exceeds it: more may be had.
    """
    over = np.flatnonzero(line.evictions > evictions)
    if not over.size:
        return float(line.used[-1])
    right = int(over[0])
    if right == 0:
        return None
    low, high = np.log(np.maximum(line.evictions[right - 1 : right + 1], line.floor))
    share = float(np.clip((math.log(max(evictions, line.floor)) - low) / (high - low), 0.0, 1.0))
    return float(line.used[right - 1] + share * (line.used[right] - line.used[right - 1]))


def setting_at(curve: Curve, used: float) -> float:
    """Return the value of a rule's knob at some use, interpolated linearly between the settings beside it."""
    by_use = {point.used_mean: point.value or 0.0 for point in reversed(curve.points)}
    uses = sorted(by_use)
    return float(np.interp(used, uses, [by_use[use] for use in uses]))


def ratio_at(a: Curve, b: Curve, used: float) -> Ratio | None:
    """Compare two rules at some use; None where one of them does not reach it."""
    one, other = Line.of(a), Line.of(b)
    rate, reference = evictions_at(one, used), evictions_at(other, used)
    if rate is None or reference is None:
        return None
    seen = max(rate.per_100 * one.requests, reference.per_100 * other.requests) / 100
    interval = _interval(a, b, used, math.log(reference.per_100 / rate.per_100))
    verdict = _verdict(rate, reference) if seen >= ENOUGH else "unknown"
    return Ratio(used, rate, reference, interval, verdict)


def equal_use(a: Curve, b: Curve) -> EqualUse:
    """Compare two rules at every half per cent of the capacity that settings of both reach."""
    one, other = Line.of(a), Line.of(b)
    low, high = max(one.used[0], other.used[0]), min(one.used[-1], other.used[-1])
    steps = range(math.ceil(low / STEP - _ROUNDING), math.floor(high / STEP + _ROUNDING) + 1)
    places = [min(max(round(step * STEP, 6), low), high) for step in steps]
    ratios = [ratio for used in places if (ratio := ratio_at(a, b, float(used))) is not None]
    return EqualUse(a.rule, b.rule, tuple(ratios))


def reference_of(curves: Sequence[Curve]) -> Curve | None:
    """Return the plain watermark, or the last rule where that is not among them; None for a single rule."""
    if len(curves) < 2:
        return None
    return next((curve for curve in curves if curve.rule == REFERENCE), curves[-1])


def against_reference(curves: Sequence[Curve]) -> list[EqualUse]:
    """Compare every other rule with the reference."""
    reference = reference_of(curves)
    return [] if reference is None else [equal_use(curve, reference) for curve in curves if curve is not reference]


def _verdict(rate: Rate, reference: Rate) -> Verdict:
    times = reference.per_100 / rate.per_100
    if times >= LEVEL:
        return "unknown" if reference.bound else "fewer"
    if times <= 1 / LEVEL:
        return "unknown" if rate.bound else "more"
    return "unknown" if rate.bound or reference.bound else "level"


def _interval(a: Curve, b: Curve, used: float, logarithm: float) -> Interval | None:
    """Return the 95 % interval of the ratio whose logarithm is given: delete-one jackknife over the seeds."""
    seeds = max(len(curve.points[0].seeds) for curve in (a, b))
    if seeds == 1:
        return None
    without: list[float] = []
    for seed in range(seeds):
        rate, reference = (evictions_at(Line.of(curve, seed), used) for curve in (a, b))
        if rate is None or reference is None or rate.bound or reference.bound:
            return None
        without.append(math.log(reference.per_100 / rate.per_100))
    reach = student_t(seeds - 1) * math.sqrt(seeds - 1) * float(np.std(without))
    return Interval(math.exp(logarithm - reach), math.exp(logarithm + reach))
