from __future__ import annotations

import numpy as np
import pytest

from headway.core.errors import InvalidWorkload
from headway.workload.named import workload

BOUNDS = {
    "d1": ((32, 4096), (2048, 4096)),
    "d2": ((3000, 5000), (3000, 5000)),
    "d3": ((2048, 4096), (32, 4096)),
}
NAMES = [*BOUNDS, "o1-like"]


@pytest.mark.parametrize("name", BOUNDS)
def test_lengths_are_uniform_between_the_bounds(name: str):
    frame = workload(f"{name}(n=200000)", 1).frame
    for column, (low, high) in zip(("prompt_tokens", "output_tokens"), BOUNDS[name], strict=True):
        tokens = frame[column].to_numpy()
        assert (tokens.min(), tokens.max()) == (low, high)
        quarters = np.quantile(tokens, [0.25, 0.5, 0.75])
        np.testing.assert_allclose(quarters, low + (high - low) * np.array([0.25, 0.5, 0.75]), atol=0.01 * (high - low))
    assert np.corrcoef(frame["prompt_tokens"], frame["output_tokens"])[0, 1] == pytest.approx(0.0, abs=0.01)


def test_o1_like_has_the_published_figures():
    frames = [workload("o1-like", seed).frame for seed in range(40)]
    published = {
        "prompt_tokens": (381, {0.5: 209, 0.99: 2594}, 10_798),
        "output_tokens": (2160, {0.5: 1954, 0.9: 3872, 0.99: 6451}, 10_935),
    }
    for column, (mean, quantiles, longest) in published.items():
        tokens = np.concatenate([frame[column].to_numpy() for frame in frames])
        assert tokens.mean() == pytest.approx(mean, rel=0.02)
        for share, length in quantiles.items():
            assert np.quantile(tokens, share) == pytest.approx(length, rel=0.04), (column, share)
        assert tokens.min() >= 1
        assert tokens.max() <= longest
        longest_of_3000 = np.median([frame[column].max() for frame in frames])
        assert longest_of_3000 == pytest.approx(longest, rel=0.25)


@pytest.mark.parametrize("name", NAMES)
def test_all_are_queued_at_time_0(name: str):
    trace = workload(name, 3)
    assert len(trace) == 3000
    assert trace.frame["arrival"].unique().to_list() == [0.0]
    assert trace.frame["id"].to_list() == list(range(3000))
    assert trace.notes == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_rate_makes_arrivals_poisson_and_keeps_the_lengths(name: str):
    queued, arriving = workload(f"{name}(n=20000)", 3), workload(f"{name}(n=20000, rate=5)", 3)
    assert arriving.rate == pytest.approx(5, rel=0.03)
    assert arriving.interarrival_scv == pytest.approx(1, abs=0.05)
    assert arriving.frame.drop("arrival").equals(queued.frame.drop("arrival"))
    assert workload(f"{name}(n=20000, rate=inf)", 3).frame.equals(queued.frame)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("d1(n=0)", "n must be in"),
        ("d2(rate=0)", "rate must be in (0, inf), got 0"),
        ("d3(rate=soon)", "rate must be a number"),
        ("o1-like(n=1.5)", "n must be a whole number"),
        ("d4", "unknown workload 'd4'"),
    ],
)
def test_a_wrong_option_gets_one_line(spec: str, says: str):
    with pytest.raises(InvalidWorkload) as caught:
        workload(spec)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
