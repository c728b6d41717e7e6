"""`headway compare`: policies side by side."""

from __future__ import annotations

import shlex
import sys
from io import BytesIO
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from headway.cli.console import (
    STANDARD_OUTPUT,
    WHILE_WRITING,
    end_if_partial,
    err,
    interruptible,
    out,
    progress_bar,
    write_json,
    writing,
)
from headway.cli.options import (
    ClientsOption,
    EngineOption,
    EvictOption,
    HtmlOption,
    ImagesOption,
    JournalOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    MemoryOption,
    PatienceOption,
    PoolsOption,
    PrefillShareOption,
    RateOption,
    RequestsOption,
    ReserveOption,
    SeedOption,
    SeedsOption,
    ShedOption,
    ShortToLongOption,
    SlaOption,
    SourceArgument,
    TenantsOption,
    read_engine,
    read_seeds,
    read_source,
)
from headway.cli.own_orders import own_files, own_orders
from headway.cli.paths import check_apart, json_output, output
from headway.cli.tables import print_comparison
from headway.files import write_whole
from headway.measure.comparison import Comparison
from headway.measure.frames import request_frame
from headway.measure.journal_file import journal_file, journal_frame
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.shares import Shares
from headway.report.html import write_html
from headway.simulate.run import checked_clients
from headway.studies.compare import DEFAULT_POLICIES
from headway.studies.compare import compare as run_comparison


def compare(
    source: SourceArgument = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="A policy (repeatable), such as qba(k=3), or an own order as my_module:MyOrder.",
            show_default="fcfs, psf, aa, qba",
        ),
    ] = None,
    *,
    memory: MemoryOption = None,
    evict: EvictOption = None,
    shed: ShedOption = None,
    prefill_share: PrefillShareOption = 0.0,
    pools: PoolsOption = None,
    reserve: ReserveOption = None,
    engine: EngineOption = None,
    rate: RateOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    tokens_per_image: ImagesOption = 0,
    seed: SeedOption = 0,
    seeds: SeedsOption = 1,
    epsilon_sl: ShortToLongOption = 0.0,
    epsilon_ls: LongToShortOption = 0.0,
    sla: SlaOption = None,
    clients: ClientsOption = None,
    patience: PatienceOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    requests: RequestsOption = None,
    tenants: TenantsOption = None,
    journal: JournalOption = None,
) -> None:
    """Run policies side by side on the same requests.

    Example: headway compare trace.csv --policy fcfs --policy "qba(k=3)" --html report.html
    """
    outputs = {
        "--json": json_output(json),
        "--html": output("--html", html),
        "--requests": output("--requests", requests, (".csv", ".parquet")),
        "--journal": output("--journal", journal, (".parquet",)),
    }
    chosen = policy or DEFAULT_POLICIES
    check_apart((source, tenants, engine, *own_files(chosen)), outputs)
    where = read_source(
        source,
        tenants=tenants,
        tokens_per_image=tokens_per_image,
        limit=limit,
        rate=rate,
        scale_lengths=scale_lengths,
        epsilon_sl=epsilon_sl,
        epsilon_ls=epsilon_ls,
    )
    profile = read_engine(engine)
    shares = Shares.of(prefill_share, reserve, pools)
    agreement = None if sla is None else Sla.parse(sla)
    clients, patience = checked_clients(clients, patience, ("--clients", "--patience"))
    rows: list[pl.DataFrame] = []
    journals: list[pl.DataFrame] = []

    def keep(record: RunRecord) -> None:
        if requests is not None:
            rows.append(request_frame(record))
        if record.journal is not None:
            journals.append(journal_frame(record.journal))

    with interruptible(), own_orders(chosen), progress_bar("simulating") as progress:
        comparison = run_comparison(
            where,
            chosen,
            profile,
            memory=memory or (),
            evict=evict or (),
            shed=shed or (),
            shares=shares,
            sla=agreement,
            clients=clients,
            patience=patience,
            seeds=read_seeds(seed, seeds),
            follow=html is not None,
            journal=journal is not None,
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
            each=keep,
        )
    with interruptible(WHILE_WRITING):
        _deliver(comparison, outputs, rows, journals)
    end_if_partial(partial=comparison.partial)


def _deliver(
    comparison: Comparison, outputs: dict[str, Path | None], rows: list[pl.DataFrame], journals: list[pl.DataFrame]
) -> None:
    """Write what was asked for; print tables unless the JSON goes to standard output."""
    json, html, requests, journal = outputs.values()
    written: list[Path] = []
    try:
        if json is not None:
            write_json(comparison.to_dict(), json)
            written.append(json)
        if html is not None:
            with writing(html):
                write_html(comparison, html)
            written.append(html)
        if requests is not None:
            _write_rows(pl.concat(rows), requests)
            written.append(requests)
        if journal is not None:
            with writing(journal):
                write_whole(journal, journal_file(journals))
            written.append(journal)
        if json != STANDARD_OUTPUT:
            print_comparison(comparison, out)
    finally:
        for path in written:
            if path != STANDARD_OUTPUT:
                err.print(f"wrote {path}", markup=False)


def _write_rows(frame: pl.DataFrame, path: Path) -> None:
    buffer = BytesIO()
    if path.suffix.lower() == ".csv":
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    with writing(path):
        write_whole(path, buffer.getvalue())
