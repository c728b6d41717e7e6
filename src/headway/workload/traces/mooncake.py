"""Mooncake traces: JSON lines `{"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": […]}`.

`hash_ids` (names of prompt blocks, for prefix caches) are not used. Other tools write the same fields without
them, and not all in milliseconds: then a note says how the time was read.
Source: Mooncake (Qin et al., FAST 2025).
"""

from __future__ import annotations

import polars as pl

from headway.workload.columns import LATEST, Column
from headway.workload.trace import Trace
from headway.workload.traces.format import Format


def _convert(name: str, frame: pl.DataFrame) -> Trace:
    timestamps = Column(name, "timestamp", frame["timestamp"]).time("milliseconds", 1000 * LATEST)
    requests = frame.select(
        pl.Series("arrival", timestamps.to_numpy() / 1000.0),  # polars would multiply by the rounded 0.001
        pl.col("input_length").alias("prompt_tokens"),
        pl.col("output_length").alias("output_tokens"),
    )
    notes = () if "hash_ids" in frame.columns else ("timestamps are read as milliseconds",)
    called = {"arrival": "timestamp", "prompt_tokens": "input_length", "output_tokens": "output_length"}
    return Trace.from_frame(name, requests, notes, called)


MOONCAKE = Format(
    "mooncake",
    required=("timestamp", "input_length", "output_length"),
    optional=("hash_ids",),
    convert=_convert,
)
