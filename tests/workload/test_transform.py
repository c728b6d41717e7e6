from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_traces import traces

from headway.core.errors import InvalidWorkload
from headway.workload.labels import label
from headway.workload.trace import Trace
from headway.workload.transform import head, rescale_rate, scale_lengths, windows

RATES = st.floats(0.01, 1e4)


def simple(rows: int = 4, **columns: object) -> Trace:
    base: dict[str, object] = {
        "arrival": [5.0 + 2.0 * i for i in range(rows)],
        "prompt_tokens": [100] * rows,
        "output_tokens": [10] * rows,
    }
    return Trace.from_frame("mine", pl.DataFrame({**base, **columns}))


def test_a_rescaled_trace_starts_at_zero_and_has_the_rate():
    trace = rescale_rate(simple(), 4.0)
    assert trace.frame["arrival"].to_list() == [0.0, 0.25, 0.5, 0.75]
    assert trace.rate == 4.0
    assert trace.name == "mine"


@given(traces(min_size=2), RATES)
def test_rescaling_keeps_order_and_relative_gaps(trace: Trace, rate: float):
    if trace.span < 1e-3:
        return
    scaled = rescale_rate(trace, rate)
    assert scaled.frame["arrival"][0] == 0.0
    assert scaled.rate == pytest.approx(rate, rel=1e-9)
    before = (trace.frame["arrival"] - trace.frame["arrival"][0]).to_numpy() / trace.span
    order = trace.frame["id"].to_list()
    after = scaled.frame.with_columns(pl.col("id").replace_strict(order, range(len(order))).alias("at")).sort("at")
    np.testing.assert_allclose(after["arrival"].to_numpy() / scaled.span, before, rtol=1e-9, atol=1e-12)
    untouched = ["id", "prompt_tokens", "output_tokens"]
    assert after.select(untouched).equals(trace.frame.select(untouched))


def test_one_request_is_moved_to_zero_whatever_the_rate():
    assert rescale_rate(simple(1), 3.0).frame["arrival"].to_list() == [0.0]


def test_requests_that_arrive_at_once_have_no_scale():
    with pytest.raises(InvalidWorkload, match="all 2 requests arrive at once"):
        rescale_rate(simple(2, arrival=[3.0, 3.0]), 1.0)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_is_positive(rate: float):
    with pytest.raises(InvalidWorkload, match="rate must be"):
        rescale_rate(simple(), rate)


def test_lengths_are_scaled_and_rounded():
    trace = simple(4, prompt_tokens=[1, 3, 100, 7], output_tokens=[0, 1, 3, 5])
    scaled = scale_lengths(trace, 0.5).frame
    assert scaled["prompt_tokens"].to_list() == [1, 2, 50, 4]
    assert scaled["output_tokens"].to_list() == [0, 1, 2, 2]


def test_blocks_are_scaled_with_the_prompts():
    blocks = {"blocks": [[1, 2], [1], [3], None], "prompt_tokens": [1024, 600, 7, 9]}
    assert scale_lengths(simple(4, **blocks), 0.25).frame["block_tokens"].to_list() == [128] * 4
    scaled = scale_lengths(simple(4, **blocks, block_tokens=[16, None, 1, 3]), 1.5).frame
    assert scaled["block_tokens"].to_list() == [24, 768, 2, 4]
    assert scaled["blocks"].to_list() == blocks["blocks"]
    assert "block_tokens" not in scale_lengths(simple(), 2.0).frame.columns


@given(traces(), st.floats(1e-6, 1e3))
def test_scaled_lengths_are_near_and_never_appear_or_vanish(trace: Trace, factor: float):
    scaled = scale_lengths(trace, factor)
    for column in ("prompt_tokens", "output_tokens"):
        before, after = trace.frame[column].to_numpy(), scaled.frame[column].to_numpy()
        assert np.all((before > 0) == (after > 0))
        assert np.all(np.abs(after - np.maximum(before * factor, np.minimum(before, 1))) <= 0.5)
    assert scaled.frame.select("id", "arrival").equals(trace.frame.select("id", "arrival"))


@given(traces())
def test_scaling_by_one_changes_nothing(trace: Trace):
    assert scale_lengths(trace, 1.0).frame.equals(trace.frame)


def test_predicted_numbers_are_scaled_and_labels_stay():
    numbers = scale_lengths(simple(2, predicted=[8, 0]), 0.5).frame
    assert numbers["predicted"].to_list() == [4.0, 0.0]
    labels = scale_lengths(simple(2, predicted=["short", "long"]), 0.5).frame
    assert labels["predicted"].to_list() == ["short", "long"]


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf, 1e8])
def test_a_factor_is_positive_and_not_too_large(factor: float):
    with pytest.raises(InvalidWorkload, match="factor"):
        scale_lengths(simple(), factor)


def test_head_takes_the_first_arrivals():
    trace = simple(4, arrival=[4.0, 1.0, 3.0, 2.0])
    assert head(trace, 2).frame["id"].to_list() == [1, 3]
    assert head(trace, 9).frame.equals(trace.frame)
    with pytest.raises(InvalidWorkload, match="n must be >= 1"):
        head(trace, 0)


def test_windows_are_contiguous_and_start_at_zero():
    first, second = windows(simple(5), 2)
    assert first.frame["id"].to_list() == [0, 1]
    assert second.frame["id"].to_list() == [2, 3]
    assert first.frame["arrival"].to_list() == second.frame["arrival"].to_list() == [0.0, 2.0]
    assert first.name == "mine [1/2]"
    assert first.notes == second.notes == ("the last request is in no window",)


@given(traces(), st.integers(1, 10))
def test_windows_cover_the_trace_in_order(trace: Trace, count: int):
    if count > len(trace):
        with pytest.raises(InvalidWorkload, match=f"cannot cut {len(trace)} requests into {count} windows"):
            windows(trace, count)
        return
    parts = windows(trace, count)
    assert {len(part) for part in parts} == {len(trace) // count}
    assert len(parts) == count
    ids = [identity for part in parts for identity in part.frame["id"]]
    covered = trace.frame["id"].to_list()[: len(ids)]
    assert sorted(ids) == sorted(covered)
    start = 0
    for part in parts:
        original = trace.frame.slice(start, len(part))
        assert part.frame["arrival"][0] == 0.0
        assert set(part.frame["id"]) == set(original["id"])
        expected = (original["arrival"] - original["arrival"][0]).to_numpy()
        np.testing.assert_array_equal(part.frame["arrival"].to_numpy(), expected)
        start += len(part)


def test_transforms_keep_labels_and_notes():
    trace = label(Trace("mine", simple().frame, ("a note",)))
    for changed in (
        rescale_rate(trace, 1.0),
        scale_lengths(trace, 2.0),
        head(trace, 2),
        windows(trace, 2)[0],
    ):
        assert "a note" in changed.notes
        assert {"true_class", "predicted"} <= set(changed.frame.columns)
