from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.errors import InvalidInput, InvalidTrace
from headway.workload import Trace
from headway.workload.traces import SeededTrace, open_trace, read_trace
from headway.workload.traces.servegen import _gaps

SHORT = {"input_tokens": "{143: 0.25, 512: 0.75}", "output_tokens": "{7: 1.0}"}
LONG = {"input_tokens": "{2000: 1.0}", "output_tokens": "{0: 0.5, 900: 0.5}"}
TRACE = "0,2.0,1.0,Exponential,1,1\n600,0,0,,0,0\n1200,0.5,3.0,Gamma,0.11,18\n1800,1.0,2.0,Weibull,0.5,1\n"


def client(folder: Path, number: int = 0, trace: str = TRACE, dataset: object = None) -> Path:
    content = {"0": SHORT, "1200": LONG} if dataset is None else dataset
    (folder / f"chunk-{number}-trace.csv").write_text(trace)
    path = folder / f"chunk-{number}-dataset.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_folder_is_all_its_clients_each_a_tenant(tmp_path: Path):
    client(tmp_path, 3)
    client(tmp_path, 10, "0,0.1,1,Exponential,1,1\n")
    (tmp_path / "README.md").write_text("x")
    trace = read_trace(tmp_path)
    assert trace.name == tmp_path.name
    assert trace.notes == ("drawn from the windows of 2 ServeGen clients; every seed draws others",)
    assert trace.frame.columns == ["id", "arrival", "prompt_tokens", "output_tokens", "tenant"]
    assert dict(trace.frame.group_by("tenant").len().rows()) == {"chunk-3": 1200 + 300 + 600, "chunk-10": 60}
    assert trace.frame["arrival"].is_sorted()
    assert trace.frame["id"].to_list() == list(range(len(trace)))


def test_windows_have_their_rate_and_their_lengths(tmp_path: Path):
    client(tmp_path)
    frame = read_trace(tmp_path).frame
    edges = [0, 600, 1200, 1800, 2400]
    counts, _ = np.histogram(frame["arrival"], edges)
    assert counts.tolist() == [1200, 0, 300, 600]
    early, late = frame.filter(pl.col("arrival") < 600), frame.filter(pl.col("arrival") >= 1200)
    assert early["output_tokens"].unique().to_list() == [7]
    assert (early["prompt_tokens"] == 143).mean() == pytest.approx(0.25, abs=0.05)
    assert set(early["prompt_tokens"]) == {143, 512}
    assert set(late["prompt_tokens"]) == {2000}
    assert (late["output_tokens"] == 0).mean() == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("name", ["chunk-4-trace.csv", "chunk-4-dataset.json"])
def test_a_file_is_its_client(tmp_path: Path, name: str):
    client(tmp_path, 4)
    whole = read_trace(tmp_path)
    client(tmp_path, 5)
    trace = read_trace(tmp_path / name)
    assert trace.name == name
    assert trace.frame.equals(whole.frame)
    both = read_trace(tmp_path).frame.filter(pl.col("tenant") == "chunk-4")
    assert both.drop("id").equals(whole.frame.drop("id"))


def test_clients_and_seeds_are_independent(tmp_path: Path):
    client(tmp_path, 0)
    client(tmp_path, 1)
    frame = read_trace(tmp_path, seed=1).frame
    assert frame.equals(read_trace(tmp_path, seed=1).frame)
    first, second = (frame.filter(pl.col("tenant") == f"chunk-{i}")["arrival"].to_numpy() for i in (0, 1))
    assert not np.isin(first, second).any()
    assert not np.isin(read_trace(tmp_path, seed=2).frame["arrival"], frame["arrival"]).any()
    with pytest.raises(InvalidInput, match="seed must be"):
        read_trace(tmp_path, seed=-1)


def test_a_folder_is_a_seeded_trace_and_a_file_of_requests_is_none(tmp_path: Path):
    client(tmp_path)
    opened = open_trace(tmp_path)
    assert isinstance(opened, SeededTrace)
    assert opened.name == tmp_path.name
    assert opened.draw(3).frame.equals(read_trace(tmp_path, seed=3).frame)
    plain = tmp_path / "plain.csv"
    plain.write_text("arrival,prompt_tokens,output_tokens\n0,5,5\n")
    assert isinstance(open_trace(plain), Trace)


@pytest.mark.parametrize("family", ["Gamma", "Weibull"])
@pytest.mark.parametrize("cv", [0.3, 1.0, 2.5])
def test_gaps_have_the_cv(family: str, cv: float):
    gaps = _gaps(family, cv, 400_000, np.random.default_rng(0))
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.03)


