from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from headway.core.errors import InvalidWorkload
from headway.workload.arrivals import deterministic, gamma, poisson
from headway.workload.seeds import stream

N = 200_000


def gaps(arrivals: np.ndarray) -> np.ndarray:
    return np.diff(arrivals, prepend=0.0)


@pytest.mark.parametrize(
    ("make", "cv"),
    [
        (poisson, 1.0),
        (partial(gamma, cv=0.25), 0.25),
        (partial(gamma, cv=1.0), 1.0),
        (partial(gamma, cv=3.0), 3.0),
        (deterministic, 0.0),
    ],
)
def test_gaps_have_the_mean_and_the_variation(make, cv: float):
    drawn = gaps(make(8.0, N, stream(1, "arrivals")))
    assert drawn.mean() == pytest.approx(1 / 8.0, rel=0.03)
    assert drawn.std() / drawn.mean() == pytest.approx(cv, abs=0.03 * max(cv, 1e-9))


def test_poisson_gaps_are_exponential_and_independent():
    drawn = gaps(poisson(2.0, N, stream(1, "arrivals")))
    assert np.mean(drawn > 0.5) == pytest.approx(math.exp(-1.0), abs=0.005)
    assert np.corrcoef(drawn[:-1], drawn[1:])[0, 1] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("make", [poisson, partial(gamma, cv=2.0), deterministic])
def test_arrivals_ascend_and_a_longer_draw_starts_with_the_shorter(make):
    short, long = make(4.0, 50, stream(3, "arrivals")), make(4.0, 80, stream(3, "arrivals"))
    assert short.dtype == np.float64
    assert short[0] > 0
    assert np.all(np.diff(long) >= 0)
    np.testing.assert_array_equal(short, long[:50])


def test_another_rate_scales_the_same_arrivals():
    np.testing.assert_allclose(
        poisson(2.0, 50, stream(3, "arrivals")), 16.0 * poisson(32.0, 50, stream(3, "arrivals")), rtol=1e-12
    )


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("make", [poisson, partial(gamma, cv=2.0), deterministic])
def test_a_rate_is_positive(make, rate: float):
    with pytest.raises(InvalidWorkload, match="rate must be"):
        make(rate, 5, stream(0, "arrivals"))


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_a_count_is_whole_and_positive(n: int):
    with pytest.raises(InvalidWorkload, match="n must be"):
        poisson(1.0, n, stream(0, "arrivals"))


@pytest.mark.parametrize("cv", [0.0, -1.0, 101.0, math.nan])
def test_a_variation_is_within_bounds(cv: float):
    with pytest.raises(InvalidWorkload, match="cv must be"):
        gamma(1.0, 5, stream(0, "arrivals"), cv)
