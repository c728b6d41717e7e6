"""What depends on where it is printed: width, progress, characters."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from headway.cli import console
from tests.cli.conftest import Headway


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None, highlight=False)


def shown(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("seeds", [1, 2])
def test_no_figure_is_cut_at_any_width(headway: Headway, monkeypatch: pytest.MonkeyPatch, width: int, seeds: int):
    screen = terminal(width)
    monkeypatch.setattr("headway.cli.compare.out", screen)
    asked = ["--limit", 60, "--seeds", seeds, "--policy", "qba(k=3, refused=oldest-that-fits)", "--policy", "fcfs"]
    assert headway("compare", "qba-paper", *asked).status == 0
    text = shown(screen)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for head in ("Mean", "P50", "P90", "P99", "Max", "Finished", "Rejected", "KV peak"):
        assert head in text


@pytest.mark.parametrize("command", ["policies", "engines", "workloads"])
def test_lists_wrap_on_a_narrow_terminal(headway: Headway, monkeypatch: pytest.MonkeyPatch, command: str):
    screen = terminal(70)
    monkeypatch.setattr(f"headway.cli.{command}.out", screen)
    headway(command)
    assert "…" not in shown(screen)


def test_a_bar_on_a_terminal_once_it_takes_long(monkeypatch: pytest.MonkeyPatch):
    screen = terminal(80)
    monkeypatch.setattr(console, "err", screen)
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.progress_bar("simulating") as progress:
        progress(0.5)
    assert "simulating" in shown(screen)
    assert " 50%" in shown(screen)


def test_no_bar_for_what_is_over_in_a_second(monkeypatch: pytest.MonkeyPatch):
    screen = terminal(80)
    monkeypatch.setattr(console, "err", screen)
    with console.progress_bar("simulating") as progress:
        progress(0.5)
    assert shown(screen) == ""


def test_no_bar_where_there_is_no_terminal(headway: Headway, trace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    result = headway("compare", trace)
    assert result.err == ""
    assert not re.search(r"\x1b", result.out)
