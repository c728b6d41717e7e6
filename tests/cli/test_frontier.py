"""headway frontier."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.studies import frontier as study
from tests.cli.conftest import HEAD, Headway

FAST = ["frontier", "d1(n=60)", "--memory", "watermark", "--memory", "conservative", "--steady-after", 10]


def test_it_prints_question_answer_and_tables(headway: Headway):
    result = headway(*FAST, "--memory", "oracle")
    assert result.status == 0
    assert result.out.startswith("How full can past-future-table1 run its KV cache on d1(n=60), and at how many")
    for text in ("Evictions at equal use", "Times fewer evictions than watermark", "Every setting", "memory rule"):
        assert text in result.words
    assert "watermark(level=0.95)" in result.out
    assert "conservative(overcommit=1.5)" in result.out


def test_json_goes_to_standard_output_and_nothing_else(headway: Headway):
    data = headway(*FAST, "--json", "-", "--seeds", 2, "--seed", 4).json
    assert data["settings"]["seeds"] == [4, 5]
    assert data["settings"]["steady_after"] == 10
    assert data["part"] == "steady"
    assert [curve["rule"] for curve in data["curves"]] == ["watermark", "conservative"]
    point = data["curves"][0]["points"][-1]
    assert point["seeds"] == [4, 5]
    assert point["steady"]["evictions"]["events"] == pytest.approx(point["evictions_per_100"] * 50 / 100)
    assert data["partial"] is False
    assert "headway frontier" in data["settings"]["command"]


def test_files(headway: Headway, folder: Path):
    result = headway(*FAST, "--json", "a.json", "--html", "a.html")
    assert result.err.splitlines() == ["wrote a.json", "wrote a.html"]
    assert json.loads((folder / "a.json").read_text())["headway"]
    page = (folder / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "conservative" in page


def test_a_trace_on_an_engine_of_ones_own(headway: Headway, folder: Path):
    (folder / "small.toml").write_text(
        "token_budget = 256\nmax_sequences = 16\nkv_tokens = 900\nmax_new_tokens = 200\n"
        '[cost]\nkind = "linear"\nc0 = 0.01\nprefill = 1e-4\ndecode = 1e-4\n'
    )
    rows = "".join(f"{i // 20},{20 + 7 * (i % 5)},{200 if i % 8 == 0 else 40 + i % 4}\n" for i in range(80))
    (folder / "t.csv").write_text(HEAD + rows)
    asked = ["frontier", "t.csv", "--engine", "small.toml", "--rate", 50, "--scale-lengths", 0.9, "--limit", 70]
    data = headway(*asked, "--policy", "shortest-work", "--json", "-").json
    assert data["settings"]["policy"] == "shortest-work"
    assert data["settings"]["requests"] == 70
    assert (data["part"], data["settings"]["engine"]) == ("whole", "small")
    assert any("whole runs count" in note.lower() for note in data["notes"])
    assert any(point["evictions_per_100"] > 0 for curve in data["curves"] for point in curve["points"])


def test_an_own_order(headway: Headway, folder: Path):
    (folder / "mine.py").write_text(
        "from headway import Order\nclass Mine(Order):\n    def key(self, seq):\n        return -seq.arrival\n"
    )
    data = headway(*FAST, "--policy", "mine:Mine", "--json", "-").json
    assert data["settings"]["policy"] == "mine:Mine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["d1", "--memory", "watermark(level=2)"], "level must be in (0, 1], got 2"),
        (["d1", "--memory", "emma"], "did you mean 'ema'?"),
        (["d1", "--steady-after", "0"], "--steady-after must be >= 1, got 0"),
        (["d1", "--steady-after", "x"], "'x' is not a whole number"),
        (["d1", "--seeds", "0"], "--seeds must be"),
        (["d1", "--html", "no/a.html"], "the folder no does not exist"),
        (["d1", "--html", "a", "--json", "a"], "is written there too"),
        (["d1", "--policy", "fcfss"], "did you mean 'fcfs'?"),
        (["d11"], "neither a file nor a workload"),
    ],
)
def test_bad_input_gets_one_line(headway: Headway, arguments: list[str], says: str):
    assert says in headway("frontier", *arguments).refusal()


def interrupt(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Press Ctrl-C in the n-th run."""
    left, real = [at], study.simulate

    def simulate(*given: object, **named: object) -> object:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(study, "simulate", simulate)


def test_interrupted_it_shows_what_there_is(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    interrupt(monkeypatch, 5)
    result = headway(*FAST, "--json", "a.json", "--html", "a.html")
    assert result.status == 130
    assert result.err.splitlines()[-1] == "headway: interrupted: these results are partial"
    data = json.loads((folder / "a.json").read_text())
    assert data["partial"] is True
    assert [len(curve["points"]) for curve in data["curves"]] == [4]
    assert "Interrupted: these results are partial" in (folder / "a.html").read_text()


def test_interrupted_before_anything(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    interrupt(monkeypatch, 1)
    result = headway(*FAST, "--json", "a.json")
    assert (result.status, result.out, result.err) == (130, "", "headway: interrupted; nothing was written\n")
    assert list(folder.iterdir()) == []