@given(
    rates=st.lists(st.floats(0, 3), min_size=1, max_size=6),
    cv=st.floats(0.01, 1000),
    family=st.sampled_from(["Gamma", "Weibull", "Exponential"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40)
def test_any_window_gets_its_number_of_requests(
    tmp_path_factory: pytest.TempPathFactory, rates: list[float], cv: float, family: str, seed: int
):
    folder = tmp_path_factory.mktemp("servegen")
    client(folder, 0, "".join(f"{60 * i},{rate},{cv},{family},0,0\n" for i, rate in enumerate([*rates, 0.5])))
    arrivals = read_trace(folder, seed=seed).frame["arrival"].to_numpy()
    edges = 60.0 * np.arange(len(rates) + 2)
    assert ((arrivals >= 0) & (arrivals < edges[-1])).all()
    counts, _ = np.histogram(arrivals, edges)
    for count, rate in zip(counts, [*rates, 0.5], strict=True):
        assert np.floor(60 * rate) <= count <= np.floor(60 * rate) + 1


def test_windows_without_histograms_use_the_one_before_or_the_first(tmp_path: Path):
    empty = {"input_tokens": "{}", "output_tokens": "{}"}
    client(tmp_path, 0, TRACE, {"1800": LONG, "600": SHORT, "1200": empty})
    frame = read_trace(tmp_path).frame
    assert set(frame.filter(pl.col("arrival") < 1800)["output_tokens"]) == {7}
    assert set(frame.filter(pl.col("arrival") > 1800)["output_tokens"]) == {0, 900}


def test_a_prompt_of_0_tokens_counts_as_1(tmp_path: Path):
    client(tmp_path, 0, TRACE, {"0": {"input_tokens": "{0: 1.0}", "output_tokens": "{5: 1e-3,}"}})
    assert set(read_trace(tmp_path).frame["prompt_tokens"]) == {1}


def histogram(text: object) -> dict[str, dict[str, object]]:
    return {"0": {"input_tokens": text, "output_tokens": "{7: 1.0}"}}


@pytest.mark.parametrize(
    ("trace", "dataset", "says"),
    [
        ("0,1,1,Gamma,1\n", None, "rows of 5 fields, expected 6: window start, rate"),
        ("0,1,1,Pareto,1,1\n", None, "column 'family', row 1: found 'Pareto', expected Gamma, Weibull, Exponential"),
        ("0,-1,1,Gamma,1,1\n", None, "column 'rate', row 1: found '-1'"),
        ("0,1,x,Gamma,1,1\n", None, "column 'CV', row 1: found 'x'"),
        ("0,1,0,Gamma,1,1\n", None, "column 'CV', row 1: found '0', expected a CV from 0.01"),
        ("0,1,1,Gamma,1,1\n0,1,1,Gamma,1,1\n", None, "column 'window start', row 2: found '0', expected a later"),
        ("0,1000000,1,Gamma,1,1\n", None, "600,000,000 requests; at most 100,000,000"),
        ("", None, "not CSV"),
        ("0,0,0,,0,0\n", None, "no requests in it"),
        (TRACE, "[1]", "not a JSON object"),
        (TRACE, "{", "not a JSON object"),
        (TRACE, {"now": SHORT}, "window 'now': expected seconds from 0"),
        (TRACE, {"0": "x"}, "window '0': expected seconds from 0, with an object"),
        (TRACE, {"0": SHORT | {"images": "{1: 1}"}}, "window 0: unknown field 'images'"),
        (TRACE, {"0": {"input_tokens": "{1: 1}"}}, "window 0: field 'output_tokens' is missing"),
        (TRACE, {}, "no window has histograms"),
        (TRACE, histogram("__import__('os').system('true')"), 'input_tokens: found "__import__('),
        (TRACE, histogram("{1: 0.5, 2}"), "expected {tokens: probability, …}"),
        (TRACE, histogram("{1: 0.5: 3}"), "expected {tokens: probability, …}"),
        (TRACE, histogram(5), "expected {tokens: probability, …}"),
        (TRACE, histogram("{1: -0.5, 2: 1.5}"), "expected probabilities from 0"),
        (TRACE, histogram("{1: nan}"), "expected probabilities from 0"),
        (TRACE, histogram("{1: 0}"), "expected probabilities from 0, and one above it"),
        (TRACE, histogram("{1.5: 1}"), "column 'input_tokens of window 0', row 1: found 1.5"),
        (TRACE, histogram("{-3: 1}"), "column 'input_tokens of window 0', row 1: found -3"),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path: Path, trace: str, dataset: object, says: str):
    client(tmp_path, 0, trace, dataset)
    with pytest.raises(InvalidTrace) as caught:
        read_trace(tmp_path)
    assert says in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_client_needs_both_files(tmp_path: Path):
    client(tmp_path).unlink()
    with pytest.raises(InvalidTrace, match=r"cannot read .*chunk-0-dataset.json: No such file"):
        read_trace(tmp_path)
