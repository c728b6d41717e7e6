"""What the commands of `headway reproduce` share: their options, their folder, and how results are delivered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.console import (
    INTERRUPTED,
    STANDARD_OUTPUT,
    WHILE_WRITING,
    err,
    fail,
    interruptible,
    out,
    write_json,
)
from headway.cli.console import writing as writing_to
from headway.cli.tables import print_reproduction
from headway.core.errors import InvalidInput, nearest
from headway.files import write_whole
from headway.measure.reproduction import Reproduction
from headway.studies.result_store import finished_keys

FINDINGS = "findings.json"
KEPT = "cells"
"""Folder of finished runs, in that of the results."""
WHOSE = ".paper"
"""File in the folder that says whose results it holds, from the first run on."""

OutOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where everything is written: a new or empty folder, or one of the same command.",
        show_default=False,
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Fewer seeds: at most two minutes, with wider intervals.")]


def read_folder(text: str | None, paper: str) -> Path:
    """Return the folder that `--out` names.

    Raises:
        InvalidInput: none is named, it cannot be written, or it holds something else than this paper's results.
    """
    if text is None:
        raise InvalidInput("--out is missing; give a new folder, such as --out results")
    if not text or text.startswith("-"):
        raise InvalidInput(f"--out needs a folder, got {text!r}")
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"--out {path}: is a file; expected a folder")
    above = path if path.is_dir() else path.absolute().parent
    if not above.is_dir():
        raise InvalidInput(f"--out {path}: the folder {path.parent} does not exist; make it first")
    if not os.access(above, os.W_OK):
        raise InvalidInput(f"--out {path}: cannot be written; permission denied")
    if path.is_dir() and any(path.iterdir()) and _paper_in(path) != paper:
        raise InvalidInput(
            f"--out {path}: holds other files; expected a new or empty folder, or one that "
            f"'headway reproduce {paper}' wrote"
        )
    return path


def read_only(text: str | None, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts that `--only` names, all without it.

    Raises:
        InvalidInput: there is no such part.
    """
    if text is None:
        return parts
    if text not in parts:
        raise InvalidInput(f"--only '{text}': no such part; {nearest(text, parts)}")
    return (text,)


def check_json(target: Path | None, folder: Path) -> None:
    """Refuse to write the JSON among the results, which would take each other's place.

    Raises:
        InvalidInput: the file lies in the folder.
    """
    if target is not None and target != STANDARD_OUTPUT and target.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(f"--json {target}: lies in --out {folder}, which has a {FINDINGS}; choose another file")


@contextmanager
def resumable(folder: Path, paper: str) -> Iterator[None]:
    """Mark the folder as the paper's, while its study runs.

    At Ctrl-C before there is anything to show it ends with a line: how many runs are kept, and how to go on.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        write_whole(folder / WHOSE, paper.encode())
    except OSError as error:
        raise InvalidInput(f"cannot write {folder}: {error.strerror or error}") from None
    try:
        yield
    except InvalidInput:
        if {file.name for file in folder.iterdir()} == {WHOSE}:
            (folder / WHOSE).unlink()
            if made:
                folder.rmdir()
        raise
    except KeyboardInterrupt:
        if kept := _kept(folder):
            fail(f"interrupted before there was anything to show: {kept}")
        else:
            fail("interrupted before any run was finished; no results were written")
        raise typer.Exit(INTERRUPTED) from None


def _kept(folder: Path) -> str:
    """Say how many runs are kept; empty where none is."""
    count = len(finished_keys(folder / KEPT))
    runs = f"{count:,} finished {'run is' if count == 1 else 'runs are'} kept in {folder / KEPT}"
    return f"{runs}; the same command goes on" if count else ""


def deliver(found: Reproduction, folder: Path, json: Path | None) -> None:
    """Write everything, and print the findings unless the JSON goes to standard output.

    Ends with exit status 130 where the results are partial.
    """
    # altair takes as long to import as everything else together: only who draws pays for it.
    from headway.report.reproduction import write_reproduction  # noqa: PLC0415

    with interruptible(WHILE_WRITING):
        if json is not None:
            write_json(found.to_dict(), json)
        with writing_to(folder):
            page = write_reproduction(found, folder)
        if json != STANDARD_OUTPUT:
            print_reproduction(found, out)
        err.print(f"wrote {page}, with figures and data beside it", markup=False)
    if found.partial:
        fail(f"interrupted: these results are partial. {_kept(folder)}".rstrip(". "))
        raise typer.Exit(INTERRUPTED)


def _paper_in(folder: Path) -> str | None:
    """Return the paper whose results a folder holds; None where it holds none."""
    try:
        return (folder / WHOSE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
