import dataclasses

import pytest

from headway.measure.summary import over_seeds, summarise
from tests.measure.fake_runs import LEFT, REJECTED, TOTALS, outcome, record, residence, waiting_run


def test_figures_of_a_run_by_hand():
    rows = [
        outcome(0),
        outcome(1, start=4.0),
        outcome(2, **REJECTED),
        outcome(3, outcome="cancelled"),
        outcome(4, outcome="expired", start=None),
    ]
    summary = summarise(record(rows, residence=residence((0, 0, 4), (1, 0, 4)), seed=7))
    assert summary.latency.requests == 5
    assert (summary.finished, summary.rejected, summary.cancelled, summary.expired) == (2, 1, 1, 1)
    assert summary.throughput_tokens_per_s == pytest.approx(2 * (10 + 5) / 10.0)
    assert summary.output_tokens_per_s == pytest.approx(2 * 5 / 10.0)
    assert summary.requests_per_s == pytest.approx(0.2)
    assert summary.batch_use == pytest.approx(1200 / (100 * 128))
    assert (summary.kv.mean, summary.kv.peak, summary.kv.capacity_tokens) == (0.5, 0.9, 1000)
    longest = summary.longest_wait
    assert longest is not None
    assert (longest.seconds, longest.id, longest.seed) == (3.0, 1, 7)


def test_of_equal_longest_waits_the_first_to_arrive_is_named():
    longest = summarise(waiting_run("fcfs", [1.0, 2.0, 2.0])).longest_wait
    assert longest is not None
    assert longest.id == 1


def test_backlog_is_who_waits_when_the_last_one_arrives():
    rows = [
        outcome(0, start=9.0, finish=10.0),  # still waiting at 3 s
        outcome(1, start=2.0),
        outcome(2, start=None, finish=8.0, outcome="cancelled"),  # gave up later
        outcome(3, start=3.0),  # the last one, started at once
    ]
    assert summarise(record(rows)).backlog == 2


def test_nothing_ran():
    nothing = dataclasses.replace(TOTALS, iterations=0, seconds=0.0, prefill_positions=0, decode_positions=0)
    summary = summarise(record([outcome(0, **REJECTED)], residence=residence(), totals=nothing))
    assert summary.throughput_tokens_per_s is None
    assert summary.batch_use is None
    assert summary.kv.mean is None
    assert summary.longest_wait is None


def test_one_seed_is_not_averaged():
    summary = summarise(waiting_run("fcfs", [1.0]))
    assert over_seeds([summary]) is summary
    assert summary.to_dict()["wait"]["ci95"] is None


def test_over_seeds_figures_are_means_and_the_longest_wait_is_the_longest():
    one = summarise(waiting_run("fcfs", [1.0, 1.0, 1.0, 1.0, 1.0], seed=1, wall_seconds=1.0))
    two = summarise(waiting_run("fcfs", [9.0, 3.0, 3.0], seed=2, wall_seconds=2.0))
    both = over_seeds([one, two])
    assert both.seeds == (1, 2)
    assert both.latency.wait.mean == pytest.approx(3.0)
    assert both.latency.requests == 4
    assert both.finished == 4
    assert both.wall_seconds == 1.5
    assert both.classes["long"].wait.mean == 1.0  # only seed 1 has a long request
    longest = both.longest_wait
    assert longest is not None
    assert (longest.seconds, longest.id, longest.seed) == (9.0, 0, 2)


def test_a_mean_of_counts_that_is_not_whole_is_not_rounded():
    both = over_seeds([summarise(waiting_run("fcfs", [1.0] * n, seed=n)) for n in (1, 2)])
    assert both.finished == 1.5


def test_whose_client_left_has_a_wait_if_it_was_started_and_no_answer():
    rows = [
        outcome(0),
        outcome(1, **LEFT, start=None, finish=21.0),
        outcome(2, **LEFT, start=9.0, finish=22.0),
        outcome(3, **LEFT | {"first_token": 5.0, "largest_gap": 3.0, "output_tokens": 4}, finish=23.0),
    ]
    latency = summarise(record(rows, residence=residence((0, 0, 4)))).latency
    assert latency.wait.mean == pytest.approx((1.0 + 7.0 + 1.0) / 3)
    assert latency.ttft.mean == pytest.approx((1.5 + 2.0) / 2)
    assert latency.mtpot.max == 3.0
    assert latency.e2e.max == 3.0


def test_wasted_tokens_are_those_of_the_run_and_a_mean_over_seeds():
    runs = [
        summarise(waiting_run("fcfs", [1.0], seed=seed, totals=dataclasses.replace(TOTALS, wasted_tokens=tokens)))
        for seed, tokens in ((0, 100), (1, 300))
    ]
    assert [run.wasted_tokens for run in runs] == [100, 300]
    assert over_seeds(runs).wasted_tokens == 200
    assert over_seeds(runs).to_dict()["wasted_tokens"] == 200


def test_hits_are_a_share_of_all_prompt_tokens():
    summary = summarise(record([outcome(0)], totals=dataclasses.replace(TOTALS, cached_positions=250)))
    assert summary.to_dict()["cache"] == {"hit_tokens": 250, "hit_rate": 0.2}
    idle = dataclasses.replace(TOTALS, cached_positions=0, prefill_positions=0)
    assert summarise(record([outcome(0)], totals=idle)).to_dict()["cache"] == {"hit_tokens": 0, "hit_rate": None}


def test_without_a_cache_there_are_no_hits():
    assert summarise(record([outcome(0)])).to_dict()["cache"] == {"hit_tokens": None, "hit_rate": None}
    both = over_seeds([summarise(waiting_run("fcfs", [1.0], seed)) for seed in range(2)])
    assert both.to_dict()["cache"] == {"hit_tokens": None, "hit_rate": None}


def test_hits_over_seeds_are_means():
    runs = [
        summarise(record([outcome(0)], seed=seed, totals=dataclasses.replace(TOTALS, cached_positions=hit)))
        for seed, hit in enumerate([0, 1000])
    ]
    assert over_seeds(runs).to_dict()["cache"] == {"hit_tokens": 500, "hit_rate": 0.25}
