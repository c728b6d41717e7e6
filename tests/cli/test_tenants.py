"""--tenants: as a source, beside a trace, and what headway says of tenants."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from headway import Source, read_tenants, read_trace
from headway.report.columns import NO_VALUE
from tests.cli.conftest import HEAD, Headway

TWO = """
duration = 20
[[tenant]]
name = "chat"
weight = 2
class = "interactive"
ttft_slo = 2
arrivals = "poisson(rate=2)"
prompt = "uniform(low=10, high=90)"
output = "uniform(low=5, high=50)"
[[tenant]]
name = "batch"
completion_slo = 600
arrivals = "at-once"
requests = 10
lengths = "lognormal"
"""
PROMISES = '[default]\ncompletion_slo = 60\n[[tenant]]\nname = "a"\nweight = 3\nclass = "x"\nttft_slo = 2\n'


@pytest.fixture
def two(folder: Path) -> Path:
    path = folder / "two.toml"
    path.write_text(TWO)
    return path


@pytest.fixture
def named(folder: Path) -> Path:
    """Twelve requests of the tenants a, b and nobody, and a file that promises."""
    rows = "".join(f"{i},{50 + i},{i + 1},{('a', 'b', '')[i % 3]}\n" for i in range(12))
    (folder / "named.csv").write_text(HEAD.strip() + ",tenant\n" + rows)
    (folder / "promises.toml").write_text(PROMISES)
    return folder / "named.csv"


def without_time(data: dict) -> dict:
    data["settings"].pop("command")
    for entry in data["policies"]:
        entry.pop("wall_seconds")
    return data


@pytest.mark.parametrize("command", ["compare", "simulate"])
def test_a_tenants_file_is_a_source(headway: Headway, two: Path, command: str):
    alone = headway(command, "--tenants", two, "--requests", "rows.csv", "--json", "-")
    assert (alone.status, alone.err) == (0, "wrote rows.csv\n")
    assert alone.json["settings"]["workload"] == "two.toml"
    rows = pl.read_csv("rows.csv").filter(pl.col("policy") == "fcfs")
    drawn = read_tenants(two).draw(0).frame
    same = ["arrival", "prompt_tokens", "output_tokens", "tenant", "class", "ttft_slo", "completion_slo"]
    assert rows.select(same).equals(drawn.select(same))
    assert rows["itl_slo"].null_count() == len(rows)
    for arguments in ([two], [two, "--tenants", two]):
        assert without_time(headway(command, *arguments, "--json", "-").json) == without_time(alone.json)


def test_each_seed_draws_anew_and_the_changes_apply(headway: Headway, two: Path):
    asked = ["--tenants", two, "--policy", "fcfs", "--seeds", 2, "--limit", 20, "--rate", 4, "--scale-lengths", 0.5]
    settings = headway("compare", *asked, "--requests", "rows.parquet", "--json", "-").json["settings"]
    assert (settings["seeds"], settings["requests"]) == ([0, 1], 20)
    assert settings["rate_per_s"] == pytest.approx(4.0)
    first, second = pl.read_parquet("rows.parquet").partition_by("seed")
    assert len(first) == len(second) == 20
    assert not first["arrival"].equals(second["arrival"])
    drawn = read_tenants(two).draw(1).frame.head(20)
    assert second["tenant"].equals(drawn["tenant"])
    assert (second["prompt_tokens"] - drawn["prompt_tokens"] / 2).abs().max() <= 0.5


def test_a_tenants_file_beside_a_trace_promises(headway: Headway, named: Path):
    data = headway("compare", named, "--tenants", "promises.toml", "--requests", "rows.csv", "--json", "-").json
    assert data["settings"]["workload"] == "named.csv"
    assert data["notes"][0] == "promises.toml does not name 'b', 'default': [default] holds there."
    rows = pl.read_csv("rows.csv").filter(pl.col("policy") == "fcfs")
    assert rows["tenant"].to_list() == ["a", "b", "default"] * 4
    assert rows["class"].to_list() == ["x", None, None] * 4
    assert rows["ttft_slo"].to_list() == [2, None, None] * 4
    assert rows["completion_slo"].to_list() == [None, 60, 60] * 4


def test_weights_reach_the_study_by_the_source(two: Path, named: Path):
    drawn = Source(read_tenants(two)).requests(0).frame
    assert dict(drawn.select("tenant", "weight").unique().iter_rows()) == {"chat": 2.0, "batch": None}
    promises = read_tenants(named.with_name("promises.toml"))
    trace = Source(read_trace(named), tenants=promises).requests(0).frame
    assert dict(trace.select(pl.col("tenant").fill_null("-"), "weight").unique().iter_rows()) == {
        "a": 3.0,
        "b": None,
        "-": None,
    }


def test_a_named_workload_is_everybody_elses(headway: Headway, named: Path):
    asked = ["simulate", "qba-paper(n=20)", "--tenants", "promises.toml", "--requests", "rows.csv"]
    assert headway(*asked).status == 0
    assert set(pl.read_csv("rows.csv")["completion_slo"]) == {60}


REFUSED = {
    "no file": (["--tenants", "nosuch.toml"], "cannot read nosuch.toml: No such file or directory"),
    "no name": (["--tenants", ""], "--tenants is empty; expected a tenants file"),
    "a trace": (["--tenants", "named.csv"], "named.csv: not TOML"),
    "nobody sends": (["--tenants", "promises.toml"], "promises.toml: tenant 'a' sends nothing; give it arrivals"),
    "two files": (
        ["two.toml", "--tenants", "promises.toml"],
        "two.toml is a tenants file, and --tenants promises.toml",
    ),
    "strict": (["named.csv", "--tenants", "strict.toml"], "strict.toml: tenant 'b' of named.csv has no [[tenant]]"),
    "negative weight": (["named.csv", "--tenants", "negative.toml"], "negative.toml: tenant 'a': weight must be in"),
    "a past deadline": (["named.csv", "--tenants", "past.toml"], "completion_slo must be in (0, inf), got -1"),
    "over itself": (["--tenants", "two.toml", "--json", "two.toml"], "is an input of this run and would be lost"),
    "over the promises": (["named.csv", "--tenants", "two.toml", "--json", "two.toml"], "is an input of this run"),
    "neither": ([], "TRACE|WORKLOAD is missing; give a trace file or a workload such as qba-paper, or --tenants FILE"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("command", ["compare", "simulate"])
def test_tenants_that_cannot_be(
    headway: Headway, two: Path, named: Path, command: str, arguments: list[str], said: str
):
    named.with_name("strict.toml").write_text("strict = true\n" + PROMISES)
    named.with_name("negative.toml").write_text(PROMISES.replace("weight = 3", "weight = -3"))
    named.with_name("past.toml").write_text(PROMISES + "completion_slo = -1\n")
    before = {path.name: path.read_bytes() for path in two.parent.iterdir()}
    assert said in headway(command, *arguments, "--requests", "rows.csv").refusal()
    assert {path.name: path.read_bytes() for path in two.parent.iterdir()} == before


def test_a_trace_says_whose_it_is(headway: Headway, two: Path):
    printed = headway("trace", two).out
    (chat,) = (line.split() for line in printed.splitlines() if line.startswith(" chat "))
    assert chat[:2] == ["chat", "interactive"]
    assert chat[-2:] == ["2", NO_VALUE]
    facts = headway("trace", two, "--json", "-").json
    assert facts["rows"] == len(read_tenants(two).draw(0))
    found = {share["tenant"]: share for share in facts["tenants"]}
    assert set(found) == {"chat", "batch"}
    assert found["batch"]["requests"] == 10
    assert found["batch"]["ttft_slo"] is None
    assert found["batch"]["completion_slo"] == {"requests": 10, "min": 600.0, "max": 600.0}
    assert sum(share["share_of_tokens"] for share in found.values()) == pytest.approx(1.0)
    assert sum(share["rate_per_s"] for share in found.values()) == pytest.approx(facts["rate_per_s"])


def test_many_tenants_are_all_in_the_json_and_the_largest_in_the_table(headway: Headway, folder: Path):
    rows = "".join(f"{i},{1000 - i},1,t{i:02}\n" for i in range(25))
    (folder / "many.csv").write_text(HEAD.strip() + ",tenant\n" + rows)
    printed = headway("trace", "many.csv").out
    assert " t19 " in printed
    assert " t20 " not in printed
    assert "and 5 more, all in --json" in printed
    assert len(headway("trace", "many.csv", "--json", "-").json["tenants"]) == 25


def test_a_promise_to_some_is_counted(headway: Headway, folder: Path):
    (folder / "t.csv").write_text(HEAD.strip() + ",ttft_slo\n0,5,1,2\n1,5,1,\n2,5,1,0.5\n3,5,1,\n")
    assert "0.5 to 2 (2)" in headway("trace", "t.csv").out


def test_a_trace_without_tenants_has_no_table(headway: Headway, trace: Path):
    assert "tenant" not in headway("trace", trace).out
    assert headway("trace", trace, "--json", "-").json["tenants"] == []


def test_workloads_lists_what_a_file_says(headway: Headway, two: Path, named: Path):
    printed = headway("workloads", "--tenants", two).words
    assert "poisson(rate=2), prompt uniform(low=10, high=90), output uniform(low=5, high=50)" in printed
    assert "at-once, lengths lognormal, 10 requests" in printed
    chat, batch = headway("workloads", "--tenants", two, "--json", "-").json["tenants"]
    assert (chat["tenant"], chat["weight"], chat["class"], chat["ttft_slo"]) == ("chat", 2.0, "interactive", 2.0)
    assert (batch["lengths"], batch["requests"], batch["end"], batch["prompt"]) == ("lognormal", 10, None, None)
    promised = headway("workloads", "--tenants", "promises.toml")
    assert " [default] " in promised.out
    assert "negative" not in promised.out
    assert "No such file" in headway("workloads", "--tenants", "nosuch.toml").refusal()
    assert "is an input" in headway("workloads", "--tenants", two, "--json", two).refusal()
