"""Plates as charts: what a reproduction has as data, drawn as its kind says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import altair as alt

from headway.measure.reproduction import Axis, Kind, Plate
from headway.report.drawing import Figure, legend, rounded
from headway.report.labels import plate_colours

HEIGHT, WIDE_HEIGHT, FIELD = 300, 420, 44
"""Units of length: of a chart, of one that has the page's whole width, and of a field of a heat map."""

BAR = 0.7
"""Width of a bar, of its place."""

_DASHES = ([1, 0], [6, 4], [2, 3], [9, 3, 2, 3])
_INK = "currentColor"
_MARGIN, _FEW = 1.12, 4  # of a logarithmic axis: factor beyond what is drawn; decades that have room for 2 and 5
_ENCODED = ("x", "y", "low", "high", "series", "dash", "text", "value")
_Drawn = TypeVar("_Drawn", alt.X, alt.Y)


def figure_of(plate: Plate) -> Figure:
    """Return the figure that a plate describes."""
    rows = _rows(plate)
    chart = _KINDS[plate.kind](plate, rows)
    return Figure(plate.name, plate.title, plate.caption, (chart,), "wide" if plate.wide else "normal")


def _rows(plate: Plate) -> list[dict[str, Any]]:
    """Return the frame's rows by what each column stands for, without those that have no place."""
    names = {name: column for name in _ENCODED if (column := _column(plate, name)) is not None}
    rows = [
        {
            name: rounded(row[column]) if isinstance(row[column], float) else row[column]
            for name, column in names.items()
        }
        for row in plate.data.iter_rows(named=True)
    ]
    shown = [row for row in rows if _has_place(row.get("x"), plate.x) and _has_place(row.get("y"), plate.y)]
    if plate.y.log:  # the foot of an interval that reaches 0 stands on the axis
        least = min((row["y"] for row in shown), default=1.0)
        for row in shown:
            if row.get("low") is not None:
                row["low"] = max(row["low"], least / 10)
    return shown


def _column(plate: Plate, name: str) -> str | None:
    given = getattr(plate, name)
    return given.column if isinstance(given, Axis) else given


def _has_place(value: Any, axis: Axis) -> bool:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return False
    return not axis.log or value > 0


def _lines(plate: Plate, rows: list[dict[str, Any]]) -> alt.LayerChart:
    layers: list[alt.Chart] = []
    if banded := _known(rows, "low", "high"):
        band = _base(plate, banded).encode(y2="high:Q", y=_axis(alt.Y("low:Q"), plate))
        layers.append(band.mark_area(opacity=0.16, clip=True))
    layers.append(_base(plate, rows, line=True).mark_line(strokeWidth=2))
    layers.append(_base(plate, rows).mark_point(size=26, filled=True, opacity=1).encode(tooltip=_tooltip(plate)))
    layers += _texts(plate, rows)
    return alt.LayerChart(layer=layers, height=WIDE_HEIGHT if plate.wide else HEIGHT)


def _path(plate: Plate, rows: list[dict[str, Any]]) -> alt.LayerChart:
    ordered = [{**row, "place": place} for place, row in enumerate(rows)]
    layers: list[alt.Chart] = [
        _base(plate, ordered, line=True).mark_line(strokeWidth=1.6, opacity=0.7).encode(order="place:Q")
    ]
    layers += _whiskers(plate, rows)
    layers.append(_base(plate, rows).mark_point(size=52, filled=True, opacity=1).encode(tooltip=_tooltip(plate)))
    layers += _texts(plate, rows)
    return alt.LayerChart(layer=layers, height=WIDE_HEIGHT if plate.wide else HEIGHT)


def _bars(plate: Plate, rows: list[dict[str, Any]]) -> alt.LayerChart:
    order = list(dict.fromkeys(row["x"] for row in rows))
    x = alt.X("x:N").title(plate.x.title or None).sort(order).axis(labelAngle=0, labelLimit=180)
    places: dict[str, Any] = {"x": x, "y": _axis(alt.Y("y:Q"), plate)}
    inked = _base(plate, rows).encode(x=x)
    if plate.series not in (None, plate.x.column):
        # Space between bars by the scale: a bar of a relative width would stand half a place beside its whisker.
        offset = alt.XOffset("series:N").sort(_names(rows, "series")).scale(paddingInner=1 - BAR)
        places["xOffset"] = offset
        bars = inked.encode(xOffset=offset).mark_bar()
    else:
        bars = inked.mark_bar(width=alt.RelativeBandSize(BAR))
    layers = [bars.encode(tooltip=_tooltip(plate))]
    if known := _known(rows, "low", "high"):
        whiskers = alt.Chart(alt.Data(values=known)).mark_rule(color=_INK, opacity=0.7).encode(**places)
        layers.append(whiskers.encode(y=_axis(alt.Y("low:Q"), plate), y2="high:Q"))
    if named := _known(rows, "text"):
        texts = alt.Chart(alt.Data(values=named)).mark_text(dy=-7, color=_INK).encode(**places)
        layers.append(texts.encode(text="text:N"))
    return alt.LayerChart(layer=layers, height=WIDE_HEIGHT if plate.wide else HEIGHT)


