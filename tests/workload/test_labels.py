from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_traces import traces

from headway.core.errors import InvalidWorkload
from headway.workload.labels import label, mislabel
from headway.workload.seeds import stream
from headway.workload.trace import Trace

EPSILONS = st.floats(0.0, 1.0)


def of_outputs(outputs: list[int], **columns: object) -> Trace:
    rows = len(outputs)
    base = {"arrival": [float(i) for i in range(rows)], "prompt_tokens": [1] * rows, "output_tokens": outputs}
    return Trace.from_frame("mine", pl.DataFrame({**base, **columns}))


def longs(trace: Trace, column: str = "true_class") -> list[int]:
    return trace.frame.filter(pl.col(column) == "long")["output_tokens"].to_list()


def test_long_is_above_the_order_statistic():
    trace = label(of_outputs(list(range(1, 21))))  # ceil(0.85 · 20) = 17
    assert longs(trace) == longs(trace, "predicted") == [18, 19, 20]


def test_the_quantile_is_taken_as_written():
    labelled = label(of_outputs(list(range(1, 101))), 0.07)  # in floats 0.07 · 100 is above 7
    assert longs(labelled) == list(range(8, 101))


def test_ties_at_the_threshold_are_short():
    assert longs(label(of_outputs([5, 5, 5, 5, 9]), 0.5)) == [9]
    assert longs(label(of_outputs([5, 5, 5]), 0.5)) == []
    assert longs(label(of_outputs([5]), 0.01)) == []


@given(traces(), st.sampled_from([0.01, 0.1, 0.5, 0.8, 0.85, 0.99, 1.0]))
def test_labels_split_by_length_at_the_quantile(trace: Trace, quantile: float):
    labelled = label(trace, quantile)
    outputs = sorted(trace.frame["output_tokens"])
    rank = math.ceil(Fraction(str(quantile)) * len(outputs))
    for tokens, true, predicted in labelled.frame.select("output_tokens", "true_class", "predicted").iter_rows():
        assert true == predicted == ("long" if tokens > outputs[rank - 1] else "short")
    assert len(longs(labelled)) <= len(outputs) - rank
    assert labelled.frame.drop("true_class", "predicted").equals(trace.frame)


@given(traces())
def test_labelling_twice_changes_nothing(trace: Trace):
    once = label(trace)
    assert label(once, 0.1).frame.equals(once.frame)


def test_labels_that_are_there_are_kept():
    trace = label(of_outputs([1, 2, 3], true_class=["long", None, "short"]), 0.5)
    assert trace.frame["true_class"].to_list() == trace.frame["predicted"].to_list() == ["long", None, "short"]
    numbers = label(of_outputs([1, 2, 3], predicted=[30, 20, 10]), 0.5)
    assert numbers.frame["predicted"].to_list() == [30, 20, 10]
    assert longs(numbers) == [3]


@pytest.mark.parametrize("quantile", [0.0, -0.1, 1.1, math.nan])
def test_a_quantile_is_a_share(quantile: float):
    with pytest.raises(InvalidWorkload, match="quantile must be"):
        label(of_outputs([1]), quantile)


@given(traces(), st.integers(0, 99), EPSILONS, EPSILONS, EPSILONS, EPSILONS)
def test_a_larger_error_flips_a_superset(
    trace: Trace, seed: int, short_1: float, short_2: float, long_1: float, long_2: float
):
    def flipped(epsilon_sl: float, epsilon_ls: float) -> set[int]:
        wrong = mislabel(labelled, epsilon_sl, epsilon_ls, stream(seed, "labels"))
        assert wrong.frame.drop("predicted").equals(labelled.frame.drop("predicted"))
        return set(wrong.frame.filter(pl.col("predicted") != pl.col("true_class"))["id"])

    labelled = label(trace, 0.5)
    small = flipped(min(short_1, short_2), min(long_1, long_2))
    assert small <= flipped(max(short_1, short_2), max(long_1, long_2))
    assert small == flipped(min(short_1, short_2), 0.0) | flipped(0.0, min(long_1, long_2))


@given(traces(), st.integers(0, 99))
def test_errors_of_zero_and_one(trace: Trace, seed: int):
    labelled = label(trace, 0.5)
    assert mislabel(labelled, 0.0, 0.0, stream(seed, "labels")).frame.equals(labelled.frame)
    assert not longs(labelled) or set(mislabel(labelled, 0.0, 1.0, stream(seed, "labels")).frame["predicted"]) == {
        "short"
    }
    assert set(mislabel(labelled, 1.0, 0.0, stream(seed, "labels")).frame["predicted"]) == {"long"}


def test_shares_of_wrong_labels_are_the_errors_and_independent():
    labelled = label(of_outputs(list(range(100_000))))
    wrong = mislabel(labelled, 0.1, 0.4, stream(5, "labels")).frame
    is_wrong = (wrong["predicted"] != wrong["true_class"]).to_numpy()
    is_long = (wrong["true_class"] == "long").to_numpy()
    assert is_wrong[~is_long].mean() == pytest.approx(0.1, abs=0.005)
    assert is_wrong[is_long].mean() == pytest.approx(0.4, abs=0.015)
    assert np.corrcoef(is_wrong[:-1], is_wrong[1:])[0, 1] == pytest.approx(0.0, abs=0.12)
    shorts = is_wrong[~is_long]
    assert np.corrcoef(shorts[:-1], shorts[1:])[0, 1] == pytest.approx(0.0, abs=0.015)


def test_errors_flip_the_predictions_that_a_trace_carries():
    trace = of_outputs([1, 2, 3], predicted=["long", None, "short"], true_class=["short", "short", "long"])
    wrong = mislabel(trace, 1.0, 1.0, stream(1, "labels"))
    assert wrong.frame["predicted"].to_list() == ["short", None, "long"]


@pytest.mark.parametrize("columns", [{}, {"predicted": [10]}])
def test_only_predicted_labels_can_be_wrong(columns: dict[str, object]):
    trace = of_outputs([1], **columns)
    assert mislabel(trace, 0.0, 0.0, stream(1, "labels")) is trace
    with pytest.raises(InvalidWorkload, match="label the trace first"):
        mislabel(trace, 0.1, 0.0, stream(1, "labels"))


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, math.nan])
def test_an_error_is_a_probability(epsilon: float):
    labelled = label(of_outputs([1]))
    with pytest.raises(InvalidWorkload, match="epsilon_sl must be"):
        mislabel(labelled, epsilon, 0.0, stream(1, "labels"))
    with pytest.raises(InvalidWorkload, match="epsilon_ls must be"):
        mislabel(labelled, 0.0, epsilon, stream(1, "labels"))


@given(traces(), EPSILONS, EPSILONS)
def test_labels_that_nobody_checked_are_as_good_as_checked_ones(trace: Trace, sl: float, ls: float):
    made = label(trace)
    if made.frame.schema["predicted"] == pl.String:
        made = mislabel(made, sl, ls, stream(1, "labels"))
    checked = Trace.from_frame(made.name, made.frame, made.notes)
    assert made.frame.equals(checked.frame)
    assert made.frame.schema == checked.frame.schema
    assert made.notes == checked.notes
