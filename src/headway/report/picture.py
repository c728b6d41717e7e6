"""The main charts in one picture, for a README or a paper."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import altair as alt
import vl_convert

from headway.files import write_whole
from headway.measure.comparison import Comparison
from headway.report.charts import figures
from headway.report.drawing import Figure
from headway.report.sentences import question
from headway.report.theme import CONFIG

FORMATS = ("png", "svg")
WIDTH = 400
_ON_WHITE = CONFIG | {"background": "white", "padding": 24}

_Concat = TypeVar("_Concat", alt.VConcatChart, alt.HConcatChart)


def panel(comparison: Comparison) -> alt.VConcatChart:
    """Return the charts of a comparison in two columns, the wide ones below."""
    drawn = {figure.key: _stack(figure) for figure in figures(comparison)}
    if not drawn:
        raise ValueError("nothing to draw: no request was started")
    rows = [
        [drawn.get("waits"), _column([drawn.get("means"), drawn.get("tails")])],
        [drawn.get("queue"), drawn.get("kv")],
    ]
    shown = [[chart for chart in row if chart is not None] for row in rows]
    title = alt.TitleParams(question(comparison), fontSize=18, offset=22)
    lines = [_independent(alt.hconcat(*row, spacing=48)) for row in shown if row]
    return _independent(alt.vconcat(*lines, spacing=36, title=title))


def save_picture(comparison: Comparison, path: Path | str, *, scale: float = 2.0) -> None:
    """Write the panel as PNG or SVG, by the path's ending; whole or not at all.

    Args:
        comparison: what to show.
        path: ends in `.png` or `.svg`.
        scale: pixels a unit of length, for PNG.

    Raises:
        ValueError: another ending, or nothing to draw.
        OSError: the path cannot be written.
    """
    _save(panel(comparison), path, scale)


def save_figure(figure: Figure, path: Path | str, *, width: int = 900, scale: float = 2.0) -> None:
    """Write one figure as PNG or SVG, by the path's ending; whole or not at all.

    Args:
        figure: what to show.
        path: ends in `.png` or `.svg`.
        width: of the chart without its axes, in units of length.
        scale: pixels a unit of length, for PNG.

    Raises:
        ValueError: another ending.
        OSError: the path cannot be written.
    """
    _save(_wide(figure, width), path, scale)


def figure_pictures(figure: Figure, *, width: int = 640, scale: float = 1.5) -> tuple[bytes, bytes]:
    """Return one figure as what a PNG and an SVG file hold; it is laid out once.

    Args:
        figure: what to show.
        width: of the chart without its axes, in units of length.
        scale: pixels a unit of length, for PNG.
    """
    svg = _svg(_wide(figure, width).configure(**_ON_WHITE))
    return vl_convert.svg_to_png(svg, scale=scale), svg.encode()


def _save(drawn: alt.VConcatChart, path: Path | str, scale: float) -> None:
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"picture '{path}': expected a path that ends in .png or .svg")
    write_whole(path, _bytes(drawn, ending, scale))


def _bytes(drawn: alt.VConcatChart, ending: str, scale: float) -> bytes:
    chart = drawn.configure(**_ON_WHITE)
    if ending == "svg":
        return _svg(chart).encode()
    buffer = io.BytesIO()
    chart.save(buffer, format="png", scale_factor=scale)
    return buffer.getvalue()


def _svg(chart: alt.VConcatChart) -> str:
    text = io.StringIO()
    chart.save(text, format="svg")
    return text.getvalue()


def _wide(figure: Figure, width: int) -> alt.VConcatChart:
    """Return a figure's charts below each other, under its title, each as wide as said."""
    charts = [chart.properties(width=width) for chart in figure.charts]
    return _independent(alt.vconcat(*charts, spacing=14, title=figure.title))


def _stack(figure: Figure) -> alt.VConcatChart:
    """Return a figure's charts below each other, under its title."""
    charts = [chart.properties(width=WIDTH) for chart in figure.charts]
    return _independent(alt.vconcat(*charts, spacing=8, title=figure.title))


def _column(charts: Sequence[alt.VConcatChart | None]) -> alt.VConcatChart | None:
    present = [chart for chart in charts if chart is not None]
    return _independent(alt.vconcat(*present, spacing=28)) if present else None


def _independent(chart: _Concat) -> _Concat:
    """Let each chart keep its own legend."""
    return chart.resolve_scale(color="independent", strokeDash="independent")
