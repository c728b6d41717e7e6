"""Requests over replicas: who gets which, and what becomes of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.measure.outstanding import Rates
from headway.measure.promises import Promise, kept, own_promises
from headway.simulate.run import simulate
from headway.studies.replicas import expected_outputs, rates_for, route, simulate_replicas
from headway.workload.trace import Trace

ENGINE = EngineProfile("small", 64, 4, 1000, Piecewise(0.01, 1e-4))
RATES = Rates(prefill=0.001, decode=0.01)


def trace(n: int = 200, seed: int = 0, **columns: object) -> Trace:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "arrival": np.sort(rng.uniform(0, 10, n)),
            "prompt_tokens": rng.integers(1, 100, n),
            "output_tokens": rng.integers(0, 60, n),
            "completion_slo": [1.5 if k % 2 else None for k in range(n)],
            **columns,
        }
    )
    return Trace.from_frame("drawn", frame)


@given(st.integers(1, 6), st.integers(0, 5))
def test_each_request_goes_where_least_is_outstanding(replicas: int, seed: int):
    requests = trace(60, seed)
    sent = route(requests, replicas, RATES)
    done_at = [0.0] * replicas
    mean = requests.frame["output_tokens"].mean()
    for replica, (arrival, prompt) in zip(
        sent, requests.frame.select("arrival", "prompt_tokens").iter_rows(), strict=True
    ):
        left = [max(at - arrival, 0.0) for at in done_at]
        assert left[replica] == pytest.approx(min(left), abs=1e-9)
        done_at[replica] = arrival + left[replica] + 0.001 * prompt + 0.01 * mean  # type: ignore[operator]


def test_expected_answers_are_predicted_or_the_mean():
    requests = trace(4, output_tokens=[10, 20, 30, 40])
    assert expected_outputs(requests).tolist() == [25.0] * 4
    labelled = Trace.from_frame("t", requests.frame.with_columns(predicted=pl.lit("short")))
    assert expected_outputs(labelled).tolist() == [25.0] * 4
    predicted = Trace.from_frame("t", requests.frame.with_columns(predicted=pl.Series([5.0, None, 7.5, 0.0])))
    assert expected_outputs(predicted).tolist() == [5.0, 25.0, 7.5, 0.0]


def test_predicted_lengths_spread_long_answers():
    lengths = [5, 1000] * 10
    columns = {"arrival": [0.0] * 20, "prompt_tokens": [10] * 20, "output_tokens": lengths, "completion_slo": None}
    requests = trace(20, **columns)
    known = Trace.from_frame("t", requests.frame.with_columns(predicted=pl.Series(lengths)))

    def longest(one: Trace) -> float:
        sent = route(one, 2, RATES)
        return max(one.frame.filter(sent == replica)["output_tokens"].sum() for replica in (0, 1))

    assert longest(known) < 1.05 * sum(lengths) / 2
    assert longest(requests) > 1.9 * sum(lengths) / 2


def test_every_request_is_run_once_on_the_replica_it_was_sent_to():
    requests = trace()
    fleet = simulate_replicas(requests, 3, "fcfs", ENGINE)
    assert len(fleet.records) == 3
    for replica, record in enumerate(fleet.records):
        assert record.outcomes["id"].to_list() == requests.frame["id"].filter(fleet.sent == replica).to_list()
        alone = simulate(Trace.from_frame("t", requests.frame.filter(fleet.sent == replica)), "fcfs", ENGINE)
        assert record.outcomes.equals(alone.outcomes)


def test_one_replica_is_one_engine():
    requests = trace()
    one = simulate(requests, "psf", ENGINE, seed=3)
    fleet = simulate_replicas(requests, 1, "psf", ENGINE, seed=3)
    assert fleet.records[0].outcomes.equals(one.outcomes)
    promise = own_promises(one.outcomes)
    assert promise is not None
    assert fleet.service().attainment == kept(one, promise).mean()


def test_promises_are_judged_over_all_replicas():
    fleet = simulate_replicas(trace(600), 3, "fcfs", ENGINE)
    together = pl.concat([record.outcomes for record in fleet.records])
    slow = (together["finish"] - together["arrival"] > together["completion_slo"]).fill_null(value=False)
    assert 0 < slow.sum() < 300
    assert fleet.service().attainment == pytest.approx(1 - slow.mean())  # type: ignore[operator]
    good = together.filter(~slow)
    tokens = good["prompt_tokens"].sum() + good["output_tokens"].sum()
    makespan = together["finish"].max() - together["arrival"].min()  # type: ignore[operator]
    assert fleet.service().goodput_tokens_per_s == pytest.approx(tokens / makespan)
    strict = fleet.service(Promise(e2e=0.2)).attainment
    assert strict == pytest.approx((together["finish"] - together["arrival"] <= 0.2).mean())


def test_more_replicas_keep_more_promises():
    busy = trace(600)
    kept_by = [simulate_replicas(busy, n, "fcfs", ENGINE).service().attainment or 0 for n in (1, 2, 4, 8)]
    assert kept_by == sorted(kept_by)
    assert kept_by[0] < 0.6
    assert kept_by[-1] == 1.0


def test_more_replicas_than_requests():
    fleet = simulate_replicas(trace(3), 10, "fcfs", ENGINE)
    assert len(fleet.records) == 3
    assert fleet.service().attainment == 1.0


@pytest.mark.parametrize("replicas", [0, -1, 1.5])
def test_there_must_be_a_replica(replicas: int):
    with pytest.raises(InvalidInput, match="replicas must be"):
        simulate_replicas(trace(3), replicas, "fcfs", ENGINE)


def test_rates_are_of_the_mean_lengths():
    requests = trace(4, prompt_tokens=[10, 20, 30, 40], output_tokens=[1, 2, 3, 4])
    assert rates_for(requests, ENGINE) == Rates.of(ENGINE, 25.0, 2.5)
