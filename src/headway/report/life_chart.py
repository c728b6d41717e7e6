"""One request's memory as a chart: it grows, is taken away, waits, is filled again; above it the whole cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from headway.measure.comparison import Comparison
from headway.measure.life import Piece, evictions, pieces
from headway.measure.record import Followed, RunRecord
from headway.report.drawing import Figure, time_unit
from headway.report.numbers import seconds_text

_PHASES = {"decode": "#4477AA", "prefill": "#EE7733", "waiting": "#999999"}
_LOST = "#CC3311"
_TOLD = 4  # evictions that are told in words
_AFTER = 0.02
_EXTENT = 52  # both axes take as much room, so that their times lie below each other
_POINTS = 900  # of a line, at most
_BEFORE = 0.08  # of the life since admission: how much of the wait before it is shown


def life_figure(comparison: Comparison) -> Figure | None:
    """Draw the request that was followed in a comparison; None where there is none."""
    for record in comparison.first.values():
        if record.followed is not None and record.followed.notes.height > 1:
            return _figure(record, record.followed)
    return None


def _figure(record: RunRecord, followed: Followed) -> Figure:
    row = record.outcomes.row(followed.row, named=True)
    lost = evictions(followed)
    life = pieces(followed)
    times = "once" if len(lost) == 1 else "twice" if len(lost) == 2 else f"{len(lost)} times"
    gone = _gone(life)
    stalls = seconds_text(max(gone, default=0.0))
    caption = (
        f"The request that was evicted most often, {times}, under {record.order} with {record.memory_rule}: "
        f"{row['prompt_tokens']:,} prompt and {row['output_tokens']:,} output tokens. Its memory grows with its "
        f"answer, goes when the cache is full, and is filled again before it goes on; the longest such stall was "
        f"{stalls}. Above, the whole cache."
    )
    chart = _chart(record, followed, life, lost)
    return Figure("life", f"The memory of request {row['id']}", caption, chart, "wide")


def _gone(life: Sequence[Piece]) -> list[float]:
    """Return how long each eviction kept the request from decoding, in seconds."""
    found: list[float] = []
    away = 0.0
    for piece in life:
        if piece.phase == "decode":
            found.append(away)
            away = 0.0
        else:
            away += piece.seconds
    return found[1:]  # before the first token it was not evicted


def _chart(
    record: RunRecord, followed: Followed, life: Sequence[Piece], lost: Sequence[tuple[float, int]]
) -> tuple[alt.LayerChart, alt.LayerChart]:
    """Return the whole cache, and below it the request, over the same time."""
    axis = _Time.of(record, followed, life)
    marks = [{"time": axis.at(time)} for time, _ in lost]
    rules = alt.Chart(alt.Data(values=marks)).mark_rule(strokeDash=[2, 3], color=_LOST, opacity=0.9)
    rules = rules.encode(x=axis.x(last=True))
    cache = alt.LayerChart(layer=[*_cache(followed.notes, record.totals.kv_capacity, axis), rules], height=120)
    request = alt.LayerChart(layer=[*_request(life, axis), rules, *_words(life, lost, axis)], height=240)
    return cache, request


@dataclass(frozen=True)
class _Time:
    """The axis of time: from shortly before the request is admitted to its end, since the first arrival."""

    zero: float
    begin: float
    end: float
    unit: str
    seconds: float

    @classmethod
    def of(cls, record: RunRecord, followed: Followed, life: Sequence[Piece]) -> _Time:
        arrival, end = followed.arrival, float(followed.notes["time"][-1])
        start = next((piece.times[0] for piece in life if piece.phase != "waiting"), arrival)
        begin = max(arrival, start - _BEFORE * (end - start))
        first = record.outcomes["arrival"].to_numpy().min()
        return cls(float(first), begin, end, *time_unit(end - float(first)))

    def at(self, time: float) -> float:
        return float(f"{(max(time, self.begin) - self.zero) / self.seconds:.9g}")

    def x(self, *, last: bool) -> alt.X:
        reach = self.end + _AFTER * (self.end - self.begin)
        scale = alt.Scale(domain=[self.at(self.begin), self.at(reach)], nice=False)
        title = f"Time since the first arrival ({self.unit})" if last else None
        return alt.X("time:Q", scale=scale).title(title).axis(labels=last)


def _cache(notes: pl.DataFrame, capacity: int, axis: _Time) -> list[alt.Chart]:
    """Return the use of the whole cache, and its capacity."""
    shown = notes.filter(pl.col("time") >= axis.begin)
    step = -(-shown.height // _POINTS)
    rows = [
        {"time": axis.at(time), "value": used}
        for time, used in shown.select("time", "used").gather_every(step).iter_rows()
    ]
    least = min((row["value"] for row in rows), default=0)
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0.95 * least, 1.02 * capacity], nice=False, zero=False))
    y = y.title("Whole cache (KV tokens)").axis(tickCount=3, minExtent=_EXTENT)
    x = axis.x(last=False)
    full = alt.Chart(alt.Data(values=[{"time": axis.at(axis.begin), "value": capacity, "text": "capacity"}]))
    return [
        alt.Chart(alt.Data(values=rows))
        .mark_line(color="currentColor", opacity=0.75, strokeWidth=1.3, clip=True)
        .encode(x=x, y=y),
        full.mark_rule(color="currentColor", strokeWidth=1.2).encode(y=y),
        full.mark_text(align="left", dx=4, dy=-7, color="currentColor").encode(
            x=axis.x(last=False), y=y, text="text:N"
        ),
    ]


def _request(life: Sequence[Piece], axis: _Time) -> list[alt.Chart]:
    """Return what the request holds, coloured by phase; where it waits, a band."""
    held: list[dict[str, Any]] = []
    bands: list[dict[str, Any]] = []
    for number, piece in enumerate(life):
        if piece.phase == "waiting":
            bands.append({"phase": "waiting", "time": axis.at(piece.times[0]), "to": axis.at(piece.times[-1])})
            continue
        step = -(-len(piece.times) // _POINTS)
        entries = list(zip(piece.times, piece.held, strict=True))
        held += [
            {"piece": number, "phase": piece.phase, "time": axis.at(time), "value": tokens}
            for time, tokens in dict.fromkeys([*entries[::step], entries[-1]])
        ]
    scale = alt.Scale(domain=list(_PHASES), range=list(_PHASES.values()))
    legend = alt.Legend(orient="bottom", title=None, symbolType="square", symbolOpacity=0.6)
    colour = alt.Color("phase:N", scale=scale, legend=legend)
    y = alt.Y("value:Q", stack=None).title("This request (KV tokens)").axis(minExtent=_EXTENT)
    base = alt.Chart(alt.Data(values=held)).encode(x=axis.x(last=True), y=y, color=colour, detail="piece:N")
    return [
        alt.Chart(alt.Data(values=bands)).mark_rect(opacity=0.16).encode(x=axis.x(last=True), x2="to:Q", color=colour),
        base.mark_area(opacity=0.3),
        base.mark_line(strokeWidth=2.2),
    ]


def _words(life: Sequence[Piece], lost: Sequence[tuple[float, int]], axis: _Time) -> list[alt.Chart]:
    """Return what each eviction cost, in words below each other, while there are few."""
    if len(lost) > _TOLD:
        return []
    told = [
        {"time": axis.at(time), "text": f"evicted: {tokens:,} tokens lost{back}"}
        for (time, tokens), back in zip(lost, _backs(life, lost), strict=True)
    ]
    return [
        alt.Chart(alt.Data(values=[row]))
        .mark_text(align="left", dx=6, dy=12 + 17 * line, color=_LOST)
        .encode(x=axis.x(last=True), y=alt.value(0), text="text:N")
        for line, row in enumerate(told)
    ]


def _backs(life: Sequence[Piece], lost: Sequence[tuple[float, int]]) -> list[str]:
    """Return after how long the request decodes again, in words; nothing where it was evicted anew before that."""
    words: list[str] = []
    for number, (time, _) in enumerate(lost):
        until = lost[number + 1][0] if number + 1 < len(lost) else math.inf
        again = next((piece.times[0] for piece in life if piece.phase == "decode" and piece.times[0] >= time), math.inf)
        words.append(f", back after {seconds_text(again - time)}" if again < until else "")
    return words
