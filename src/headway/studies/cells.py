"""Many runs on many processes: a cell is one run as data, and becomes one row of figures."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context

import polars as pl

from headway.core.engine import EngineProfile
from headway.measure.flat import figures
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.simulate.engine import STEADY_AFTER
from headway.simulate.run import simulate
from headway.studies.source import Source
from headway.workload.trace import Trace

Row = dict[str, float | None]


@dataclass(frozen=True)
class Cell:
    """One run, as data: picklable, and the same figures wherever it is computed.

    Attributes:
        source: where the requests come from.
        seed: of the requests and of the engine's and rules' own randomness.
        policy: what schedules them.
        engine: what runs them.
        sla: the agreement that goodput is judged by; None for none.
        clients: of a closed loop; None takes the arrivals.
        patience: seconds after which a client leaves; None for ever.
        steady_after: finishes after which the steady part begins.
        watch_future: compute what residents' true lengths will require, after every admission round.
        measure: what to keep of the run: a function of a module, so that other processes find it.
    """

    source: Source
    seed: int
    policy: Policy
    engine: EngineProfile
    sla: Sla | None = None
    clients: int | None = None
    patience: float | None = None
    steady_after: int = STEADY_AFTER
    watch_future: bool = False
    measure: Callable[[RunRecord, Sla | None], Row] = figures

    def run(self, trace: Trace) -> Row:
        """Run it on the requests of its source and seed; return its figures, by their path in `--json` as a rule."""
        record = simulate(
            trace,
            self.policy,
            self.engine,
            seed=self.seed,
            timeline=False,
            watch_future=self.watch_future,
            steady_after=self.steady_after,
            clients=self.clients,
            patience=self.patience,
        )
        return self.measure(record, self.sla)


def run_cells(
    cells: Sequence[Cell],
    *,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
    each: Callable[[int, Row], None] | None = None,
) -> pl.DataFrame:
    """Run every cell; return a row of figures each, in their order, with the cell's place in column `cell`.

    Neighbours of the same source and seed share their requests, which are drawn once.

    Args:
        cells: what to run.
        workers: processes; by default one a core. With one, everything runs in this process.
        progress: told now and then the share that is done, in 0..1.
        each: given every row as it comes, in no order.

    Raises:
        InvalidInput: a cell cannot be what it says.
        KeyboardInterrupt: Ctrl-C; what was computed was given to `each`.
    """
    rows: dict[int, Row] = {}
    for done, (place, row) in enumerate(_rows(cells, workers or os.cpu_count() or 1), 1):
        rows[place] = row
        if each is not None:
            each(place, row)
        if progress is not None:
            progress(done / len(cells))
    return table(rows)


def table(rows: Mapping[int, Row]) -> pl.DataFrame:
    """Return rows of figures as a frame, a figure that a row lacks as null, in the order of their places."""
    ordered = sorted(rows.items())
    names = list(dict.fromkeys(name for _, row in ordered for name in row))
    columns = {name: pl.Series(name, [row.get(name) for _, row in ordered], dtype=pl.Float64) for name in names}
    return pl.DataFrame({"cell": pl.Series([place for place, _ in ordered], dtype=pl.Int64), **columns})


def _rows(cells: Sequence[Cell], workers: int) -> Iterator[tuple[int, Row]]:
    groups = _groups(cells)
    if workers == 1 or len(groups) == 1:
        for group in groups:
            yield from _run_group(cells, group)
        return
    # Spawned: a forked child would inherit the locks of polars' threads.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_hold, initargs=(list(cells),))
    try:
        waiting = iter(groups)
        running: set[Future[list[tuple[int, Row]]]] = set()
        for group in waiting:
            running.add(pool.submit(_run_held, group))
            if len(running) < 2 * workers:
                continue
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _groups(cells: Sequence[Cell]) -> list[list[int]]:
    """Return the places of cells that share their requests and follow each other."""
    return [
        list(group)
        for _, group in groupby(range(len(cells)), lambda place: (id(cells[place].source), cells[place].seed))
    ]


def _run_group(cells: Sequence[Cell], places: Sequence[int]) -> Iterator[tuple[int, Row]]:
    trace = cells[places[0]].source.requests(cells[places[0]].seed)
    for place in places:
        yield place, cells[place].run(trace)


_held: list[Cell] = []  # a worker's own copy: cells are sent once, not with every task


def _hold(cells: list[Cell]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _held[:] = cells


def _run_held(places: list[int]) -> list[tuple[int, Row]]:
    return list(_run_group(_held, places))
