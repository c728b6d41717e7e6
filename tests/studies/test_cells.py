"""Cells: the same figures on one process and on several, one row each, in order."""

from __future__ import annotations

import multiprocessing
import pickle

import polars as pl
import pytest

from headway.core.engine import preset
from headway.core.errors import InvalidInput
from headway.measure.flat import figures
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies.cells import Cell, finished, run_cells
from headway.studies.source import Source

SOURCE = Source("qba-paper", limit=200)
TIMED = "wall_seconds"


def grid() -> list[Cell]:
    return [
        Cell(SOURCE, seed, Policy.of(order), preset("qba-paper"))
        for seed in range(3)
        for order in ("fcfs", "qba(k=3)", "tests.studies.orders:Backwards")
    ]


def test_several_processes_give_what_one_gives() -> None:
    assert run_cells(grid(), workers=2).drop(TIMED).equals(run_cells(grid(), workers=1).drop(TIMED))


def test_a_row_holds_the_figures_of_its_run() -> None:
    frame = run_cells(grid(), workers=1)
    assert frame["cell"].to_list() == list(range(9))
    record = simulate(SOURCE.requests(2), "qba(k=3)", "qba-paper", seed=2, timeline=False)
    expected = {name: value for name, value in figures(record).items() if name != TIMED}
    row = frame.filter(pl.col("cell") == 7).row(0, named=True)
    assert {name: row[name] for name in expected} == expected
    assert row["classes.long.wait.p99"] > row["wait.mean"] > 0


def test_each_row_and_the_share_done_are_told_as_they_come() -> None:
    seen: list[int] = []
    shares: list[float] = []
    run_cells(grid(), workers=2, each=lambda place, _: seen.append(place), progress=shares.append)
    assert sorted(seen) == list(range(9))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_what_is_wrong_in_a_worker_is_the_callers_error() -> None:
    cells = [*grid(), Cell(Source("qba-paper(rate=-1)"), 0, Policy.of("fcfs"), preset("qba-paper"))]
    with pytest.raises(InvalidInput, match="rate"):
        run_cells(cells, workers=2)


@pytest.mark.parametrize("order", ["fcfs", "qba(k=3)", "tests.studies.orders:Backwards"])
def test_policies_can_be_sent_to_other_processes(order: str) -> None:
    policy = Policy.of(order, "past-future", "reject")
    copy = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own
    assert copy.name == policy.name
    assert type(copy.order()) is type(policy.order())


def test_whoever_stops_listening_stops_the_processes() -> None:
    cells = [Cell(Source("qba-paper(n=200000)"), seed, Policy.of("fcfs"), preset("qba-paper")) for seed in range(4)]
    rows = finished([*grid(), *cells], workers=2)
    next(rows)
    rows.close()
    assert not multiprocessing.active_children()


def test_an_own_order_that_fails_in_a_process_is_one_line() -> None:
    cells = [Cell(SOURCE, seed, Policy.of("tests.studies.orders:Broken"), preset("qba-paper")) for seed in range(2)]
    with pytest.raises(InvalidInput, match=r"own order .*Broken: ZeroDivisionError: .*orders\.py, line \d+, in key"):
        run_cells(cells, workers=2)
