"""The frontier in words, tables and pictures."""

from __future__ import annotations

import json

import pytest
import vl_convert

from headway.measure.frontier import Frontier
from headway.measure.memory_curve import Curve
from headway.report.columns import NO_VALUE, Table
from headway.report.frontier import frontier_page, write_frontier
from headway.report.frontier_chart import frontier_figure
from headway.report.frontier_tables import equal_use_table, settings_table, times_table
from headway.report.frontier_words import frontier_answer, frontier_question
from headway.report.picture import save_figure
from tests.measure.curves_by_hand import PAST_FUTURE, WATERMARK, curve, point, typical
from tests.report.test_html import Page


def with_curves(*curves: Curve, **given: object) -> Frontier:
    found = typical()
    return Frontier(found.settings | given, found.part, curves, partial=False, notes=())


def svg(found: Frontier) -> str:
    return vl_convert.vegalite_to_svg(frontier_figure(found).charts[0].properties(width=800).to_dict())


def cells(table: Table | None, row: str) -> dict[str, str]:
    assert table is not None
    place = table.rows.index(row)
    return {column.name: f"{column.cells[place]} {column.spread[place]}".strip() for column in table.columns}


def test_question_and_answer() -> None:
    found = typical()
    assert frontier_question(found) == (
        "How full can past-future-table1 run its KV cache on d1, and at how many evictions?"
    )
    assert frontier_answer(found) == (
        "From 80 to 93 % of the cache in use, past-future evicts less than watermark at the same use: 2.2 times less "
        "at 93 %, 50 times at 86.5 %. From 93.5 to 94 % of the cache, the two are level: within a factor of 2. "
        "At 1 eviction in 100 requests past-future fills 90 % of the cache (at reserve about 3). Who knew every length "
        "in advance (oracle) would fill 95 %, without any eviction."
    )


def test_several_seeds_bring_the_interval_of_the_ratio() -> None:
    assert "% (95 % interval " in frontier_answer(typical(4))


def test_a_rule_that_evicts_more() -> None:
    answer = frontier_answer(with_curves(curve("ema", *WATERMARK), curve("past-future", *PAST_FUTURE)))
    assert answer.startswith(
        "From 80 to 93 % of the cache in use, ema evicts more than past-future: 2.2 times more at 93 %. From 93.5"
    )
    assert "past-future fills 90 % of the cache (at reserve about 3)." in answer


def test_level_rules_and_too_few_evictions() -> None:
    level = with_curves(curve("past-future", *WATERMARK), curve("watermark", *WATERMARK))
    assert "past-future and watermark are level" in frontier_answer(level)
    few = ((0.8, 0.1), (0.9, 0.2))
    assert frontier_answer(with_curves(curve("ema", *few), curve("watermark", *few))).startswith(
        "There were too few evictions to tell ema from watermark at the same use. At 1 eviction in 100 requests"
    )


def test_no_rule_evicted_anything() -> None:
    quiet = ((0.29, 0.0), (0.3, 0.0))
    found = with_curves(curve("past-future", *quiet), curve("watermark", *quiet))
    answer = frontier_answer(found)
    assert answer.startswith("No rule evicted anything; 30 % of the cache are in use at the highest (mean). Evictions")
    assert "held back" not in answer
    assert "none" in svg(found)


def test_rules_that_hold_requests_back_without_evictions() -> None:
    held = curve("conservative", (0.12, 0.0), (0.188, 0.0)), curve("past-future", (0.2, 0.0), (0.25, 0.0))
    free = curve("ema", (0.3, 0.0), (0.3, 0.0))
    answer = frontier_answer(with_curves(*held, free))
    assert "by conservative (12 to 18.8 %) and past-future (20 to 25 %)." in answer
    assert "past-future(seed_length=500)" in answer
    told = curve("past-future(seed_length=100)", (0.2, 0.0), (0.25, 0.0))
    assert "expects the longest" not in frontier_answer(with_curves(told, free))
    table = equal_use_table(with_curves(curve("past-future", (0.2, 0.0), (0.4, 0.0)), curve("ema", (0.3, 0), (0.4, 0))))
    assert cells(table, "past-future")["KV in use"] == NO_VALUE


def test_a_rule_that_never_evicts_beside_others_has_no_use_at_a_rate() -> None:
    cautious = curve("past-future", (0.7, 0.0), (0.8, 0.0))
    found = with_curves(cautious, curve("watermark", (0.75, 0.5), (0.85, 2.0), (0.92, 10.0)))
    answer = frontier_answer(found)
    assert "At 1 eviction in 100 requests watermark fills 80 % of the cache (at level about 1.5)." in answer
    assert "past-future expects the longest answers" in answer
    assert cells(equal_use_table(found), "past-future")["KV in use"] == NO_VALUE
    assert cells(equal_use_table(found), "watermark")["KV in use"] == "80.0"


