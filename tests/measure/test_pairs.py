import numpy as np
import pytest

from headway.measure.intervals import mean_interval
from headway.measure.pairs import PairedDifference, paired_difference
from headway.measure.record import RunRecord
from headway.measure.summary import summarise
from headway.simulate.run import simulate
from headway.workload import workload
from tests.measure.fake_runs import REJECTED, outcome, record, waiting_run


def pair(a: list[RunRecord], b: list[RunRecord]) -> PairedDifference:
    first = {runs[0].policy: runs[0] for runs in (a, b)}
    return paired_difference([summarise(run) for run in a], [summarise(run) for run in b], first)


def test_over_seeds_the_difference_is_paired_by_seed():
    base = [1.0, 40.0, 7.0]  # seeds differ much more than policies
    a = [waiting_run("a", [wait], seed=s) for s, wait in enumerate(base)]
    b = [
        waiting_run("b", [wait - less], seed=s)
        for s, (wait, less) in enumerate(zip(base, (0.5, 0.6, 0.7), strict=True))
    ]
    found = pair(a, b)
    assert (found.a, found.b, found.metric, found.method) == ("a", "b", "wait.mean", "seeds")
    assert found.difference == pytest.approx(0.6)
    assert found.relative == pytest.approx(0.6 / (16 - 0.6))
    expected = mean_interval([0.5, 0.6, 0.7])
    assert found.ci95 is not None
    assert expected is not None
    assert found.ci95.to_list() == pytest.approx(expected.to_list())
    assert found.significant


def test_one_run_is_compared_request_by_request_in_blocks():
    rng = np.random.default_rng(4)
    waits = rng.exponential(50.0, size=400)
    found = pair([waiting_run("a", waits + rng.normal(1.0, 0.5, size=400))], [waiting_run("b", waits)])
    assert found.method == "batch means"
    assert found.difference == pytest.approx(1.0, abs=0.1)
    assert found.ci95 is not None
    assert 0.8 < found.ci95.low < found.ci95.high < 1.2  # although the waits themselves scatter by 50 s
    assert found.significant is None  # nor can it be claimed from one run


def test_a_policy_does_not_differ_from_itself():
    waits = np.random.default_rng(5).exponential(1.0, size=100)
    found = pair([waiting_run("a", waits)], [waiting_run("b", waits)])
    assert found.difference == 0.0
    assert found.ci95 is not None
    assert found.ci95.contains_zero


def test_too_few_requests_have_a_difference_and_no_interval():
    found = pair([waiting_run("a", [2.0, 4.0])], [waiting_run("b", [1.0, 1.0])])
    assert found.difference == 2.0
    assert found.ci95 is None
    assert found.significant is None


def test_only_requests_that_both_started_count():
    a = record([outcome(0, start=3.0), outcome(1, start=100.0)], policy="a")
    b = record([outcome(0, start=1.0), outcome(1, **REJECTED)], policy="b")
    assert pair([a], [b]).difference == 2.0


def test_runs_that_lack_requests_are_paired_by_id():
    a = record([outcome(0, start=3.0), outcome(2, start=9.0)], policy="a")
    b = record([outcome(0, start=1.0), outcome(1, start=50.0), outcome(2, start=8.0)], policy="b")
    assert pair([a], [b]).difference == pytest.approx(1.5)


def test_nobody_started():
    found = pair([record([outcome(0, **REJECTED)], policy="a")], [waiting_run("b", [1.0])])
    assert found.difference is None
    assert found.relative is None


def test_turned_round_it_says_the_same():
    found = pair([waiting_run("a", [3.0] * 40)], [waiting_run("b", [2.0] * 40)])
    back = found.reversed(base=3.0)
    assert (back.a, back.b, back.difference) == ("b", "a", -1.0)
    assert back.relative == pytest.approx(-1 / 3)
    assert back.ci95 is not None
    assert back.ci95.to_list() == [-1.0, -1.0]


def test_runs_of_clients_are_paired_by_id_whatever_their_arrivals():
    """In a closed loop each run has arrival times of its own: sorted by these, 2 comes first in b."""
    a = record([outcome(0, arrival=0.0, start=3.0), outcome(2, arrival=5.0, start=14.0)], policy="a")
    rows = [
        outcome(0, arrival=7.0, start=None),
        outcome(1, arrival=1.0, start=50.0),
        outcome(2, arrival=2.0, start=10.0),
    ]
    assert pair([a], [record(rows, policy="b")]).difference == 1.0


def test_repetitions_that_draw_nothing_are_no_sample():
    trace = workload("qba-paper(n=300)")
    runs = {name: [simulate(trace, name, seed=seed) for seed in range(3)] for name in ("fcfs", "psf")}
    summaries = {name: [summarise(run) for run in several] for name, several in runs.items()}
    first = {name: several[0] for name, several in runs.items()}
    pair = paired_difference(summaries["psf"], summaries["fcfs"], first)
    assert (pair.method, pair.significant) == ("batch means", None)
