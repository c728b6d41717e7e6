"""Many runs on many processes: a cell is one run as data, and becomes one row of figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import polars as pl

from headway.core.engine import EngineProfile
from headway.measure.flat import figures
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.simulate.engine import STEADY_AFTER
from headway.simulate.run import simulate
from headway.studies.own_code import told_in_a_line
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
        """Run it on the requests of its source and seed; return its figures, by their path in `--json` as a rule.

        Raises:
            InvalidInput: it cannot be what it says, or its order is an own one and raised something.
            KeyboardInterrupt: Ctrl-C; there are no figures of half a run.
        """
        with told_in_a_line([self.policy.order_spec] if ":" in self.policy.order_spec else []):
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
        if record.partial:
            raise KeyboardInterrupt
        return self.measure(record, self.sla)


class Drawn:
    """The requests of cells, drawn once for those of the same source and seed that follow each other."""

    def __init__(self) -> None:
        self._last: tuple[Source, int, Trace] | None = None

    def of(self, cell: Cell) -> Trace:
        """Return a cell's requests."""
        if self._last is None or self._last[0] is not cell.source or self._last[1] != cell.seed:
            self._last = cell.source, cell.seed, cell.source.requests(cell.seed)
        return self._last[2]


def run_cells(
    cells: Sequence[Cell],
    *,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
    each: Callable[[int, Row], None] | None = None,
) -> pl.DataFrame:
    """Run every cell; return a row of figures each, in their order, with the cell's place in column `cell`.

    Neighbours of the same source and seed share their requests, which every process draws once.

    Args:
        cells: what to run.
        workers: processes; by default one a core. With one, everything runs in this process.
        progress: told now and then the share that is done, in 0..1.
        each: given every row as it comes, in no order.

    Raises:
        InvalidInput: a cell cannot be what it says.
        HeadwayError: a process was ended from outside; what was computed was given to `each`.
        KeyboardInterrupt: Ctrl-C; what was computed was given to `each`.
    """
    rows: dict[int, Row] = {}
    with closing(finished(cells, workers=workers)) as made:
        for place, row in made:
            rows[place] = row
            if each is not None:
                each(place, row)
            if progress is not None:
                progress(len(rows) / len(cells))
    return table(rows)


def finished(
    cells: Sequence[Cell], *, workers: int | None = None, ray: str | None = None
) -> Generator[tuple[int, Row]]:
    """Run every cell; yield its place and its row as soon as it is finished, in no order.

    Args:
        cells: what to run.
        workers: processes on this machine; by default one a core. With one, everything runs in this process.
        ray: address of a Ray cluster that runs them instead.

    Raises:
        InvalidInput, HeadwayError, KeyboardInterrupt: as `run_cells`.
    """
    processes = min(workers or os.cpu_count() or 1, len(cells))
    if ray is not None and cells:
        from headway.studies.on_ray import finished_on_ray  # noqa: PLC0415 - an extra

        yield from finished_on_ray(cells, ray)
    elif processes > 1:
        from headway.studies.pool import finished_in_pool  # noqa: PLC0415 - the pool's workers import this module

        yield from finished_in_pool(cells, processes)
    else:
        drawn = Drawn()
        for place, cell in enumerate(cells):
            yield place, cell.run(drawn.of(cell))


def table(rows: Mapping[int, Row]) -> pl.DataFrame:
    """Return rows of figures as a frame, a figure that a row lacks as null, in the order of their places."""
    ordered = sorted(rows.items())
    names = list(dict.fromkeys(name for _, row in ordered for name in row))
    columns = {name: pl.Series(name, [row.get(name) for _, row in ordered], dtype=pl.Float64) for name in names}
    return pl.DataFrame({"cell": pl.Series([place for place, _ in ordered], dtype=pl.Int64), **columns})
