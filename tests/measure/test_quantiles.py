from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.measure.intervals import Interval
from headway.measure.quantiles import Stats, quantile

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300)


@given(VALUES)
def test_a_quantile_is_the_smallest_value_that_enough_do_not_exceed(values: list[float]):
    stats = Stats.of(np.array(values))
    for p, found in ((50, stats.p50), (90, stats.p90), (99, stats.p99)):
        enough = [value for value in values if 100 * sum(other <= value for other in values) >= p * len(values)]
        assert found == min(enough)
    assert stats.max == max(values)
    assert stats.mean == pytest.approx(sum(values) / len(values), abs=1e-6)


@pytest.mark.parametrize(("n", "p99"), [(1, 1), (99, 99), (100, 99), (101, 100), (200, 198), (201, 199)])
def test_p99_is_order_statistic_ceil_of_099_n(n: int, p99: int):
    assert Stats.of(np.arange(n, 0, -1, dtype=np.float64)).p99 == p99


def test_quantile_of_any_share():
    values = np.arange(100, 0, -1, dtype=np.float64)
    assert quantile(values, Fraction(7, 100)) == 7
    assert quantile(values, Fraction(0)) == 1
    assert quantile(np.array([]), Fraction(1, 2)) is None


def test_what_has_no_value_is_left_out():
    assert Stats.of(np.array([np.nan, 2.0, np.nan, 4.0])) == Stats(3.0, 2.0, 4.0, 4.0, 4.0)
    assert Stats.of(np.array([np.nan])) == Stats()
    assert Stats.of(np.array([])) == Stats()


def test_over_seeds_each_statistic_is_a_mean_with_its_interval():
    stats = Stats.over_seeds([Stats(1.0, 1.0, 1.0, 1.0, 4.0), Stats(3.0, 1.0, 1.0, 1.0, 8.0), Stats()])
    assert (stats.mean, stats.p50, stats.max) == (2.0, 1.0, 6.0)
    assert stats.ci95 is not None
    assert stats.ci95["p50"] == Interval(1.0, 1.0)
    mean = stats.ci95["mean"]  # t(1) = 12.706, standard error of {1, 3} is 1
    assert mean is not None
    assert (mean.low, mean.high) == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-4)


def test_over_seeds_without_any_value():
    assert Stats.over_seeds([Stats(), Stats()]).to_dict() == {
        "mean": None,
        "p50": None,
        "p90": None,
        "p99": None,
        "max": None,
        "ci95": {"mean": None, "p50": None, "p90": None, "p99": None, "max": None},
    }
