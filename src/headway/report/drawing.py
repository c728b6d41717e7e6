"""What all charts share: figures with their words, colours, axes of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from headway.measure.comparison import Comparison
from headway.report.labels import policy_colours, short_labels

_PLACE = 400
"""Pixels that a legend may take: what the narrower charts of the page have at least."""

_CHARACTER, _SYMBOL = 7.2, 36
"""Pixels of a character in the mean, and of a symbol with the space around it."""


_LONG = 32
"""Characters of a name from which on it is broken into lines."""

BROKEN = f"length(datum.label) > {_LONG} ? split(replace(datum.label, / [+] /g, '\\n+ '), '\\n') : datum.label"
"""A Vega expression that breaks the label of a legend or an axis as `lines` does."""


@dataclass(frozen=True)
class Figure:
    """A chart with its words.

    Attributes:
        key: a short name, unique in a report.
        title: what is seen.
        caption: how to read it.
        charts: the chart, or several to be stacked, without width: each is as wide as its place.
        place: "tall" stands beside two others, "wide" wants the whole width of the page.
    """

    key: str
    title: str
    caption: str
    charts: tuple[alt.LayerChart | alt.Chart, ...]
    place: Literal["tall", "normal", "wide"] = "normal"


def chart_of(rows: list[dict[str, Any]]) -> alt.Chart:
    """Return a chart of rows as they are: no frame, no limit, no names given by altair."""
    return alt.Chart(alt.Data(values=rows))


def labels_of(comparison: Comparison) -> dict[str, str]:
    """Return each policy's short label."""
    return short_labels([summary.policy for summary in comparison.policies])


def order_of(comparison: Comparison) -> list[str]:
    """Return the labels in the order of the policies."""
    return list(labels_of(comparison).values())


def of_seed(comparison: Comparison) -> str:
    """Say which seed a curve is of, where there are several."""
    if len(comparison.seeds) < 2 or not comparison.first:
        return ""
    return f"Of seed {next(iter(comparison.first.values())).seed}. "


def policy_colour(comparison: Comparison, symbol: Literal["stroke", "square", "none"] = "stroke") -> alt.Color:
    """Return the policies' colours, with a legend of strokes or squares or none."""
    colours = policy_colours([summary.policy for summary in comparison.policies])
    scale = alt.Scale(domain=order_of(comparison), range=list(colours.values()))
    shown = None if symbol == "none" else legend(symbol, order_of(comparison))
    return alt.Color("policy:N").scale(scale).legend(shown)


def legend(symbol: Literal["stroke", "square"], names: Sequence[str], ink: str | None = None) -> alt.Legend:
    """Return a legend above the chart, of all names, in as many columns as fit the narrowest place of a chart.

    Its symbols have the colours of what they stand for; `ink` is for those that stand for something else.
    """
    longest = max((len(line) for name in names for line in lines(name)), default=0)
    columns = max(1, min(len(names), int(_PLACE // (longest * _CHARACTER + _SYMBOL))))
    return alt.Legend(
        orient="top",
        title=None,
        symbolType=symbol,
        symbolStrokeColor=ink or alt.Undefined,
        symbolOpacity=1,
        columns=columns,
        symbolLimit=0,
        labelLimit=_PLACE - _SYMBOL,
        labelExpr=BROKEN,
    )


def lines(name: str) -> list[str]:
    """Return a policy's name as charts break it: one that is long, before each rule that is joined to it."""
    return re.split(r" (?=\+ )", name) if len(name) > _LONG else [name]


def time_axis(unit: str | None) -> alt.X:
    """Return the axis of time; without a unit the one below is meant, and it has no words."""
    title = f"Time since the first arrival ({unit})" if unit else None
    return alt.X("time:Q").title(title).scale(nice=False).axis(labels=unit is not None)


def time_unit(span: float) -> tuple[str, float]:
    """Return a unit in which the span (seconds) is a handy number, and its seconds."""
    if span < 600:
        return "s", 1.0
    return ("min", 60.0) if span < 3 * 3600 else ("h", 3600.0)


def rounded(value: float) -> float:
    """Return six significant digits: more cannot be seen."""
    return float(f"{value:.6g}")
