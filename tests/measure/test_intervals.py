import math

import numpy as np
import pytest

from headway.measure.intervals import Interval, batch_means, mean_interval, student_t

# Two-sided quantiles as printed in tables of Student's distribution.
TABLE_95 = [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (10, 2.228), (19, 2.093)]
TABLE_95 += [(20, 2.086), (29, 2.045), (30, 2.042), (60, 2.000), (99, 1.984), (120, 1.980), (999, 1.962)]
TABLE_99 = [(1, 63.657), (2, 9.925), (5, 4.032), (30, 2.750), (120, 2.617)]


@pytest.mark.parametrize(("freedom", "t"), TABLE_95)
def test_t_for_95_percent(freedom: int, t: float):
    assert student_t(freedom) == pytest.approx(t, abs=6e-4)


@pytest.mark.parametrize(("freedom", "t"), TABLE_99)
def test_t_for_99_percent(freedom: int, t: float):
    assert student_t(freedom, 0.99) == pytest.approx(t, abs=6e-4)


def test_t_where_it_has_a_closed_form():
    for share in (0.5, 0.9, 0.95, 0.999):
        assert student_t(1, share) == pytest.approx(math.tan(math.pi * share / 2), rel=1e-9)
        assert student_t(2, share) == pytest.approx(share * math.sqrt(2 / (1 - share**2)), rel=1e-9)


def test_an_interval_of_a_mean_by_hand():
    interval = mean_interval([1.0, 2.0, 3.0, 4.0])  # mean 2.5, standard error 0.6455, t(3) = 3.1824
    assert interval is not None
    assert interval.to_list() == pytest.approx([2.5 - 2.0543, 2.5 + 2.0543], abs=1e-3)


@pytest.mark.parametrize("values", [[], [3.0]])
def test_one_value_has_no_interval(values: list[float]):
    assert mean_interval(values) is None


def test_an_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        interval = mean_interval(rng.normal(5.0, 2.0, size=6))
        assert interval is not None
        hits += interval.low <= 5.0 <= interval.high
    assert hits / 2000 == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    ("interval", "contains"), [((-1, 1), True), ((0, 2), True), ((0.1, 2), False), ((-2, -0.1), False)]
)
def test_no_significant_difference_is_zero_within_the_interval(interval: tuple[float, float], contains: bool):
    assert Interval(*interval).contains_zero is contains


def test_batch_means_are_of_20_contiguous_blocks():
    blocks = np.abs(np.random.default_rng(2).normal(size=20)) * (-1.0) ** np.arange(20)
    assert np.corrcoef(blocks[1:], blocks[:-1])[0, 1] < -0.1  # nothing to correct for
    inner = np.tile([-1.0, 1.0, 0.0], 20)  # within a block it cancels out
    interval = batch_means(np.repeat(blocks, 3) + inner)
    expected = mean_interval(list(blocks))
    assert interval is not None
    assert expected is not None
    assert interval.to_list() == pytest.approx(expected.to_list())


def test_batch_means_see_through_requests_that_wait_together():
    """Values that hang together a whole block tell as much as 20 values, not as 2000."""
    blocks = np.random.default_rng(3).normal(size=20)
    assert np.corrcoef(blocks[1:], blocks[:-1])[0, 1] < -0.1
    values = np.repeat(blocks, 100)
    by_blocks, as_if_independent = batch_means(values), mean_interval(values)
    assert by_blocks is not None
    assert as_if_independent is not None
    wider = (by_blocks.high - by_blocks.low) / (as_if_independent.high - as_if_independent.low)
    assert wider == pytest.approx(10, rel=0.15)


def autoregressive(r: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """A stationary series of mean 0 with correlation r from one value to the next."""
    values = rng.normal(size=n)
    values[1:] *= np.sqrt(1 - r * r)
    for i in range(1, n):
        values[i] += r * values[i - 1]
    return values


@pytest.mark.parametrize(("r", "least"), [(0.0, 0.95), (0.3, 0.91), (0.6, 0.85), (0.8, 0.75)])
def test_blocks_that_depend_on_each_other_count_as_fewer(r: float, least: float):
    """The mean, 0, is covered nearly as often as it should be, and far more often than without correction."""
    rng = np.random.default_rng(6)
    covered = plain = 0
    for _ in range(1000):
        blocks = autoregressive(r, 20, rng)
        interval, uncorrected = batch_means(np.repeat(blocks, 2)), mean_interval(blocks)
        assert interval is not None
        assert uncorrected is not None
        covered += interval.contains_zero
        plain += uncorrected.contains_zero
    assert covered / 1000 >= least - 0.02
    assert covered >= plain
    assert r < 0.5 or covered - plain > 100


def test_values_that_only_grow_tell_next_to_nothing():
    grown = batch_means(np.arange(400.0))
    assert grown is not None
    assert grown.contains_zero


def test_batch_means_need_two_values_a_block():
    assert batch_means(np.arange(39.0)) is None
    assert batch_means(np.arange(40.0)) is not None
