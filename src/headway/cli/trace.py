"""`headway trace`: what is in a trace file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from headway.cli.console import err, out, write_json, writing
from headway.cli.options import ImagesOption, JsonOption, read_images
from headway.cli.paths import check_apart, json_output, output
from headway.cli.tables import plain_table
from headway.cli.tenants import print_tenants, tenants_json
from headway.core.counted import IS, counted
from headway.core.errors import InvalidInput
from headway.measure.quantiles import STATISTICS, Stats
from headway.measure.stability import BINS as LENGTH_BINS
from headway.measure.stability import Floats, Stability
from headway.measure.stability import stability as compare_windows
from headway.workload import Trace, read_tenants, read_trace
from headway.workload.shares import shares
from headway.workload.tenants_toml import is_tenants

BINS = 12
WIDTH = 44

StabilityOption = Annotated[
    bool,
    typer.Option("--stability", help="Compare the output lengths of windows: does the past tell the future?"),
]
HeatMapOption = Annotated[
    str | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="With --stability: write it as heat maps (.html, works offline; or .png, .svg).",
        show_default=False,
    ),
]


def trace(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A trace in any known format, or a tenants file.", show_default=False),
    ],
    stability: StabilityOption = False,
    tokens_per_image: ImagesOption = 0,
    json: JsonOption = None,
    html: HeatMapOption = None,
) -> None:
    """Say what is in a trace: rows, span, rate, burstiness, lengths, tenants.

    Formats are told apart by their columns: Azure 2023-2025 CSV (TIMESTAMP, ContextTokens, GeneratedTokens), Vidur CSV,
    BurstGPT CSV, BLIS TraceV2 CSV, timed JSON lines as of Mooncake (timestamp, input_length, output_length), and our
    own CSV or Parquet (arrival, prompt_tokens, output_tokens and optional columns). ServeGen is a folder of
    chunk-i-trace.csv files. Of a tenants file (.toml), the requests of seed 0 are shown.

    Example: headway trace AzureLLMInferenceTrace_conv.csv --stability
    """
    if not file:
        raise InvalidInput("FILE is empty; expected a trace file")
    if html is not None and not stability:
        raise InvalidInput("--html shows the stability of a trace; give --stability too")
    target, picture = json_output(json), output("--html", html, (".html", ".png", ".svg"))
    check_apart((file,), {"--json": target, "--html": picture})
    images = read_images(tokens_per_image)
    found = read_tenants(file).draw() if is_tenants(file) else read_trace(file, tokens_per_image=images)
    similar = compare_windows(found.frame["output_tokens"]) if stability else None
    if picture is not None and similar is not None:
        _draw(similar, found, picture)
    if target is not None:
        write_json(_facts(found) | ({"stability": _similarities(similar)} if similar else {}), target)
        return
    _print(found)
    if similar is not None:
        _print_stability(similar)


def _draw(similar: Stability, found: Trace, path: Path) -> None:
    if np.isnan(similar.adjacent).all():
        raise InvalidInput(f"{found.name}: {counted(len(found), 'request', IS)} too few for --html; {_needed(similar)}")
    # altair takes as long to import as everything else together: only who draws pays for it.
    from headway.report.stability import write_stability  # noqa: PLC0415

    with writing(path):
        write_stability(similar, found.name, path)
    err.print(f"wrote {path}", markup=False)


def _needed(similar: Stability) -> str:
    return f"two windows need {2 * min(similar.sizes)}"


def _similarities(similar: Stability) -> dict[str, object]:
    """Return rows by historical size, columns by running size; null where the trace is too short."""

    def rows(values: Floats) -> list[list[float | None]]:
        return [[None if math.isnan(value) else value for value in row] for row in values.tolist()]

    return {
        "sizes": list(similar.sizes),
        "bins": LENGTH_BINS,
        "bin_width": similar.bin_width,
        "adjacent": rows(similar.adjacent),
        "global": rows(similar.everywhere),
    }


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
        "tenants": tenants_json(shares(found)),
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
    print_tenants(shares(found), out)
    for column in ("prompt_tokens", "output_tokens"):
        out.print(f"{column.removesuffix('_tokens')} tokens", style="bold")
        _print_histogram(found.frame[column].to_numpy())
    for note in found.notes:
        out.print(f"- {note}", style="dim", markup=False)


def _print_stability(similar: Stability) -> None:
    out.print("stability of output lengths", style="bold")
    if np.isnan(similar.adjacent).all():
        out.print(f"too few requests: {_needed(similar)}")
        return
    out.print(
        f"Mean cosine similarity of histograms of {LENGTH_BINS} bins of {similar.bin_width} tokens; 1 is the same "
        "histogram. Rows: requests in the historical window; columns: in the running one."
    )
    shown = {
        "adjacent: a window and the requests right before it": similar.adjacent,
        "global: a window and all others of the trace": similar.everywhere,
    }
    heads = ("", *(f"{size:,}" for size in similar.sizes))
    for title, values in shown.items():
        rows = [
            (f"{size:,}", *("-" if math.isnan(value) else f"{value:.3f}" for value in row))
            for size, row in zip(similar.sizes, values, strict=True)
        ]
        out.print(title)
        out.print(plain_table(heads, rows, right=range(len(heads))))


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
