"""A reproduction as page and files: everything whole, every verdict in words and colour."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from headway.report.reproduction import reproduction_page, write_reproduction
from headway.report.reproduction_words import not_held, reproduction_answer
from tests.measure.reproduction_by_hand import LOADS, TABLE, finding, typical
from tests.report.test_html import Page


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(reproduction_page(typical()))


def test_the_answer_counts_the_verdicts() -> None:
    assert reproduction_answer(typical()) == (
        "Of 3 claims 1 holds, 1 holds in part and 1 does not hold here. 1 was not run."
    )
    nothing = replace(typical(), findings=typical().findings[3:])
    assert reproduction_answer(nothing) == "No claim was judged. 1 was not run."
    assert [one.name for one in not_held(typical())] == ["two", "three"]


def test_every_verdict_is_said_and_coloured(page: Page) -> None:
    chips = [
        attrs["class"] for tag, attrs in page.elements if tag == "span" and "verdict" in (attrs.get("class") or "")
    ]
    assert chips[2:] == [
        "verdict holds",
        "verdict holds-in-part",
        "verdict does-not-hold-here",
    ]
    assert page.texts["span"].count("holds") == 1
    style = page.text("style")
    assert all(f".{chip.replace(' ', '.')} {{ color" in style for chip in chips[2:] if chip)


def test_claims_that_were_not_run_are_one_line_after_those_that_were() -> None:
    never = replace(finding("never", "not run", "Nobody can."), where="VI")
    several = [replace(finding(f"left-{place}", "not run"), where="IV-C") for place in range(3)]
    found = replace(typical(), findings=(never, *several, *typical().findings))
    page = Page(reproduction_page(found))
    rows = [attrs["id"] for tag, attrs in page.elements if tag == "tr" and "id" in attrs]
    assert rows == ["one", "two", "three", "never"]
    assert "Not run, 4: IV-C (3); IV-B, Fig. 2 (1)." in page.texts["p"]
    assert "Nobody can." in page.texts["span"]
    assert "Not run" not in reproduction_page(replace(found, findings=typical().findings[:3]))
    assert len(found.to_dict()["findings"]) == 8


def test_the_page_has_claims_figures_tables_and_how_to_repeat_it(page: Page) -> None:
    assert page.text("h1") == "Does it come out? A Paper & its title"
    assert page.text("code") == "headway reproduce qba --out results"
    assert page.texts["h2"] == ["What does not come out", "Claims", "Load sweep", "The rest", "Repeat it", "Notes"]
    assert "Claim <one>." in page.texts["th"]
    assert "It is 12\N{NO-BREAK SPACE}s here." in page.texts["span"]
    places = [attrs["id"] for tag, attrs in page.elements if tag == "div" and attrs.get("class") == "chart"]
    assert sorted(f"#{place}" for place in places) == sorted(f"#{chart['place']}" for chart in page.charts())
    assert len(places) == 4
    assert "24,700" in page.texts["td"]
    assert "partial" not in page.text("p")
    assert "partial" in Page(reproduction_page(typical(partial=True))).text("p")
    before, after = reproduction_page(replace(typical(), first="Of 2 seeds alone.")).split("Of 2 seeds alone.")
    assert "<h2>" not in before
    assert "Claims" in after


def test_the_page_loads_nothing(page: Page) -> None:
    assert not [attrs for _, attrs in page.elements if {"src", "href"} & attrs.keys()]


def test_all_files_are_there_and_their_data_is_the_frames(tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert write_reproduction(typical(), out) == out / "index.html"
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == {
        "index.html",
        "findings.json",
        *(
            f"figures/{name}.{end}"
            for name in ("fig2-mean", "bars", "plane", "heat")
            for end in ("png", "svg", "csv", "parquet")
        ),
        "tables/table2.csv",
        "tables/table2.parquet",
    }
    assert_frame_equal(pl.read_parquet(out / "figures/fig2-mean.parquet"), LOADS)
    assert_frame_equal(pl.read_csv(out / "figures/fig2-mean.csv"), LOADS)
    assert_frame_equal(pl.read_parquet(out / "tables/table2.parquet"), TABLE.data)
    assert (out / "figures/plane.png").read_bytes().startswith(b"\x89PNG")
    told = json.loads((out / "findings.json").read_text())
    assert told["paper"] == "qba"
    assert told["verdicts"] == {"holds": 1, "holds in part": 1, "does not hold here": 1, "not run": 1}
    assert [finding["verdict"] for finding in told["findings"]] == [one.verdict for one in typical().findings]
    assert told["parts"][1] == {"name": "rest", "title": "The rest", "figures": ["plane", "heat"], "tables": ["table2"]}


def test_what_an_earlier_run_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    write_reproduction(typical(), tmp_path)
    (tmp_path / "figures/mine.txt").write_text("mine")
    write_reproduction(replace(typical(), parts=typical().parts[:1]), tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*.parquet")) == ["bars.parquet", "fig2-mean.parquet"]
    assert (tmp_path / "figures/mine.txt").exists()


def test_nothing_is_written_where_something_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.report.reproduction._page", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_reproduction(typical(), tmp_path / "results")
    assert not list(tmp_path.iterdir())
