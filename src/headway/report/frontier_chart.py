"""The frontier as a chart: use of the KV cache against evictions, a line a memory rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import altair as alt

from headway.measure.frontier import Frontier
from headway.measure.memory_curve import Curve, Point
from headway.report.drawing import Figure
from headway.report.labels import rule_colours, short_labels
from headway.report.numbers import rate_text

HEIGHT = 470
_AMONG = 2.2  # factor on the axis between the least rate and the line of those without any
_ABOVE = 1.7  # and above the highest rate
_Beside = tuple[Literal["left", "right"], int, int]  # where a value stands beside its point: align, dx, dy
_ABOVE_LEFT: _Beside = ("right", -8, -6)
_BELOW_RIGHT: _Beside = ("left", 8, 11)


def frontier_figure(found: Frontier) -> Figure:
    """Draw every setting of every rule, and what true lengths would reach."""
    several = f" Whiskers are 95 % intervals over {len(found.seeds)} seeds." if len(found.seeds) > 1 else ""
    caption = (
        "Right is fuller, down is fewer evictions: the best place is at the bottom right. A line is a rule, a point a "
        f"value of its knob; hollow points had no eviction at all.{several}"
    )
    return Figure("frontier", "Use of the KV cache against evictions", caption, (_chart(found),), "wide")


@dataclass(frozen=True)
class _Axes:
    """The ends of both axes: use in %, evictions per 100 requests; those without any lie on `bottom`."""

    left: float
    bottom: float
    least: float
    top: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> _Axes:
        rates = [point.evictions_mean for point in points if point.evictions_mean > 0]
        least = min((*rates, 100 / max(point.requests for point in points)))
        left = math.floor(min(point.used_mean for point in points) * 20) * 5
        return cls(min(left, 95), least / _AMONG, least, max((*rates, least * 10)) * _ABOVE)

    @property
    def x(self) -> alt.X:
        scale = alt.Scale(domain=[self.left, 100], nice=False)
        return alt.X("used:Q", scale=scale).title("KV cache in use (% of its tokens, mean)")

    @property
    def y(self) -> alt.Y:
        decades = range(math.ceil(math.log10(self.least)), math.floor(math.log10(self.top)) + 1)
        ticks = [self.bottom, *(10.0**k for k in decades)]
        words = f"datum.value < {self.least / math.sqrt(_AMONG)!r} ? 'none' : format(datum.value, '~r')"
        scale = alt.Scale(type="log", domain=[self.bottom / 1.25, self.top], nice=False)
        axis = alt.Axis(values=ticks, labelExpr=words, tickCount=len(ticks))
        return alt.Y("evictions:Q", scale=scale, axis=axis).title("Evictions per 100 requests (log scale)")

    def place(self, point: Point) -> dict[str, float]:
        """Return where a point lies."""
        return {"used": _round(point.used_mean * 100), "evictions": _round(point.evictions_mean or self.bottom)}


def _chart(found: Frontier) -> alt.LayerChart:
    curves = [curve for curve in found.curves if curve.rule != "oracle"]
    axes = _Axes.of([point for curve in found.curves for point in curve.points])
    rules = [curve.rule for curve in curves]
    short = short_labels(rules)
    names = [f"{short[curve.rule]} ({curve.knob})" if curve.knob else short[curve.rule] for curve in curves]
    colours = list(rule_colours(rules).values())
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolOpacity=1, labelLimit=320, columns=2)
    scale = alt.Scale(domain=names, range=colours)
    colour = alt.Color("rule:N", scale=scale, legend=legend)
    layers: list[alt.Chart] = _limit(found.limit, axes)
    for name, ink, curve in zip(names, colours, curves, strict=True):
        layers += _line(name, ink, curve, axes, colour)
    return alt.LayerChart(layer=layers, height=HEIGHT)


def _line(name: str, ink: str, curve: Curve, axes: _Axes, colour: alt.Color) -> list[alt.Chart]:
    """Return a rule's line, dashed where it falls to none; its points, hollow where there were none; their values."""
    segments: list[dict[str, Any]] = []
    for start, end in pairwise(curve.points):
        if start.evictions_mean or end.evictions_mean:
            to = {f"{key}_to": value for key, value in axes.place(end).items()}
            falls = not (start.evictions_mean and end.evictions_mean)
            segments.append({"rule": name, **axes.place(start), **to, "dash": [3, 4] if falls else [1, 0]})
    points = [_row(name, curve, point, axes) for point in curve.points]
    align, dx, dy = _BELOW_RIGHT if curve.rule.startswith("past-future") else _ABOVE_LEFT
    base = alt.Chart(alt.Data(values=points)).encode(x=axes.x, y=axes.y, color=colour)
    careful = [row for row in points[:1] if row["none"]]
    texts = [row for row in points if not row["none"]]
    tooltip = [
        alt.Tooltip("memory:N", title="Memory rule"),
        alt.Tooltip("used_text:N", title="KV in use"),
        alt.Tooltip("rate_text:N", title="Evictions per 100 requests"),
    ]
    return [
        alt.Chart(alt.Data(values=segments))
        .mark_rule(strokeWidth=2, clip=True)
        .encode(
            x=axes.x,
            y=axes.y,
            x2="used_to:Q",
            y2="evictions_to:Q",
            color=colour,
            strokeDash=alt.StrokeDash("dash:N", scale=None),
        ),
        *_whiskers(base, points),
        base.mark_point(size=48, strokeWidth=1.6, opacity=1).encode(
            fill=alt.when(alt.datum.none).then(alt.value("transparent")).otherwise(alt.value(ink)),
            tooltip=tooltip,
        ),
        _words(texts, axes, colour).mark_text(align=align, dx=dx, dy=dy, fontSize=10.5),
        _words(careful, axes, colour).mark_text(align="center", dy=-12, fontSize=10.5),
    ]


