"""What queueing formulas want to know of a run: waits, times in the engine and promotions by predicted class."""

from __future__ import annotations

import polars as pl

from headway.measure.latency import CLASSES
from headway.measure.record import RunRecord
from headway.measure.sla import Sla


def residence_figures(record: RunRecord, _: Sla | None = None) -> dict[str, float | None]:
    """Return figures of the finished requests; times in seconds, None for a class that nobody is of.

    `requests`, `wait` (mean), `tokens` (mean of prompt and output), `promoted`; and, for each predicted class:
    `short.requests`, `short.wait`, `short.service` and `short.second`, the first two moments of the time from start to
    finish, in which a request holds a place in the engine.
    """
    done = record.outcomes.filter(pl.col("outcome") == "finished").select(
        "predicted",
        wait=pl.col("start") - pl.col("arrival"),
        service=pl.col("finish") - pl.col("start"),
        tokens=pl.col("prompt_tokens") + pl.col("output_tokens"),
    )
    row: dict[str, float | None] = {
        "requests": float(done.height),
        "wait": _mean(done["wait"]),
        "tokens": _mean(done["tokens"]),
        "promoted": float(record.totals.promoted),
    }
    for name in CLASSES:
        of = done.filter(pl.col("predicted") == name)
        row |= {
            f"{name}.requests": float(of.height),
            f"{name}.wait": _mean(of["wait"]),
            f"{name}.service": _mean(of["service"]),
            f"{name}.second": _mean(of["service"] ** 2),
        }
    return row


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else None
