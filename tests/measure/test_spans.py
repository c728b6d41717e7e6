"""Spans of time against points that lie in them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.measure.spans import Spans, backlog, between, common, covers, longer, merged, places
from tests.measure.fake_runs import REJECTED, outcome, record

DRAWN = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8)


def spans(drawn: list[tuple[int, int]]) -> Spans:
    begin, end = np.array(drawn, dtype=np.float64).reshape(-1, 2).T
    return merged(begin, end)


def inside(found: Spans) -> set[float]:
    """Half hours of the day that lie in the spans; they touch no edge."""
    return {h + 0.5 for h in range(20) if any(a < h + 0.5 < b for a, b in zip(*found, strict=True))}


def tidy(found: Spans) -> bool:
    begin, end = found
    return bool((begin < end).all() and (begin[1:] > end[:-1]).all())


@given(DRAWN, DRAWN)
def test_union_and_intersection(one: list[tuple[int, int]], other: list[tuple[int, int]]):
    a, b = spans(one), spans(other)
    assert tidy(a)
    assert inside(a) == {h + 0.5 for h in range(20) if any(begin <= h < end for begin, end in one)}
    both = common(a, b)
    assert inside(both) == inside(a) & inside(b)
    assert (both[0] < both[1]).all()
    assert (both[0][1:] >= both[1][:-1]).all()


@given(DRAWN)
def test_what_lies_between(drawn: list[tuple[int, int]]):
    found = spans(drawn)
    rest = between(found)
    assert tidy(rest)
    assert inside(rest) == {h + 0.5 for h in range(20)} - inside(found)
    assert (rest[0][0], rest[1][-1]) == (-np.inf, np.inf)


def test_points_part_what_lies_between():
    points = np.array([1.0, 2.0, 2.0])
    assert [edge.tolist() for edge in between((points, points))] == [[-np.inf, 1.0, 2.0], [1.0, 2.0, np.inf]]


@given(DRAWN, DRAWN)
def test_what_one_span_covers(drawn: list[tuple[int, int]], asked: list[tuple[int, int]]):
    found = spans(drawn)
    begin, end = np.array([(min(pair), max(pair) + 1) for pair in asked], dtype=np.float64).reshape(-1, 2).T
    expected = [any(a <= x and y <= b for a, b in zip(*found, strict=True)) for x, y in zip(begin, end, strict=True)]
    assert covers(found, begin, end).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=8))
def test_places_are_those_of_each_pair_in_turn(drawn: list[tuple[int, int]]):
    begin, count = np.array(drawn, dtype=np.int64).reshape(-1, 2).T
    assert places(begin, begin + count).tolist() == [k for a, n in drawn for k in range(a, a + n)]


def test_short_spans_can_be_left_out():
    assert [edge.tolist() for edge in longer(spans([(0, 1), (3, 9), (12, 14)]), 2.0)] == [[3, 12], [9, 14]]


def test_a_backlog_is_of_those_who_have_arrived_and_not_started_or_gone():
    rows = [
        outcome(0, start=2.0),
        outcome(1, start=5.0),
        outcome(7, start=7.0),
        outcome(9, **REJECTED | {"finish": 9.0}),
        outcome(10, start=None, finish=12.0, outcome="expired"),
    ]
    assert [edge.tolist() for edge in backlog(record(rows).outcomes)] == [[0, 10], [5, 12]]
