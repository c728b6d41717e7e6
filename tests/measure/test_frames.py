import polars as pl
import pytest

from headway.measure import policy_frame, request_frame
from headway.measure.comparison import Comparison
from tests.measure.fake_runs import REJECTED, outcome, record, waiting_run


def test_a_row_a_policy_with_the_names_of_the_json():
    runs = {name: [waiting_run(name, [1.0, 2.0, 6.0], seed) for seed in (0, 1)] for name in ("fcfs", "psf")}
    frame = policy_frame(Comparison.of({}, runs))
    assert frame["policy"].to_list() == ["fcfs", "psf"]
    row = frame.row(0, named=True)
    assert row["wait.mean"] == pytest.approx(3.0)
    assert row["wait.ci95.mean.low"] == row["wait.ci95.mean.high"] == pytest.approx(3.0)
    assert row["classes.short.wait.p99"] == 6.0
    assert row["kv.peak"] == 0.9
    assert row["longest_wait.seconds"] == 6.0


def test_a_class_that_only_one_policy_has_is_null_for_the_other():
    few, many = waiting_run("few", [1.0]), waiting_run("many", [1.0] * 5)
    frame = policy_frame(Comparison.of({}, {"few": [few], "many": [many]}))
    assert frame["classes.long.wait.mean"].to_list() == [None, 1.0]


def test_a_row_a_request_with_the_columns_that_were_asked_for():
    promised = {"class": "chat", "ttft_slo": 2.0, "completion_slo": 60.0}
    frame = request_frame(record([outcome(3, **promised), outcome(4, **REJECTED)], policy="psf", seed=9))
    assert ",".join(frame.columns) == (
        "policy,seed,id,tenant,arrival,start,first_token,finish,wait,prompt_tokens,output_tokens,predicted,"
        "true_class,outcome,class,ttft_slo,itl_slo,completion_slo"
    )
    assert frame.row(0)[:14] == ("psf", 9, 3, "default", 3.0, 4.0, 4.5, 6.0, 1.0, 10, 5, "short", "short", "finished")
    assert frame.row(0)[14:] == ("chat", 2.0, None, 60.0)
    assert frame["wait"].to_list() == [1.0, None]
    assert frame.schema["seed"] == pl.Int64
