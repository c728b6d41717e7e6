"""`headway reproduce fairness`: deadlines, shares, starvation and what clients observe."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from headway.cli.console import progress_bar
from headway.cli.options import JsonOption
from headway.cli.paths import json_output
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
from headway.studies.papers.deadlines_and_fairness import PARTS, reproduce


def fairness(
    quick: QuickOption = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PART", help=f"One part alone: {', '.join(PARTS)}.", show_default=False),
    ] = None,
    out: OutOption = None,
    json: JsonOption = None,
) -> None:
    """Deadlines and fairness: every claim of the article, and the shapes that others published.

    Example: headway reproduce fairness --quick --out results
    """
    folder, target = read_folder(out, "fairness"), json_output(json)
    check_json(target, folder)
    parts = read_only(only, PARTS)
    with resumable(folder, "fairness"), progress_bar("simulating") as progress:
        found = reproduce(
            parts,
            quick=quick,
            keep=folder / KEPT,
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
        )
    deliver(found, folder, target)
