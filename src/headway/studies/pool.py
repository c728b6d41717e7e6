"""Cells on the processes of one machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from headway.core.errors import HeadwayError
from headway.studies.cells import Cell, Drawn, Row

AHEAD = 2
"""Cells that a process has in hand or in reach, so that it never waits for the next one."""


def finished_in_pool(cells: Sequence[Cell], processes: int) -> Iterator[tuple[int, Row]]:
    """Run every cell on so many processes; yield its place and row when it is finished, in no order.

    Whatever ends this early ends the processes too: at once, not when they have finished what they do.

    Raises:
        HeadwayError: a process was ended from outside.
    """
    others = set(multiprocessing.active_children())
    # Spawned: a forked child would inherit the locks of polars' threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_hold, initargs=(list(cells),))
    whole = False
    try:
        for future in _as_they_end(cells, processes, lambda place: pool.submit(_run, place)):
            yield future.result()
        whole = True
    except BrokenProcessPool:
        raise HeadwayError(
            "a process that computed cells was ended from outside, as a rule by a system that ran out of memory; "
            "take fewer processes or fewer requests"
        ) from None
    finally:
        if not whole:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
        pool.shutdown(cancel_futures=True)


def _as_they_end(
    cells: Sequence[Cell], processes: int, submit: Callable[[int], Future[tuple[int, Row]]]
) -> Iterator[Future[tuple[int, Row]]]:
    running: set[Future[tuple[int, Row]]] = set()
    waiting = iter(range(len(cells)))
    while True:
        with _interrupts_held_back():
            for place in waiting:
                running.add(submit(place))
                if len(running) >= AHEAD * processes:
                    break
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        yield from sorted(done, key=lambda future: future.exception() is not None)  # an error ends it: others first


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let a Ctrl-C wait until the block is over: a process that is started in it never hears of one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_held: list[Cell] = []  # a process's own copy: cells are sent once, not with every task
_drawn = Drawn()


def _hold(cells: list[Cell]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _held[:] = cells
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """End this process when its parent is gone: nobody would ever ask it for anything again."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(place: int) -> tuple[int, Row]:
    cell = _held[place]
    return place, cell.run(_drawn.of(cell))
