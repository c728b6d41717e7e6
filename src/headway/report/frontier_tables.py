"""The frontier as tables: the rules at equal use, and every setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.measure.equal_use import Line, Rate, Ratio, evictions_at, ratio_at, reference_of, used_at
from headway.measure.frontier import Frontier
from headway.measure.intervals import Interval
from headway.measure.memory_curve import Curve, Point
from headway.report.columns import NO_VALUE, Column, Table
from headway.report.frontier_words import RATE
from headway.report.labels import rule_colours
from headway.report.numbers import rate_text

USES = 6  # columns of the tables at equal use
APART = 2  # points from one to the next, in % of the cache


def equal_use_table(found: Frontier) -> Table | None:
    """Return each rule's evictions at the same uses; None where no two rules can be compared."""
    curves, uses = found.turned, _uses(found.turned)
    if not uses:
        return None
    lines = [Line.of(curve) for curve in curves]
    columns = [
        Column("Evictions per 100", f"{use} %", "", cells, _empty(curves))
        for use in uses
        if (cells := tuple(_rate_text(evictions_at(line, use / 100)) for line in lines))
    ]
    full = tuple(map(_use_at_rate, lines))
    columns.append(Column(f"At {RATE:g} in 100", "KV in use", "%", full, _empty(curves)))
    return Table(
        "Evictions at equal use of the cache",
        _rules(curves),
        tuple(columns),
        "memory rule",
        rule_colours(_rules(found.curves)),
    )


def times_table(found: Frontier) -> Table | None:
    """Return how many times fewer evictions each rule has than the reference at the same uses."""
    reference, uses = reference_of(found.turned), _uses(found.turned)
    if reference is None or not uses:
        return None
    curves = [curve for curve in found.turned if curve is not reference]
    columns: list[Column] = []
    for use in uses:
        ratios = [ratio_at(curve, reference, use / 100) for curve in curves]
        cells, spread = tuple(map(_times_text, ratios)), tuple(map(_times_interval, ratios))
        columns.append(Column("Times fewer", f"{use} %", "", cells, spread))
    title = f"Times fewer evictions than {reference.rule}, at equal use of the cache"
    return Table(title, _rules(curves), tuple(columns), "memory rule", rule_colours(_rules(found.curves)))


def settings_table(found: Frontier) -> Table:
    """Return every setting of every rule: use, evictions, who was hit, what was computed again."""
    points = [point for curve in found.curves for point in curve.points]
    colours = rule_colours(_rules(found.curves))
    hundreds = [point.requests / len(point.seeds) / 100 for point in points]
    uses = [point.shown for point in points]
    columns = (
        Column(
            "KV in use",
            "mean",
            "%",
            tuple(f"{point.used_mean * 100:.1f}" for point in points),
            tuple(_half(point.used_interval, 100.0, 1) for point in points),
        ),
        Column("KV in use", "max", "%", tuple(f"{(use.used_max or 0) * 100:.1f}" for use in uses), _empty(points)),
        Column(
            "Per 100 requests",
            "Evictions",
            "",
            tuple(rate_text(point.evictions_mean) for point in points),
            tuple(_half(point.evictions_interval, 1.0, None) for point in points),
        ),
        Column(
            "Per 100 requests",
            "Requests evicted",
            "",
            tuple(rate_text(use.evicted_requests / size) for use, size in zip(uses, hundreds, strict=True)),
            _empty(points),
        ),
        Column(
            "Per request",
            "Recomputed",
            "tokens",
            tuple(rate_text(use.recomputed_tokens / size / 100) for use, size in zip(uses, hundreds, strict=True)),
            _empty(points),
        ),
    )
    specs = {point.memory: colours[curve.rule] for curve in found.curves for point in curve.points}
    return Table("Every setting", tuple(specs), columns, "memory rule", specs)


def _uses(curves: Sequence[Curve]) -> list[int]:
    """Return uses in %: from the most that the first rule and the reference both reach downwards."""
    reference = reference_of(curves)
    if reference is None:
        return []
    lines = [Line.of(curves[0]), Line.of(reference)]
    high = math.floor(min(line.used[-1] for line in lines) * 100)
    low = math.ceil(max(line.used[0] for line in lines) * 100)
    return list(range(high, low - 1, -APART)[:USES])[::-1]


def _use_at_rate(line: Line) -> str:
    """Return how full a rule fills the cache at the rate, in %; nothing of a rule that never evicted."""
    use = used_at(line, RATE) if line.evictions.any() else None
    return NO_VALUE if use is None else f"{use * 100:.1f}"


def _rules(curves: Sequence[Curve]) -> tuple[str, ...]:
    return tuple(curve.rule for curve in curves)


def _empty(rows: Sequence[Curve] | Sequence[Point]) -> tuple[str, ...]:
    return ("",) * len(rows)


def _rate_text(rate: Rate | None) -> str:
    if rate is None:
        return NO_VALUE
    return f"< {rate_text(rate.per_100)}" if rate.bound else rate_text(rate.per_100)


def _times_text(ratio: Ratio | None) -> str:
    if ratio is None or (ratio.a.bound and ratio.b.bound):
        return NO_VALUE
    sign = "> " if ratio.a.bound else "< " if ratio.b.bound else ""
    return f"{sign}{rate_text(ratio.times)}"


def _times_interval(ratio: Ratio | None) -> str:
    if ratio is None or ratio.ci95 is None:
        return ""
    return f"({rate_text(ratio.ci95.low)}-{rate_text(ratio.ci95.high)})"


def _half(interval: Interval | None, factor: float, decimals: int | None) -> str:
    if interval is None:
        return ""
    half = (interval.high - interval.low) / 2 * factor
    if half == 0:
        return ""
    return f"± {rate_text(half) if decimals is None else f'{half:.{decimals}f}'}"
