"""What `capacity` found as charts: attainment against the rate, and against the number of replicas."""

from __future__ import annotations

from typing import Any

import altair as alt

from headway.measure.capacity import Capacity
from headway.report.drawing import Figure, legend, rounded
from headway.report.labels import policy_colours, short_labels

HEIGHT = 380


def capacity_figures(found: Capacity) -> list[Figure]:
    """Draw what was kept at each rate with the bound, and by how many replicas where several were tried."""
    bound = found.settings["attain"]
    drawn = [
        Figure(
            "rates",
            "Attainment against the rate",
            f"Share of the requests that got what was agreed ({found.settings['sla']}), mean over "
            f"{found.settings['stretches']} {found.settings['traffic']}; bands are 95 % intervals. The dashed line is "
            "the bound, upright lines are the capacities.",
            (_rates(found, bound),),
            "wide",
        )
    ]
    if any(one.replicas is not None for one in found.held):
        rate = next(one.replicas.rate for one in found.held if one.replicas is not None)
        drawn.append(
            Figure(
                "replicas",
                f"Attainment against the number of replicas, at {rate:.3g} requests/s",
                "Independent engines; each request goes to the one with the least outstanding work.",
                (_replicas(found, bound),),
                "wide",
            )
        )
    return drawn


def _colour(found: Capacity) -> alt.Color:
    policies = [one.policy for one in found.held]
    labels = list(short_labels(policies).values())
    scale = alt.Scale(domain=labels, range=list(policy_colours(policies).values()))
    shown = legend("stroke", labels)
    shown.symbolOpacity = 1  # not that of the bands
    return alt.Color("policy:N").scale(scale).legend(shown)


def _rates(found: Capacity, bound: float) -> alt.LayerChart:
    labels = short_labels([one.policy for one in found.held])
    rows: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for one in found.held:
        for point in one.points:
            low, high = (point.ci95.low, point.ci95.high) if point.ci95 else (point.attainment,) * 2
            rows.append(
                {
                    "policy": labels[one.policy],
                    "rate": rounded(point.rate),
                    "kept": rounded(point.attainment * 100),
                    "low": rounded(low * 100),
                    "high": rounded(high * 100),
                }
            )
        if one.rate is not None and one.bracket.high is not None:
            ends.append({"policy": labels[one.policy], "rate": rounded(one.rate)})
    lowest = min((row["kept"] for row in rows), default=0.0)
    y = alt.Y("kept:Q").title("Requests that got what was agreed (%)").scale(domain=[min(lowest, bound * 100), 100])
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("rate:Q").title("Requests/s that arrive at one engine"), color=_colour(found)
    )
    tooltip = [
        alt.Tooltip("policy:N", title="Policy"),
        alt.Tooltip("rate:Q", title="Requests/s"),
        alt.Tooltip("kept:Q", title="Kept (%)"),
    ]
    uprights = alt.Chart(alt.Data(values=ends)).encode(x="rate:Q", color=_colour(found))
    return alt.LayerChart(
        layer=[
            base.mark_area(opacity=0.15, clip=True).encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_line(strokeWidth=2).encode(y=y),
            base.mark_point(size=36, filled=True, opacity=1).encode(y=y, tooltip=tooltip),
            uprights.mark_rule(strokeWidth=1.2, strokeDash=[2, 3]),
            _line(bound),
        ],
        height=HEIGHT,
    )


def _replicas(found: Capacity, bound: float) -> alt.LayerChart:
    labels = short_labels([one.policy for one in found.held])
    known = [(labels[one.policy], one.replicas) for one in found.held if one.replicas is not None]
    rows = [
        {"policy": label, "replicas": count, "kept": rounded((replicas.attainment(count) or 0.0) * 100)}
        for label, replicas in known
        for count in sorted(replicas.tried)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("replicas:Q").title("Replicas").axis(tickMinStep=1, format="d"),
        y=alt.Y("kept:Q").title("Requests that got what was agreed (%)").scale(zero=False),
        color=_colour(found),
        tooltip=[
            alt.Tooltip("policy:N", title="Policy"),
            alt.Tooltip("replicas:Q", title="Replicas"),
            alt.Tooltip("kept:Q", title="Kept (%)"),
        ],
    )
    layers = [base.mark_line(strokeWidth=2), base.mark_point(size=60, filled=True, opacity=1), _line(bound)]
    return alt.LayerChart(layer=layers, height=HEIGHT // 2)


def _line(bound: float) -> alt.Chart:
    rule = alt.Chart(alt.Data(values=[{"bound": bound * 100}]))
    return rule.mark_rule(strokeDash=[5, 4], color="currentColor", opacity=0.6).encode(y="bound:Q")
