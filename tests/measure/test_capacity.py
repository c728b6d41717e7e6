"""Capacities from points: the first break, from below, and how sure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.measure.capacity import PRECISION, Held, RatePoint, Replicas, bracket, rate_interval


def points(*pairs: tuple[float, float]) -> list[RatePoint]:
    return [RatePoint(rate, (kept, kept)) for rate, kept in pairs]


shares = st.floats(0, 1)


@given(st.dictionaries(st.floats(0.1, 100), shares, min_size=1, max_size=12), shares)
def test_everything_up_to_the_capacity_holds_and_the_next_rate_does_not(kept: dict[float, float], bound: float):
    found = bracket(points(*kept.items()), bound)
    below = [rate for rate in kept if found.low is not None and rate <= found.low]
    assert all(RatePoint(rate, (kept[rate],)).holds(bound) for rate in below)
    above = sorted(rate for rate in kept if rate not in below)
    assert found.high == (above[0] if above else None)
    if found.high is not None:
        assert not RatePoint(found.high, (kept[found.high],)).holds(bound)


def test_what_holds_again_above_a_break_is_no_capacity():
    found = bracket(points((4, 0.99), (1, 1.0), (3, 0.9), (2, 0.995)), 0.99)
    assert (found.low, found.high, found.again) == (2, 3, 4)
    assert found.middle == pytest.approx(6**0.5)


def test_halving_stops_where_the_rate_is_known_well_enough():
    assert bracket(points((1, 1.0), (1 + PRECISION, 0.5)), 0.9).middle is None
    assert bracket(points((1, 1.0)), 0.9).middle is None
    assert bracket(points((1, 0.0)), 0.9).middle is None


def test_the_interval_of_a_rate_is_where_that_of_the_attainment_crosses_the_bound():
    run = [RatePoint(1, (1.0,) * 4), RatePoint(2, (0.93, 0.87) * 2), RatePoint(3, (0.5, 0.4) * 2)]
    low, high = rate_interval(run, 0.9)
    at = run[1].ci95
    assert at is not None
    assert low == pytest.approx(1 + (1 - 0.9) / (1 - at.low))
    assert 2 < (high or 0) < 3
    assert rate_interval(run[:1], 0.9) == (None, None)
    assert rate_interval(run[2:], 0.99) == (None, None)


def test_one_stretch_gives_a_point_and_no_interval():
    point = RatePoint(1, (0.5,))
    assert point.ci95 is None
    assert rate_interval([RatePoint(1, (1.0,)), RatePoint(2, (0.8,))], 0.9) == (1.5, 1.5)


def test_what_is_written_is_what_was_found():
    held = Held(
        "fcfs",
        tuple(points((1, 1.0), (2, 0.5))),
        0.9,
        replicas=Replicas(5.0, 2, {1: (0.5, 0.7), 2: (1.0, 1.0)}, 3.0, 40.0),
    )
    data = held.to_dict()
    assert (data["rate_per_s"], data["breaks_at_rate_per_s"], data["attainment"]) == (1, 2, 1.0)
    assert data["replicas"]["tried"] == [{"replicas": 1, "attainment": 0.6}, {"replicas": 2, "attainment": 1.0}]
    assert held.replicas is not None
    assert held.replicas.attainment(3) is None


def test_the_interval_has_the_rate_in_it_where_all_stretches_agree():
    """Attainment falls between the two rates that were run, so that a line between them meets the bound above both."""
    held = Held("fcfs", tuple(points((1, 1.0), (89.4, 0.96), (90, 0.5))), 0.95)
    low, high = held.interval
    assert low is not None
    assert high is not None
    assert low <= 89.4 <= high
