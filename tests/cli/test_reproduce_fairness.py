"""headway reproduce fairness: its files, and how it goes on where it was ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headway.cli import reproduce_fairness
from headway.studies.cells import Cell
from headway.studies.papers import deadlines_and_fairness
from tests.cli.conftest import Headway

ASKED = ("reproduce", "fairness", "--quick", "--only", "charges", "--out", "out")


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce_fairness, "reproduce", partial(deadlines_and_fairness.reproduce, workers=1))


def interrupting(at: int) -> Callable[..., Any]:
    run, done = Cell.run, iter(range(10**9))
    return lambda *given: run(*given) if next(done) < at else interrupt()


def interrupt() -> None:
    raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(Cell, "run", interrupting(0))
        nothing = headway(*ASKED)
    assert nothing.status == 130
    assert nothing.err == "headway: interrupted before any run was finished; no results were written\n"
    with monkeypatch.context() as patch:
        patch.setattr(Cell, "run", interrupting(1))
        early = headway(*ASKED)
    assert early.status == 130
    assert early.err == (
        "headway: interrupted before there was anything to show: 1 finished run is kept in out/cells; "
        "the same command goes on\n"
    )
    whole = headway(*ASKED)
    assert whole.status == 0
    told = json.loads((folder / "out/findings.json").read_text())
    assert told["partial"] is False
    monkeypatch.setattr(Cell, "run", lambda *_: pytest.fail("it was run already"))
    assert headway(*ASKED).out == whole.out


def test_runs_that_were_kept_say_the_same(tmp_path: Path):
    fresh, kept = (
        deadlines_and_fairness.reproduce(["charges", "tokens"], quick=True, workers=1, keep=keep)
        for keep in (None, tmp_path / "cells")
    )
    assert kept.findings == fresh.findings
    assert all(one.data.equals(other.data) for one, other in zip(kept.sheets, fresh.sheets, strict=True))
