from __future__ import annotations

import math

import polars as pl
import pytest

from headway.core.errors import InvalidTrace
from headway.workload.trace import Trace


def frame(**columns: object) -> pl.DataFrame:
    rows = len(next(iter(columns.values()))) if columns else 3  # type: ignore[arg-type]
    base: dict[str, object] = {
        "arrival": [float(i) for i in range(rows)],
        "prompt_tokens": [10] * rows,
        "output_tokens": [5] * rows,
    }
    return pl.DataFrame({**base, **columns}, strict=False)


def refusal(table: pl.DataFrame) -> str:
    with pytest.raises(InvalidTrace) as caught:
        Trace.from_frame("mine", table)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("mine: ")
    return text


def test_the_least_frame_gets_ids_in_the_order_of_its_rows():
    trace = Trace.from_frame("mine", frame())
    assert trace.frame.schema == {
        "id": pl.Int64,
        "arrival": pl.Float64,
        "prompt_tokens": pl.Int64,
        "output_tokens": pl.Int64,
    }
    assert trace.frame["id"].to_list() == [0, 1, 2]
    assert (trace.name, trace.notes, len(trace)) == ("mine", (), 3)


def test_all_optional_columns_are_typed_and_missing_cells_stay_missing():
    trace = Trace.from_frame(
        "mine",
        frame(
            priority=["3", None],
            completion_slo=["9.5", None],
            itl_slo=[None, "0.1"],
            ttft_slo=[1, None],
            true_class=["short", None],
            predicted=["long", None],
            tenant=["a", None],
            id=["x", "y"],
            **{"class": ["chat", None]},
        ),
    )
    assert dict(trace.frame.schema) == {
        "id": pl.String,
        "arrival": pl.Float64,
        "prompt_tokens": pl.Int64,
        "output_tokens": pl.Int64,
        "tenant": pl.String,
        "class": pl.String,
        "predicted": pl.String,
        "true_class": pl.String,
        "ttft_slo": pl.Float64,
        "itl_slo": pl.Float64,
        "completion_slo": pl.Float64,
        "priority": pl.Int64,
    }
    assert trace.frame.row(0) == ("x", 0.0, 10, 5, "a", "chat", "long", "short", 1.0, None, 9.5, 3)
    assert trace.frame.row(1)[4:] == (None, None, None, None, None, 0.1, None, None)


def test_unsorted_arrivals_are_sorted_with_a_note_and_keep_their_ids():
    trace = Trace.from_frame("mine", frame(arrival=[3.0, 1.0, 2.0]), notes=("before",))
    assert trace.frame["id"].to_list() == [1, 2, 0]
    assert trace.frame["arrival"].to_list() == [1.0, 2.0, 3.0]
    assert trace.notes == ("before", "the arrivals were not in order: sorted by arrival")


def test_equal_arrivals_are_ordered_by_id_without_a_note():
    trace = Trace.from_frame("mine", frame(arrival=[1.0, 1.0, 0.5 + 0.5], id=[9, 3, 5]))
    assert trace.frame["id"].to_list() == [3, 5, 9]
    assert trace.notes == ()


@pytest.mark.parametrize("column", ["arrival", "prompt_tokens", "output_tokens"])
def test_a_missing_column_is_named(column: str):
    assert f"column '{column}' is missing" in refusal(frame().drop(column))


def test_an_unknown_column_is_named_with_the_nearest():
    text = refusal(frame(tennant=["a"]))
    assert "unknown column 'tennant'; did you mean 'tenant'?" in text


def test_no_rows_are_refused():
    assert "no requests" in refusal(frame().clear())


@pytest.mark.parametrize("column", ["prompt_tokens", "output_tokens"])
@pytest.mark.parametrize("value", [1.5, math.nan, math.inf, -math.inf, -1, 10**9 + 1, None])
def test_numbers_that_no_token_count_can_be(column: str, value: float | None):
    text = refusal(frame(**{column: [7, value, -9]}))
    assert f"column '{column}', row 2: found {'nothing' if value is None else value}" in text
    assert "expected a whole number of tokens from" in text


TEXTS = ["1.5", "1e3", "1e-400", "NaN", "inf", "-1", "", "x", "1_000", "0x10", ".", "1,5", "9" * 40, "٣"]


@pytest.mark.parametrize("column", ["prompt_tokens", "output_tokens"])
@pytest.mark.parametrize("value", TEXTS)
def test_texts_that_no_token_count_can_be(column: str, value: str):
    assert f"column '{column}', row 2: found '" in refusal(frame(**{column: ["7", value, "-9"]}))


@pytest.mark.parametrize(("value", "tokens"), [("7", 7), (" 7 ", 7), ("7.0", 7), ("7.", 7), ("007", 7), (7.0, 7)])
def test_whole_numbers_however_written(value: object, tokens: int):
    trace = Trace.from_frame("mine", frame(output_tokens=[value]))
    assert trace.frame["output_tokens"].to_list() == [tokens]


