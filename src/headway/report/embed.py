"""Charts inside the page: their data, and the program that draws them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import altair as alt
import vl_convert

from headway.report.drawing import Figure
from headway.report.fragments import chart_ids
from headway.report.theme import CONFIG


def charts_json(drawn: Sequence[Figure]) -> str:
    """Return what the page's script draws and where, as JSON that cannot end the script element that it stands in."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    charts = [
        {"place": place, "spec": chart.properties(width="container", autosize=fit).to_dict()}
        for figure in drawn
        for place, chart in zip(chart_ids(figure), figure.charts, strict=True)
    ]
    for chart in charts:
        del chart["spec"]["config"]  # altair's own defaults
    data = {"config": CONFIG, "charts": charts}
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


@cache
def drawing_script() -> str:
    """Return `page.js` and all that it needs (Vega, Vega-Lite, Vega-Embed) as one script."""
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    source = files("headway.report").joinpath("page.js").read_text(encoding="utf-8")
    return vl_convert.javascript_bundle(source, vl_version=version)
