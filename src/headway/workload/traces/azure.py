"""Azure LLM inference traces: CSV with `TIMESTAMP,ContextTokens,GeneratedTokens`, 2025 also `NumImages`.

Timestamps are UTC date and time with up to nine digits of fraction, read to the nanosecond; arrivals count
from the earliest. Source: Azure Public Dataset (2023: Patel et al., "Splitwise", ISCA 2024).
"""

from __future__ import annotations

from functools import partial

import polars as pl

from headway.workload.columns import Column
from headway.workload.trace import Trace
from headway.workload.traces.format import Format

NANOSECONDS = 1_000_000_000


def azure(tokens_per_image: int) -> Format:
    """Return the format; an image counts as so many prompt tokens."""
    return Format(
        "azure",
        required=("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
        optional=("NumImages",),
        convert=partial(_convert, tokens_per_image),
    )


def _convert(tokens_per_image: int, name: str, frame: pl.DataFrame) -> Trace:
    prompts, notes = frame["ContextTokens"], ()
    if "NumImages" in frame.columns:
        images = Column(name, "NumImages", frame["NumImages"]).count()
        prompts = Column(name, "ContextTokens", prompts).tokens() + images * tokens_per_image
        if tokens_per_image == 0 and (total := images.sum()):
            notes = (f"{total:,} images count as 0 prompt tokens: give tokens_per_image to count them",)
    requests = pl.DataFrame(
        {
            "arrival": _arrivals(Column(name, "TIMESTAMP", frame["TIMESTAMP"])),
            "prompt_tokens": prompts,
            "output_tokens": frame["GeneratedTokens"],
        }
    )
    called = {"arrival": "TIMESTAMP", "prompt_tokens": "ContextTokens", "output_tokens": "GeneratedTokens"}
    return Trace.from_frame(name, requests, notes, called)


def _arrivals(timestamps: Column) -> pl.Series:
    texts = timestamps.values.cast(pl.String).str.strip_suffix("Z").str.strip_suffix("+00:00")
    stamps = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ns", strict=False)
    near = texts.str.contains("^(19[7-9]|20|21)")  # outside, nanoseconds overflow silently
    timestamps.refuse(~near | stamps.is_null(), "a UTC time like 2023-11-16 18:15:46.6805900")
    ticks = stamps.cast(pl.Int64)
    since_first = ticks - (ticks.min() or 0)
    return pl.Series(since_first.to_numpy() / NANOSECONDS)  # polars would multiply by the rounded 1e-9
