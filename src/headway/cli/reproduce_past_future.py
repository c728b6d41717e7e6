"""`headway reproduce past-future`: the Past-Future scheduler, the whole evaluation."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from headway.cli.console import progress_bar
from headway.cli.options import JsonOption
from headway.cli.paths import check_apart, json_output
from headway.cli.reproduction import (
    KEPT,
    OutOption,
    QuickOption,
    check_json,
    deliver,
    read_folder,
    read_only,
    resumable,
)
from headway.studies.papers.past_future.plan import PARTS
from headway.studies.papers.past_future.study import reproduce
from headway.workload import read_trace


def past_future(
    quick: QuickOption = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PART", help=f"One part alone: {', '.join(PARTS)}.", show_default=False),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option("--trace", metavar="FILE", help="A trace, for the stability of lengths.", show_default=False),
    ] = None,
    out: OutOption = None,
    json: JsonOption = None,
) -> None:
    """Past-Future: use of memory against evictions, settings, shifts, goodput under an agreement.

    Example: headway reproduce past-future --quick --out results
    """
    folder, target = read_folder(out, "past-future"), json_output(json)
    check_json(target, folder)
    check_apart((trace,), {"--json": target})
    parts = read_only(only, tuple(PARTS))
    opened = None if trace is None else read_trace(trace)
    with resumable(folder, "past-future"), progress_bar("simulating") as progress:
        found = reproduce(
            parts,
            quick=quick,
            trace=opened,
            keep=folder / KEPT,
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
        )
    deliver(found, folder, target)
