"""Promises kept or not, against every delivery looked at one by one."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.measure.promises import Promise, Service, kept, own_promises
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.workload.trace import Trace
from tests.measure.fake_runs import REJECTED, outcome, record
from tests.measure.watched import ROUNDING, Watched, runs, watch


def met(run: RunRecord, promise: Promise | None = None) -> list[bool]:
    promise = promise or own_promises(run.outcomes)
    assert promise is not None
    return kept(run, promise).tolist()


@given(runs())
def test_own_promises_are_kept_by_whose_every_delivery_was_in_time(run: Watched):
    rows = run.record.outcomes.to_dicts()
    if all(row[name] is None for row in rows for name in ("ttft_slo", "itl_slo", "completion_slo")):
        assert own_promises(run.record.outcomes) is None
        return
    for number, (row, good) in enumerate(zip(rows, met(run.record), strict=True)):
        came = run.deliveries.get(number, [])
        expected = row["outcome"] == "finished"
        if row["ttft_slo"] is not None and came:
            expected &= came[0][0] - row["arrival"] <= row["ttft_slo"]
        if row["completion_slo"] is not None:
            expected &= row["finish"] - row["arrival"] <= row["completion_slo"]
        if row["itl_slo"] is not None and came:
            deadlines = [came[0][0] + token * row["itl_slo"] for _, token in came]
            late = [time - deadline for (time, _), deadline in zip(came, deadlines, strict=True)]
            if any(abs(seconds - ROUNDING) < ROUNDING / 2 for seconds in late):
                continue
            expected &= max(late) <= ROUNDING
        assert good == expected, (number, row)


def test_a_request_without_promises_needs_only_to_finish():
    rows = [outcome(0), outcome(1, **REJECTED), outcome(2, outcome="cancelled"), outcome(3, ttft_slo=1.0)]
    assert met(record(rows)) == [True, False, False, False]
    assert own_promises(record(rows[:3]).outcomes) is None


@pytest.mark.parametrize(
    ("promised", "good"),
    [
        ({"ttft_slo": 1.5}, True),  # the first token comes 1.5 s after arrival
        ({"ttft_slo": 1.4}, False),
        ({"completion_slo": 3.0}, True),
        ({"completion_slo": 2.9}, False),
        ({"itl_slo": 0.375}, True),  # four tokens in 1.5 s
        ({"itl_slo": 0.37}, False),
        ({"ttft_slo": 1.5, "completion_slo": 2.9}, False),
    ],
)
def test_each_promise_by_hand(promised: dict[str, float], good: bool):
    assert met(record([outcome(0, **promised)])) == [good]


def test_a_request_without_tokens_is_not_late_with_them():
    none = outcome(0, first_token=None, output_tokens=0, largest_gap=None, ttft_slo=0.1, itl_slo=0.1)
    assert met(record([none])) == [True]


def stalled(itl: float) -> RunRecord:
    """One token every 10 ms, and one that is late by 64 ms, for a prompt of 64: the third."""
    engine = EngineProfile("one", 65, 2, 1000, Piecewise(0.01, 0.001, 1.0))
    columns = {"arrival": [0.0, 0.021], "prompt_tokens": [1, 64], "output_tokens": [40, 1], "itl_slo": [itl, None]}
    return watch(Trace.from_frame("stalled", pl.DataFrame(columns)), Policy.of("fcfs"), engine).record


def test_a_stall_is_forgiven_where_earlier_tokens_were_fast_and_not_where_later_ones_are():
    run = stalled(0.02)
    gaps = np.array([run.outcomes["largest_gap"][0], 0.01])
    assert gaps[0] > 0.07
    # The mean of 39 gaps of which one is 74 ms is 11.6 ms, below 20 ms; but the fourth token is late.
    pace = (run.outcomes["finish"][0] - run.outcomes["first_token"][0]) / 39
    assert pace < 0.012
    assert met(run) == [False, True]
    third_deadline = (0.01 * 2 + 0.074) / 3
    assert met(stalled(third_deadline + 0.001))[0]
    assert not met(stalled(third_deadline - 0.001))[0]


def test_an_agreement_and_own_promises_are_judged_alike():
    rows = [outcome(k, ttft_slo=2.0, completion_slo=5.0, first_token=k + first) for k, first in enumerate([1, 2, 3])]
    run = record(rows)
    assert met(run) == met(run, Sla(ttft=2.0, e2e=5.0).promise) == [True, True, False]


def test_goodput_counts_the_tokens_of_those_who_got_what_they_were_promised():
    run = record([outcome(0), outcome(1, prompt_tokens=1000), outcome(2)])
    good, group = np.array([True, False, True]), np.array([True, True, False])
    assert Service.of(run, good) == Service(2 / 3, 2 * 15 / 10.0)
    assert Service.of(run, good, group) == Service(1 / 2, 15 / 10.0)
    assert Service.of(run, good, np.zeros(3, dtype=bool)) == Service(None, 0.0)


def test_over_seeds_a_seed_without_agreement_does_not_count():
    assert Service.over_seeds([None, None]) is None
    both = Service.over_seeds([Service(0.5, 10.0), None, Service(1.0, None)])
    assert both is not None
    assert both.to_dict() == {"attainment": 0.75, "goodput_tokens_per_s": 10.0}
    assert not math.isnan(both.attainment or math.nan)
