"""The charts: what is drawn, from which figures, with which axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from headway.measure.comparison import Comparison
from headway.measure.curves import timeline_maxima, wait_cdf
from headway.measure.latency import CLASSES
from headway.measure.quantiles import Stats, quantile
from headway.report.drawing import (
    BROKEN,
    Figure,
    chart_of,
    labels_of,
    legend,
    lines,
    of_seed,
    order_of,
    policy_colour,
    rounded,
    time_axis,
    time_unit,
)
from headway.report.labels import policy_colours
from headway.report.numbers import seconds_text

BUCKETS = 600
"""Points that a curve over time has at most."""

MOST_DECADES = 5
"""Powers of ten that the axis of waits spans at most, down from the longest wait."""


_LINE = 15
"""Pixels of a line of a label."""

_MAXIMA = f"Each point is the highest sample within 1/{BUCKETS} of the time shown."


def figures(comparison: Comparison) -> list[Figure]:
    """Return the charts for which there are figures, the most telling first."""
    drawn = (
        _wait_cdfs(comparison),
        _means(comparison),
        _tails(comparison),
        _queues(comparison),
        _kv(comparison),
    )
    return [figure for figure in drawn if figure is not None]


def _wait_cdfs(comparison: Comparison) -> Figure | None:
    """Draw which share of the requests was started within which wait, on a logarithmic axis.

    A logarithm has no place for a wait of zero: waits below the axis' begin are drawn at its begin.
    """
    labels = labels_of(comparison)
    curves = {policy: wait_cdf(record) for policy, record in comparison.first.items()}
    longest = max((float(wait[-1]) for wait, _ in curves.values() if wait.size), default=0.0)
    if longest <= 0:
        return None
    positive = np.concatenate([wait[wait > 0] for wait, _ in curves.values()])
    last = math.floor(math.log10(longest))
    first = math.floor(math.log10(quantile(positive, Fraction(1, 50)) or longest))
    first = min(max(first, last - MOST_DECADES), last - 1)
    begin, end = 10.0**first, longest
    rows: list[dict[str, Any]] = []
    for policy, (wait, share) in curves.items():
        if not wait.size:
            continue
        below = float(share[wait <= begin].max(initial=0.0))
        shown = [(begin, below), *zip(wait[wait > begin], share[wait > begin], strict=True), (end, 1.0)]
        rows += [{"policy": labels[policy], "wait": rounded(float(x)), "share": rounded(float(y))} for x, y in shown]
    decades = [10.0**k for k in range(first, last + 1)]
    under = any(float(wait[0]) < begin for wait, _ in curves.values() if wait.size)
    names = {decade: _decade_text(decade) for decade in decades}
    if under:
        names[decades[0]] = f"≤ {names[decades[0]]}"
    chart = (
        _lines(comparison, "waits", rows, dashed=True)
        .encode(
            x=alt.X("wait:Q")
            .title("Wait until scheduled (log scale)")
            .scale(type="log", domain=[begin, end], nice=False)
            .axis(values=decades, labelExpr=_lookup(names), tickCount=len(decades)),
            y=alt.Y("share:Q")
            .title("Requests started")
            .scale(domain=[0, 1])
            .axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 0.9, 1], tickCount=6),
        )
        .properties(height=400)
    )
    return Figure(
        "waits",
        "How many requests are started within a given wait",
        f"{of_seed(comparison)}The higher a curve, the more requests are started by then.",
        (chart,),
        "tall",
    )


def _tails(comparison: Comparison) -> Figure | None:
    """Draw the P99 wait of each true class; of all requests where there are no classes."""
    groups: list[tuple[str, str, Stats]] = [
        (name, summary.policy, summary.classes[name].wait)
        for name in CLASSES
        for summary in comparison.policies
        if name in summary.classes
    ] or [("all", summary.policy, summary.latency.wait) for summary in comparison.policies]
    rows = _bars(comparison, groups, "p99")
    if not rows:
        return None
    by_class = groups[0][0] != "all"
    y = alt.Y("group:N").title("True class" if by_class else None).sort([*CLASSES, "all"]).axis(labelAngle=0)
    inner = alt.YOffset("policy:N").sort(order_of(comparison)).scale(paddingInner=0.15)
    base = chart_of(rows).encode(y=y, yOffset=inner, color=policy_colour(comparison, "square"))
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        x=alt.X("value:Q").title("P99 wait (s)").scale(_beyond(rows)), tooltip=_tooltips("P99 wait")
    )
    chart = alt.LayerChart(layer=[bars, *_whiskers(base, rows)], height=22 * len(rows))
    title = "P99 wait of short and of long requests" if by_class else "P99 wait"
    caption = _with_intervals(comparison, "One request in a hundred waits longer.")
    return Figure("tails", title, caption, (chart,))


def _means(comparison: Comparison) -> Figure | None:
    """Draw the mean waits with their intervals."""
    groups = [("all", summary.policy, summary.latency.wait) for summary in comparison.policies]
    rows = _bars(comparison, groups, "mean")
    if not rows:
        return None
    names = order_of(comparison)
    most = max(len(lines(name)) for name in names)
    axis = alt.Axis(labelExpr=BROKEN, labelLimit=240, labelOffset=-_LINE / 2 * (most - 1))  # the first line is centred
    y = alt.Y("policy:N").title(None).sort(names).axis(axis)
    base = chart_of(rows).encode(y=y, color=policy_colour(comparison, "none"))
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        x=alt.X("value:Q").title("Mean wait (s)").scale(_beyond(rows)), tooltip=_tooltips("Mean wait")
    )
    chart = alt.LayerChart(layer=[bars, *_whiskers(base, rows)], height=(30 + _LINE * (most - 1)) * len(rows))
    caption = _with_intervals(comparison, "Of all requests that were started.")
    return Figure("means", "Mean wait", caption, (chart,))


def _queues(comparison: Comparison) -> Figure | None:
    """Draw how many requests wait over time."""
    timelines, unit = _timelines(comparison)
    if not timelines:
        return None
    labels = labels_of(comparison)
    rows = [
        {"policy": labels[policy], "time": rounded(time), "value": value}
        for policy, points in timelines.items()
        for time, value in points.select("time", "waiting").iter_rows()
    ]
    chart = _lines(comparison, "queue", rows).encode(
        x=time_axis(unit),
        y=alt.Y("value:Q").title("Waiting requests"),
    )
    caption = f"{of_seed(comparison)}{_MAXIMA} Click a name to single it out."
    return Figure("queue", "Requests waiting over time", caption, (chart.properties(height=220),), "wide")


def _kv(comparison: Comparison) -> Figure | None:
    """Draw the use of the KV cache over time, a strip a policy: on top of each other they hide each other."""
    timelines, unit = _timelines(comparison)
    if not timelines:
        return None
    labels = labels_of(comparison)
    colours = policy_colours(list(labels))
    shares = {
        policy: points["kv"].to_numpy() / comparison.first[policy].totals.kv_capacity
        for policy, points in timelines.items()
    }
    full = max(1.0, *(float(share.max()) for share in shares.values()))
    strips: list[alt.LayerChart | alt.Chart] = []
    for policy, share in shares.items():
        rows = [
            {"time": rounded(time), "value": rounded(float(value))}
            for time, value in zip(timelines[policy]["time"], share, strict=True)
        ]
        last = len(strips) == len(shares) - 1
        y = alt.Y("value:Q").title(None).scale(domain=[0, rounded(full)], nice=False)
        title = alt.TitleParams(labels[policy], fontSize=12.5, fontWeight="normal", offset=4)
        strips.append(
            chart_of(rows)
            .mark_area(interpolate="step-after", color=colours[policy], opacity=0.85)
            .encode(x=time_axis(unit if last else None), y=y.axis(format=".0%", values=[0, 0.5, 1]))
            .properties(height=56, title=title)
        )
    caption = f"{of_seed(comparison)}Share of the cache's tokens. {_MAXIMA}"
    return Figure("kv", "KV cache in use over time", caption, tuple(strips), "wide")


def _timelines(comparison: Comparison) -> tuple[dict[str, pl.DataFrame], str]:
    """Return each policy's timeline on common buckets, its time in a handy unit since the first sample."""
    records = {name: run for name, run in comparison.first.items() if not run.timeline.is_empty()}
    if not records:
        return {}, ""
    start = min(float(run.timeline["time"][0]) for run in records.values())
    end = max(float(run.timeline["time"][-1]) for run in records.values())
    unit, seconds = time_unit(end - start)
    since = ((pl.col("time") - start) / seconds).alias("time")
    return {name: timeline_maxima(run, start, end, BUCKETS).with_columns(since) for name, run in records.items()}, unit


