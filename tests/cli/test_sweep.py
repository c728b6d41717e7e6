"""`headway sweep`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from headway.cli import sweep_progress
from headway.cli.sweep_progress import duration_text, progress_text
from tests.cli.conftest import Headway
from tests.cli.test_terminal import shown, terminal

SWEEP = """
workload = "trace.csv"
policy = ["fcfs", "shortest-work"]
engine = ["qba-paper", "a100-llama3-8b"]
memory = "past-future"
rate = [20, 40]
sla = "ttft=1"
seeds = 2
"""


@pytest.fixture(autouse=True)
def _no_lines_however_slow_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_progress, "EVERY", float("inf"))


@pytest.fixture
def file(folder: Path, trace: Path) -> Path:
    path = folder / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def swept(headway: Headway, file: Path) -> None:
    assert headway("sweep", file, "--out", "out", "--workers", 1).status == 0


def test_the_table_and_the_rows(headway: Headway, file: Path):
    result = headway("sweep", file, "--out", "out", "--workers", 1)
    assert result.status == 0
    assert result.err == "16 cells, 16 computed now: out/results.parquet\n"
    assert "Sweep of trace.csv" in result.out
    for word in ("rate 20, qba-paper", "shortest-work", "Met %", "tokens/s", "Seeds"):
        assert word in result.out
    frame = pl.read_parquet("out/results.parquet")
    assert frame.height == 16
    assert frame["current"].all()


def test_the_second_time_nothing_is_computed(headway: Headway, file: Path, swept: None):
    before = Path("out/results.parquet").read_bytes()
    result = headway("sweep", file, "--out", "out")
    assert result.err == "16 cells, 0 computed now: out/results.parquet\n"
    assert Path("out/results.parquet").read_bytes() == before


def test_json(headway: Headway, file: Path):
    data = headway("sweep", file, "--out", "out", "--workers", 1, "--json", "-").json
    assert data["settings"]["cells"] == data["settings"]["finished"] == data["settings"]["computed"] == 16
    assert data["settings"]["command"].startswith("headway sweep")
    assert len(data["groups"]) == 8
    frame = pl.read_parquet("out/results.parquet")
    for group in data["groups"]:
        chosen = {name: group["settings"][name] for name in ("policy", "engine", "rate")}
        rows = frame.filter(**chosen)
        assert group["seeds"] == rows["seed"].to_list() == [0, 1]
        assert group["wait"]["p99"] == pytest.approx(rows["wait.p99"].mean())
        low, high = group["wait"]["ci95"]["mean"]
        assert low <= rows["wait.mean"].mean() <= high
        assert group["attainment"] == pytest.approx(rows["sla.attainment"].mean())
    headway("sweep", file, "--out", "out", "--json", "told.json")
    assert json.loads(Path("told.json").read_text())["groups"] == data["groups"]


def test_check_counts_and_runs_nothing(headway: Headway, file: Path):
    result = headway("sweep", file, "--check", "--workers", 2)
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[:5] == [
        "16 cells",
        "  rate: 20, 40",
        "  engine: qba-paper, a100-llama3-8b",
        "  policy: fcfs, shortest-work",
        "  seed: 0, 1",
    ]
    assert re.fullmatch(r"960 requests to run; roughly \d+ s on 2 processes", lines[-1])
    assert not Path("out").exists()


def test_check_computes_no_figures(headway: Headway, file: Path):
    result = headway("sweep", file, "--check", "--json", "-")
    assert result.status == 2
    assert "--check and --json exclude each other" in result.err


def test_check_says_what_is_there(headway: Headway, file: Path, swept: None):
    file.write_text(SWEEP.replace("[20, 40]", f"{list(range(20, 41, 2))}"))
    result = headway("sweep", file, "--check", "--out", "out")
    assert result.out.startswith("88 cells, of which 16 are finished in out\n")
    assert "  rate: 20, 22, 24, 26, 28, 30, 32, 34 and 3 more\n" in result.out
    assert "4,320 requests to run" in result.out
    done = headway("sweep", file, "--out", "out", "--workers", 1)
    assert done.err == "88 cells, 72 computed now: out/results.parquet\n"
    assert "nothing is left to run" in headway("sweep", file, "--check", "--out", "out").out


def test_notes_are_told(headway: Headway, file: Path):
    file.write_text(SWEEP.replace('memory = "past-future"', 'memory = ["past-future", "watermark", "watermark()"]'))
    for options in (["--check"], ["--out", "out", "--workers", 1]):
        result = headway("sweep", file, *options)
        assert "cells are there twice and run once" in result.words
        assert "run with the first seed alone" in result.words


def test_own_orders_lie_beside_the_file_or_here(headway: Headway, folder: Path, trace: Path):
    (folder / "study").mkdir()
    order = "from headway import Order\nclass {}(Order):\n    def key(self, seq):\n        return seq.arrival\n"
    (folder / "study" / "beside.py").write_text(order.format("Beside"))
    (folder / "here.py").write_text(order.format("Here"))
    (folder / "study" / "sweep.toml").write_text(
        'workload = "../trace.csv"\npolicy = ["beside:Beside", "here:Here", "fcfs"]\n'
    )
    data = headway("sweep", "study/sweep.toml", "--out", "out", "--workers", 2, "--json", "-").json
    assert len({group["wait"]["mean"] for group in data["groups"]}) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_an_own_order_that_fails_is_one_line(headway: Headway, folder: Path, trace: Path, workers: int):
    (folder / "failing.py").write_text(
        "from headway import Order\nclass Failing(Order):\n    def key(self, seq):\n        return 1 / 0\n"
    )
    Path("sweep.toml").write_text('workload = "trace.csv"\npolicy = ["failing:Failing", "fcfs"]\n')
    line = headway("sweep", "sweep.toml", "--out", "out", "--workers", workers).refusal()
    assert "own order failing:Failing: ZeroDivisionError: division by zero (failing.py, line 4, in key)" in line


def test_a_damaged_part_is_one_line_and_run_again(headway: Headway, file: Path, swept: None):
    results = Path("out/results.parquet")
    results.write_bytes(results.read_bytes()[:1000])
    result = headway("sweep", file, "--out", "out", "--workers", 1)
    assert result.status == 0
    told = f"{results} is damaged: it is now called {results.name}.damaged, and its cells are run again"
    assert result.err == f"headway: {told}\n16 cells, 16 computed now: {results}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sweep.toml"], "--out is missing: name the folder for the results, as in --out sweep"),
        (["nosuch.toml", "--out", "out"], "cannot read nosuch.toml: No such file or directory"),
        (["sweep.toml", "--out", "trace.csv"], "--out trace.csv: is a file; expected a folder"),
        (["sweep.toml", "--out", ""], "--out needs a folder, got ''"),
        (["sweep.toml", "--out", "out", "--workers", "0"], "--workers must be in [1, 1024], got 0"),
        (["sweep.toml", "--out", "out", "--workers", "2", "--ray", "auto"], "--workers and --ray exclude each other"),
        (["sweep.toml", "--out", "out", "--json", "sweep.toml"], "is an input of this run and would be lost"),
        (["wrong.toml", "--out", "out"], "wrong.toml: unknown key 'polcy'; did you mean 'policy'?"),
        (["own.toml", "--out", "out"], "policy 'mine.py:Mine': give the module and not its file: mine:Mine"),
    ],
)
def test_what_is_wrong_is_one_line(headway: Headway, file: Path, arguments: list[str], told: str):
    Path("wrong.toml").write_text('workload = "qba-paper"\npolcy = "fcfs"\n')
    Path("own.toml").write_text('workload = "qba-paper"\npolicy = "mine.py:Mine"\n')
    assert told in headway("sweep", *arguments).refusal()
    assert not Path("out").exists()


STOP = """
from headway import Order

