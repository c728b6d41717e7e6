"""RunningQuantile against a sorted list, removals included."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.quantile import RunningQuantile, exact, rank

LEVELS = st.sampled_from([1.0, 1, 0.999, 0.95, 0.8, 0.55, 0.5, 0.3, 0.07, 1e-6, 1e-300])
VALUES = st.integers(-3, 3).map(float) | st.floats(-10, 10)
CHANGES = st.lists(st.tuples(st.booleans(), VALUES, st.integers(0, 30)), max_size=80)


def quantile(level: float, values: list[float]) -> float:
    if not values:
        return math.inf
    return sorted(values)[math.ceil(Decimal(str(level)) * len(values)) - 1]


@given(LEVELS, CHANGES)
def test_value_is_the_order_statistic_of_what_is_left(level: float, changes: list[tuple[bool, float, int]]) -> None:
    """Values leave in any order; many are equal to others."""
    running = RunningQuantile(level)
    values: list[float] = []
    for adds, value, index in changes:
        if adds or not values:
            values.append(value)
            running.add(value)
        else:
            running.remove(values.pop(index % len(values)))
        assert len(running) == len(values)
        assert running.value == quantile(level, values)


@given(LEVELS, st.lists(VALUES, min_size=1, max_size=60), st.integers(1, 8))
def test_a_sliding_window(level: float, values: list[float], window: int) -> None:
    running = RunningQuantile(level)
    for row, value in enumerate(values):
        running.add(value)
        if row >= window:
            running.remove(values[row - window])
        assert running.value == quantile(level, values[max(0, row + 1 - window) : row + 1])


def test_a_set_that_is_empty_again_starts_afresh() -> None:
    running = RunningQuantile(0.5)
    assert running.value == math.inf
    for value in (3.0, 1.0):
        running.add(value)
    running.remove(1.0)
    running.remove(3.0)
    assert (len(running), running.value) == (0, math.inf)
    running.add(2.0)
    assert running.value == 2.0


@pytest.mark.parametrize(
    ("level", "count", "expected"),
    [
        (0.8, 1, 1),
        (0.8, 5, 4),
        (0.8, 6, 5),
        (0.55, 20, 11),
        (0.07, 100, 7),
        (0.29, 100, 29),
        (1.0, 7, 7),
        (1e-9, 7, 1),
    ],
)
def test_rank_is_the_ceiling_of_the_level_as_it_is_written(level: float, count: int, expected: int) -> None:
    """0.07 * 100 is 7.000000000000001 in floating point; the rank is 7 all the same."""
    assert rank(exact(level), count) == expected
