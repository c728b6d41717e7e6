"""Who was turned away, why, and how soon they were told."""

from __future__ import annotations

import dataclasses

from headway.measure.refusals import Refusals
from headway.measure.summary import over_seeds, summarise
from tests.measure.fake_runs import LEFT, REJECTED, TOTALS, outcome, record


def refused(row: int, reason: str, after: float) -> dict[str, object]:
    return outcome(row, **REJECTED | {"reason": reason, "finish": row + after})


def test_reasons_are_counted_and_times_told():
    rows = [
        outcome(0),
        refused(1, "deadline", 0.0),
        refused(2, "queue_full", 0.5),
        refused(3, "deadline", 2.0),
        outcome(4, outcome="rejected", reason="kv_capacity", finish=90.0),  # it ran, and outgrew the memory
        outcome(5, **LEFT),
    ]
    refusals = Refusals.of(record(rows, totals=dataclasses.replace(TOTALS, demoted=7)))
    assert refusals.to_dict() == {
        "rejected_by_reason": {"deadline": 2, "kv_capacity": 1, "queue_full": 1},
        "refusal_seconds": {"p50": 0.5, "p99": 2.0, "max": 2.0},
        "demoted": 7,
    }


def test_nobody_was_refused():
    assert Refusals.of(record([outcome(0)])).to_dict() == {
        "rejected_by_reason": {},
        "refusal_seconds": None,
        "demoted": 0,
    }


def test_over_seeds_a_reason_that_is_not_there_is_none():
    """Counts are means over all seeds, times over those that have any."""
    runs = [record([refused(0, "deadline", 1.0), refused(1, "queue_full", 3.0)]), record([outcome(0)], seed=1)]
    assert over_seeds([summarise(run) for run in runs]).refusals.to_dict() == {
        "rejected_by_reason": {"deadline": 0.5, "queue_full": 0.5},
        "refusal_seconds": {"p50": 1.0, "p99": 3.0, "max": 3.0},
        "demoted": 0,
    }
