import json

import numpy as np
import pytest

from headway.measure.comparison import Comparison, ComparisonBuilder, plain
from tests.measure.fake_runs import REJECTED, outcome, record, residence, waiting_run

SETTINGS = {"headway": "1.2.3", "command": "headway compare trace.csv", "rate": float("nan"), "seeds": (0, 1)}
STATS = {"mean", "p50", "p90", "p99", "max", "ci95"}
MEASURES = {"wait", "ttft", "itl", "e2e", "mtpot"}


def comparison(seeds: int = 1, n: int = 60) -> Comparison:
    builder = ComparisonBuilder(SETTINGS)
    for seed in range(seeds):
        waits = np.random.default_rng(seed).exponential(1.0, size=n)
        builder.add(waiting_run("fcfs", waits + 1.0, seed))
        builder.add(waiting_run("psf", waits, seed))
        builder.add(waiting_run("qba(k=5)", waits + 0.5, seed))
    return builder.build()


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_shape_of_the_json(seeds: int):
    found = json.loads(json.dumps(comparison(seeds).to_dict(), allow_nan=False))
    assert set(found) == {"headway", "settings", "policies", "paired", "partial", "notes"}
    assert found["headway"] == "1.2.3"
    assert found["settings"] == {"command": "headway compare trace.csv", "rate": None, "seeds": [0, 1]}
    assert found["partial"] is False
    assert [one["policy"] for one in found["policies"]] == ["fcfs", "psf", "qba(k=5)"]
    one = found["policies"][1]
    assert one.keys() >= MEASURES | {
        "requests", "finished", "rejected", "cancelled", "classes", "predicted", "throughput_tokens_per_s",
        "output_tokens_per_s", "requests_per_s", "batch_use", "kv", "iterations", "wall_seconds", "longest_wait",
    }  # fmt: skip
    assert one["kv"].keys() == {"mean", "peak", "capacity_tokens", "oom_events"}
    assert one["longest_wait"].keys() == {"seconds", "id", "seed"}
    assert one["seeds"] == list(range(seeds))
    for group in (one, one["classes"]["short"], one["classes"]["long"], one["predicted"]["short"]):
        for measure in MEASURES:
            assert set(group[measure]) == STATS
            if seeds == 1:
                assert group[measure]["ci95"] is None
            else:
                low, high = group[measure]["ci95"]["p99"]
                assert low <= group[measure]["p99"] <= high
    assert [(pair["a"], pair["b"]) for pair in found["paired"]] == [
        ("fcfs", "psf"), ("fcfs", "qba(k=5)"), ("psf", "qba(k=5)")
    ]  # fmt: skip
    pair = found["paired"][0]
    assert set(pair) == {"a", "b", "metric", "difference", "ci95", "relative", "significant", "method", "requests",
                         "same_outcomes"}  # fmt: skip
    assert pair["metric"] == "wait.mean"
    assert pair["difference"] == pytest.approx(1.0)
    assert pair["significant"] is (True if seeds > 1 else None)  # one run cannot tell
    assert pair["method"] == ("seeds" if seeds > 1 else "batch means")


def test_values_that_are_none_are_null_and_never_nan():
    run = record([outcome(0, **REJECTED)], residence=residence())
    found = json.loads(json.dumps(Comparison.of({}, {"fcfs": [run]}).to_dict(), allow_nan=False))
    assert found["headway"] is None
    assert found["policies"][0]["wait"] == {
        "mean": None,
        "p50": None,
        "p90": None,
        "p99": None,
        "max": None,
        "ci95": None,
    }
    assert found["policies"][0]["longest_wait"] is None


def test_plain_data():
    assert plain({"a": (np.int64(1), np.float64("inf")), 2: [float("nan"), True, None, np.bool_(True)]}) == {
        "a": [1, None],
        "2": [None, True, None, True],
    }


def test_whole_runs_are_kept_of_the_first_seed_only():
    built = comparison(3)
    assert {name: run.seed for name, run in built.first.items()} == {"fcfs": 0, "psf": 0, "qba(k=5)": 0}
    assert built.seeds == (0, 1, 2)


def test_an_order_of_seeds_does_not_matter():
    runs = [waiting_run("fcfs", [seed + 1.0], seed) for seed in (2, 0, 1)]
    built = Comparison.of({}, {"fcfs": runs})
    assert built.first["fcfs"].seed == 0
    assert built.summary("fcfs").seeds == (0, 1, 2)


def test_a_second_run_of_a_seed_replaces_the_first():
    built = Comparison.of({}, {"fcfs": [waiting_run("fcfs", [1.0]), waiting_run("fcfs", [5.0])]})
    assert built.summary("fcfs").latency.wait.mean == 5.0
    assert built.first["fcfs"].outcomes["start"].item() == 5.0


def test_an_interrupted_comparison_compares_the_seeds_that_all_have():
    builder = ComparisonBuilder({})
    for seed in range(3):
        builder.add(waiting_run("a", [seed + 1.0], seed))
    for seed in range(2):
        builder.add(waiting_run("b", [seed + 2.0], seed))
    built = builder.build()
    assert built.partial
    assert built.seeds == (0, 1)
    assert built.summary("a").latency.wait.mean == 1.5
    assert any("a: 3, b: 2" in note for note in built.notes)


def test_policies_that_share_no_seed_are_not_paired():
    built = Comparison.of({}, {"a": [waiting_run("a", [1.0], 0)], "b": [waiting_run("b", [2.0], 1)]})
    assert built.partial
    assert built.paired == ()
    assert [summary.policy for summary in built.policies] == ["a", "b"]


def test_charts_are_of_the_first_seed_that_all_have():
    runs = {"a": [waiting_run("a", [1.0] * 50, s) for s in (0, 1)], "b": [waiting_run("b", [2.0] * 50, 1)]}
    built = Comparison.of({}, runs)
    assert {run.seed for run in built.first.values()} == {1}
    assert built.paired[0].difference == -1.0


def test_an_interrupted_run_is_said_to_be_partial():
    built = Comparison.of({}, {"fcfs": [waiting_run("fcfs", [1.0], partial=True)]})
    assert built.partial
    assert built.to_dict()["partial"] is True
    assert any("interrupted" in note for note in built.notes)


def test_what_was_meant_to_come_can_be_told():
    builder = ComparisonBuilder({}, notes=["sorted by arrival"])
    builder.add(waiting_run("fcfs", [1.0]))
    built = builder.build(partial=True)
    assert built.partial
    assert built.notes[0] == "sorted by arrival"


def test_nothing_was_run():
    built = ComparisonBuilder({}).build(partial=True)
    assert built.policies == ()
    assert json.loads(json.dumps(built.to_dict()))["policies"] == []


def test_one_run_says_where_its_intervals_are_from():
    assert any("batch means" in note for note in comparison(1).notes)
    assert comparison(2).notes == ()
    assert any("40 or several seeds" in note for note in comparison(1, n=10).notes)


def test_a_difference_is_found_whichever_way_round():
    built = comparison(1)
    forth, back = built.difference("fcfs", "psf"), built.difference("psf", "fcfs")
    assert forth is not None
    assert back is not None
    assert forth.difference == pytest.approx(1.0)
    assert back.difference == pytest.approx(-1.0)
    assert back.relative == pytest.approx(-1.0 / built.summary("fcfs").latency.wait.mean)
    assert built.difference("fcfs", "nobody") is None
    with pytest.raises(KeyError):
        built.summary("nobody")
