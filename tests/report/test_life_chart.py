"""The time line of one request."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
import vl_convert

from headway.measure.comparison import Comparison
from headway.measure.record import FOLLOWED_SCHEMA, Followed
from headway.report.drawing import Figure
from headway.report.html import html_report
from headway.report.life_chart import life_figure
from tests.measure.fake_runs import outcome, record
from tests.measure.test_life import NOTES


def comparison(notes: list[tuple[float, str, int, int]], evicted: int = 1) -> Comparison:
    run = record([outcome(0), outcome(7, evictions=evicted)], order="fcfs", memory_rule="watermark(level=0.9)")
    frame = pl.DataFrame(notes, schema=FOLLOWED_SCHEMA, orient="row")
    return Comparison.of({}, {"fcfs": [dataclasses.replace(run, followed=Followed(1, 0.0, frame))]})


def drawn(notes: list[tuple[float, str, int, int]] = NOTES, evicted: int = 1) -> Figure:
    figure = life_figure(comparison(notes, evicted))
    assert figure is not None
    return figure


def svgs(figure: Figure) -> list[str]:
    return [vl_convert.vegalite_to_svg(chart.properties(width=600).to_dict()) for chart in figure.charts]


def test_it_shows_the_request_and_the_whole_cache() -> None:
    figure = drawn()
    cache, request = svgs(figure)
    assert "NaN" not in cache + request
    assert "capacity" in cache
    assert "Whole cache (KV tokens)" in cache
    assert "This request (KV tokens)" in request
    assert "Time since the first arrival (s)" in request
    for phase in ("decode", "prefill", "waiting"):
        assert phase in request


def test_it_says_what_the_eviction_cost() -> None:
    figure = drawn()
    assert "evicted: 13 tokens lost, back after 2.00 s" in svgs(figure)[1]
    assert figure.title == "The memory of request 7"
    assert "most often, once, under fcfs with watermark(level=0.9)" in figure.caption
    assert "the longest such stall was 2.00 s" in figure.caption


def test_many_evictions_are_lines_without_words() -> None:
    again = [note for turn in range(6) for note in ((10.0 + turn, "decode", 9, 90), (10.0 + turn, "waiting", 0, 81))]
    figure = drawn([*NOTES[:-2], *again, (17.0, "decode", 9, 90), (18.0, "ended", 0, 81)], 7)
    assert "7 times" in figure.caption
    assert "tokens lost" not in svgs(figure)[1]


def test_long_lives_are_thinned() -> None:
    long = [(float(t), "decode", t, 50 + t % 7) for t in range(5000)]
    figure = drawn([(0.0, "waiting", 0, 0), *long, (5000.0, "ended", 0, 0)])
    for chart in figure.charts:
        assert all(len(layer["data"]["values"]) <= 1000 for layer in chart.to_dict()["layer"])


@pytest.mark.parametrize("notes", [[], NOTES[:1]])
def test_nothing_to_draw(notes: list[tuple[float, str, int, int]]) -> None:
    assert life_figure(comparison(notes)) is None
    assert life_figure(Comparison.of({}, {"fcfs": [record([outcome(0)])]})) is None


def test_the_report_has_it() -> None:
    assert "The memory of request 7" in html_report(comparison(NOTES))
    assert "The memory of request" not in html_report(Comparison.of({}, {"fcfs": [record([outcome(0)])]}))
