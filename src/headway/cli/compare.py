"""`headway compare`: policies side by side."""

from __future__ import annotations

import shlex
import sys
from io import BytesIO
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from headway.cli.console import STANDARD_OUTPUT, check_output, err, fail, out, progress_bar, write_json
from headway.cli.options import (
    EngineOption,
    HtmlOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    RateOption,
    RequestsOption,
    SeedOption,
    SeedsOption,
    ShortToLongOption,
    SourceArgument,
    read_engine,
    read_source,
)
from headway.cli.tables import print_comparison
from headway.core.errors import InvalidInput
from headway.measure.comparison import Comparison
from headway.measure.frames import request_frame
from headway.measure.record import RunRecord
from headway.report.files import write_whole
from headway.report.html import write_html
from headway.studies.compare import DEFAULT_POLICIES
from headway.studies.compare import compare as run_comparison

INTERRUPTED = 130


def compare(
    source: SourceArgument,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="A policy (repeatable), such as qba(k=3), or an own order as my_module:MyOrder.",
            show_default="fcfs, psf, aa, qba",
        ),
    ] = None,
    engine: EngineOption = None,
    rate: RateOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    seeds: SeedsOption = 1,
    epsilon_sl: ShortToLongOption = 0.0,
    epsilon_ls: LongToShortOption = 0.0,
    json: JsonOption = None,
    html: HtmlOption = None,
    requests: RequestsOption = None,
) -> None:
    """Run policies side by side on the same requests.

    Example: headway compare trace.csv --policy fcfs --policy "qba(k=3)" --html report.html
    """
    check_output(json)
    check_output(html)
    check_output(requests, (".csv", ".parquet"))
    if seed < 0 or seeds < 1:
        raise InvalidInput(f"--seed must be >= 0 and --seeds >= 1, got {seed} and {seeds}")
    where = read_source(
        source,
        limit=limit,
        rate=rate,
        length_factor=scale_lengths,
        epsilon_sl=epsilon_sl,
        epsilon_ls=epsilon_ls,
    )
    profile = read_engine(engine)
    rows: list[pl.DataFrame] = []

    def keep(record: RunRecord) -> None:
        if requests is not None:
            rows.append(request_frame(record))

    with progress_bar("simulating") as progress:
        comparison = run_comparison(
            where,
            policy or DEFAULT_POLICIES,
            profile,
            seeds=range(seed, seed + seeds),
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
            each=keep,
        )
    _deliver(comparison, json, html, requests, rows)
    if comparison.partial:
        fail("interrupted: these results are partial")
        raise typer.Exit(INTERRUPTED)


def _deliver(
    comparison: Comparison, json: Path | None, html: Path | None, requests: Path | None, rows: list[pl.DataFrame]
) -> None:
    """Write what was asked for; print tables unless the JSON goes to standard output."""
    if json is not None:
        write_json(comparison.to_dict(), json)
    if html is not None:
        write_html(comparison, html)
    if requests is not None:
        _write_rows(pl.concat(rows), requests)
    if json != STANDARD_OUTPUT:
        print_comparison(comparison, out)
    for path in (json, html, requests):
        if path is not None and path != STANDARD_OUTPUT:
            err.print(f"wrote {path}", markup=False)


def _write_rows(frame: pl.DataFrame, path: Path) -> None:
    buffer = BytesIO()
    if path.suffix.lower() == ".csv":
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    write_whole(path, buffer.getvalue())