def test_zero_outputs_are_legal_and_zero_prompts_are_not():
    assert Trace.from_frame("mine", frame(output_tokens=[0])).frame["output_tokens"].to_list() == [0]
    assert "column 'prompt_tokens', row 1: found 0" in refusal(frame(prompt_tokens=[0]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.5, None, 1.7e12])
def test_times_that_no_arrival_can_be(value: float | None):
    text = refusal(frame(arrival=[0.0, value]))
    assert "column 'arrival', row 2: found" in text
    assert "number of seconds" in text


@pytest.mark.parametrize("column", ["ttft_slo", "itl_slo", "completion_slo"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "soon"])
def test_promises_are_positive_seconds(column: str, value: object):
    assert f"column '{column}', row 1: found" in refusal(frame(**{column: [value]}))


@pytest.mark.parametrize("value", [1.5, "high", 10**10])
def test_priorities_are_whole(value: object):
    assert "column 'priority', row 1: found" in refusal(frame(priority=[value]))


@pytest.mark.parametrize(
    ("given", "taken", "dtype"),
    [
        (["short", "long", None], ["short", "long", None], pl.String),
        ([None, None, None], [None, None, None], pl.String),
        (["12", "7", None], [12, 7, None], pl.Int64),
        ([12, 7, 0], [12, 7, 0], pl.Int64),
        (["12", "7.5", None], [12.0, 7.5, None], pl.Float64),
        ([12.0, 7.5, None], [12.0, 7.5, None], pl.Float64),
    ],
)
def test_predictions_are_labels_or_numbers(given: list[object], taken: list[object], dtype: pl.DataType):
    predicted = Trace.from_frame("mine", frame(predicted=given)).frame["predicted"]
    assert (predicted.to_list(), predicted.dtype) == (taken, dtype)


@pytest.mark.parametrize("given", [["short", "12"], ["Short"], ["-1"], ["nan"], ["1", ""], [math.inf], [-2], [True]])
def test_predictions_that_are_neither(given: list[object]):
    assert "column 'predicted'" in refusal(frame(predicted=given))


def test_true_classes_are_short_or_long():
    assert "column 'true_class', row 2: found 'medium', expected short or long" in refusal(
        frame(true_class=["short", "medium"])
    )


def test_ids_are_there_and_once():
    assert "column 'id', row 3: found 'a', expected an id that no earlier row has" in refusal(
        frame(id=["a", "b", "a", "b"])
    )
    assert "column 'id', row 2: found 7" in refusal(frame(id=[7, 7]))
    assert "column 'id', row 2: found nothing" in refusal(frame(id=[7, None]))


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (["2", "1"], [2, 1]),
        (["007", "7"], ["007", "7"]),
        (["1", "b"], ["1", "b"]),
        (pl.Series([1, 2], dtype=pl.UInt64), [1, 2]),
        (pl.Series([1, 2**63], dtype=pl.UInt64), ["1", str(2**63)]),
    ],
)
def test_ids_are_numbers_when_all_are(given: object, taken: list[object]):
    assert Trace.from_frame("mine", frame(id=given)).frame["id"].to_list() == taken


def test_categories_and_whole_numbers_are_taken_as_texts():
    columns = {"tenant": pl.Series(["a", None], dtype=pl.Categorical), "class": [3, 4]}
    taken = Trace.from_frame("mine", frame(**columns)).frame
    assert taken.select("tenant", "class").rows() == [("a", "3"), (None, "4")]


@pytest.mark.parametrize(
    ("column", "values"), [("arrival", [True]), ("prompt_tokens", [[1]]), ("tenant", [1.5]), ("id", [1.5])]
)
def test_a_column_of_a_wrong_type_is_named(column: str, values: list[object]):
    assert f"column '{column}' holds " in refusal(frame(**{column: values}))


def test_messages_use_the_names_of_the_file():
    with pytest.raises(InvalidTrace, match="column 'ContextTokens', row 1"):
        Trace.from_frame("mine", frame(prompt_tokens=[0]), called={"prompt_tokens": "ContextTokens"})


def test_a_long_value_is_cut_and_stays_on_one_line():
    text = refusal(frame(output_tokens=["a\nb" * 1000]))
    assert len(text) < 200


def test_span_rate_and_variation_of_regular_arrivals():
    trace = Trace.from_frame("mine", frame(arrival=[10.0, 10.5, 11.0, 11.5, 12.0]))
    assert trace.span == 2.0
    assert trace.rate == 2.0
    assert trace.interarrival_scv == 0.0


def test_variation_of_uneven_arrivals():
    trace = Trace.from_frame("mine", frame(arrival=[0.0, 1.0, 4.0]))  # gaps 1 and 3: mean 2, variance 1
    assert trace.interarrival_scv == 0.25


@pytest.mark.parametrize("arrivals", [[5.0], [5.0, 5.0, 5.0]])
def test_without_a_span_there_is_no_variation_and_no_finite_rate(arrivals: list[float]):
    trace = Trace.from_frame("mine", frame(arrival=arrivals))
    assert trace.span == 0.0
    assert trace.rate == math.inf
    assert math.isnan(trace.interarrival_scv)
