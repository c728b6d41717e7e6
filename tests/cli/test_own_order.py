"""An own order by import path, found in the folder where the command runs."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Headway

MODULE = """
from headway import Order

class Largest(Order):
    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight
    def key(self, seq):
        return -self.weight * seq.request.prompt_tokens

class NoKey(Order):
    pass

class Wrong(Order):
    def key(self, seq):
        return 1 / 0

class Demanding(Order):
    def __init__(self, weight):
        super().__init__()

class Stuck(Order):
    def key(self, seq):
        return 0.0
    def candidate(self, now, space, refused):
        return None

not_a_class = 3
"""


@pytest.fixture(autouse=True)
def module(folder: Path) -> None:
    (folder / "mine.py").write_text(MODULE)


def test_it_runs_beside_the_built_in_ones(headway: Headway, trace: Path):
    asked = ["--policy", "mine:Largest", "--policy", "fcfs", "--engine", "qba-paper", "--requests", "rows.csv"]
    data = headway("compare", trace, *asked, "--json", "-").json
    assert [entry["policy"] for entry in data["policies"]] == ["mine:Largest", "fcfs"]
    rows = pl.read_csv("rows.csv").filter(pl.col("arrival") == 0)
    for policy, largest_first in (("mine:Largest", True), ("fcfs", False)):
        started = rows.filter(pl.col("policy") == policy).sort("start", -pl.col("prompt_tokens"))
        assert started["prompt_tokens"].is_sorted(descending=True) is largest_first


def test_its_options_are_given_as_a_spec(headway: Headway, trace: Path):
    for spec in ("mine:Largest(weight=-1)", "mine:Largest(weight=2.5)"):
        assert headway("simulate", trace, "--policy", spec).status == 0


def test_the_current_folder_is_searched_for_own_orders_only(headway: Headway, trace: Path):
    headway("compare", trace)
    assert str(Path.cwd()) not in sys.path[:1]


WRONG = {
    "mine:NoKey": "it has no method key(seq)",
    "mine:Wrong": "ZeroDivisionError: division by zero (mine.py, line 16, in key)",
    "mine:Demanding": "weight",
    "mine:Largest(wight=1)": "no parameter 'wight'; did you mean 'weight'?",
    "mine:Missing": "module 'mine' has no 'Missing'; Known: ",
    "mine:Largst": "module 'mine' has no 'Largst'; did you mean 'Largest'? Known: ",
    "empty:Largest": "module 'empty' has no 'Largest', and no subclass of headway.Order",
    "my_order": "unknown policy 'my_order'; Known: aa,",
    "my_order(k=1)": "Your own is named as module:Class, as in my_order:MyOrder",
    "mine:not_a_class": "expected a subclass of headway.Order",
    "nosuch:Order": "No module named 'nosuch'",
    "mine.py:Largest": "give the module and not its file: mine:Largest",
    "sub/mine.py:Largest": "give the module and not its file: mine:Largest",
    "broken:Order": "SyntaxError",
    "raising:Order": "KeyError: 'x' (raising.py, line 1, in <module>)",
}


@pytest.mark.parametrize(("spec", "said"), WRONG.items(), ids=WRONG)
def test_what_is_wrong_with_it_is_one_line(headway: Headway, folder: Path, trace: Path, spec: str, said: str):
    (folder / "empty.py").write_text("from headway import Order\n")
    (folder / "broken.py").write_text("def\n")
    (folder / "raising.py").write_text("{}['x']\n")
    assert said in headway("compare", trace, "--policy", spec, "--json", "out.json").refusal()
    assert not (folder / "out.json").exists()


def test_an_order_that_never_lets_anybody_start(headway: Headway, trace: Path):
    result = headway("compare", trace, "--policy", "mine:Stuck")
    assert (result.status, result.out, result.err.count("\n")) == (1, "", 1)
    assert "waiting for ever" in result.err


def test_a_bug_of_headway_is_not_blamed_on_it(headway: Headway, trace: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("headway.cli.compare.run_comparison", broken)
    with pytest.raises(ZeroDivisionError):
        headway("compare", trace, "--policy", "mine:Largest")


def test_the_module_of_an_own_order_is_not_written_over(
    headway: Headway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    source = "from headway import Order\n\n\nclass Mine(Order):\n    def key(self, seq):\n        return seq.prompt\n"
    Path("precious.py").write_text(source)
    run = headway("compare", "qba-paper", "--limit", 50, "--policy", "precious:Mine", "--json", "precious.py")
    assert run.status == 2
    assert "is an input of this run" in run.err
    assert Path("precious.py").read_text() == source


def test_a_module_that_exits_is_told(headway: Headway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("leaving.py").write_text("raise SystemExit(5)\n")
    run = headway("compare", "qba-paper", "--limit", 50, "--policy", "leaving:Mine")
    assert run.status == 2
    assert len(run.err.splitlines()) == 1
