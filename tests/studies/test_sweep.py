"""Sweeps: the figures of single runs, computed once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headway.core.errors import HeadwayError, InvalidInput
from headway.measure.flat import figures
from headway.measure.sla import Sla
from headway.simulate.run import simulate
from headway.studies.cells import Cell
from headway.studies.grid import COLUMNS, plan_of
from headway.studies.result_store import RESULTS, finished_keys
from headway.studies.sweep import run_plan, sweep
from headway.workload import workload, write_trace

TIMED = "wall_seconds"
GRID: dict[str, Any] = {
    "workload": "qba-paper(n=80)",
    "policy": ["fcfs", "qba(k=3)", "tests.studies.orders:Backwards"],
    "rate": [28, 32],
    "sla": "ttft=1",
    "seeds": 2,
}


def run(out: Path, change: dict[str, Any] | None = None, folder: Path | None = None, workers: int = 1) -> Any:
    return run_plan(plan_of(GRID | (change or {}), folder=folder or Path()), out, workers=workers)


def test_a_row_holds_the_figures_of_its_run(tmp_path: Path):
    frame = sweep(GRID, tmp_path, workers=1)
    assert frame.height == 12
    trace = workload("qba-paper(n=80)", 1, rate=32)
    expected = figures(simulate(trace, "qba(k=3)", "qba-paper", seed=1, timeline=False), Sla.parse("ttft=1"))
    row = frame.filter(policy="qba(k=3)", rate=32, seed=1).row(0, named=True)
    figured = {name: value for name, value in expected.items() if value is not None and name != TIMED}
    assert {name: row[name] for name in figured} == figured
    assert not figured.keys() & COLUMNS.keys()  # no setting hides a figure


def test_several_processes_give_what_one_gives(tmp_path: Path):
    one, two = (sweep(GRID, tmp_path / str(workers), workers=workers) for workers in (1, 2))
    assert one.drop(TIMED).equals(two.drop(TIMED))


def test_what_is_finished_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = run(tmp_path)
    monkeypatch.setattr(Cell, "run", None)
    again = run(tmp_path)
    assert (first.computed, again.computed) == (12, 0)
    assert again.frame.equals(first.frame)  # with the seconds that it took


@pytest.mark.parametrize(
    ("change", "computed"),
    [
        ({"policy": ["fcfs", "qba(k=4)", "tests.studies.orders:Backwards"]}, 4),
        ({"rate": [28, 33]}, 6),
        ({"seeds": 3}, 6),
        ({"sla": "ttft=2"}, 12),
        ({"memory": ["prompt-fit(safety=0.7)", "watermark"]}, 12),
        ({"patience": 100}, 12),
        ({"policy": ["fcfs"]}, 0),
    ],
)
def test_a_changed_setting_runs_its_own_cells_only(tmp_path: Path, change: dict[str, Any], computed: int):
    before = run(tmp_path)
    after = run(tmp_path, change)
    assert after.computed == computed
    kept = after.frame.join(before.frame, on="key", how="semi")
    assert kept.height == after.cells - computed
    assert kept[TIMED].is_in(before.frame[TIMED].implode()).all()
    stored = pl.read_parquet(tmp_path / RESULTS)
    assert stored.height == 12 + computed
    assert stored.filter("current").drop("current")["key"].to_list() == after.frame["key"].to_list()


def test_a_changed_trace_runs_its_own_cells_only(tmp_path: Path):
    for name in ("a.csv", "b.csv"):
        write_trace(workload("qba-paper(n=30)", ord(name[0])), tmp_path / name)
    change = {"workload": ["a.csv", "b.csv"], "seeds": 1, "policy": ["fcfs", "psf"]}
    assert run(tmp_path / "out", change, tmp_path).computed == 8
    write_trace(workload("qba-paper(n=30)", 7), tmp_path / "b.csv")
    assert run(tmp_path / "out", change, tmp_path).computed == 4
    (tmp_path / "a.csv").rename(tmp_path / "moved.csv")
    change["workload"] = ["moved.csv", "b.csv"]
    moved = run(tmp_path / "out", change, tmp_path)
    assert moved.computed == 0
    assert set(moved.frame["workload"]) == {"moved.csv", "b.csv"}


def test_a_changed_engine_file_runs_its_own_cells_only(tmp_path: Path):
    text = (Path(__file__).parents[2] / "examples" / "engine.toml").read_text()
    (tmp_path / "mine.toml").write_text(text)
    change = {"engine": ["mine.toml", "qba-paper"], "seeds": 1, "rate": 30, "policy": "fcfs"}
    assert run(tmp_path / "out", change, tmp_path).computed == 2
    (tmp_path / "mine.toml").write_text(text.replace("c0 = 0.008", "c0 = 0.009"))
    assert run(tmp_path / "out", change, tmp_path).computed == 1
    (tmp_path / "mine.toml").write_text(text.replace("c0 = 0.008", "c0 = 0.009   # a note"))
    assert run(tmp_path / "out", change, tmp_path).computed == 0


def test_progress_counts_what_was_there(tmp_path: Path):
    told: list[tuple[int, int]] = []
    run(tmp_path, {"seeds": 1})
    sweep(GRID, tmp_path, workers=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 12) for done in range(6, 13)]


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path):
    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(GRID, tmp_path, workers=1, progress=stop)
    kept = pl.read_parquet(tmp_path / RESULTS)
    assert kept.height == 5
    resumed = run(tmp_path)
    assert (resumed.computed, resumed.interrupted) == (7, False)
    assert resumed.frame.filter(pl.col("key").is_in(kept["key"].implode()))[TIMED].to_list() == kept[TIMED].to_list()
    assert resumed.frame.drop(TIMED).equals(sweep(GRID, tmp_path / "undisturbed", workers=1).drop(TIMED))


def test_a_wrong_cell_ends_it_and_the_finished_ones_stay(tmp_path: Path):
    write_trace(workload("qba-paper(n=5)"), tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("arrival,prompt_tokens,output_tokens\n0,1,1\n0,1,1\n")  # no rate can be given to it
    change = {"workload": ["a.csv", "b.csv"], "rate": 3, "seeds": 1}
    with pytest.raises(InvalidInput, match=r"arrive at once.*\. 3 of 6 cells are finished and kept"):
        run(tmp_path / "out", change, tmp_path)
    assert len(finished_keys(tmp_path / "out")) == 3


def test_a_file_is_a_grid_too(tmp_path: Path):
    (tmp_path / "sweep.toml").write_text('workload = "qba-paper(n=20)"\npolicy = "fcfs"\n')
    assert sweep(tmp_path / "sweep.toml", tmp_path / "out").height == 1


@pytest.mark.parametrize("workers", [0, 1.5])
def test_workers_are_a_whole_number(tmp_path: Path, workers: Any):
    with pytest.raises(InvalidInput, match="workers must be"):
        sweep(GRID, tmp_path, workers=workers)


DEADLY = (
    "import os\nfrom headway import Order\n\n\nclass Deadly(Order):\n    def key(self, seq):\n        os._exit(9)\n"
)


def test_a_process_that_is_killed_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a system does that runs out of memory."""
    (tmp_path / "deadly_order.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(str(tmp_path))
    change = {"policy": ["fcfs", "deadly_order:Deadly"], "rate": 30, "seeds": 1}
    plan = plan_of(GRID | change)
    with pytest.raises(HeadwayError, match="ended from outside") as error:
        run_plan(plan, tmp_path / "out", workers=2)
    assert not isinstance(error.value, InvalidInput)
    assert "\n" not in str(error.value)


def test_without_ray_the_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "headway.studies.on_ray", raising=False)
    with pytest.raises(InvalidInput, match=r"pip install 'headway\[ray\]'"):
        sweep(GRID, tmp_path, ray="auto")
