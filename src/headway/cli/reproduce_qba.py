"""`headway reproduce qba`: Quota-Based Aging, the whole evaluation."""

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
from headway.core.errors import InvalidInput
from headway.studies.papers.quota_based_aging import FULL, PARTS, QUICK, reproduce
from headway.workload import Trace, open_trace


def qba(
    quick: QuickOption = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PART", help=f"One part alone: {', '.join(PARTS)}.", show_default=False),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option("--trace", metavar="FILE", help="An Azure LLM inference trace, for Table II.", show_default=False),
    ] = None,
    out: OutOption = None,
    json: JsonOption = None,
) -> None:
    """Quota-Based Aging: load sweep, sensitivity to k and gamma, prediction errors, trace windows.

    Example: headway reproduce qba --quick --out results
    """
    folder, target = read_folder(out, "qba"), json_output(json)
    check_json(target, folder)
    check_apart((trace,), {"--json": target})
    parts = read_only(only, PARTS)
    opened = None if trace is None else _windowed(trace)
    with resumable(folder, "qba"), progress_bar("simulating") as progress:
        found = reproduce(
            parts,
            seeds=range(QUICK if quick else FULL),
            trace=opened,
            keep=folder / KEPT,
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
        )
    deliver(found, folder, target)


def _windowed(text: str) -> Trace:
    """Return a trace that can be cut into windows."""
    opened = open_trace(text)
    if not isinstance(opened, Trace):
        raise InvalidInput(f"--trace {text}: is drawn anew for every seed; expected a trace of requests in order")
    return opened
