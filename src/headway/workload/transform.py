"""Other traces made from a trace: at another rate, with other lengths, parts of it. Ids and labels stay."""

from __future__ import annotations

import polars as pl

from headway.core.errors import InvalidWorkload
from headway.core.request import BLOCK_TOKENS
from headway.workload.columns import MOST
from headway.workload.limits import positive, whole
from headway.workload.trace import Trace

ARRIVAL = pl.col("arrival")


def rescale_rate(trace: Trace, rate: float) -> Trace:
    """Scale time so that the trace has `rate` requests/s and starts at 0; order and relative gaps stay.

    Raises:
        InvalidWorkload: the rate is not positive, or several requests all arrive at once.
        InvalidTrace: the rate is so small that the last arrival passes 1e10 s.
    """
    target = positive("rate", rate)
    if trace.span == 0 and len(trace) > 1:
        raise InvalidWorkload(f"{trace.name}: all {len(trace)} requests arrive at once, no scale gives them a rate")
    factor = trace.rate / target if len(trace) > 1 else 1.0
    return _with(trace, arrival=(ARRIVAL - ARRIVAL.first()) * factor)


def scale_lengths(trace: Trace, factor: float) -> Trace:
    """Multiply all token counts by `factor`, rounded half to even.

    What has a token keeps at least one; outputs of 0 stay 0. Predicted numbers are scaled too, and so are the blocks
    of prompts, so that two prompts share as large a part of each other as before.

    Raises:
        InvalidWorkload: the factor is not positive, or makes a length above 1e9 tokens.
    """
    scale = positive("factor", factor)
    longest = max(trace.frame["prompt_tokens"].max(), trace.frame["output_tokens"].max())  # type: ignore[type-var]
    if longest * scale > MOST:
        raise InvalidWorkload(f"factor {factor:g} makes {longest} tokens more than {MOST:,}; choose a smaller one")

    def scaled(tokens: pl.Expr) -> pl.Expr:
        return pl.when(tokens > 0).then((tokens * scale).round(mode="half_to_even").clip(lower_bound=1)).otherwise(0)

    columns = {name: scaled(pl.col(name)) for name in ("prompt_tokens", "output_tokens")}
    if "blocks" in trace.frame.columns:
        given = pl.col("block_tokens").fill_null(BLOCK_TOKENS) if "block_tokens" in trace.frame.columns else None
        columns["block_tokens"] = scaled(pl.lit(BLOCK_TOKENS) if given is None else given)
    if trace.frame.schema.get("predicted", pl.String) != pl.String:
        columns["predicted"] = pl.col("predicted") * scale
    return _with(trace, **columns)


def head(trace: Trace, n: int) -> Trace:
    """Return the first `n` requests, or all when there are fewer.

    Raises:
        InvalidWorkload: n is below 1.
    """
    return Trace.from_frame(trace.name, trace.frame.head(whole("n", n, 1)), trace.notes)


def windows(trace: Trace, count: int) -> list[Trace]:
    """Cut into `count` contiguous windows of equally many requests, each starting at 0.

    The requests that are left over at the end (fewer than `count`) are dropped, and a note says so.

    Raises:
        InvalidWorkload: there are fewer requests than windows.
    """
    size = len(trace) // whole("windows", count, 1)
    if size == 0:
        raise InvalidWorkload(f"{trace.name}: cannot cut {len(trace)} requests into {count} windows")
    notes = trace.notes
    if dropped := len(trace) - size * count:
        notes = (
            *notes,
            "the last request is in no window" if dropped == 1 else f"the last {dropped} requests are in no window",
        )
    return [
        Trace.from_frame(
            f"{trace.name} [{index + 1}/{count}]",
            trace.frame.slice(index * size, size).with_columns(ARRIVAL - ARRIVAL.first()),
            notes,
        )
        for index in range(count)
    ]


def _with(trace: Trace, **columns: pl.Expr) -> Trace:
    return Trace.from_frame(trace.name, trace.frame.with_columns(**columns), trace.notes)
