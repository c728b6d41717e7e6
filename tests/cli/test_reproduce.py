"""headway reproduce: what it asks for, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.cli import reproduce_qba
from headway.measure.reproduction import Reproduction
from headway.studies.cells import Cell
from headway.studies.papers import quota_based_aging
from headway.workload import workload, write_trace
from tests.cli.conftest import Headway


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all that is tested here."""
    monkeypatch.setattr("headway.report.reproduction.figure_pictures", lambda _: (b"png", b"svg"))


@pytest.fixture(autouse=True)
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds instead of minutes: two seeds of short runs in this process."""

    def reproduce(parts: tuple[str, ...], *, seeds: range, **given: Any) -> Reproduction:
        return quota_based_aging.reproduce(parts, seeds=seeds[:2], requests=60, workers=1, **given)

    monkeypatch.setattr(reproduce_qba, "reproduce", reproduce)


def test_it_writes_page_figures_data_and_findings(headway: Headway, folder: Path):
    result = headway("reproduce", "qba", "--quick", "--only", "fig5", "--out", "out")
    assert result.status == 0
    assert result.out.startswith("Does it come out? Quota-Based Aging")
    assert "were not run." in result.words
    assert (
        result.words.index("reported")
        < result.words.index("Not run,")
        < result.words.index("IV-B, Fig. 2: P99 wait (7)")
    )
    assert "does not hold here" in result.words or "holds" in result.words
    assert result.err == "wrote out/index.html, with figures and data beside it\n"
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"index.html", "findings.json", "figures", "cells", ".paper"}
    for end in ("png", "svg", "csv", "parquet"):
        assert (folder / f"out/figures/fig5-long.{end}").stat().st_size > 100
    told = json.loads((folder / "out/findings.json").read_text())
    assert told["settings"]["command"] == "headway reproduce qba --quick --only fig5 --out out"
    assert told["partial"] is False


@pytest.mark.usefixtures("no_pictures")
def test_json_goes_to_standard_output_and_nothing_else(headway: Headway, folder: Path):
    result = headway("reproduce", "qba", "--only", "fig5", "--out", "out", "--json", "-")
    assert result.json == json.loads((folder / "out/findings.json").read_text())


def test_table_2_of_a_trace(headway: Headway, folder: Path):
    write_trace(workload("lognormal(n=2000, rate=7)"), folder / "t.csv")
    result = headway("reproduce", "qba", "--only", "table2", "--trace", "t.csv", "--out", "out")
    assert result.status == 0
    assert "of 100 windows" in result.words
    assert (folder / "out/tables/table2.csv").read_text().startswith("policy,")


@pytest.mark.usefixtures("no_pictures")
def test_its_own_folder_is_written_again_and_finished_runs_are_not_repeated(
    headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = ("reproduce", "qba", "--quick", "--only", "fig5", "--out", "out", "--json", "-")
    first = headway(*asked).json
    monkeypatch.setattr(Cell, "run", lambda *_: pytest.fail("it was run already"))
    assert headway(*asked).json == first
    (folder / "out/findings.json").unlink()
    (folder / "out/index.html").unlink()
    for path in (folder / "out/figures").iterdir():
        path.unlink()
    (folder / "out/figures").rmdir()
    assert headway(*asked).json == first  # as an interruption leaves it


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--out is missing; give a new folder"),
        (["--out", ""], "--out needs a folder, got ''"),
        (["--out", "file"], "--out file: is a file; expected a folder"),
        (["--out", "no/where"], "--out no/where: the folder no does not exist; make it first"),
        (["--out", "mine"], "--out mine: holds other files; expected a new or empty folder"),
        (["--out", "other"], "--out other: holds other files"),
        (["--out", "new", "--only", "fig22"], "--only 'fig22': no such part; did you mean 'fig2'? Known: fig2, fig3"),
        (["--out", "new", "--only", "table2"], "table2 alone needs a trace: give one with --trace FILE"),
        (["--out", "new", "--trace", "none.csv"], "none.csv"),
        (
            ["--out", "new", "--trace", "short.csv"],
            "short.csv: 30 requests; expected at least 2,000",
        ),
        (["--out", "new", "--json", "short.csv", "--trace", "short.csv"], "is an input of this run"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(headway: Headway, folder: Path, arguments: list[str], said: str):
    (folder / "file").write_text("")
    (folder / "mine").mkdir()
    (folder / "mine/findings.json").write_text('{"paper": 3}')
    (folder / "other").mkdir()
    (folder / "other/findings.json").write_text('{"paper": "past-future"}')
    write_trace(workload("lognormal(n=30, rate=7)"), folder / "short.csv")
    before = sorted(folder.rglob("*"))
    assert said in headway("reproduce", "qba", *arguments).refusal()
    assert sorted(folder.rglob("*")) == before


def test_without_a_paper_it_lists_them(headway: Headway):
    result = headway("reproduce")
    assert result.status == 2
    assert " qba " in result.out
    assert result.err == "headway: which paper? See the list above\n"
    assert "No such command 'qbaa'" in headway("reproduce", "qbaa").refusal()


def test_each_paper_explains_itself(headway: Headway):
    help_of = headway("reproduce", "qba", "--help")
    assert (help_of.status, help_of.err) == (0, "")
    assert "Example: headway reproduce qba" in help_of.out
    assert "--json" in help_of.out


def interrupting(at: int) -> Callable[..., Any]:
    run, done = Cell.run, iter(range(10**9))
    return lambda *given: run(*given) if next(done) < at else interrupt()


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("no_pictures")
def test_ctrl_c_shows_whole_seeds_and_the_next_run_goes_on(
    headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = ("reproduce", "qba", "--only", "fig5", "--out", "out")
    with monkeypatch.context() as patch:
        patch.setattr(Cell, "run", interrupting(5))
        early = headway(*asked)
    assert early.status == 130
    assert early.err == (
        "headway: interrupted before there was anything to show: 5 finished runs are kept in out/cells; "
        "the same command goes on\n"
    )
    assert {path.name for path in (folder / "out").iterdir()} == {"cells", ".paper"}
    with monkeypatch.context() as patch:
        patch.setattr(Cell, "run", interrupting(25))
        late = headway(*asked)
    assert late.status == 130
    assert re.search(
        r"interrupted: these results are partial. \d+ finished runs are kept in out/cells; the same command goes on\n$",
        late.err,
    )
    assert re.search("Interrupted after [1-9] of .* seeds: .*alone", late.words[: late.words.index("Of so few")])
    assert late.words.index("Of so few") < late.words.index("claims")
    assert json.loads((folder / "out/findings.json").read_text())["partial"] is True
    assert "partial" in (folder / "out/index.html").read_text()
    whole = headway(*asked)
    assert whole.status == 0
    assert json.loads((folder / "out/findings.json").read_text())["partial"] is False


@pytest.mark.usefixtures("no_pictures")
def test_a_full_disk_is_one_line(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    def full(path: Path, _: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("headway.report.reproduction.write_whole", full)
    line = headway("reproduce", "qba", "--only", "fig5", "--out", "out").refusal()
    assert line == "cannot write out: No space left on device"


def test_a_folder_of_another_reproduction_is_refused_from_the_first_run_on(headway: Headway, folder: Path):
    (folder / "out/cells").mkdir(parents=True)
    (folder / "out/.paper").write_text("fairness")
    result = headway("reproduce", "qba", "--only", "fig5", "--out", "out")
    assert result.status == 2
    assert "holds other files; expected a new or empty folder" in result.err


def test_json_among_the_results_is_refused(headway: Headway, folder: Path):
    (folder / "out").mkdir()
    result = headway("reproduce", "qba", "--only", "fig5", "--out", "out", "--json", "out/index.html")
    assert result.status == 2
    assert "--json out/index.html: lies in --out out" in result.err
    assert not any((folder / "out").iterdir())


def test_what_is_refused_leaves_no_folder(headway: Headway, folder: Path):
    result = headway("reproduce", "qba", "--only", "table2", "--out", "out")
    assert result.status == 2
    assert not (folder / "out").exists()