def _words(rows: list[dict[str, Any]], axes: _Axes, colour: alt.Color) -> alt.Chart:
    """Return the values of points, to stand beside them."""
    return alt.Chart(alt.Data(values=rows)).encode(x=axes.x, y=axes.y, color=colour, text="value:N")


def _row(name: str, curve: Curve, point: Point, axes: _Axes) -> dict[str, Any]:
    row: dict[str, Any] = {
        "rule": name,
        "memory": point.memory,
        "value": knob_text(curve.knob, point.value),
        **axes.place(point),
        "none": point.evictions_mean == 0,
        "used_text": f"{point.used_mean * 100:.1f} %",
        "rate_text": rate_text(point.evictions_mean),
    }
    used, evictions = point.used_interval, point.evictions_interval
    if used is not None and evictions is not None:
        row |= {"used_low": _round(used.low * 100), "used_high": _round(min(used.high * 100, 100.0))}
        row |= {"low": _round(max(evictions.low, axes.bottom)), "high": _round(max(evictions.high, axes.bottom))}
    return row


def _whiskers(base: alt.Chart, rows: Sequence[dict[str, Any]]) -> list[alt.Chart]:
    if not any("low" in row for row in rows):
        return []
    mark = base.mark_rule(strokeWidth=1.1, opacity=0.5, clip=True)
    return [mark.encode(y="low:Q", y2="high:Q"), mark.encode(x="used_low:Q", x2="used_high:Q")]


def _limit(limit: Point | None, axes: _Axes) -> list[alt.Chart]:
    """Return the oracle: a line at the use that it reaches, a diamond at what it evicts."""
    if limit is None:
        return []
    rate = f"{rate_text(limit.evictions_mean)} evictions per 100" if limit.evictions_mean else "no evictions"
    words = f"oracle: {limit.used_mean * 100:.0f} %, {rate}"
    base = alt.Chart(alt.Data(values=[{**axes.place(limit), "text": words}])).encode(x=axes.x)
    return [
        base.mark_rule(strokeDash=[5, 4], strokeWidth=1.3, color="currentColor", opacity=0.6),
        base.mark_point(shape="diamond", size=90, filled=True, color="currentColor", opacity=1).encode(y=axes.y),
        base.mark_text(align="right", dx=-10, dy=-11, color="currentColor").encode(y=axes.y, text="text:N"),
    ]


def knob_text(knob: str | None, value: float | None) -> str:
    """Return the value of a knob as it is written beside its point: per cent, or times."""
    if knob is None or value is None:
        return ""
    return f"\N{MULTIPLICATION SIGN}{value:g}" if knob == "overcommit" else f"{value * 100:g} %"


def _round(value: float) -> float:
    """Return six significant digits: more cannot be seen."""
    return float(f"{value:.6g}")
