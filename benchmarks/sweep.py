"""What does a sweep cost beyond its runs, and how does it scale from one process to two?

    python benchmarks/sweep.py [--cells 100] [--requests 5000] [--repeat 3]

Cells of qba-paper under four policies. Beyond its run (`wall_seconds`: the simulation alone) a cell costs the drawing
of its requests, which neighbours share, its figures, and its row on the disk: each is timed by itself, in milliseconds
of CPU, medians. Then the whole sweep on one process, on two, and again where nothing is left to do: seconds of the
clock, best of the repeats, and CPU seconds of all processes, their start included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from headway.measure.flat import figures
from headway.simulate.run import simulate
from headway.studies.grid import Plan, plan_of
from headway.studies.result_store import open_store
from headway.studies.sweep import run_plan

POLICIES = ["fcfs", "psf", "aa", "qba"]


def milliseconds(call: Callable[[], object], times: int = 20) -> float:
    """CPU milliseconds of a call, the median."""
    spent: list[float] = []
    for _ in range(times):
        began = time.process_time()
        call()
        spent.append((time.process_time() - began) * 1e3)
    return statistics.median(spent)


def parts(plan: Plan) -> None:
    """Time what a cell costs beside its simulation, one by one."""
    planned = plan.cells[0]
    cell = planned.cell
    trace = cell.source.requests(cell.seed)
    record = simulate(trace, cell.policy, cell.engine, seed=cell.seed, timeline=False)
    row = figures(record)
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as store:
        told = {
            "requests drawn": milliseconds(lambda: cell.source.requests(cell.seed)),
            "simulation": milliseconds(lambda: simulate(trace, cell.policy, cell.engine, timeline=False), 5),
            "figures": milliseconds(lambda: figures(record)),
            "row on the disk": milliseconds(lambda: store.add(replace(planned, key=str(len(store.known))), row), 200),
            "folding 200 rows": milliseconds(store.fold, 1),
        }
    for name, spent in told.items():
        print(f"{name:20s} {spent:8.2f} ms")


def cpu() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def whole(plan: Plan, workers: int, repeat: int) -> tuple[float, float, float, float]:
    """Return the seconds of a sweep, CPU seconds, its simulations' own, and those of a second sweep there; the best."""
    runs: list[tuple[float, float, float, float]] = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            began, used = time.perf_counter(), cpu()
            frame = run_plan(plan, Path(folder), workers=workers).frame
            spent, used = time.perf_counter() - began, cpu() - used
            began = time.perf_counter()
            run_plan(plan, Path(folder), workers=workers)
            again = time.perf_counter() - began
            runs.append((spent, used, float(frame.select(pl.sum("wall_seconds")).item()), again))
    return min(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=3)
    chosen = parser.parse_args()
    began = time.perf_counter()
    plan = plan_of(
        {"workload": f"qba-paper(n={chosen.requests})", "policy": POLICIES, "seeds": chosen.cells // len(POLICIES)}
    )
    print(f"{len(plan.cells)} cells planned in {time.perf_counter() - began:.2f} s")
    parts(plan)
    one, used, simulated, again = whole(plan, 1, chosen.repeat)
    beyond = (one - simulated) / len(plan.cells) * 1e3
    print(f"one process          {one:8.2f} s, {used:.2f} CPU s; {beyond:.1f} ms a cell beyond its simulation")
    print(f"nothing left to do   {again:8.2f} s")
    two, used_by_two, _, _ = whole(plan, 2, chosen.repeat)
    print(f"two processes        {two:8.2f} s, {used_by_two:.2f} CPU s; {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
