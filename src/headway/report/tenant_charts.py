"""Charts of the service that tenants received over time, and of its gaps."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from headway.measure.charges import ServiceCurves
from headway.measure.comparison import Comparison
from headway.measure.fairness import bound, windows
from headway.measure.record import RunRecord
from headway.report.drawing import (
    Figure,
    chart_of,
    labels_of,
    legend,
    of_seed,
    policy_colour,
    rounded,
    time_axis,
    time_unit,
)
from headway.report.numbers import count_text

MOST = 8
"""Tenants that a chart shows: of more, those with the most requests."""

POINTS = 200
"""Points of a tenant's curve."""

_COLOURS = ("#332288", "#CC6677", "#117733", "#DDAA33", "#88CCEE", "#AA4499", "#999933", "#777777")
"""Of Paul Tol's muted scheme, in an order in which neighbours differ; not the colours of policies."""


def tenant_figures(comparison: Comparison) -> list[Figure]:
    """Return the charts of tenants; none where there are not several, or no service was noted."""
    runs = {
        policy: (record, ServiceCurves(record, record.work))
        for policy, record in comparison.first.items()
        if record.work is not None and record.outcomes["tenant"].n_unique() > 1
    }
    if not runs:
        return []
    span = max(record.totals.seconds for record, _ in runs.values())
    found = (_service(comparison, runs, span), _gaps(comparison, runs, span))
    return [figure for figure in found if figure is not None]


def _service(comparison: Comparison, runs: dict[str, tuple[RunRecord, ServiceCurves]], span: float) -> Figure | None:
    """Draw what each tenant had received by each time, a strip a policy."""
    labels, (unit, seconds) = labels_of(comparison), time_unit(span)
    requests = next(iter(runs.values()))[0].outcomes["tenant"].value_counts()
    requests = requests.sort("count", "tenant", descending=[True, False])
    shown = sorted(requests["tenant"].head(MOST))
    strips: list[alt.LayerChart | alt.Chart] = []
    for policy, (record, curves) in runs.items():
        times = _start(record) + np.linspace(0.0, record.totals.seconds, POINTS)
        rows = [
            {"tenant": name, "time": rounded(since), "value": rounded(float(value))}
            for name in shown
            if name in curves.names
            for since, value in zip(
                (times - times[0]) / seconds, curves.at(curves.names.index(name), times), strict=True
            )
        ]
        last = len(strips) == len(runs) - 1
        title = alt.TitleParams(labels[policy], fontSize=12.5, fontWeight="normal", offset=4)
        colour = alt.Color("tenant:N").scale(domain=shown, range=list(_COLOURS[: len(shown)]))
        strips.append(
            chart_of(rows)
            .mark_line(strokeWidth=1.8)
            .encode(
                x=time_axis(unit if last else None),
                y=alt.Y("value:Q").title(None).axis(format="~s", tickCount=3),
                color=colour.legend(None if strips else legend("stroke", shown)),
            )
            .properties(height=110, title=title)
        )
    caption = (
        f"{of_seed(comparison)}Charged units over weight. While two tenants have requests waiting, a policy that "
        "shares lets their lines climb side by side."
    )
    if requests.height > MOST:
        caption += f" The {MOST} of {count_text(requests.height)} tenants with the most requests."
    return Figure(
        "service",
        "Service received over time",
        caption,
        tuple(strips),
        "wide",
    )


def _gaps(comparison: Comparison, runs: dict[str, tuple[RunRecord, ServiceCurves]], span: float) -> Figure | None:
    """Draw the largest gap in each window of time, and the bound of fair queueing, on a logarithmic axis."""
    labels, (unit, seconds) = labels_of(comparison), time_unit(span)
    found = {policy: windows(record, curves) for policy, (record, curves) in runs.items()}
    rows: list[dict[str, Any]] = []
    for policy, one in found.items():
        since, known = (one.ends - _start(runs[policy][0])) / seconds, ~np.isnan(one.gaps)
        points = zip(since[known].tolist(), np.maximum(one.gaps[known], 1.0).tolist(), strict=True)
        rows += [{"policy": labels[policy], "time": rounded(time), "value": rounded(gap)} for time, gap in points]
    if not rows:
        return None
    most = max(bound(record) for record, _ in runs.values())
    y = alt.Y("value:Q").title("Service gap (units)").scale(type="log", nice=True).axis(format="~s", tickCount=5)
    dots = (
        chart_of(rows)
        .mark_point(filled=True, size=30, opacity=0.8)
        .encode(x=time_axis(unit), y=y, color=policy_colour(comparison, "square"))
    )
    line = chart_of([{"value": rounded(most), "text": "2U"}]).encode(y=y)
    rule = line.mark_rule(strokeDash=[6, 4], color="currentColor", opacity=0.7)
    name = line.mark_text(align="left", dx=4, dy=-7, color="currentColor").encode(x=alt.value(0), text="text:N")
    width = max(one.seconds for one in found.values())
    return Figure(
        "gaps",
        "Largest service gap between tenants with requests waiting",
        f"{of_seed(comparison)}In windows of {width:g} s, of tenants that had requests waiting all through; no point "
        "where there were no two. The dashed line is 2U, what fair queueing guarantees over any time.",
        (alt.LayerChart(layer=[dots, rule, name], height=220),),
        "wide",
    )


def _start(record: RunRecord) -> float:
    return float(record.outcomes["arrival"][0])
