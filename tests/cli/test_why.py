"""headway why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import HEAD, Headway

TENANTS = "arrival,prompt_tokens,output_tokens,tenant,id\n"
ROWS = "".join(
    f"{row / 200},{200 + 37 * (row % 9)},{200 + row % 5},{'noisy' if row % 4 else 'quiet'},r{row}\n"
    for row in range(200)
)


@pytest.fixture
def trace(folder: Path) -> str:
    (folder / "t.csv").write_text(TENANTS + ROWS)
    return "t.csv"


@pytest.fixture
def journal(headway: Headway, trace: str) -> str:
    asked = ["--policy", "fcfs", "--policy", "fair-share", "--engine", "qba-paper", "--memory", "watermark(level=0.9)"]
    result = headway("compare", trace, *asked, "--journal", "j.parquet")
    assert result.status == 0, result.err
    assert result.err.splitlines()[-1] == "wrote j.parquet"
    return "j.parquet"


def test_the_answer_comes_first_then_where_the_time_went(headway: Headway, journal: str):
    result = headway("why", journal, "r150", "--policy", "fcfs")
    assert result.status == 0
    assert result.words.startswith("Request r150 of tenant noisy waited ")
    for text in ("under fcfs", "behind", "by", "seconds", "share", "started meanwhile", "came later"):
        assert text in result.words
    assert result.err == ""


def test_policies_stand_side_by_side(headway: Headway, journal: str):
    result = headway("why", journal, "r150")
    assert "under fcfs" in result.words
    assert "under fair-share" in result.words
    assert "the whole wait" in result.words


def test_parts_add_up_and_shares_too(headway: Headway, journal: str):
    data = headway("why", journal, "r150", "--json", "-").json
    assert data["request"] == "r150"
    assert [told["policy"] for told in data["policies"]] == ["fcfs", "fair-share"]
    for told in data["policies"]:
        wait = told["waits"][0]
        assert (wait["kind"], wait["since"]) == ("start", 0.0)
        assert sum(part["seconds"] for part in wait["parts"]) == wait["seconds"] == told["start"] - told["arrival"]
        assert all(part["seconds"] > 0 for part in wait["parts"])


def test_json_to_a_file_prints_too(headway: Headway, journal: str, folder: Path):
    result = headway("why", journal, "r3", "--json", "why.json")
    assert result.err.splitlines() == ["wrote why.json"]
    assert json.loads((folder / "why.json").read_text())["request"] == "r3"
    assert "Request r3" in result.out


def test_simulate_and_seeds(headway: Headway):
    made = headway("simulate", "qba-paper(n=80)", "--policy", "qba", "--journal", "j.parquet")
    assert made.status == 0
    assert "under qba" in headway("why", "j.parquet", "79").words
    headway("compare", "qba-paper(n=80)", "--seeds", 2, "--seed", 4, "--policy", "fcfs", "--journal", "j.parquet")
    waits = [headway("why", "j.parquet", "79", "--seed", seed, "--json", "-").json["policies"] for seed in (4, 5)]
    assert [told["seed"] for policies in waits for told in policies] == [4, 5]
    assert "it has 4, 5" in headway("why", "j.parquet", "79", "--seed", 6).refusal()


def test_evicted_and_held_requests_have_waits_of_their_own(headway: Headway, folder: Path):
    (folder / "small.toml").write_text(
        'token_budget = 64\nmax_sequences = 8\nkv_tokens = 400\n[cost]\nkind = "linear"\nc0 = 0.01\nprefill = 1e-4\n'
        "decode = 1e-4\n"
    )
    (folder / "t.csv").write_text(HEAD + "".join(f"{row / 100},30,90\n" for row in range(20)))
    asked = ["simulate", "t.csv", "--engine", "small.toml", "--journal", "j.parquet"]
    kinds: set[str] = set()
    for more in (["--memory", "watermark(level=1, charge=prompt)"], ["--pools", 0.95]):
        headway(*asked, *more)
        for row in range(20):
            (told,) = headway("why", "j.parquet", row, "--json", "-").json["policies"]
            kinds |= {wait["kind"] for wait in told["waits"]}
            text = headway("why", "j.parquet", row).words
            assert ("was evicted" in text) == any(wait["kind"] == "evicted" for wait in told["waits"])
            assert ("with its prompt filled it waited" in text) == any(wait["kind"] == "held" for wait in told["waits"])
    assert kinds == {"start", "evicted", "held"}


def test_off_by_default(headway: Headway, trace: str, folder: Path):
    headway("simulate", trace, "--json", "a.json", "--requests", "rows.parquet")
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "rows.parquet", "t.csv"]
    assert "was written without a journal" in headway("why", "a.json", "r1").refusal()
    assert "is a table without a journal" in headway("why", "rows.parquet", "r1").refusal()
    assert "is no journal" in headway("why", trace, "r1").refusal()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["nope.parquet", "r1"], "cannot read nope.parquet: No such file or directory"),
        ([".", "r1"], "cannot read .: Is a directory"),
        (["j.parquet", "x1"], "no request has the id 'x1'; there are 200, the first are r0, r1, r2"),
        (["j.parquet", "r1", "--policy", "fcsf"], "--policy fcsf: not in this file; did you mean 'fcfs'?"),
        (["j.parquet", "r1", "--seed", 3], "--seed 3: not in this file; it has 0"),
        (["j.parquet", "r1", "--json", "j.parquet"], "is an input of this run and would be lost"),
    ],
)
def test_bad_input_is_one_line(headway: Headway, journal: str, asked: list[object], said: str):
    assert said in headway("why", *asked).refusal()


def test_a_journal_is_parquet(headway: Headway, trace: str):
    line = headway("simulate", trace, "--journal", "j.csv").refusal()
    assert line == "--journal j.csv: expected a file that ends in .parquet"
