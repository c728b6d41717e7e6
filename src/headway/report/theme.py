"""How charts look, on paper and on the page.

Ink is `currentColor`: on the page charts take the colour of the text around them, light or dark; in a picture
of their own it is black.
"""

from __future__ import annotations

from typing import Any

INK = "currentColor"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "gridColor": INK,
        "gridOpacity": 0.12,
        "labelColor": INK,
        "labelFontSize": 11.5,
        "labelOpacity": 0.75,
        "labelPadding": 6,
        "tickCount": 5,
        "ticks": False,
        "titleColor": INK,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    },
    "axisBand": {"grid": False, "labelFontSize": 12.5, "labelOpacity": 1},
    "legend": {"labelColor": INK, "labelFontSize": 12.5, "symbolStrokeWidth": 3, "symbolSize": 180},
    "text": {"fontSize": 12, "font": FONT},
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 14,
        "fontWeight": 600,
        "subtitleColor": INK,
        "subtitleFontSize": 12,
        "offset": 12,
    },
}
