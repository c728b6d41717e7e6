"""What every command prints and writes with: lines for people on stderr, progress, files whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from headway.core.errors import InvalidInput
from headway.files import write_whole

FAILED, INVALID, INTERRUPTED = 1, 2, 130  # exit statuses
PIPED_WIDTH = 120  # columns, where there is no terminal to ask
PATIENCE = 1.0  # seconds before a progress bar is worth showing

_TERMINAL = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison] - if closed
out = Console(highlight=False, width=None if _TERMINAL else PIPED_WIDTH)
err = Console(stderr=True, highlight=False)

STANDARD_OUTPUT = Path("-")
WHILE_WRITING = "interrupted while writing: what is not named above may be missing, no file is half written"


def fail(message: str) -> None:
    """Print one line to stderr, whatever the message holds."""
    sys.stderr.write("headway: " + " ".join(message.split()) + "\n")


def tolerant_streams() -> None:
    """Let nothing about the streams end the run.

    A terminal or pipe that lacks a character shows a question mark; what a closed stream is told is lost.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until the end
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def flush(*, quietly: bool = False) -> None:
    """Hand everything printed so far to the system, so that its errors come here and not at exit.

    Args:
        quietly: drop what cannot be written: the reader of a pipe is gone, or the disk is full.
    """
    if not quietly:
        sys.stdout.flush()
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr while the block runs, if that is a terminal and it takes longer than a second.

    Yields a setter of the share done, in 0..1.
    """
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
    task = bar.add_task(label, total=1.0)
    show_from = time.monotonic() + PATIENCE

    def update(share: float) -> None:
        bar.update(task, completed=share)
        if not bar.live.is_started and time.monotonic() >= show_from:
            bar.start()

    try:
        yield update
    finally:
        bar.stop()


@contextmanager
def interruptible(line: str = "interrupted; nothing was written") -> Iterator[None]:
    """End with a line at Ctrl-C; by default it is one for the time before there is anything to show."""
    try:
        yield
    except KeyboardInterrupt:
        fail(line)
        raise typer.Exit(INTERRUPTED) from None


def end_if_partial(*, partial: bool) -> None:
    """End with a line where Ctrl-C left only part of the results, once they are shown."""
    if partial:
        fail("interrupted: these results are partial")
        raise typer.Exit(INTERRUPTED)


def write_json(data: dict[str, Any], path: Path) -> None:
    """Write an object to a file, whole or not at all; `-` is standard output."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    with writing(path):
        write_whole(path, text.encode())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about an output file into a line that names it."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from None


def deliver(
    data: Callable[[], dict[str, Any]],
    target: Path | None,
    page: Path | None,
    draw: Callable[[Path], None],
    show: Callable[[], None],
) -> None:
    """Write what was asked for and name it; show the answer unless the JSON goes to standard output.

    Args:
        data: the object for `--json`.
        target: where that goes; None for nowhere.
        page: where the page goes; None for nowhere.
        draw: writes the page.
        show: prints the answer.
    """
    if target is not None:
        write_json(data(), target)
    if page is not None:
        with writing(page):
            draw(page)
    if target != STANDARD_OUTPUT:
        show()
    for path in (target, page):
        if path is not None and path != STANDARD_OUTPUT:
            err.print(f"wrote {path}", markup=False)