def _lines(comparison: Comparison, key: str, rows: list[dict[str, Any]], *, dashed: bool = False) -> alt.Chart:
    """Return a line a policy; a click on the legend singles one out."""
    pick = alt.selection_point(name=f"pick_{key}", fields=["policy"], bind="legend")
    chart = chart_of(rows).mark_line(interpolate="step-after", strokeWidth=1.8, clip=True)
    chart = chart.encode(
        color=policy_colour(comparison),
        opacity=alt.when(pick).then(alt.value(0.95)).otherwise(alt.value(0.12)),
    ).add_params(pick)
    if not dashed:
        return chart
    dashes = [[1, 0], [8, 3], [3, 2], [10, 3, 2, 3]]
    order = order_of(comparison)
    scale = alt.Scale(domain=order, range=[dashes[i % len(dashes)] for i in range(len(order))])
    return chart.encode(strokeDash=alt.StrokeDash("policy:N").scale(scale).legend(legend("stroke", order)))


def _bars(comparison: Comparison, groups: Sequence[tuple[str, str, Stats]], statistic: str) -> list[dict[str, Any]]:
    """Return a row a bar: group, policy, value and its interval (seconds), and the value as text."""
    labels = labels_of(comparison)
    rows: list[dict[str, Any]] = []
    for group, policy, stats in groups:
        value = getattr(stats, statistic)
        if value is None:
            continue
        interval = stats.ci95[statistic] if stats.ci95 else None
        row = {"group": group, "policy": labels[policy], "value": rounded(value), "text": seconds_text(value)}
        row["reach"] = row["value"]
        if interval is not None:
            row |= {
                "low": rounded(max(0.0, interval.low)),
                "high": rounded(interval.high),
                "reach": max(row["value"], rounded(interval.high)),
            }
        rows.append(row)
    return rows


