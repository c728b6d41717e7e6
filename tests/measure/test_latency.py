import numpy as np
import pytest

from headway.measure.latency import latencies, waits
from headway.measure.quantiles import Stats
from tests.measure.fake_runs import REJECTED, outcome, record, residence, segments


def test_each_measure_by_hand():
    run = record([outcome(0, start=0.5, first_token=2.0, finish=4.0, largest_gap=0.75)])
    overall, by_class, by_prediction = latencies(run)
    assert overall.wait == Stats(0.5, 0.5, 0.5, 0.5, 0.5)
    assert overall.ttft.mean == 2.0
    assert overall.e2e.mean == 4.0
    assert overall.mtpot.mean == 0.75
    assert overall.itl.mean == pytest.approx(0.1)
    assert by_class == by_prediction == {"short": overall}


def test_a_rejected_request_has_no_latency_but_is_counted():
    run = record([outcome(0), outcome(1, **REJECTED)], residence=residence((0, 0, 4)))
    overall, *_ = latencies(run)
    assert overall.requests == 2
    assert overall.wait.max == 1.0
    assert overall.e2e.max == 3.0
    assert np.isnan(waits(run.outcomes)).tolist() == [False, True]


def test_a_cancelled_request_has_a_wait_and_a_first_token_but_no_end_to_end():
    overall, *_ = latencies(record([outcome(0, outcome="cancelled", reason="client")]))
    assert overall.wait.max == 1.0
    assert overall.ttft.max == 1.5
    assert overall.e2e == Stats()


def test_nobody_was_scheduled():
    overall, by_class, _ = latencies(record([outcome(0, **REJECTED)], residence=residence()))
    assert overall.wait == overall.ttft == overall.itl == overall.e2e == overall.mtpot == Stats()
    assert by_class["short"].requests == 1


def test_classes_are_told_apart_by_truth_and_by_prediction():
    rows = [
        outcome(0, true_class="short", predicted="long", start=1.0),
        outcome(1, true_class="long", predicted="long", start=3.0),
        outcome(2, true_class="long", predicted="short", start=5.0),
    ]
    run = record(
        rows,
        segments=segments((0, 2, 0.1, 0.1), (2, 2, 0.5, 0.5)),
        residence=residence((0, 0, 2), (1, 2, 4), (2, 0, 4)),
    )
    _, by_class, by_prediction = latencies(run)
    assert list(by_class) == list(by_prediction) == ["short", "long"]
    assert (by_class["short"].wait.mean, by_class["long"].wait.mean) == (1.0, 2.5)
    assert (by_prediction["short"].wait.mean, by_prediction["long"].wait.mean) == (3.0, 1.5)
    assert by_class["short"].itl.mean == pytest.approx(0.1)
    assert by_class["long"].itl.mean == pytest.approx((2 * 0.1 + 4 * 0.5) / 6)
    assert by_prediction["long"].itl.max == 0.5


@pytest.mark.parametrize("predicted", [None, "412", "17.5"])
def test_what_is_neither_short_nor_long_is_no_class(predicted: str | None):
    _, by_class, by_prediction = latencies(record([outcome(0, predicted=predicted, true_class=None)]))
    assert by_class == by_prediction == {}
