"""`headway trace`: what is in a trace file."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import typer

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption
from headway.cli.paths import check_apart, json_output
from headway.cli.tables import plain_table
from headway.core.errors import InvalidInput
from headway.measure.quantiles import STATISTICS, Stats
from headway.workload import Trace, read_trace

BINS = 12
WIDTH = 44


def trace(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A trace in any known format.", show_default=False)],
    json: JsonOption = None,
) -> None:
    """Say what is in a trace: rows, span, rate, burstiness, lengths.

    Formats are told apart by their columns: Azure 2023-2025 CSV (TIMESTAMP, ContextTokens, GeneratedTokens), Vidur CSV,
    Mooncake JSONL, and our own CSV or Parquet (arrival, prompt_tokens, output_tokens and optional columns).

    Example: headway trace AzureLLMInferenceTrace_conv.csv
    """
    if not file:
        raise InvalidInput("FILE is empty; expected a trace file")
    target = json_output(json)
    check_apart((file,), {"--json": target})
    found = read_trace(file)
    if target is not None:
        write_json(_facts(found), target)
        return
    _print(found)


def _facts(found: Trace) -> dict[str, object]:
    scv = found.interarrival_scv
    return {
        "name": found.name,
        "rows": len(found),
        "span_seconds": found.span,
        "rate_per_s": found.rate if math.isfinite(found.rate) else None,
        "interarrival_scv": scv if math.isfinite(scv) else None,
        "columns": found.frame.columns,
        "prompt_tokens": _lengths(found, "prompt_tokens"),
        "output_tokens": _lengths(found, "output_tokens"),
        "notes": list(found.notes),
    }


def _lengths(found: Trace, column: str) -> dict[str, float | None]:
    stats = Stats.of(found.frame[column].to_numpy().astype(np.float64))
    return {name: getattr(stats, name) for name in STATISTICS}


def _print(found: Trace) -> None:
    out.print(f"{found.name}: {len(found):,} requests over {found.span:,.1f} s", style="bold", markup=False)
    if found.span > 0:
        scv = found.interarrival_scv
        out.print(f"rate {found.rate:,.3f} requests/s, inter-arrival SCV {scv:.2f} (1 is Poisson, above is bursty)")
    else:
        out.print("all arrive at once")
    heads = ("tokens", *STATISTICS)
    rows = []
    for column in ("prompt_tokens", "output_tokens"):
        lengths = _lengths(found, column)
        rows.append((column.removesuffix("_tokens"), *(f"{lengths[name] or 0:,.0f}" for name in STATISTICS)))
    out.print(plain_table(heads, rows, right=range(1, 6)))
    for column in ("prompt_tokens", "output_tokens"):
        out.print(f"{column.removesuffix('_tokens')} tokens", style="bold")
        _print_histogram(found.frame[column].to_numpy())
    for note in found.notes:
        out.print(f"- {note}", style="dim", markup=False)


def _print_histogram(values: np.ndarray) -> None:
    """Print bars over bins of equal ratio, which suit lengths better than bins of equal width."""
    low, high = max(1, int(values.min())), max(2, int(values.max()) + 1)
    edges = np.unique(np.geomspace(low, high, BINS + 1).round().astype(np.int64))
    edges[0] = min(edges[0], int(values.min()))
    counts, _ = np.histogram(values, edges)
    rows = [
        (f"{start:,} - {stop - 1:,}", f"{count:,}", "█" * round(WIDTH * count / counts.max()))
        for start, stop, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    out.print(plain_table(("tokens", "requests", ""), rows, right=(0, 1)))
