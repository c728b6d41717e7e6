"""headway compare: what it prints and writes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import HEAD, Headway

STATISTICS = ("mean", "p50", "p90", "p99", "max")
COLUMNS = [
    "policy", "seed", "id", "tenant", "arrival", "start", "first_token", "finish", "wait",
    "prompt_tokens", "output_tokens", "predicted", "true_class", "outcome",
    "class", "ttft_slo", "itl_slo", "completion_slo",
]  # fmt: skip


def at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data[key]
    return data


class Links(HTMLParser):
    """What a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href", "data", "srcset")]


def test_four_policies_side_by_side_by_default(headway: Headway, trace: Path):
    result = headway("compare", trace)
    assert result.status == 0
    assert result.err == ""
    rows = re.findall(r"^ (fcfs|psf|aa|qba) ", result.out, re.MULTILINE)
    assert rows[:4] == ["fcfs", "psf", "aa", "qba"]
    assert "trace.csv on a100-llama3-8b" in result.out


def test_json_has_every_path_of_the_issue(headway: Headway, trace: Path):
    data = headway("compare", trace, "--engine", "qba-paper", "--json", "-").json
    assert [entry["policy"] for entry in data["policies"]] == ["fcfs", "psf", "aa", "qba"]
    for entry in data["policies"]:
        for path in ("requests", "finished", "rejected", "iterations", "wall_seconds", "kv.oom_events"):
            assert at(entry, path) >= 0, path
        for path in ("throughput_tokens_per_s", "batch_use", "kv.mean", "kv.peak"):
            assert at(entry, path) > 0, path
        groups = ("", "classes.short.", "classes.long.", "predicted.short.", "predicted.long.")
        for group in groups:
            for measure in ("wait", "ttft", "itl", "e2e", "mtpot"):
                for statistic in STATISTICS:
                    assert at(entry, f"{group}{measure}.{statistic}") >= 0
                assert at(entry, f"{group}{measure}.ci95") is None  # one seed
        assert entry["requests"] == entry["finished"] == 60
        assert entry["longest_wait"]["seconds"] == entry["wait"]["max"]
    pairs = [(pair["a"], pair["b"]) for pair in data["paired"]]
    assert pairs == [("fcfs", "psf"), ("fcfs", "aa"), ("fcfs", "qba"), ("psf", "aa"), ("psf", "qba"), ("aa", "qba")]
    assert {"difference", "ci95", "metric", "significant"} <= set(data["paired"][0])


def test_several_seeds_bring_an_interval_under_the_same_keys(headway: Headway):
    data = headway("compare", "qba-paper", "--limit", 200, "--seeds", 3, "--json", "-").json
    for entry in data["policies"]:
        assert entry["seeds"] == [0, 1, 2]
        for measure in ("wait", "ttft", "itl", "e2e", "mtpot"):
            statistics = entry[measure]
            assert set(statistics["ci95"]) == set(STATISTICS)
            for name in STATISTICS:
                low, high = statistics["ci95"][name]
                assert low <= statistics[name] <= high
    assert all(pair["method"] == "seeds" and pair["ci95"] is not None for pair in data["paired"])


def test_json_to_stdout_is_nothing_but_json_and_a_file_holds_the_same(headway: Headway, trace: Path, folder: Path):
    printed = headway("compare", trace, "--json", "-")
    assert printed.err == ""
    written = headway("compare", trace, "--json", "out.json")
    assert written.err == "wrote out.json\n"
    assert "Waiting" in written.out
    data, same = printed.json, json.loads((folder / "out.json").read_text())
    for one in (data, same):
        one["settings"].pop("command")
        for entry in one["policies"]:
            entry.pop("wall_seconds")
    assert data == same


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_requests_are_a_row_a_request(headway: Headway, trace: Path, folder: Path, suffix: str):
    path = folder / f"rows.{suffix}"
    data = headway("compare", trace, "--requests", path, "--json", "-").json
    frame = pl.read_csv(path) if suffix == "csv" else pl.read_parquet(path)
    assert frame.columns == COLUMNS
    assert frame.height == 4 * 60
    assert frame["wait"].to_list() == pytest.approx((frame["start"] - frame["arrival"]).to_list())
    for entry in data["policies"]:
        rows = frame.filter(pl.col("policy") == entry["policy"])
        assert rows["wait"].mean() == pytest.approx(entry["wait"]["mean"])
        assert (rows["first_token"] - rows["arrival"]).max() == pytest.approx(entry["ttft"]["max"])
        long = rows.filter(pl.col("true_class") == "long")
        assert long.height == entry["classes"]["long"]["requests"] > 0


