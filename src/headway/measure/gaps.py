"""Time between tokens (ITL), pooled over all deliveries of all requests, without touching a token.

A gap is the time between two successive token deliveries of one request (with a decode block q > 1 a delivery
carries q tokens). In a decode iteration everybody who decodes sees the same gap, so the pooled distribution
is that of the iterations' gaps, each weighted by the number of requests that decoded in it.

A residence marks the delivery with which a request joined (`joined`); its gaps are those of the iterations
`joined + 1 .. left`. Gaps that are one request's alone are kept apart (`stray`): from its last delivery before an
eviction to the first one after it, or from the end of its prompt to its first decode where decodes were paused or it
waited for a decode slot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from headway.core.quantile import rank
from headway.measure.quantiles import LEVELS, Stats
from headway.measure.record import Segments

MAX_PIECES = 1_000_000


def largest_gaps(requests: int, segments: Segments, residence: pl.DataFrame, stray: pl.DataFrame) -> np.ndarray:
    """Return the largest gap of every request, seconds [requests]; NaN with fewer than two deliveries."""
    largest = np.full(requests, -np.inf)
    if residence.height:
        # Gaps do not fall within a segment: its last one is its largest, also for who joins inside it.
        first = np.searchsorted(segments.clock, residence["joined"].to_numpy(), side="right") - 1
        order = np.argsort(first)
        behind = np.searchsorted(segments.clock, residence["left"].to_numpy())
        bounds = np.column_stack((first[order], behind[order])).ravel()
        gaps = np.append(segments.last, -np.inf)  # so that a bound may lie at the end
        np.maximum.at(largest, residence["row"].to_numpy()[order], np.maximum.reduceat(gaps, bounds)[::2])
    np.maximum.at(largest, stray["row"].to_numpy(), stray["seconds"].to_numpy())
    return np.where(np.isneginf(largest), np.nan, largest)


def pooled_gaps(
    segments: Segments,
    residence: pl.DataFrame,
    stray: pl.DataFrame,
    groups: Sequence[np.ndarray],
    max_pieces: int = MAX_PIECES,
) -> list[Stats]:
    """Describe the pooled gaps (seconds) of several groups of requests.

    Segments whose gaps change are cut into at most about `max_pieces` pieces of equal length, each standing
    for its middle gap. Up to that many decode iterations a piece is an iteration and the result is exact;
    beyond, an error is at most the change of the gap within one piece. The maximum is exact always.

    Args:
        segments: the decode iterations of the run.
        residence: `row, joined, left` (see `RunRecord`).
        stray: `row, seconds`, gaps of one request alone.
        groups: for each group a mask over the rows of the outcomes, bool [requests].
        max_pieces: where exactness ends.
    """
    row, joined, left = (residence[name].to_numpy() for name in ("row", "joined", "left"))
    segments = cut(segments, np.concatenate((joined, left)))
    index, length, seconds, highest = _pieces(segments, max_pieces)
    stray_row, alone = stray["row"].to_numpy(), stray["seconds"].to_numpy()

    seconds = np.concatenate((seconds, alone))
    highest = np.concatenate((highest, alone))
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
        weights = np.concatenate((decoding[index] * length, member[stray_row].astype(np.int64)))[order]
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


def cut(segments: Segments, cuts: np.ndarray) -> Segments:
    """Return the segments cut such that nobody joins or leaves inside one.

    Segments end at the events of a run; but where the first token comes from a decode iteration, a request's gaps
    begin one iteration after it joined.
    """
    clock, ends = segments.clock, segments.clock + segments.steps
    before = np.searchsorted(clock, cuts) - 1
    inside = (before >= 0) & (cuts < ends[before]) if clock.size else np.zeros(cuts.size, dtype=bool)
    if not inside.any():
        return segments
    new = np.sort(cuts[inside])
    new = new[np.append(True, new[1:] != new[:-1])]  # np.unique hashes, which is far slower here
    starts = np.sort(np.concatenate((clock, new)), kind="stable")  # two sorted runs: a merge
    of = np.searchsorted(clock, starts, side="right") - 1
    stops = np.minimum(ends[of], np.append(starts[1:], ends[-1]))
    slope, base = _slope(segments)[of], segments.first[of]
    first = base + slope * (starts - clock[of])
    last = base + slope * (stops - 1 - clock[of])
    after = ends[of] - stops  # iterations of the segment that follow the piece
    end = segments.end[of] - after * (last + slope * (after + 1) / 2)
    return Segments(starts, stops - starts, first, last, end)


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
