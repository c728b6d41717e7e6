"""Spans of time: disjoint, ascending, as arrays of begins and ends."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.measure.latency import seconds

Spans = tuple[np.ndarray, np.ndarray]  # begins [n], ends [n], seconds


def merged(begin: np.ndarray, end: np.ndarray) -> Spans:
    """Return the union of spans [n] in any order; those that touch are one, and empty ones are none."""
    some = end > begin
    order = np.argsort(begin[some], kind="stable")
    begin, end = begin[some][order], end[some][order]
    reach = np.maximum.accumulate(end)
    opens = np.append(True, begin[1:] > reach[:-1])[: begin.size]
    closes = np.append(opens[1:], True)[: begin.size]
    return begin[opens], reach[closes]


def common(one: Spans, other: Spans) -> Spans:
    """Return what two sets of spans have in common."""
    begins: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    for (begin, end), (around, until), side in ((one, other, "right"), (other, one, "left")):
        # A common span begins where one begins inside another; the same begin of both counts once.
        of = np.searchsorted(around, begin, side=side) - 1  # type: ignore[call-overload]
        inside = (of >= 0) & (begin < until[of]) if around.size else np.zeros(begin.size, dtype=bool)
        begins.append(begin[inside])
        ends.append(np.minimum(end[inside], until[of[inside]]))
    begin, end = np.concatenate(begins), np.concatenate(ends)
    order = np.argsort(begin, kind="stable")
    return begin[order], end[order]


def between(spans: Spans) -> Spans:
    """Return everything else, from minus infinity to infinity; the spans may be points, touch and overlap."""
    begin, end = np.append(-np.inf, spans[1]), np.append(spans[0], np.inf)
    return begin[end > begin], end[end > begin]


def longer(spans: Spans, least: float) -> Spans:
    """Return the spans of at least so many seconds."""
    begin, end = spans
    return begin[end - begin >= least], end[end - begin >= least]


def covers(spans: Spans, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return which of the stretches `begin .. end` [n] lie within one span, bool [n]."""
    if not spans[0].size:
        return np.zeros(begin.size, dtype=bool)
    of = np.searchsorted(spans[0], begin, side="right") - 1
    return (of >= 0) & (spans[1][of] >= end)


def places(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the whole numbers `begin .. end - 1` of each pair [n], one pair after the other."""
    count = end - begin
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - begin, count)


def backlog(outcomes: pl.DataFrame) -> Spans:
    """Return when at least one of these requests waited: had arrived, and was neither started nor gone.

    An evicted request that waits to return does not count: it goes before all others in every order.
    """
    start, finish = seconds(outcomes, "start"), seconds(outcomes, "finish")
    return merged(seconds(outcomes, "arrival"), np.where(np.isnan(start), finish, start))
