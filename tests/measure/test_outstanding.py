"""Outstanding work against each request looked at by itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import headway
from headway.core.cost import Linear, Piecewise
from headway.core.engine import EngineProfile
from headway.measure.outstanding import Rates, outstanding
from headway.measure.record import OUTCOME_SCHEMA
from tests.measure.fake_runs import REJECTED, outcome, record
from tests.measure.watched import Watched, runs

RATES = Rates(prefill=0.5, decode=2.0)


def share(time: float, begin: float, end: float) -> float:
    """How much is left at `time` of what goes evenly from `begin` to `end`."""
    if time >= end:
        return 0.0
    return 1.0 if time <= begin else (end - time) / (end - begin)


@given(runs())
def test_it_is_the_sum_over_all_requests(run: Watched):
    found = outstanding(run.record, RATES, points=37)
    rows = run.record.outcomes.to_dicts()
    for time, requests, positions, seconds in found.iter_rows():
        present = [row for row in rows if row["arrival"] <= time < row["finish"]]
        prompts = answers = 0.0
        for row in present:
            first = row["finish"] if row["first_token"] is None else row["first_token"]
            start = first if row["start"] is None else row["start"]
            prompts += row["prompt_tokens"] * share(time, start, first)
            answers += row["output_tokens"] * share(time, first, row["finish"])
        assert requests == len(present)
        assert positions == pytest.approx(prompts + answers, abs=1e-5)
        assert seconds == pytest.approx(0.5 * prompts + 2.0 * answers, abs=1e-5)


def test_one_request_by_hand():
    """It arrives at 0 with 10 tokens, starts at 1, has its first token at 1.5 and its fifth at 3."""
    found = outstanding(record([outcome(0)]), RATES, points=13)
    assert found["time"].to_list() == [0.25 * k for k in range(13)]
    assert found["requests"].to_list() == [1] * 12 + [0]
    assert found["positions"][:5].to_list() == [15] * 5
    assert found["positions"][5] == pytest.approx(10)  # half of the prompt
    assert found["positions"][6] == pytest.approx(5)
    assert found["positions"][9] == pytest.approx(2.5)
    assert found["seconds"][5] == pytest.approx(0.5 * 5 + 2.0 * 5)
    assert found["positions"][12] == found["seconds"][12] == 0


def test_who_never_started_leaves_with_its_work():
    found = outstanding(record([outcome(0), outcome(1, **REJECTED | {"finish": 2.0})]), RATES, points=4)
    assert found["requests"].to_list() == [1, 2, 1, 0]
    assert found["positions"][1] == 15 + 10


def test_nothing_ran():
    empty = record([])
    assert empty.outcomes.schema.keys() == OUTCOME_SCHEMA.keys()
    assert outstanding(empty, RATES).height == 0
    assert outstanding(empty, RATES).columns == ["time", "requests", "positions", "seconds"]


def test_rates_are_those_of_full_iterations():
    engine = EngineProfile("linear", 100, 8, 1000, Linear(0.01, 1e-3, 2e-3, 1e-6), decode_block=2)
    # Each holds 200 tokens on average, so that five decode: ten positions, and a thousand tokens of context.
    rates = Rates.of(engine, prompt=150, output=100)
    assert rates.prefill == pytest.approx((0.01 + 100e-3 + 100e-6) / 100)
    assert rates.decode == pytest.approx((0.01 + 10 * 2e-3 + 1000e-6) / 10)
    assert rates.seconds(10, 20) == pytest.approx(10 * rates.prefill + 20 * rates.decode)
    assert Rates.of(engine, 5000, 100).decode == pytest.approx((0.01 + 2 * 2e-3 + 5050e-6) / 2)
    assert Rates.of(engine, 1, 0).decode == pytest.approx((0.01 + 16 * 2e-3 + 8e-6) / 16)


def test_estimates_tell_how_long_a_burst_takes():
    engine = EngineProfile("steady", 256, 32, 100_000, Piecewise(0.005, 1e-4))
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "arrival": np.zeros(500),
            "prompt_tokens": rng.integers(10, 200, 500),
            "output_tokens": rng.integers(10, 90, 500),
        }
    )
    run = headway.simulate(headway.Trace.from_frame("burst", frame), "fcfs", engine)
    rates = Rates.of(engine, 105, 50)
    assert outstanding(run, rates)["seconds"][0] == pytest.approx(run.totals.seconds, rel=0.25)
