"""Heat maps of the stability of output lengths: as a page, or as a picture."""

from __future__ import annotations

import html
import io
import math
from pathlib import Path

import altair as alt
import numpy as np

from headway.files import write_whole
from headway.measure.stability import BINS, Floats, Stability
from headway.report.drawing import Figure
from headway.report.fragments import figure_grid, prose
from headway.report.page import page
from headway.report.theme import CONFIG

ENDINGS = (".html", ".png", ".svg")

_CELL = 52  # units of length
_ADJACENT = "Between each window and the requests right before it."
_EVERYWHERE = "Between each window and every other one that shares no request with it."


def write_stability(found: Stability, name: str, path: Path | str) -> None:
    """Write the heat maps as a page or as a picture, by the path's ending; whole or not at all.

    Args:
        found: what to show.
        name: the trace's.
        path: ends in `.html` (works offline), `.png` or `.svg`.

    Raises:
        ValueError: another ending.
        OSError: the path cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"'{path}': expected a path that ends in {', '.join(ENDINGS)}")
    title = f"How stable are the output lengths of {name}?"
    drawn = _figures(found)
    write_whole(path, _page(title, found, drawn) if ending == ".html" else _picture(title, drawn, ending[1:]))


def _figures(found: Stability) -> list[Figure]:
    least = min(float(np.nanmin(values)) for values in (found.adjacent, found.everywhere))
    begin = min(math.floor(least * 10) / 10, 0.9)  # one scale for both
    return [
        Figure("adjacent", "Adjacent windows", _ADJACENT, (_heat_map(found.sizes, found.adjacent, begin),)),
        Figure(
            "everywhere", "Windows of the whole trace", _EVERYWHERE, (_heat_map(found.sizes, found.everywhere, begin),)
        ),
    ]


def _heat_map(sizes: tuple[int, ...], values: Floats, begin: float) -> alt.LayerChart:
    rows = [
        {"historical": f"{historical:,}", "running": f"{running:,}", "similarity": round(float(value), 4)}
        for historical, line in zip(sizes, values, strict=True)
        for running, value in zip(sizes, line, strict=True)
        if not math.isnan(value)
    ]
    order = [f"{size:,}" for size in sizes]
    middle = (1 + begin) / 2
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X("running:N").title("Running window (requests)").sort(order).scale(domain=order).axis(labelAngle=0),
        y=alt.Y("historical:N").title("Historical window (requests)").sort(order).scale(domain=order),
    )
    shade = alt.Color("similarity:Q").scale(scheme="blues", domain=[begin, 1]).legend(None)
    ink = alt.when(alt.datum.similarity > middle).then(alt.value("white")).otherwise(alt.value("#1b1f24"))
    return alt.LayerChart(
        layer=[
            base.mark_rect().encode(color=shade),
            base.mark_text().encode(text=alt.Text("similarity:Q").format(".2f"), color=ink),
        ],
        height=_CELL * len(sizes),
    )


def _page(title: str, found: Stability, drawn: list[Figure]) -> bytes:
    how = (
        f"Mean cosine similarity of output-length histograms ({BINS} bins of {found.bin_width} tokens, the last one "
        "open): 1 is the same histogram. Few requests look less alike, from chance alone."
    )
    body = (
        f'<header>\n<h1>{html.escape(title)}</h1>\n<p class="facts">{prose(how)}</p>\n</header>\n'
        f"<main>\n{figure_grid(drawn)}\n</main>"
    )
    return page(title, body, drawn).encode()


def _picture(title: str, drawn: list[Figure], ending: str) -> bytes:
    parts = [
        chart.properties(title=alt.TitleParams(figure.title, subtitle=figure.caption), width=chart.height)
        for figure in drawn
        for chart in figure.charts
    ]
    config = CONFIG | {"background": "white", "padding": 24}
    chart = alt.hconcat(*parts, spacing=48, title=alt.TitleParams(title, fontSize=18, offset=22)).configure(**config)
    if ending == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        return text.getvalue().encode()
    buffer = io.BytesIO()
    chart.save(buffer, format="png", scale_factor=2)
    return buffer.getvalue()
