"""How far a sweep has come: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from headway.cli.console import PATIENCE, err
from headway.core.counted import counted
from headway.report.numbers import rate_text

EVERY = 30.0
"""Seconds from one line to the next, where there is no terminal."""


@contextmanager
def sweep_progress() -> Iterator[Callable[[int, int], None]]:
    """Tell on stderr how far it has come while the block runs.

    Yields what is to be told how many cells are finished, of how many; at first those that were there before.
    """
    bar = Progress(
        TextColumn("sweeping"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}"),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    task = bar.add_task("", total=None, text="")
    began = told = time.monotonic()
    before: int | None = None

    def update(done: int, total: int) -> None:
        nonlocal before, told
        now = time.monotonic()
        before = done if before is None else before
        text = progress_text(done, total, done - before, now - began)
        bar.update(task, completed=done, total=total, text=text)
        if err.is_terminal and not bar.live.is_started and now - began >= PATIENCE:
            bar.start()
        if not err.is_terminal and now - told >= EVERY:
            err.print(f"{done / total:.0%}: {text}", markup=False)
            told = now

    try:
        yield update
    finally:
        bar.stop()


def progress_text(done: int, total: int, new: int, seconds: float) -> str:
    """Return `120 of 800 cells, 3.2 cells/s, 3 min 32 s left`.

    Args:
        done: cells that are finished.
        total: cells that there are.
        new: cells that were finished in these seconds.
        seconds: since it began.
    """
    text = f"{done:,} of {counted(total, 'cell')}"
    if not new or seconds <= 0:
        return text
    speed = new / seconds
    return f"{text}, {rate_text(speed)} cells/s, {duration_text((total - done) / speed)} left"


def duration_text(seconds: float) -> str:
    """Return a time that somebody waits, in the two units that matter: `40 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    whole = round(seconds)
    for unit, size, smaller, part in (("d", 86_400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"
