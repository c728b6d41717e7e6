"""What `tune` found as a chart: each setting's gain over the baseline, with its interval."""

from __future__ import annotations

import altair as alt

from headway.measure.tuning import Tuning
from headway.report.drawing import Figure, rounded
from headway.report.tuning_words import interval_text, relative_text

GOOD, ALIKE, BAD = "#228833", "#888888", "#EE6677"
ROW = 34  # pixels


def gains_figure(found: Tuning) -> Figure:
    """Draw the gain of every setting that was judged, and the line of the baseline."""
    unit = found.objective.unit
    rows = [
        {
            "setting": one.name,
            "gain": rounded(one.gain.mean),
            "low": rounded(one.gain.ci95.low if one.gain.ci95 else one.gain.mean),
            "high": rounded(one.gain.ci95.high if one.gain.ci95 else one.gain.mean),
            "verdict": one.gain.judgement,
            "ink": {"better": GOOD, "worse": BAD}.get(one.gain.judgement, ALIKE),
            "share": relative_text(one.gain),
            "interval": interval_text(one.gain, unit),
        }
        for one in found.candidates
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("setting:N").sort([row["setting"] for row in rows]).axis(title=None, labelLimit=420, labelPadding=10),
        color=alt.Color("ink:N", scale=None),
        tooltip=[
            alt.Tooltip("setting:N", title="Setting"),
            alt.Tooltip("share:N", title="Gain"),
            alt.Tooltip("interval:N", title="95 % interval"),
            alt.Tooltip("verdict:N", title="Verdict"),
        ],
    )
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[5, 4], opacity=0.6, color="currentColor")
    chart = alt.LayerChart(
        layer=[
            zero.encode(x=alt.X("zero:Q")),
            base.mark_rule(strokeWidth=3, opacity=0.5).encode(
                x=alt.X("low:Q").title(f"Gain over {found.baseline.name} ({unit}); right is better"), x2="high:Q"
            ),
            base.mark_point(size=90, filled=True, opacity=1).encode(x="gain:Q"),
        ],
        height=ROW * len(rows) + 10,
    )
    caption = (
        f"Mean gain in {found.objective.words} over {found.settings['held_out']} held-out "
        f"{found.settings['traffic']}, with its 95 % interval; the dashed line is the baseline. Only the first setting "
        "was chosen before these were looked at; the others show what else would do."
    )
    return Figure("gains", "Gain over the baseline", caption, (chart,), "wide")
