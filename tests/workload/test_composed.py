from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidWorkload
from headway.workload.named import workload

LENGTHS = ["prompt_tokens", "output_tokens"]
FEW, MANY = "uniform(output-low=1, output-high=9)", "uniform(output-low=100, output-high=900)"


def few_or_many(spec: str, seed: int = 0) -> np.ndarray:
    """Whether each request, in order, has a long output."""
    return workload(spec, seed).frame["output_tokens"].to_numpy() >= 100


def test_parts_stand_one_behind_the_other():
    trace = workload("concat(a=d1(n=50), b=d2(n=30), c=d3(n=20), d=d1(n=10))", 4)
    assert trace.frame["id"].to_list() == list(range(110))
    assert trace.frame["arrival"].unique().to_list() == [0.0]
    prompts, outputs = (trace.frame[column].to_numpy() for column in LENGTHS)
    assert outputs[:50].min() >= 2048 > outputs[80:100].min()
    assert prompts[50:80].min() >= 3000
    assert len({tuple(row) for row in trace.frame.select(LENGTHS).rows()}) > 105


@given(
    sizes=st.lists(st.integers(1, 20), min_size=2, max_size=4),
    rates=st.lists(st.sampled_from(["1", "30", "inf"]), min_size=4, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_arrivals_continue_where_the_part_before_ended(sizes: list[int], rates: list[str], seed: int):
    parts = [f"{key}=d1(n={n}, rate={rate})" for key, n, rate in zip("abcd", sizes, rates, strict=False)]
    frame = workload(f"concat({', '.join(parts)})", seed).frame
    assert frame["id"].to_list() == list(range(sum(sizes)))
    arrivals = frame["arrival"].to_numpy()
    ends = np.cumsum(sizes)
    offsets = [0.0, *arrivals[ends[:-1] - 1]]
    for begin, end, offset, rate in zip([0, *ends[:-1]], ends, offsets, rates, strict=False):
        own = arrivals[begin:end] - offset
        assert (own == 0).all() if rate == "inf" else (own > 0).all()
        assert (np.diff(own) >= 0).all()


def test_parts_are_independent_of_each_other_and_of_the_whole():
    frame = workload("concat(a=d1(n=2000), b=d1(n=2000))", 5).frame.select(LENGTHS).to_numpy()
    first, second = frame[:2000], frame[2000:]
    alone = workload("d1(n=2000)", 5).frame.select(LENGTHS).to_numpy()
    for one, other in ((first, second), (first, alone), (second, alone)):
        for column in (0, 1):
            assert abs(np.corrcoef(one[:, column], other[:, column])[0, 1]) < 0.08


def test_a_part_does_not_depend_on_those_after_it():
    short, long = workload("concat(a=d1(n=50), b=d2(n=9))", 1), workload("concat(a=d1(n=50), b=d3(n=80), c=d2)", 1)
    assert short.frame.select(LENGTHS).head(50).equals(long.frame.select(LENGTHS).head(50))


def test_n_keeps_the_first_and_rate_replaces_all_arrivals():
    spec = "concat(a=d1(n=300, rate=1), b=d3(n=300))"
    full = workload(spec, 2)
    assert workload(spec, 2, requests=350).frame.select(LENGTHS).equals(full.frame.select(LENGTHS).head(350))
    paced = workload(spec, 2, rate=8.0)
    assert paced.frame.select(LENGTHS).equals(full.frame.select(LENGTHS))
    assert paced.rate == pytest.approx(8, rel=0.15)
    assert len(workload(spec, 2, requests=10_000)) == 600


def test_concatenations_nest():
    inner = workload("concat(a=concat(a=d1(n=3), b=d2(n=4)), b=d3(n=5))", 1)
    assert len(inner) == 12
    assert inner.name == "concat(a=concat(a=d1(n=3), b=d2(n=4)), b=d3(n=5))"


def test_a_part_that_is_none_is_left_out():
    assert len(workload("concat(a=none, b=d1(n=7))")) == 7


def test_a_shift_ends_within_its_window():
    many = few_or_many(f"shift(before={FEW}, after={MANY}, n=8000, at=0.25, within=1000)")
    assert not many[:1500].any()
    assert many[2500:].all()
    shares = many[1500:2500].reshape(5, 200).mean(axis=1)
    np.testing.assert_allclose(shares, [0.1, 0.3, 0.5, 0.7, 0.9], atol=0.1)


@given(
    n=st.integers(1, 200),
    at=st.floats(0, 1),
    within=st.integers(0, 300),
    seed=st.integers(0, 1000),
)
def test_before_the_change_and_after_it_nothing_is_mixed(n: int, at: float, within: int, seed: int):
    many = few_or_many(f"shift(before={FEW}, after={MANY}, n={n}, at={at:.4f}, within={within})", seed)
    places, middle = np.arange(n) + 0.5, float(f"{at:.4f}") * n
    edge = max(within, 0.5) / 2 + 1e-9
    assert not many[places < middle - edge].any()
    assert many[places > middle + edge].all()


def test_a_shift_within_0_is_a_step():
    assert few_or_many(f"shift(before={FEW}, after={MANY}, n=10, within=0)").tolist() == [False] * 5 + [True] * 5


def test_a_shift_takes_a_rate():
    queued, paced = workload("shift(n=3000)", 1), workload("shift(n=3000, rate=4)", 1)
    assert queued.frame["arrival"].max() == 0
    assert paced.rate == pytest.approx(4, rel=0.1)
    assert paced.frame.select(LENGTHS).equals(queued.frame.select(LENGTHS))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("concat(a=5)", "a must be a workload such as d1 or d1(n=500), got 5"),
        ("concat(a=nope)", "unknown workload 'nope'"),
        ("concat(a=d1(m=3))", "workload 'd1' has no parameter 'm'"),
        ("concat(e=d1)", "has no parameter 'e'"),
        ("concat(a=d1(n=0))", "n must be in"),
        ("concat(n=0)", "n must be in"),
        ("concat(rate=-1)", "rate must be in"),
        ("concat(a='d1(')", "cannot read the spec 'd1('"),
        ("concat(d1, d2)", "arguments need names"),
        ("shift(before=d1(n=5))", "a part has no n of its own; give n to shift itself"),
        ("shift(after=d1(rate=5))", "a part has no rate of its own"),
        ("shift(before=concat(a=d1(n=5), b=d1(n=5)))", "has 10 requests, fewer than n=3000"),
        ("shift(at=1.5)", "at must be in [0, 1], got 1.5"),
        ("shift(within=-1)", "within must be >= 0, got -1"),
        ("shift(n=2.5)", "n must be a whole number"),
        ("shift(before=true)", "before must be a workload"),
    ],
)
def test_a_wrong_option_gets_one_line(spec: str, says: str):
    with pytest.raises(InvalidWorkload) as caught:
        workload(spec)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
