"""Results as data frames: a row a policy, a row a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from headway.measure.comparison import Comparison, plain
from headway.measure.record import PROMISES, RunRecord


def policy_frame(comparison: Comparison) -> pl.DataFrame:
    """Return a row a policy; columns are the paths of `--json`, as in `wait.p99` and `classes.long.wait.p99`.

    Seconds, tokens and shares as there. Over several seeds `wait.ci95.p99.low` and `.high` bound each
    statistic.
    """
    rows = [dict(_leaves("", plain(summary.to_dict()))) for summary in comparison.policies]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False)


def request_frame(record: RunRecord) -> pl.DataFrame:
    """Return a row a request, with the columns of `--requests`; seconds, null where there is no value."""
    return record.outcomes.select(
        pl.lit(record.policy).alias("policy"),
        pl.lit(record.seed, dtype=pl.Int64).alias("seed"),
        "id",
        "tenant",
        "arrival",
        "start",
        "first_token",
        "finish",
        (pl.col("start") - pl.col("arrival")).alias("wait"),
        "prompt_tokens",
        "output_tokens",
        "predicted",
        "true_class",
        "outcome",
        "class",
        *PROMISES,
    )


def _leaves(path: str, value: Any) -> list[tuple[str, Any]]:
    """Return the leaves of nested data with their dotted paths; an interval gives `.low` and `.high`."""
    if isinstance(value, Mapping):
        return [leaf for key, item in value.items() for leaf in _leaves(f"{path}.{key}" if path else key, item)]
    if path.rpartition(".")[0].endswith(".ci95") and isinstance(value, list):
        return [(f"{path}.low", value[0]), (f"{path}.high", value[1])]
    if path == "longest_wait.id":
        return [(path, str(value))]
    return [(path, value)]