def test_an_oracle_that_evicts_says_so() -> None:
    limit = Curve("oracle", None, (point("oracle", None, (0.97, 0.5)),))
    found = with_curves(curve("watermark", *WATERMARK), limit)
    assert "would fill 97 %, 0.5 evictions in 100." in frontier_answer(found)
    assert "oracle: 97 %, 0.5 evictions per 100" in svg(found)


def test_a_single_rule() -> None:
    found = with_curves(curve("watermark", *WATERMARK))
    assert frontier_answer(found) == ""  # it evicts more than 1 in 100 everywhere, and there is nothing to compare
    assert equal_use_table(found) is None
    assert times_table(found) is None
    assert len(settings_table(found).rows) == 4


def test_rules_at_equal_use() -> None:
    table = equal_use_table(typical())
    assert cells(table, "past-future") == {
        "84 %": "< 0.079",
        "86 %": "0.1",
        "88 %": "0.32",
        "90 %": "1.0",
        "92 %": "3.2",
        "94 %": "10",
        "KV in use": "90.0",
    }
    assert cells(table, "watermark")["KV in use"] == NO_VALUE
    assert cells(times_table(typical()), "past-future") == {
        "84 %": "> 68",
        "86 %": "65",
        "88 %": "24",
        "90 %": "8.6",
        "92 %": "3.2",
        "94 %": "1.6",
    }
    assert "(" in cells(times_table(typical(4)), "past-future")["90 %"]


def test_every_setting() -> None:
    table = settings_table(typical(3))
    assert len(table.rows) == 9
    assert table.head == "memory rule"
    row = cells(table, "past-future(reserve=3)")
    assert row["mean"].startswith("90.0")
    assert row["Evictions"].startswith("1.0 ± ")
    assert row["Requests evicted"] == "1.0"
    assert row["Recomputed"] == "20"
    assert table.colours is not None
    assert len({table.colours[name] for name in table.rows if name.startswith("past-future")}) == 1


@pytest.mark.parametrize("seeds", [1, 4])
def test_the_chart_is_one_that_vega_can_draw(seeds: int) -> None:
    picture = svg(typical(seeds))
    assert "NaN" not in picture
    for text in ("KV cache in use (% of its tokens, mean)", "Evictions per 100 requests (log scale)", "none"):
        assert text in picture
    assert "oracle: 95 %, no evictions" in picture
    assert "past-future (reserve)" in picture
    assert ("intervals" in frontier_figure(typical(seeds)).caption) is (seeds > 1)


def test_points_without_evictions_are_hollow_and_lie_on_a_line_of_their_own() -> None:
    spec = frontier_figure(typical()).charts[0].to_dict()
    rows = [row for layer in spec["layer"] for row in layer["data"]["values"] if "none" in row]
    hollow = {row["memory"]: row["evictions"] for row in rows if row["none"]}
    assert list(hollow) == ["past-future(reserve=1)"]
    assert hollow["past-future(reserve=1)"] < min(row["evictions"] for row in rows if not row["none"])
    for layer in spec["layer"]:
        domain = layer["encoding"]["y"].get("scale", {}).get("domain") if "y" in layer["encoding"] else None
        if domain:
            assert domain[0] < hollow["past-future(reserve=1)"] < domain[1]


def test_the_page_needs_nothing_else() -> None:
    text = frontier_page(typical(3))
    page = Page(text)
    assert page.text("h1") == frontier_question(typical())
    assert frontier_answer(typical(3)) in page.text("p")
    assert page.text("code") == "headway frontier d1"
    assert {"Evictions at equal use of the cache", "Every setting", "Repeat it", "Notes"} <= set(page.texts["h2"])
    assert "2,000 requests under fcfs, 3 seeds (0 to 2), 27 runs" in page.text("p")
    assert "from 1,000 finishes" in page.text("p")
    places = {attributes.get("id") for tag, attributes in page.elements if tag == "div"}
    assert {chart["place"] for chart in page.charts()} <= places
    assert '"url"' not in json.dumps(page.charts())
    assert "Interrupted" not in text


def test_what_comes_from_outside_cannot_become_markup() -> None:
    evil = "</script><script>alert(1)</script>&<b>"
    found = with_curves(*typical().curves, workload=evil, command=evil, policy=evil)
    assert "alert(1)" in Page(frontier_page(found)).text("h1")


def test_partial_results_say_so_at_the_top(tmp_path) -> None:
    write_frontier(typical(partial=True), tmp_path / "page.html")
    assert "Interrupted: these results are partial." in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<svg")])
def test_a_figure_can_be_a_picture(tmp_path, name: str, start: bytes) -> None:
    save_figure(frontier_figure(typical()), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"ends in \.png or \.svg"):
        save_figure(frontier_figure(typical()), tmp_path / "a.pdf")
