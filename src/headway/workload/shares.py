"""Whose requests are in a trace: how many, how much of the work, and what was promised to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from headway.workload.tenants import PROMISED, owners
from headway.workload.trace import Trace

BOUNDS = tuple(column for column in PROMISED if column not in ("class", "weight"))
"""Columns of which a share knows the smallest and the largest value."""


@dataclass(frozen=True)
class Share:
    """The requests of one tenant and one class.

    Attributes:
        tenant: its name.
        label: the class; None for requests without one.
        requests: how many.
        rate: requests/s over the span of the whole trace, so that rates add up; inf when all arrive at once.
        tokens: prompt and output tokens.
        share: of all tokens of the trace, in 0..1.
        bounds: smallest and largest value of each column of `BOUNDS`, in seconds for promises; a column is left out
            where no request has a value.
        promised: requests that have a value in each of these columns.
    """

    tenant: str
    label: str | None
    requests: int
    rate: float
    tokens: int
    share: float
    bounds: dict[str, tuple[float, float]]
    promised: dict[str, int]


def shares(trace: Trace) -> list[Share]:
    """Return a share for each tenant and class, most tokens first; none for a trace that knows neither nor promises."""
    known = [column for column in ("tenant", *PROMISED) if column in trace.frame.columns]
    if not known:
        return []
    bounds = [column for column in BOUNDS if column in known]
    groups = (
        trace.frame.with_columns(
            owners(trace).alias("tenant"), *([] if "class" in known else [pl.lit(None, pl.String).alias("class")])
        )
        .group_by("tenant", "class")
        .agg(
            pl.len().alias("requests"),
            pl.sum("prompt_tokens", "output_tokens").name.suffix("_sum"),
            *(pl.col(column).min().alias(f"{column}_min") for column in bounds),
            *(pl.col(column).max().alias(f"{column}_max") for column in bounds),
            *(pl.col(column).count().alias(f"{column}_count") for column in bounds),
        )
        .with_columns((pl.col("prompt_tokens_sum") + pl.col("output_tokens_sum")).alias("tokens"))
        .sort("tokens", "tenant", "class", descending=[True, False, False])
    )
    total = groups["tokens"].sum()
    return [
        Share(
            tenant=row["tenant"],
            label=row["class"],
            requests=row["requests"],
            rate=trace.rate * row["requests"] / len(trace) if math.isfinite(trace.rate) else math.inf,
            tokens=row["tokens"],
            share=row["tokens"] / total,
            bounds={
                column: (row[f"{column}_min"], row[f"{column}_max"]) for column in bounds if row[f"{column}_count"]
            },
            promised={column: row[f"{column}_count"] for column in bounds if row[f"{column}_count"]},
        )
        for row in groups.iter_rows(named=True)
    ]
