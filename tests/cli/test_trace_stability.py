"""headway trace --stability and --tokens-per-image."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway.measure.stability import stability
from tests.cli.conftest import HEAD, Headway


@pytest.fixture
def outputs(folder: Path) -> np.ndarray:
    """The outputs of 700 requests in t.csv."""
    lengths = np.random.default_rng(0).integers(1, 400, 700)
    (folder / "t.csv").write_text(HEAD + "".join(f"{i},5,{tokens}\n" for i, tokens in enumerate(lengths)))
    return lengths


def test_tables(headway: Headway, outputs: np.ndarray):
    printed = headway("trace", "t.csv", "--stability").out
    found = stability(outputs)
    adjacent, everywhere = printed.split("stability of output lengths")[1].split("global:")
    for part, values in ((adjacent, found.adjacent), (everywhere, found.everywhere)):
        for size, row in zip(found.sizes, values, strict=True):
            cells = ["-" if np.isnan(value) else f"{value:.3f}" for value in row]
            assert re.search(rf"^ *{size:,} +{' +'.join(cells)} *$", part, re.MULTILINE), size


def test_json(headway: Headway, outputs: np.ndarray):
    facts = headway("trace", "t.csv", "--stability", "--json", "-").json
    found = stability(outputs)
    shown = facts["stability"]
    assert set(shown) == {"sizes", "bins", "bin_width", "adjacent", "global"}
    assert (shown["sizes"], shown["bins"], shown["bin_width"]) == (list(found.sizes), 50, found.bin_width)
    for key, values in (("adjacent", found.adjacent), ("global", found.everywhere)):
        assert shown[key] == [[None if np.isnan(value) else value for value in row] for row in values.tolist()]
    assert "stability" not in headway("trace", "t.csv", "--json", "-").json


@pytest.mark.parametrize(("name", "start"), [("a.html", b"<!DOCTYPE html>"), ("a.png", b"\x89PNG"), ("a.svg", b"<svg")])
def test_heat_maps(headway: Headway, folder: Path, outputs: np.ndarray, name: str, start: bytes):
    result = headway("trace", "t.csv", "--stability", "--html", name)
    assert (result.status, result.err) == (0, f"wrote {name}\n")
    content = (folder / name).read_bytes()
    assert content.startswith(start)
    if name != "a.png":
        value = f"{stability(outputs).at(100, 200)[0]:.2f}" if name == "a.svg" else "Adjacent windows"
        assert value.encode() in content
    assert b"http://cdn" not in content
    assert b'src="http' not in content


def test_a_page_holds_a_name_as_text(headway: Headway, folder: Path, outputs: np.ndarray):
    (folder / "t.csv").rename(folder / "<b>&x.csv")
    assert headway("trace", "<b>&x.csv", "--stability", "--html", "a.html").status == 0
    page = (folder / "a.html").read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;x.csv" in page


def test_equal_outputs_can_be_drawn(headway: Headway, folder: Path):
    (folder / "t.csv").write_text(HEAD + "0,5,9\n" * 300)
    assert headway("trace", "t.csv", "--stability", "--html", "a.svg").status == 0
    assert b"NaN" not in (folder / "a.svg").read_bytes()


def test_too_few_requests(headway: Headway, folder: Path, trace: Path):
    assert "too few requests: two windows need 200" in headway("trace", "trace.csv", "--stability").out
    line = headway("trace", "trace.csv", "--stability", "--html", "a.png").refusal()
    assert line == "trace.csv: 60 requests are too few for --html; two windows need 200"
    assert not (folder / "a.png").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--html", "a.png"), "--html shows the stability of a trace; give --stability too"),
        (("--stability", "--html", "a.pdf"), "--html a.pdf: expected a file that ends in .html or .png or .svg"),
        (("--stability", "--html", "t.csv"), "--html t.csv: expected a file that ends in"),
        (("--stability", "--html", "no/a.png"), "the folder no does not exist"),
        (("--stability", "--html", "a.png", "--json", "a.png"), "is written there too"),
        (("--tokens-per-image", "-1"), "--tokens-per-image must be in [0, 100000], got -1"),
        (("--tokens-per-image", "many"), "'many'"),
    ],
)
def test_bad_input_gets_one_line(headway: Headway, outputs: np.ndarray, arguments: tuple[str, ...], says: str):
    assert says in headway("trace", "t.csv", *arguments).refusal()


def test_images_count_as_prompt_tokens(headway: Headway, folder: Path):
    rows = "2025-01-01 00:00:00.5,2,100,7\n2025-01-01 00:00:01.5,0,50,7\n"
    (folder / "m.csv").write_text("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n" + rows)
    counted = headway("trace", "m.csv", "--tokens-per-image", "576", "--json", "-").json
    assert counted["prompt_tokens"]["max"] == 100 + 2 * 576
    assert counted["notes"] == []
    assert headway("trace", "m.csv", "--json", "-").json["prompt_tokens"]["max"] == 100
    for command in ("compare", "simulate"):
        headway(command, "m.csv", "--tokens-per-image", "576", "--requests", "rows.csv")
        assert pl.read_csv("rows.csv")["prompt_tokens"].max() == 100 + 2 * 576
        assert "got -1" in headway(command, "m.csv", "--tokens-per-image", "-1").refusal()


def test_a_folder_of_servegen(headway: Headway, folder: Path):
    chunks = folder / "m-large"
    chunks.mkdir()
    (chunks / "chunk-0-trace.csv").write_text("0,2,1,Exponential,1,1\n")
    (chunks / "chunk-0-dataset.json").write_text('{"0": {"input_tokens": "{9: 1}", "output_tokens": "{4: 1}"}}')
    facts = headway("trace", "m-large", "--json", "-").json
    assert (facts["name"], facts["rows"]) == ("m-large", 1200)
    assert "1 ServeGen client; every seed draws others" in facts["notes"][0]
