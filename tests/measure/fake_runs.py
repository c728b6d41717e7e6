"""Runs made by hand: small records whose figures can be told without a simulator."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl

from headway.measure.record import (
    OUTCOME_SCHEMA,
    RESIDENCE_SCHEMA,
    STRAY_SCHEMA,
    TIMELINE_SCHEMA,
    RunRecord,
    Segments,
    Totals,
)

TOTALS = Totals(
    iterations=100,
    decode_iterations=80,
    prefill_positions=1000,
    decode_positions=200,
    seconds=10.0,
    busy_seconds=8.0,
    token_budget=128,
    kv_capacity=1000,
    kv_token_iterations=50_000,
    kv_peak=900,
    oom_events=0,
)


def segments(*rows: tuple[int, int, float, float], start: float = 0.0) -> Segments:
    """Segments from rows of clock, steps, first, last; the first gap begins at `start`, and nothing pauses."""
    clock, steps, first, last = zip(*rows, strict=True) if rows else ((), (), (), ())
    lasting = [n * (a + b) / 2 for n, a, b in zip(steps, first, last, strict=True)]
    return Segments(
        np.array(clock, dtype=np.int64),
        np.array(steps, dtype=np.int64),
        np.array(first, dtype=np.float64),
        np.array(last, dtype=np.float64),
        start + np.cumsum(np.array(lasting, dtype=np.float64)),
    )


def residence(*rows: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=RESIDENCE_SCHEMA, orient="row")


def stray(*rows: tuple[int, float]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=STRAY_SCHEMA, orient="row")


def timeline(*rows: tuple[float, int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TIMELINE_SCHEMA, orient="row")


def outcome(id_: int, **given: object) -> dict[str, object]:
    """A finished short request that arrived at `id_` seconds, waited a second, and whatever is given otherwise."""
    row: dict[str, object] = {
        "id": id_,
        "tenant": "default",
        "class": None,
        "ttft_slo": None,
        "itl_slo": None,
        "completion_slo": None,
        "weight": 1.0,
        "arrival": float(id_),
        "start": id_ + 1.0,
        "first_token": id_ + 1.5,
        "finish": id_ + 3.0,
        "prompt_tokens": 10,
        "output_tokens": 5,
        "predicted": "short",
        "true_class": "short",
        "largest_gap": 0.25,
        "evictions": 0,
        "outcome": "finished",
        "reason": None,
        "demoted": False,
    }
    assert given.keys() <= row.keys()
    return row | given


REJECTED = {
    "start": None,
    "first_token": None,
    "largest_gap": None,
    "output_tokens": 0,
    "outcome": "rejected",
    "reason": "kv_capacity",
}

LEFT = {
    "first_token": None,
    "largest_gap": None,
    "output_tokens": 0,
    "outcome": "cancelled",
    "reason": "client_left",
}


def record(rows: list[dict[str, object]], **given: object) -> RunRecord:
    """A run with these outcomes; everyone decodes in four iterations of 0.1 s."""
    frame = pl.DataFrame(rows, schema=OUTCOME_SCHEMA | {"id": pl.Int64})
    run = RunRecord(
        policy="fcfs",
        engine="engine",
        workload="trace",
        seed=0,
        outcomes=frame,
        segments=segments((0, 4, 0.1, 0.1)),
        totals=TOTALS,
        residence=residence(*((row, 0, 4) for row in range(frame.height))),
        stray=stray(),
        timeline=timeline((0.0, 0, 1, 100), (5.0, 3, 2, 900)),
        wall_seconds=0.1,
    )
    return dataclasses.replace(run, **given)


def waiting_run(policy: str, waits: list[float] | np.ndarray, seed: int = 0, **given: object) -> RunRecord:
    """A run in which request i arrives at i seconds and waits so long; every fifth is long."""
    rows = [
        outcome(
            i,
            start=i + float(wait),
            first_token=i + float(wait) + 0.5,
            finish=i + float(wait) + 2.0,
            true_class="long" if i % 5 == 4 else "short",
        )
        for i, wait in enumerate(waits)
    ]
    return record(rows, policy=policy, seed=seed, **given)