def _heat(plate: Plate, rows: list[dict[str, Any]]) -> alt.LayerChart:
    shown = [row for row in rows if _has_place(row.get("value"), plate.value or plate.y)]
    top = max((row["value"] for row in shown), default=1.0) or 1.0
    across, down = _names(shown, "x"), _names(shown, "y")
    base = alt.Chart(alt.Data(values=shown)).encode(
        x=alt.X("x:N").title(plate.x.title).sort(across).axis(labelAngle=0),
        y=alt.Y("y:N").title(plate.y.title).sort(down),
    )
    shade = alt.Color("value:Q").scale(scheme="blues", domain=[0, top]).legend(None)
    ink = alt.when(alt.datum.value > top * 0.55).then(alt.value("white")).otherwise(alt.value("#1b1f24"))
    words = alt.Text("text:N") if plate.text else alt.Text("value:Q").format(".3~r")
    layers = [base.mark_rect().encode(color=shade), base.mark_text().encode(text=words, color=ink)]
    return alt.LayerChart(layer=layers, height=FIELD * max(1, len(down)))


_KINDS: dict[Kind, Callable[[Plate, list[dict[str, Any]]], alt.LayerChart]] = {
    "lines": _lines,
    "path": _path,
    "bars": _bars,
    "heat": _heat,
}


def _base(plate: Plate, rows: list[dict[str, Any]], *, line: bool = False) -> alt.Chart:
    """Return places, colours and (of lines) dashes, with legends where there is something to tell apart.

    The layers of a chart share their scales, so that each has all names, also those that it has no rows of.
    """
    chart = alt.Chart(alt.Data(values=rows)).encode(
        x=_axis(alt.X("x:Q"), plate),
        y=_axis(alt.Y("y:Q"), plate),
    )
    if plate.series:
        names = _names(_rows(plate), "series")
        colours = plate_colours(names)
        scale = alt.Scale(domain=names, range=[colours[name] for name in names])
        chart = chart.encode(
            color=alt.Color("series:N").scale(scale).legend(legend("stroke" if line else "square", names))
        )
    if plate.dash and not line:
        chart = chart.encode(detail="dash:N")
    if plate.dash and line:
        kinds = _names(_rows(plate), "dash")
        dashes = alt.Scale(domain=kinds, range=[list(_DASHES[i % len(_DASHES)]) for i in range(len(kinds))])
        shown = legend("stroke", kinds, _INK) if len(kinds) > 1 else None
        chart = chart.encode(strokeDash=alt.StrokeDash("dash:N").scale(dashes).legend(shown))
    return chart


def _axis(channel: _Drawn, plate: Plate) -> _Drawn:
    """Return an axis; a logarithmic one spans what is drawn and has lines at 1, 2 and 5 times powers of ten."""
    across = isinstance(channel, alt.X)
    axis, names = (plate.x, ("x",)) if across else (plate.y, ("y", "low", "high"))
    drawn = channel.title(axis.title)
    if not axis.log:
        return drawn.scale(alt.Scale(zero=axis.zero))
    values = [row[name] for row in _rows(plate) for name in names if row.get(name) is not None] or [1.0]
    low, high = min(values) / _MARGIN, max(values) * _MARGIN
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= _FEW else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
    return drawn.scale(alt.Scale(type="log", domain=[low, high], nice=False)).axis(values=ticks, format="~g")


def _whiskers(plate: Plate, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    known = _known(rows, "low", "high")
    if not known:
        return []
    base = _base(plate, known)
    return [base.mark_rule(strokeWidth=1.1, opacity=0.5).encode(y=_axis(alt.Y("low:Q"), plate), y2="high:Q")]


def _texts(plate: Plate, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """Return words beside points: of one series above and right, of the next below and left, since paths may meet."""
    names = _names(rows, "series") if plate.series else []
    above: list[dict[str, Any]] = []
    below: list[dict[str, Any]] = []
    for row in rows:
        if row.get("text"):
            (below if names and names.index(row["series"]) % 2 else above).append(row)
    texts: list[alt.Chart] = []
    if above:
        texts.append(_base(plate, above).mark_text(align="left", dx=7, dy=-7, fontSize=11))
    if below:
        texts.append(_base(plate, below).mark_text(align="right", dx=-7, dy=10, fontSize=11))
    return [text.encode(text="text:N") for text in texts]


def _tooltip(plate: Plate) -> list[alt.Tooltip]:
    shown = [alt.Tooltip("series:N", title=plate.series)] if plate.series else []
    shown += [alt.Tooltip("dash:N", title=plate.dash)] if plate.dash else []
    words = plate.kind == "bars"
    shown.append(alt.Tooltip("x:N", title=plate.x.title) if words else alt.Tooltip("x:Q", title=plate.x.title))
    shown.append(alt.Tooltip("y:Q", title=plate.y.title, format=".4~r"))
    ends = (("low:Q", "95 % from"), ("high:Q", "95 % to")) if plate.low and plate.high else ()
    return [*shown, *(alt.Tooltip(name, title=title, format=".4~r") for name, title in ends)]


def _names(rows: list[dict[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in rows))


def _known(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [row for row in rows if all(row.get(name) is not None for name in names)]