def test_seeds_are_paired_across_policies_and_start_where_asked(headway: Headway, folder: Path):
    asked = ["compare", "qba-paper", "--limit", 100, "--epsilon-sl", 0.2, "--policy", "fcfs", "--policy", "qba"]
    headway(*asked, "--seed", 3, "--seeds", 2, "--requests", "two.parquet")
    headway(*asked, "--seed", 4, "--requests", "one.parquet")
    two, one = pl.read_parquet("two.parquet"), pl.read_parquet("one.parquet")
    assert two["seed"].unique().sort().to_list() == [3, 4]
    assert two.filter(pl.col("seed") == 4).equals(one)
    requests = {
        key: rows.select("id", "arrival", "prompt_tokens", "predicted", "true_class")
        for key, rows in two.group_by("policy", "seed")
    }
    for seed in (3, 4):
        assert requests["fcfs", seed].equals(requests["qba", seed])
    assert not requests["fcfs", 3].equals(requests["fcfs", 4])


def test_the_report_is_one_file_that_loads_nothing(headway: Headway, trace: Path, folder: Path):
    result = headway("compare", trace, "--html", "report.html")
    assert result.err == "wrote report.html\n"
    page = (folder / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "headway compare" in page
    links = Links()
    links.feed(page)
    assert links.found == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_the_command_is_kept_as_it_must_be_typed(headway: Headway, trace: Path):
    data = headway("compare", trace, "--policy", "qba(k=3, gamma=0.9)", "--json", "-").json
    assert data["settings"]["command"].endswith("--policy 'qba(k=3, gamma=0.9)' --json -")


def test_rate_lengths_and_limit_change_the_trace(headway: Headway, trace: Path):
    asked = ["compare", trace, "--limit", 30, "--rate", 5, "--scale-lengths", 2, "--policy", "fcfs"]
    headway(*asked, "--requests", "rows.csv")
    rows = pl.read_csv("rows.csv")
    assert rows.height == 30
    assert rows["arrival"][0] == 0
    assert 29 / rows["arrival"][-1] == pytest.approx(5)
    assert rows["prompt_tokens"][:3].to_list() == [40, 54, 68]


def test_prediction_errors_flip_that_share_of_labels(headway: Headway):
    asked = ["compare", "qba-paper", "--limit", 1000, "--policy", "psf", "--requests", "rows.csv"]
    headway(*asked, "--epsilon-ls", 1)
    rows = pl.read_csv("rows.csv")
    assert set(rows["true_class"]) == {"short", "long"}
    assert set(rows["predicted"]) == {"short"}
    headway(*asked, "--epsilon-sl", 0.25)
    short = pl.read_csv("rows.csv").filter(pl.col("true_class") == "short")
    assert (short["predicted"] == "long").mean() == pytest.approx(0.25, abs=0.06)


def test_the_engine_of_the_paper_is_the_default_of_its_workload_only(headway: Headway, trace: Path):
    assert headway("compare", "qba-paper", "--limit", 20, "--json", "-").json["settings"]["engine"] == "qba-paper"
    assert headway("compare", trace, "--json", "-").json["settings"]["engine"] == "a100-llama3-8b"


def test_an_engine_from_toml_is_used(headway: Headway, trace: Path, folder: Path):
    cost = '[cost]\nkind = "linear"\nc0 = 1\nprefill = 0\ndecode = 0\n'
    (folder / "slow.toml").write_text("token_budget = 64\nmax_sequences = 8\nkv_tokens = 9000\n" + cost)
    data = headway("compare", trace, "--engine", "slow.toml", "--policy", "fcfs", "--json", "-").json
    assert data["settings"]["engine"] == "slow"
    assert data["policies"][0]["itl"]["p50"] == 1.0


def test_unsorted_arrivals_are_sorted_and_noted(headway: Headway, folder: Path):
    (folder / "mixed.csv").write_text(HEAD + "5,10,5\n1,10,5\n3,10,5\n")
    result = headway("compare", "mixed.csv", "--policy", "fcfs", "--requests", "rows.csv")
    assert result.status == 0
    assert "the arrivals were not in order: sorted by arrival" in result.words
    assert pl.read_csv("rows.csv")["arrival"].to_list() == [1, 3, 5]


def test_no_output_tokens_is_a_finished_request_without_decode(headway: Headway, folder: Path):
    (folder / "none.csv").write_text(HEAD + "0,10,0\n0,10,3\n")
    data = headway("compare", "none.csv", "--policy", "fcfs", "--requests", "rows.csv", "--json", "-").json
    assert data["policies"][0]["finished"] == 2
    first = pl.read_csv("rows.csv").row(0, named=True)
    assert first["outcome"] == "finished"
    assert first["first_token"] is None
    assert first["finish"] > first["start"] >= 0


def test_a_prompt_above_the_kv_capacity_is_rejected_counted_and_said(headway: Headway, folder: Path):
    (folder / "big.csv").write_text(HEAD + "0,10,5\n0.1,9000,5\n0.2,10,5\n")
    result = headway("compare", "big.csv", "--engine", "qba-paper", "--requests", "rows.csv")
    assert result.status == 0
    assert "Rejected requests have no wait" in result.words
    rows = pl.read_csv("rows.csv").filter(pl.col("policy") == "qba")
    assert rows["outcome"].to_list() == ["finished", "rejected", "finished"]
    assert rows["wait"][1] is None
    data = headway("compare", "big.csv", "--engine", "qba-paper", "--json", "-").json
    for entry in data["policies"]:
        assert (entry["requests"], entry["finished"], entry["rejected"]) == (3, 2, 1)


def test_a_trace_of_nothing_but_rejected_requests_has_null_figures(headway: Headway, folder: Path):
    (folder / "big.csv").write_text(HEAD + "0,9000,5\n")
    result = headway("compare", "big.csv", "--engine", "qba-paper", "--json", "-", "--html", "report.html")
    assert result.status == 0
    assert result.json["policies"][0]["wait"]["mean"] is None
    assert (folder / "report.html").is_file()


def test_the_same_command_gives_the_same_figures_bit_by_bit(headway: Headway, trace: Path):
    runs = [headway("compare", trace, "--epsilon-sl", 0.3, "--json", "-").json for _ in range(2)]
    for run in runs:
        for entry in run["policies"]:
            del entry["wall_seconds"]
    assert runs[0] == runs[1]


def test_a_file_goes_before_a_workload_of_the_same_name(headway: Headway, folder: Path):
    (folder / "qba-paper").write_text(HEAD + "0,10,5\n")
    data = headway("compare", "qba-paper", "--json", "-").json
    assert data["settings"]["requests"] == 1


def test_a_long_spec_is_no_file_name(headway: Headway):
    spec = "lognormal(n=10, rate=10." + "0" * 300 + ")"
    assert headway("compare", spec, "--policy", "fcfs", "--json", "-").json["settings"]["requests"] == 10


def test_brackets_in_names_are_printed_and_no_markup(headway: Headway, folder: Path):
    (folder / "[red]x[").write_text(HEAD + "0,10,5\n")
    result = headway("compare", "[red]x[", "--policy", "fcfs", "--json", "[bold]y.json")
    assert "[red]x[" in result.out
    assert result.err == "wrote [bold]y.json\n"


def test_clients_send_by_themselves(headway: Headway, trace: Path):
    """Thirty clients: the arrivals of the trace play no part, and every row has the time at which it was sent."""
    asked = ["compare", trace, "--policy", "fcfs", "--policy", "psf", "--clients", 30]
    asked += ["--engine", "qba-paper", "--requests", "rows.parquet"]
    result = headway(*asked)
    assert "Arrival times are the clients' own: 30 clients send the requests in their order" in result.words
    assert "keep up" not in result.out
    data = headway(*asked, "--json", "-").json
    settings = data["settings"]
    assert (settings["clients"], settings["patience"], settings["rate_per_s"]) == (30, None, None)
    rows = pl.read_parquet("rows.parquet")
    for _, run in rows.group_by("policy"):
        assert run["id"].to_list() == list(range(60))
        assert run["arrival"][:30].to_list() == [0.0] * 30
        assert run["arrival"][30:].to_list() == run["finish"].sort()[:30].to_list()
    sent = rows.partition_by("policy")
    assert not sent[0]["arrival"].equals(sent[1]["arrival"])


def test_clients_that_leave_are_counted_and_said(headway: Headway, folder: Path):
    (folder / "crowd.csv").write_text(HEAD + "0,2000,50\n" * 200)
    asked = ["simulate", "crowd.csv", "--patience", 2, "--sla", "ttft=10", "--requests", "rows.csv"]
    result = headway(*asked)
    assert "A client that hears nothing for 2 s leaves, and its request is cancelled" in result.words
    assert "Clients left before their answer was complete: fcfs" in result.words
    assert "Cancelled" in result.out
    data = headway(*asked, "--json", "-").json
    (entry,) = data["policies"]
    assert data["settings"]["patience"] == 2
    assert entry["cancelled"] > 0
    assert entry["wasted_tokens"] > 0
    assert entry["finished"] + entry["cancelled"] == entry["requests"] == 200
    assert entry["sla"]["attainment"] == entry["finished"] / 200
    rows = pl.read_csv("rows.csv")
    left = rows.filter(pl.col("outcome") == "cancelled")
    assert left.height == entry["cancelled"]
    assert left["finish"].min() >= 2.0
    assert entry["wasted_tokens"] <= int((left["prompt_tokens"] + left["output_tokens"]).sum())


def test_without_clients_nothing_is_said_of_them(headway: Headway, trace: Path):
    data = headway("compare", trace, "--json", "-").json
    assert data["settings"]["clients"] is None
    assert data["settings"]["rate_per_s"] > 0
    assert {entry["wasted_tokens"] for entry in data["policies"]} == {0}
    assert not [note for note in data["notes"] if "client" in note]
    assert "Wasted" not in headway("compare", trace).out


def test_what_holds_for_every_policy_stands_under_the_question(headway: Headway, trace: Path):
    asked = ["compare", trace, "--policy", "fcfs", "--policy", "psf"]
    rules = ["--shed", "reject", "--memory", "watermark(level=0.9)", "--evict", "least-computed", "--pools", 0.5]
    lines = headway(*asked, *rules, "--reserve", "share=0.1,after=5", "--sla", "ttft=3").out.splitlines()
    assert lines[1].startswith(
        "With memory watermark(level=0.9), evict least-computed, shed reject, pools 0.5, reserve"
    )
    assert "sla ttft=3." in " ".join(lines[1:3])
    assert not any(line.startswith("With ") for line in headway(*asked).out.splitlines())
    several = headway(*asked, "--shed", "keep", "--shed", "reject", "--prefill-share", 0.2, "--json", "a.json")
    assert several.out.splitlines()[1] == "With prefill-share 0.2."
    assert json.loads(Path("a.json").read_text())["settings"]["rules"] == ["prefill-share 0.2"]
    headway(*asked, "--shed", "reject", "--html", "a.html")
    assert "With shed reject.</p>" in Path("a.html").read_text()


def test_a_rule_that_never_acts_is_said_to_do_the_same(headway: Headway):
    """Also where its presence cuts the run into other segments."""
    text = headway(
        "compare",
        "lognormal(n=300, rate=40)",
        "--policy",
        "fcfs",
        "--policy",
        "psf",
        "--shed",
        "keep",
        "--shed",
        "reject",
    ).words
    assert "The same as another policy, every request with the same outcome: fcfs + reject as fcfs + keep;" in text
    assert text.count("none: the same outcomes") == 2
