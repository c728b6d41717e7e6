"""`headway sweep`: any grid of workloads, policies, engines and seeds, from a file."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headway.cli.console import INTERRUPTED, STANDARD_OUTPUT, err, fail, interruptible, out, write_json
from headway.cli.options import JsonOption, parse_whole
from headway.cli.own_orders import own_orders
from headway.cli.paths import check_apart, json_output
from headway.cli.sweep_progress import duration_text, sweep_progress
from headway.cli.tables import print_table
from headway.core.counted import IS, counted
from headway.core.errors import InvalidInput
from headway.core.spec import whole
from headway.measure.swept import Overview, groups
from headway.report.sweep_tables import MOST_ROWS, left_out, sweep_table
from headway.studies.grid import AXES, Plan, plan_of, policies_of, tables
from headway.studies.result_store import finished_keys
from headway.studies.sweep import Swept, run_plan
from headway.studies.sweep_cost import cost_of

MOST_WORKERS = 1024
SHOWN = 8
RESUMES = "interrupted: what is finished is kept, and the same command goes on"


def sweep(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A sweep file (TOML).", show_default=False)],
    folder: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="DIR", help="The folder for the results; made if it is not there.", show_default=False
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(parser=parse_whole, metavar="N", help="Processes on this machine.", show_default="one a core"),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Run on a Ray cluster: auto, HOST:PORT or ray://HOST:PORT.", show_default=False
        ),
    ] = None,
    *,
    check: Annotated[bool, typer.Option("--check", help="Say how many cells there are and what they cost.")] = False,
    json: JsonOption = None,
) -> None:
    """Run every combination of workloads, policies, engines and seeds that a file lists.

    The same command again goes on where it was ended. Example: headway sweep examples/sweep.toml --out sweep
    """
    target = json_output(json)
    path = Path(file)
    given = tables(path)
    check_apart((file,), {"--json": target})
    _check_results_stay(folder, target)
    if workers is not None and ray is not None:
        raise InvalidInput(
            "--workers and --ray exclude each other: a cluster has its own processes; give one of the two"
        )
    processes = None if workers is None else whole("--workers", workers, 1, MOST_WORKERS)
    where = None if folder is None else _folder(folder)
    if check and target is not None:
        raise InvalidInput("--check and --json exclude each other: a check computes no figures; leave one out")
    with (
        interruptible(RESUMES),
        own_orders(policies_of(given), path.parent),
    ):
        plan = plan_of(given, str(path), path.parent)
        if check:
            _check(plan, where, processes or os.cpu_count() or 1)
            return
        if where is None:
            raise InvalidInput("--out is missing: name the folder for the results, as in --out sweep")
        with sweep_progress() as progress:
            swept = run_plan(plan, where, workers=processes, ray=ray, progress=progress)
        _deliver(plan, swept, target)


def _check_results_stay(folder: str | None, target: Path | None) -> None:
    """Refuse to write the figures over the sweep's own files."""
    if folder is None or target is None or target == STANDARD_OUTPUT:
        return
    inside = target.resolve().is_relative_to(Path(folder).resolve())
    if inside and (target.suffix == ".parquet" or target.resolve().parent != Path(folder).resolve()):
        raise InvalidInput(f"--json {target}: is where --out {folder} keeps its results; choose another file")


def _folder(text: str) -> Path:
    if not text or text.startswith("-"):
        raise InvalidInput(f"--out needs a folder, got {text!r}")
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"--out {path}: is a file; expected a folder")
    return path


def _check(plan: Plan, folder: Path | None, processes: int) -> None:
    """Say what the sweep is and what is left of it; run a few cells for the cost."""
    known = set[str]() if folder is None else finished_keys(folder)
    missing = [planned.cell for planned in plan.cells if planned.key not in known]
    there = len(plan.cells) - len(missing)
    out.print(
        counted(len(plan.cells), "cell")
        + (f", of which {there:,} {IS[there != 1]} finished in {folder}" if there else "")
    )
    for name in (*AXES, "seed"):
        values = list(dict.fromkeys(planned.settings[name] for planned in plan.cells))
        if len(values) > 1:
            more = f" and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
            out.print(Text(f"  {name}: {', '.join(map(_value, values[:SHOWN]))}{more}"))
    for note in plan.notes:
        out.print(Text(f"- {note}", style="dim"))
    if not missing:
        out.print("nothing is left to run")
        return
    cost = cost_of(missing)
    out.print(
        f"{counted(cost.requests, 'request')} to run; roughly {duration_text(max(1.0, cost.seconds / processes))} "
        f"on {processes} {'process' if processes == 1 else 'processes'}"
    )


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _deliver(plan: Plan, swept: Swept, target: Path | None) -> None:
    """Write what was asked for; print the table unless the JSON goes to standard output."""
    finished = swept.frame.height
    notes = list(plan.notes)
    if swept.interrupted:
        notes.append(
            f"Interrupted: {finished:,} of {counted(swept.cells, 'cell', IS)} finished, "
            "and rows can be of different seeds."
        )
    overview = Overview(
        {
            "headway": version("headway"),
            "command": shlex.join(["headway", *sys.argv[1:]]),
            "results": str(swept.results),
            "cells": swept.cells,
            "finished": finished,
            "computed": swept.computed,
        },
        groups(swept.frame, list(AXES)),
        partial=swept.interrupted,
        notes=tuple(notes),
    )
    for warning in swept.warnings:
        fail(warning)
    if target is not None:
        write_json(overview.to_dict(), target)
    if target != STANDARD_OUTPUT:
        print_table(sweep_table(overview), out)
        if more := left_out(overview):
            out.print(f"The first {MOST_ROWS} rows of {MOST_ROWS + more:,}; all are in {swept.results}.", markup=False)
        for note in notes:
            out.print(Text(f"- {note}", style="dim"))
    if finished:
        err.print(
            f"{counted(finished, 'cell')}, {swept.computed:,} computed now: {swept.results}",
            markup=False,
            soft_wrap=True,
        )
    if target is not None and target != STANDARD_OUTPUT:
        err.print(f"wrote {target}", markup=False)
    if swept.interrupted:
        fail(
            f"interrupted: {finished:,} of {counted(swept.cells, 'cell', IS)} finished and kept; "
            "the same command goes on"
        )
        raise typer.Exit(INTERRUPTED)
