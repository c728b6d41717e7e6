"""The frame of an HTML page that needs nothing else: no network, no files beside it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files

from headway.report.drawing import Figure
from headway.report.embed import charts_json, drawing_script

# With this the browser itself loads nothing from anywhere. Vega compiles its expressions, hence "eval".
_CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:"
)


def page(title: str, body: str, drawn: Sequence[Figure]) -> str:
    """Return the page with a title (text), a body (HTML with a place for each chart) and what draws the charts."""
    style = files("headway.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{body}
<script type="application/json" id="charts">{charts_json(drawn)}</script>
<script>
{drawing_script()}
</script>
</body>
</html>
"""