class Stop(Order):
    asked = 0
    def key(self, seq):
        Stop.asked += 1
        if Stop.asked == 150:
            raise KeyboardInterrupt
        return seq.arrival
"""


@pytest.mark.parametrize("name", ["results.parquet", "parts/x.json"])
def test_json_is_not_written_over_the_results(headway: Headway, file: Path, swept: None, name: str):
    before = (file.parent / "out" / "results.parquet").read_bytes()
    result = headway("sweep", file, "--out", "out", "--json", f"out/{name}")
    assert result.status == 2
    assert "--json" in result.err
    assert (file.parent / "out" / "results.parquet").read_bytes() == before


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(headway: Headway, folder: Path, trace: Path):
    Path("stop.py").write_text(STOP)
    Path("sweep.toml").write_text(
        'workload = "trace.csv"\npolicy = ["fcfs", "stop:Stop"]\nepsilon_sl = 0.1\nseeds = 4\n'
    )
    result = headway("sweep", "sweep.toml", "--out", "out", "--workers", 1, "--json", "told.json")
    assert result.status == 130
    assert result.err.splitlines()[-1] == (
        "headway: interrupted: 5 of 8 cells are finished and kept; the same command goes on"
    )
    assert "Interrupted: 5 of 8 cells are finished" in result.words
    told = json.loads(Path("told.json").read_text())
    assert (told["partial"], told["settings"]["finished"]) == (True, 5)
    again = headway("sweep", "sweep.toml", "--out", "out", "--workers", 1)
    assert (again.status, again.err) == (0, "8 cells, 3 computed now: out/results.parquet\n")


def test_a_line_now_and_then_where_there_is_no_terminal(headway: Headway, file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_progress, "EVERY", 0.0)
    lines = headway("sweep", file, "--out", "out", "--workers", 1).err.splitlines()
    assert lines[0] == "0%: 0 of 16 cells"
    assert lines[8].startswith("50%: 8 of 16 cells, ")
    assert lines[8].endswith(" left")


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    screen = terminal(100)
    monkeypatch.setattr(sweep_progress, "err", screen)
    monkeypatch.setattr(sweep_progress, "PATIENCE", 0.0)
    with sweep_progress.sweep_progress() as progress:
        progress(20, 80)
        progress(40, 80)
    text = shown(screen)
    assert "sweeping" in text
    assert " 50%" in text
    assert "40 of 80 cells" in text
    assert "cells/s" in text


def test_words_of_progress():
    assert progress_text(120, 800, 0, 5.0) == "120 of 800 cells"
    assert progress_text(120, 800, 20, 10.0) == "120 of 800 cells, 2.0 cells/s, 5 min 40 s left"
    told = {0.4: "0 s", 59.6: "1 min 0 s", 59: "59 s", 3599: "59 min 59 s", 7800: "2 h 10 min", 273_600: "3 d 4 h"}
    assert {seconds: duration_text(seconds) for seconds in told} == told
