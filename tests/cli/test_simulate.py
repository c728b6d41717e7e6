"""headway simulate: one policy, with everything that compare offers."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.cli.conftest import Headway


def test_one_policy_fcfs_by_default(headway: Headway, trace: Path):
    result = headway("simulate", trace)
    assert result.status == 0
    assert "What does fcfs do to trace.csv" in result.out
    assert "against" not in result.out


def test_it_is_compare_with_one_policy(headway: Headway, trace: Path):
    one = headway("simulate", trace, "--policy", "qba(k=2)", "--engine", "qba-paper", "--json", "-").json
    many = headway("compare", trace, "--policy", "qba(k=2)", "--engine", "qba-paper", "--json", "-").json
    for data in (one, many):
        del data["settings"]["command"]
        del data["policies"][0]["wall_seconds"]
    assert one == many
    assert one["paired"] == []


def test_every_option_reaches_the_run(headway: Headway, folder: Path):
    asked = ["simulate", "qba-paper", "--policy", "psf", "--limit", 50, "--rate", 4, "--scale-lengths", 0.5]
    result = headway(
        *asked, "--seed", 2, "--seeds", 2, "--epsilon-sl", 1, "--requests", "r.csv", "--html", "r.html", "--json", "-"
    )
    rows = pl.read_csv("r.csv")
    assert rows["seed"].unique().sort().to_list() == [2, 3]
    assert set(rows["predicted"]) == {"long"}
    settings = result.json["settings"]
    assert (settings["requests"], settings["length_factor"], settings["epsilon_sl"]) == (50, 0.5, 1.0)
    assert (folder / "r.html").is_file()


def test_a_policy_can_be_given_once(headway: Headway, trace: Path):
    last = headway("simulate", trace, "--policy", "psf", "--policy", "aa", "--json", "-").json
    assert [entry["policy"] for entry in last["policies"]] == ["aa"]