def _whiskers(base: alt.Chart, rows: Sequence[dict[str, Any]]) -> list[alt.Chart]:
    """Return the intervals, where there are any, and the value in words at the end of each bar."""
    text = base.mark_text(align="left", dx=6).encode(x=alt.X("reach:Q"), text="text:N", color=alt.value("currentColor"))
    if not any("low" in row for row in rows):
        return [text]
    rules = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", color=alt.value("currentColor"))
    return [rules, text]


def _beyond(rows: Sequence[dict[str, Any]]) -> alt.Scale:
    """Return a scale with room for the words at the end of the longest bar."""
    return alt.Scale(domain=[0, rounded(1.15 * max(row["reach"] for row in rows)) or 1.0], nice=False)


def _tooltips(name: str) -> list[alt.Tooltip]:
    return [alt.Tooltip("policy:N", title="Policy"), alt.Tooltip("text:N", title=name)]


def _with_intervals(comparison: Comparison, caption: str) -> str:
    several = len(comparison.seeds) > 1
    return f"{caption} Mean over {len(comparison.seeds)} seeds with 95 % intervals." if several else caption


def _decade_text(decade: float) -> str:
    """Return a power of ten seconds as text."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if decade > size * 0.99:
            return f"{decade / size:,.0f} {unit}"
    return f"{decade:g} s"


def _lookup(names: dict[float, str]) -> str:
    """Return a Vega expression that gives the text of each tick."""
    expression = "''"
    for value, text in names.items():
        expression = f"abs(datum.value / {value!r} - 1) < 0.01 ? '{text}' : {expression}"
    return expression
