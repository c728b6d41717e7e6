"""sweep: any grid of workloads, policies, engines and seeds, resumed where it was ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from headway.core.counted import IS, counted
from headway.core.errors import HeadwayError
from headway.core.spec import whole
from headway.studies.cells import finished
from headway.studies.grid import Plan, plan_of, read_plan
from headway.studies.result_store import RESULTS, ResultStore, open_store

Progress = Callable[[int, int], None]
"""Told how many cells are finished, of how many."""


@dataclass(frozen=True)
class Swept:
    """What a sweep came to.

    Attributes:
        frame: a row a finished cell, in the order of the plan: `key`, `headway` (the version), the settings, and the
            figures by their path in `--json`, as in `wait.p99`.
        results: the file that holds the same rows, and those of earlier sweeps into the folder.
        cells: that were asked for.
        computed: that were run now; the others were there.
        interrupted: Ctrl-C ended it.
        warnings: what was wrong in the folder, a sentence each.
    """

    frame: pl.DataFrame
    results: Path
    cells: int
    computed: int
    interrupted: bool
    warnings: tuple[str, ...]


def sweep(
    grid: Mapping[str, Any] | str | Path,
    out: str | Path,
    *,
    workers: int | None = None,
    ray: str | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Run every cell of a grid whose row is not in the folder yet; return a row a cell.

    Rows are on the disk as soon as their cells are finished: what ends the sweep ends that cell's work alone, and the
    same call goes on. A row is used again where everything that decides its figures is as it was.

    Args:
        grid: a sweep file, or its keys: each a value or a list of values. A workload may also be a trace or a tenants
            file, an engine an `EngineProfile`, a policy the class of an own order.
        out: the folder for the results, made if it is not there.
        workers: processes; by default one a core. With one, everything runs in this process.
        ray: address of a Ray cluster that runs the cells instead (needs the extra `ray`).
        progress: told how many cells are finished, of how many.

    Returns:
        `key`, `headway` (the version), the settings, and the figures by their path in `--json`, as in `wait.p99`: the
        cells in their order, seed by seed.

    Raises:
        InvalidInput: a key or value of the grid is wrong, or the folder cannot be used.
        HeadwayError: a process was ended from outside; what was finished before is kept.
        KeyboardInterrupt: Ctrl-C; what was finished before is kept.
    """
    plan = plan_of(grid) if isinstance(grid, Mapping) else read_plan(grid)
    swept = run_plan(plan, Path(out), workers=workers, ray=ray, progress=progress)
    if swept.interrupted:
        raise KeyboardInterrupt
    return swept.frame


def run_plan(
    plan: Plan, out: Path, *, workers: int | None = None, ray: str | None = None, progress: Progress | None = None
) -> Swept:
    """Run what is missing of a plan; see `sweep`. Ctrl-C is told in what it returns.

    Raises:
        InvalidInput, HeadwayError: as `sweep`.
    """
    processes = None if workers is None else whole("workers", workers, 1)
    with open_store(out) as store:
        before = len(store.known)
        try:
            interrupted = _run_missing(plan, store, processes, ray, progress)
            frame = store.fold(plan.cells)
        except HeadwayError as error:
            there = sum(planned.key in store.known for planned in plan.cells)
            if not there:
                raise
            kept = f"{there:,} of {counted(len(plan.cells), 'cell', IS)} finished and kept in {out}"
            raise type(error)(f"{error}. {kept}; the same command goes on") from None
        return Swept(
            frame=frame,
            results=out / RESULTS,
            cells=len(plan.cells),
            computed=len(store.known) - before,
            interrupted=interrupted,
            warnings=tuple(store.warnings),
        )


def _run_missing(
    plan: Plan, store: ResultStore, workers: int | None, ray: str | None, progress: Progress | None
) -> bool:
    """Run the cells whose rows are not there; return whether Ctrl-C ended it."""
    missing = [planned for planned in plan.cells if planned.key not in store.known]
    total = len(plan.cells)
    done = total - len(missing)
    if progress is not None:
        progress(done, total)
    try:
        with closing(finished([planned.cell for planned in missing], workers=workers, ray=ray)) as rows:
            for place, row in rows:
                store.add(missing[place], row)
                done += 1
                if progress is not None:
                    progress(done, total)
    except KeyboardInterrupt:
        return True
    return False
