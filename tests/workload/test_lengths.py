from __future__ import annotations

import math

import numpy as np
import pytest

from headway.core.errors import InvalidWorkload
from headway.workload.lengths import Lognormal, empirical, lognormal, lognormal_pair, uniform
from headway.workload.seeds import stream

N = 200_000


def test_lognormal_has_the_parameters_of_its_logarithm():
    drawn = np.log(lognormal(Lognormal(9.0, 0.5), N, stream(1, "lengths")))
    assert drawn.mean() == pytest.approx(9.0, abs=0.01)
    assert drawn.std() == pytest.approx(0.5, abs=0.01)


def test_lognormal_is_clipped_and_rounded():
    drawn = lognormal(Lognormal(3.0, 2.0, low=5, high=60), N, stream(1, "lengths"))
    assert drawn.dtype == np.int64
    assert (drawn.min(), drawn.max()) == (5, 60)
    for mean, rounded in ((7.4, 7), (7.6, 8)):
        assert set(lognormal(Lognormal(math.log(mean), 0.0), 10, stream(1, "lengths"))) == {rounded}


def test_lognormal_of_a_mean_and_variation():
    drawn = lognormal(Lognormal.of_mean(1000.0, 0.7), N, stream(1, "lengths"))
    assert drawn.mean() == pytest.approx(1000.0, rel=0.01)
    assert drawn.std() / drawn.mean() == pytest.approx(0.7, rel=0.03)


@pytest.mark.parametrize("correlation", [-1.0, -0.5, 0.0, 0.15, 1.0])
def test_pairs_are_correlated(correlation: float):
    shape = Lognormal(9.0, 0.5)
    prompts, outputs = lognormal_pair(shape, shape, correlation, N, stream(1, "lengths"))
    assert np.corrcoef(np.log(prompts), np.log(outputs))[0, 1] == pytest.approx(correlation, abs=0.01)
    assert np.log(outputs).std() == pytest.approx(0.5, abs=0.01)


def test_a_correlation_is_between_minus_one_and_one():
    with pytest.raises(InvalidWorkload, match="correlation must be"):
        lognormal_pair(Lognormal(1, 1), Lognormal(1, 1), 1.1, 5, stream(1, "lengths"))


def test_uniform_reaches_both_ends_equally():
    drawn = uniform(3, 7, N, stream(1, "lengths"))
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [3, 4, 5, 6, 7]
    assert np.all(np.abs(counts / N - 0.2) < 0.005)
    assert set(uniform(4, 4, 10, stream(1, "lengths"))) == {4}


@pytest.mark.parametrize(("low", "high"), [(5, 4), (-1, 4), (1.5, 4), (0, math.inf)])
def test_uniform_bounds_are_whole_and_in_order(low: float, high: float):
    with pytest.raises(InvalidWorkload, match=r"low|high"):
        uniform(low, high, 5, stream(1, "lengths"))  # type: ignore[arg-type]


def test_empirical_draws_what_was_observed_as_often():
    drawn = empirical([10, 10, 10, 40], N, stream(1, "lengths"))
    assert set(drawn) == {10, 40}
    assert np.mean(drawn == 40) == pytest.approx(0.25, abs=0.005)


def test_empirical_keeps_pairs_together():
    drawn = empirical([[1, 100], [2, 200], [3, 300]], 1000, stream(1, "lengths"))
    assert drawn.shape == (1000, 2)
    np.testing.assert_array_equal(drawn[:, 1], 100 * drawn[:, 0])


def test_nothing_observed_gives_nothing_to_draw():
    with pytest.raises(InvalidWorkload, match="no observed lengths"):
        empirical([], 5, stream(1, "lengths"))


@pytest.mark.parametrize(
    "draw",
    [
        lambda n, rng: lognormal(Lognormal(4, 1), n, rng),
        lambda n, rng: lognormal_pair(Lognormal(4, 1), Lognormal(4, 1), 0.3, n, rng)[1],
        lambda n, rng: uniform(1, 1000, n, rng),
        lambda n, rng: empirical(range(1000), n, rng),
    ],
)
def test_a_longer_draw_starts_with_the_shorter(draw):
    np.testing.assert_array_equal(draw(50, stream(1, "lengths")), draw(80, stream(1, "lengths"))[:50])
    with pytest.raises(InvalidWorkload, match="n must be"):
        draw(0, stream(1, "lengths"))
