"""What `capacity` found, as tables: what each policy holds and what limits it, and what was kept at each rate."""

from __future__ import annotations

from collections.abc import Sequence

from headway.measure.capacity import Capacity, Held
from headway.report.capacity_words import interval_words, kept_text, per_second, rate_words
from headway.report.columns import NO_VALUE, Column, Table
from headway.report.numbers import percent_text

MOST_RATES = 8
"""Rates in a table, those nearest to where the policies break."""


_BARRIERS = {"budget": "budget", "fit": "fit", "partials": "prompts", "slots": "slots", "memory": "memory"}


def held_table(found: Capacity) -> Table:
    """Return a row a policy: rate, interval, what was kept there, the limit, replicas."""
    held = found.held

    def kept(one: Held) -> str:
        return NO_VALUE if one.at_rate is None else kept_text(one.at_rate.attainment)

    def limited(one: Held) -> str:
        return NO_VALUE if one.limit is None else one.limit.resource

    def replicas(one: Held, less: int) -> str:
        if one.replicas is None or one.replicas.count is None:
            return NO_VALUE
        count = one.replicas.count
        if less == 0:
            return f"{count:,}"
        share = one.replicas.attainment(count - less + 1)
        return NO_VALUE if share is None else kept_text(share)

    columns = (
        _column("One engine", "requests/s", [rate_words(one) for one in held]),
        _column("One engine", "95 % interval", [interval_words(one) for one in held]),
        _column(
            "One engine",
            "kept",
            [NO_VALUE if one.at_rate is None else kept_text(one.at_rate.attainment) for one in held],
        ),
        _column("Replicas", "fewest", [replicas(one, 0) for one in held]),
        _column("Replicas", "keep", [replicas(one, 1) for one in held]),
        _column("Replicas", "one less", [replicas(one, 2) for one in held]),
        _column("Above", "limited by", [limited(one) for one in held]),
    )
    return Table("Capacity", tuple(one.policy for one in held), columns)


def limits_table(found: Capacity) -> Table | None:
    """Return what broke above the capacity: limits, use of the engine; None where nothing did."""
    held = [one for one in found.held if one.limit is not None]
    limits = [one.limit for one in held if one.limit is not None]
    if not limits:
        return None
    names = list(dict.fromkeys(name for limit in limits for name in limit.limits))
    broke = [
        _column("Of these broke", name, [percent_text(limit.limits.get(name, 0.0)) for limit in limits])
        for name in names
    ]
    stood = [
        _column("Of the time at its limit", words, [percent_text(limit.at_limit.get(name, 0.0)) for limit in limits])
        for name, words in _BARRIERS.items()
        if any(limit.at_limit.get(name) for limit in limits)
    ]
    columns = (
        _column("Looked at", "requests/s", [per_second(limit.rate) for limit in limits]),
        _column("Looked at", "broken", [percent_text(limit.broken) for limit in limits]),
        *broke,
        *stood,
        _column("KV cache", "peak", [percent_text(limit.kv_peak) for limit in limits]),
    )
    return Table("Just above the capacity", tuple(one.policy for one in held), columns)


def rates_table(found: Capacity) -> Table | None:
    """Return what was kept at each rate of the grid; None where policies have no rate in common."""
    common = set.intersection(*({point.rate for point in one.points} for one in found.held)) if found.held else set()
    if not common:
        return None
    best = max((one.rate or 0.0 for one in found.held), default=0.0)
    rates = sorted(sorted(common, key=lambda rate: abs(rate - best))[:MOST_RATES])
    columns = [
        _column(
            "Kept at requests/s",
            per_second(rate),
            [kept_text(next(point for point in one.points if point.rate == rate).attainment) for one in found.held],
        )
        for rate in rates
    ]
    return Table("Attainment by rate", tuple(one.policy for one in found.held), tuple(columns))


def _column(group: str, name: str, cells: Sequence[str]) -> Column:
    return Column(group, name, "", tuple(cells), ("",) * len(cells))
