"""Time between tokens (ITL), pooled over all deliveries of all requests, without touching a token.

A gap is the time between two successive token deliveries of one request (with a decode block q > 1 a delivery
carries q tokens). In a decode iteration everybody who decodes sees the same gap, so the pooled distribution
is that of the iterations' gaps, each weighted by the number of requests that decoded in it.

A residence marks the delivery with which a request joined (`joined`); its gaps are those of the iterations
`joined + 1 .. left`. A request that was evicted in between also sees one gap from its last delivery before to
its first delivery after, which is the sum of the gaps of the iterations that it missed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from headway.core.quantile import rank
from headway.measure.quantiles import LEVELS, Stats
from headway.measure.record import Segments

MAX_PIECES = 1_000_000


def pooled_gaps(
    segments: Segments, residence: pl.DataFrame, groups: Sequence[np.ndarray], max_pieces: int = MAX_PIECES
) -> list[Stats]:
    """Describe the pooled gaps (seconds) of several groups of requests.

    Segments whose gaps change are cut into at most about `max_pieces` pieces of equal length, each standing
    for its middle gap. Up to that many decode iterations a piece is an iteration and the result is exact;
    beyond, an error is at most the change of the gap within one piece. The maximum is exact always.

    Args:
        segments: the decode iterations of the run.
        residence: `row, joined, left` (see `RunRecord`).
        groups: for each group a mask over the rows of the outcomes, bool [requests].
        max_pieces: where exactness ends.
    """
    row, joined, left = (residence[name].to_numpy() for name in ("row", "joined", "left"))
    segments = _cut(segments, np.concatenate((joined, left)))
    index, length, seconds, highest = _pieces(segments, max_pieces)
    paused_row, pause = _pauses(segments, row, joined, left)

    seconds = np.concatenate((seconds, pause))
    highest = np.concatenate((highest, pause))
    order = np.argsort(seconds)
    seconds, highest = seconds[order], highest[order]

    enter = np.searchsorted(segments.clock, joined)
    leave = np.searchsorted(segments.clock, left)
    slots = segments.clock.size + 1
    described: list[Stats] = []
    for member in groups:
        inside = member[row]
        change = np.bincount(enter[inside], minlength=slots) - np.bincount(leave[inside], minlength=slots)
        decoding = np.cumsum(change)[:-1]
        weights = np.concatenate((decoding[index] * length, member[paused_row].astype(np.int64)))[order]
        described.append(_weighted(seconds, highest, weights))
    return described


def _weighted(seconds: np.ndarray, highest: np.ndarray, weights: np.ndarray) -> Stats:
    """Describe ascending `seconds` that occur `weights` times each."""
    running = np.cumsum(weights)
    total = int(running[-1]) if running.size else 0
    if total == 0:
        return Stats()
    p50, p90, p99 = (float(seconds[np.searchsorted(running, rank(p, total))]) for p in LEVELS)
    return Stats(float((seconds * weights).sum()) / total, p50, p90, p99, float(highest[weights > 0].max()))


def _slope(segments: Segments) -> np.ndarray:
    """Return by how much the gap changes from one iteration of a segment to the next, seconds."""
    return (segments.last - segments.first) / np.maximum(segments.steps - 1, 1)


def _cut(segments: Segments, cuts: np.ndarray) -> Segments:
    """Return the segments cut such that nobody joins or leaves inside one.

    A segment ends at every event of a run, so there is nothing to cut as a rule.
    """
    clock, ends = segments.clock, segments.clock + segments.steps
    before = np.searchsorted(clock, cuts) - 1
    inside = (before >= 0) & (cuts < ends[before]) if clock.size else np.zeros(cuts.size, dtype=bool)
    if not inside.any():
        return segments
    starts = np.unique(np.concatenate((clock, cuts[inside])))
    of = np.searchsorted(clock, starts, side="right") - 1
    stops = np.minimum(ends[of], np.append(starts[1:], ends[-1]))
    slope, base = _slope(segments)[of], segments.first[of]
    first = base + slope * (starts - clock[of])
    last = base + slope * (stops - 1 - clock[of])
    return Segments(starts, stops - starts, first, last)


def _pieces(segments: Segments, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return segment, iterations, middle gap and highest gap (seconds) of each piece, [pieces] each."""
    steps = segments.steps
    varies = segments.first != segments.last
    longest = max(1, -(-int(steps[varies].sum()) // limit))
    size = np.where(varies, longest, steps)
    count = -(-steps // size)
    index = np.repeat(np.arange(steps.size), count)
    begin = (np.arange(index.size) - np.repeat(np.cumsum(count) - count, count)) * size[index]
    length = np.minimum(size[index], steps[index] - begin)
    slope = _slope(segments)[index]
    seconds = segments.first[index] + slope * (begin + (length - 1) / 2)
    return index, length, seconds, seconds + np.abs(slope) * ((length - 1) / 2)


def _pauses(segments: Segments, row: np.ndarray, joined: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return who paused (row) and for how long (seconds) between leaving and joining again, each [pauses]."""
    order = np.lexsort((left, joined, row))
    row, joined, left = row[order], joined[order], left[order]
    again = np.flatnonzero((row[1:] == row[:-1]) & (joined[1:] > left[:-1]))
    pause = _elapsed(segments, joined[again + 1]) - _elapsed(segments, left[again])
    return row[again], pause


def _elapsed(segments: Segments, clock: np.ndarray) -> np.ndarray:
    """Return the sum of the gaps of all iterations up to `clock`, seconds."""
    if clock.size == 0:
        return np.zeros(0)
    whole = np.cumsum(segments.steps * (segments.first + segments.last) / 2)
    of = np.maximum(np.searchsorted(segments.clock, clock) - 1, 0)
    done = np.clip(clock - segments.clock[of], 0, segments.steps[of])
    part = done * segments.first[of] + _slope(segments)[of] * (done * (done - 1) / 2)
    return np.where(of > 0, whole[of - 1], 0.0) + part
