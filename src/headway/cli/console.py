"""What every command prints with: stderr for people's messages, progress, a clear line for a wrong value."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from headway.core.errors import InvalidInput
from headway.report.files import write_whole

PIPED_WIDTH = 120  # columns, where there is no terminal to ask

out = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
err = Console(stderr=True, highlight=False)

STANDARD_OUTPUT = Path("-")


def fail(message: str) -> None:
    """Print one line to stderr, whatever the message holds."""
    sys.stderr.write("headway: " + " ".join(message.split()) + "\n")


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr while the block runs, none when that is no terminal; yields a setter of the share done."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    with bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def check_output(path: Path | None, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse an output path that cannot be written, before any work is done.

    Raises:
        InvalidInput: the folder is missing, the path is a folder, cannot be written or has another suffix.
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidInput(f"{path}: expected a file that ends in {' or '.join(suffixes)}")
    if path.is_dir():
        raise InvalidInput(f"{path}: is a folder; expected a file to write")
    if not path.resolve().parent.is_dir():
        raise InvalidInput(f"{path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise InvalidInput(f"{path}: cannot be written; permission denied")


def write_json(data: dict[str, Any], path: Path) -> None:
    """Write an object to a file, whole or not at all; `-` is standard output."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    write_whole(path, text.encode())
