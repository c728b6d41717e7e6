"""Bad input gets one line on stderr and exit status 2, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.cli.main import app
from tests.cli.conftest import HEAD, Headway

WRITING = ["--json", "out.json", "--html", "out.html", "--requests", "out.csv"]

FILES: dict[str, tuple[bytes, str]] = {
    "missing column": (b"arrival,prompt_tokens\n0,1\n", "missing 'output_tokens'"),
    "unknown column": (HEAD.strip().encode() + b",colour\n0,1,2,red\n", "unknown 'colour'"),
    "empty file": (b"", "the file is empty"),
    "blank file": (b"\n \n", "the file is empty"),
    "no rows": (HEAD.encode(), "no requests in it"),
    "ragged": (HEAD.encode() + b"0,1,2\n1,2\n", "row 2 has 2 fields, expected 3"),
    "binary": (bytes(range(256)) * 9, "neither UTF-8 text nor Parquet nor gzip"),
    "broken parquet": (b"PAR1" + b"\0" * 99, "broken Parquet"),
    "broken gzip": (b"\x1f\x8b\x08" + b"\0" * 20, "broken gzip"),
    "negative prompt": (HEAD.encode() + b"0,-5,2\n", "'prompt_tokens', row 1: found '-5'"),
    "no prompt": (HEAD.encode() + b"0,0,2\n", "'prompt_tokens', row 1: found '0'"),
    "infinite prompt": (HEAD.encode() + b"0,inf,2\n", "found 'inf'"),
    "fractional output": (HEAD.encode() + b"0,5,2.5\n", "'output_tokens', row 1: found '2.5'"),
    "NaN output": (HEAD.encode() + b"0,5,nan\n", "found 'nan'"),
    "text output": (HEAD.encode() + b"0,5,few\n", "found 'few'"),
    "missing output": (HEAD.encode() + b"0,5,\n", "found nothing"),
    "negative arrival": (HEAD.encode() + b"0,5,2\n-1,5,2\n", "'arrival', row 2: found '-1'"),
    "infinite arrival": (HEAD.encode() + b"inf,5,2\n", "'arrival', row 1: found 'inf'"),
    "NaN arrival": (HEAD.encode() + b"nan,5,2\n", "'arrival', row 1: found 'nan'"),
}


@pytest.mark.parametrize(("content", "said"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("command", ["compare", "simulate", "trace"])
def test_a_file_that_is_no_trace(headway: Headway, folder: Path, command: str, content: bytes, said: str):
    (folder / "bad.csv").write_bytes(content)
    writing = WRITING if command != "trace" else ["--json", "out.json"]
    line = headway(command, "bad.csv", *writing).refusal()
    assert "bad.csv" in line
    assert said in line
    assert [path.name for path in folder.iterdir()] == ["bad.csv"]


SOURCES = {
    "nothing of that name": ("nosuch.csv", "'nosuch.csv' is neither a file nor a workload"),
    "nearly a workload": ("qba-papr", "did you mean 'qba-paper'?"),
    "empty text": ("", "expected a trace file or a workload"),
    "folder": (".", "Is a directory"),
    "workload's parameter": ("qba-paper(rte=3)", "no parameter 'rte'; did you mean 'rate'?"),
    "workload's range": ("lognormal(cv=-1)", "cv must be in [0.01, 100], got -1"),
    "workload without requests": ("qba-paper(n=0)", "n must be in [1, 100000000], got 0"),
    "open bracket": ("qba-paper(n=5", "cannot read the spec 'qba-paper(n=5'"),
    "two words": ("qba paper", "'qba paper' is neither a file nor a workload"),
}


@pytest.mark.parametrize(("source", "said"), SOURCES.values(), ids=SOURCES)
def test_a_source_that_is_none(headway: Headway, folder: Path, source: str, said: str):
    assert said in headway("compare", source, *WRITING).refusal()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("file", "said"), [("", "FILE is empty"), ("nosuch.csv", "No such file"), (".", "directory")])
def test_trace_of_no_file(headway: Headway, file: str, said: str):
    assert said in headway("trace", file).refusal()


OPTIONS = {
    "limit 0": (["--limit", "0"], "--limit must be in [1, 100000000], got 0"),
    "limit -3": (["--limit", "-3"], "got -3"),
    "limit x": (["--limit", "x"], "'--limit': 'x' is not a whole number"),
    "limit 1.5": (["--limit", "1.5"], "'1.5' is not a whole number"),
    "limit empty": (["--limit", ""], "'' is not a whole number"),
    "rate 0": (["--rate", "0"], "--rate must be in (0, inf), got 0"),
    "rate -1": (["--rate", "-1"], "--rate must be in (0, inf), got -1"),
    "rate nan": (["--rate", "nan"], "--rate must be a number in (0, inf), got nan"),
    "rate inf": (["--rate", "inf"], "--rate must be in (0, inf), got inf"),
    "rate fast": (["--rate", "fast"], "'--rate': 'fast' is not a number"),
    "rate too small": (["--rate", "1e-300"], "expected a number of seconds from 0 to 10,000,000,000"),
    "lengths 0": (["--scale-lengths", "0"], "--scale-lengths must be in (0, inf), got 0"),
    "lengths too large": (["--scale-lengths", "1e12"], "choose a smaller one"),
    "seed -1": (["--seed", "-1"], "--seed must be >= 0, got -1"),
    "seeds 0": (["--seeds", "0"], "--seeds must be in [1, 1000000], got 0"),
    "seeds two": (["--seeds", "two"], "'two' is not a whole number"),
    "too many seeds": (["--seeds", "99999999999"], "--seeds must be in [1, 1000000]"),
    "epsilon 2": (["--epsilon-sl", "2"], "--epsilon-sl must be in [0, 1], got 2"),
    "epsilon -0.1": (["--epsilon-ls", "-0.1"], "--epsilon-ls must be in [0, 1], got -0.1"),
    "epsilon nan": (["--epsilon-ls", "nan"], "--epsilon-ls must be a number in [0, 1], got nan"),
    "engine nearly": (["--engine", "qba-papr"], "unknown engine 'qba-papr'; did you mean 'qba-paper'?"),
    "engine empty": (["--engine", ""], "unknown engine ''"),
    "engine file missing": (["--engine", "my.toml"], "engine file my.toml: there is no such file"),
    "engine folder": (["--engine", "."], "engine file .: cannot be read: Is a directory"),
    "policy nearly": (["--policy", "qbaa"], "unknown policy 'qbaa'; did you mean 'qba'?"),
    "policy empty": (["--policy", ""], "cannot read the spec ''"),
    "policy's parameter": (["--policy", "qba(gama=0.5)"], "no parameter 'gama'; did you mean 'gamma'?"),
    "policy without parameters": (["--policy", "fcfs(k=3)"], "'fcfs' has no parameter 'k'; it takes none"),
    "k 0": (["--policy", "qba(k=0)"], "k must be >= 1, got 0"),
    "k 1.5": (["--policy", "qba(k=1.5)"], "k must be a whole number >= 1, got 1.5"),
    "gamma 2": (["--policy", "aa(gamma=2)"], "gamma must be in (0, 1], got 2"),
    "a word nearly": (["--policy", "qba(refused=stp)"], "did you mean 'stop'?"),
    "aging inf": (["--policy", "shortest-work(aging=inf)"], "aging must be in [0, inf), got inf"),
    "code": (["--policy", "qba(k=__import__('os').mkdir('pwned'))"], "cannot read the spec"),
    "one policy twice": (["--policy", "fcfs", "--policy", "fcfs"], "policy 'fcfs' is named twice"),
    "shed nearly": (["--shed", "rejct"], "unknown shedding rule 'rejct'; did you mean 'reject'?"),
    "safety 0": (["--shed", "reject(safety=0)"], "safety must be in (0, 100], got 0"),
    "queue of nothing": (["--shed", "queue-cap"], "give requests=..., tokens=... or both"),
    "queue of 0": (["--shed", "queue-cap(requests=0)"], "requests must be >= 1, got 0"),
    "one rule twice": (["--shed", "keep", "--shed", "keep"], "is named twice"),
    "clients 0": (["--clients", "0"], "--clients must be >= 1, got 0"),
    "clients -2": (["--clients", "-2"], "--clients must be >= 1, got -2"),
    "clients x": (["--clients", "x"], "'--clients': 'x' is not a whole number"),
    "clients 1.5": (["--clients", "1.5"], "'1.5' is not a whole number"),
    "clients and a rate": (["--clients", "4", "--rate", "5"], "clients = 4 and rate = 5 exclude each other"),
    "pools 0": (["--pools", "0"], "pools must be in (0, 1), got 0"),
    "pools 1": (["--pools", "1"], "pools must be in (0, 1), got 1"),
    "pools half": (["--pools", "half"], "'--pools': 'half' is not a number"),
    "pools without decodes": (["--pools", "0.99", "--engine", "qba-paper"], "expected a smaller share: 2 of"),
    "pools and a share": (["--pools", "0.5", "--prefill-share", "0.2"], "prefill share 0.2 and pools 0.5 exclude"),
    "patience 0": (["--patience", "0"], "--patience must be in (0, inf), got 0"),
    "patience -1": (["--patience", "-1"], "--patience must be in (0, inf), got -1"),
    "patience nan": (["--patience", "nan"], "--patience must be a number in (0, inf), got nan"),
    "patience inf": (["--patience", "inf"], "--patience must be in (0, inf), got inf"),
    "patience x": (["--patience", "soon"], "'--patience': 'soon' is not a number"),
    "option unknown": (["--polcy", "fcfs"], "--policy"),
    "value missing": (["--json"], "'--json' requires an argument"),
    "argument too many": (["more.csv"], "more.csv"),
}


@pytest.mark.parametrize(("options", "said"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_that_cannot_be(headway: Headway, folder: Path, trace: Path, options: list[str], said: str):
    assert said in headway("compare", trace, *WRITING, *options).refusal()
    assert [path.name for path in folder.iterdir()] == ["trace.csv"]


SIZES = "token_budget = 8\nmax_sequences = 1\nkv_tokens = 9\n"
COST = '[cost]\nkind = "piecewise"\nc0 = 1\na = 0\n'
ENGINES = {
    "not TOML": ("token_budget", "not TOML"),
    "no cost": (SIZES, "a [cost] table is missing"),
    "missing key": ("kv_tokens = 9\n" + COST, "missing max_sequences"),
    "unknown key": ("kv_token = 9\n" + COST, "unknown key 'kv_token'; did you mean 'kv_tokens'?"),
    "unknown cost": (SIZES + '[cost]\nkind = "liner"\n', "did you mean 'linear'?"),
    "unknown gpu": (SIZES + '[cost]\nkind = "roofline"\ngpu = "h10"\nmodel = "llama3-8b"\n', "did you mean 'h100'?"),
    "unknown mode": (SIZES + 'mode = "mixd"\n' + COST, "did you mean 'mixed'?"),
    "out of range": (SIZES.replace("8", "0") + COST, "token_budget = 0; expected a whole number"),
    "a text for a number": (SIZES.replace("8", '"8"') + COST, "token_budget = '8'; expected a whole number"),
    "infinite cost": (SIZES + COST.replace("c0 = 1", "c0 = inf"), "c0"),
    "negative jitter": (SIZES + "jitter = -1\n" + COST, "jitter = -1; expected a number from 0 to 100"),
    "memory rule": (SIZES + 'memory = "promt-fit"\n' + COST, "did you mean 'prompt-fit'?"),
}


@pytest.mark.parametrize(("text", "said"), ENGINES.values(), ids=ENGINES)
def test_a_file_that_is_no_engine(headway: Headway, folder: Path, trace: Path, text: str, said: str):
    (folder / "my.toml").write_text(text)
    assert said in headway("compare", trace, "--engine", "my.toml", *WRITING).refusal()
    assert sorted(path.name for path in folder.iterdir()) == ["my.toml", "trace.csv"]


def test_a_binary_engine_file(headway: Headway, folder: Path, trace: Path):
    (folder / "my.toml").write_bytes(b"\xff\xfe\0")
    assert "not UTF-8 text" in headway("compare", trace, "--engine", "my.toml").refusal()


OUTPUTS = {
    "missing folder": (["--json", "no/where.json"], "the folder no does not exist"),
    "a folder": (["--html", "sub"], "--html sub: is a folder"),
    "suffix": (["--requests", "rows.txt"], "expected a file that ends in .csv or .parquet"),
    "no suffix": (["--requests", "rows"], "expected a file that ends in .csv or .parquet"),
    "empty json": (["--json", ""], "--json needs a file to write, got ''"),
    "empty html": (["--html", ""], "--html needs a file to write, got ''"),
    "an option for a value": (["--json", "--html"], "got '--html'; write ./--html for a file of that name"),
    "html to stdout": (["--html", "-"], "only --json can go to standard output"),
    "requests to stdout": (["--requests", "-"], "only --json can go to standard output"),
    "over the trace": (["--requests", "trace.csv"], "is an input of this run and would be lost"),
    "over the trace by another way": (["--json", "sub/../trace.csv"], "is an input of this run and would be lost"),
    "over the engine": (["--engine", "my.toml", "--json", "my.toml"], "is an input of this run and would be lost"),
    "two into one": (["--json", "a.csv", "--requests", "./a.csv"], "--json is written there too"),
}


@pytest.mark.parametrize(("options", "said"), OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_cannot_be(headway: Headway, folder: Path, trace: Path, options: list[str], said: str):
    (folder / "sub").mkdir()
    (folder / "my.toml").write_text("nothing")
    before = trace.read_bytes()
    assert said in headway("compare", trace, *options).refusal()
    assert sorted(path.name for path in folder.iterdir()) == ["my.toml", "sub", "trace.csv"]
    assert trace.read_bytes() == before


@pytest.mark.parametrize("command", [["trace", "trace.csv"], ["policies"], ["engines"], ["workloads"]])
@pytest.mark.parametrize("path", ["", "no/where.json", "."])
def test_lists_refuse_a_bad_output_before_they_print(headway: Headway, trace: Path, command: list[str], path: str):
    assert "--json" in headway(*command, "--json", path).refusal()


def test_trace_is_not_overwritten_by_its_own_facts(headway: Headway, trace: Path):
    before = trace.read_bytes()
    assert "is an input of this run" in headway("trace", trace, "--json", trace).refusal()
    assert trace.read_bytes() == before


def test_the_disk_refuses_late(headway: Headway, trace: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/hidden/.part")

    monkeypatch.setattr("headway.cli.compare.write_whole", full)
    result = headway("compare", trace, "--requests", "rows.csv")
    assert (result.status, result.err) == (2, "headway: cannot write rows.csv: No space left on device\n")


def test_commands_that_are_none(headway: Headway):
    assert "Did you mean 'compare'?" in headway("compre").refusal()
    assert "TRACE|WORKLOAD" in headway("compare").refusal()
    assert "FILE" in headway("trace").refusal()
    for command in ("policies", "engines", "workloads"):
        assert "extra" in headway(command, "extra").refusal()


def test_without_a_command_the_commands_are_listed(headway: Headway):
    result = headway()
    assert result.status == 2
    assert result.err.count("\n") == 1
    for info in app.registered_commands:
        assert info.callback is not None
        assert info.callback.__name__ in result.out
