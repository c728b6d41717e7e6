import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from headway.measure.comparison import ComparisonBuilder
from headway.report import answer, html_report, write_html
from tests.measure.fake_runs import REJECTED, outcome, record, residence, waiting_run
from tests.report.comparisons import of_waits, typical

VOID = {"meta", "br", "img", "input", "hr", "link"}


class Page(HTMLParser):
    """What is on a page; fails where an element is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def text(self, tag: str) -> str:
        return " ".join(self.texts.get(tag, [])).replace("\N{NO-BREAK SPACE}", " ")

    def charts(self) -> list[dict[str, object]]:
        return json.loads(self.texts["script"][0])["charts"]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(html_report(typical(seeds=3)))


def test_it_has_the_question_the_answer_and_how_to_repeat_it(page: Page):
    assert page.text("h1") == "Which policy should serve trace.csv on a100-llama3-8b?"
    assert answer(typical(seeds=3)) in page.text("p")
    assert page.text("code") == "headway compare trace.csv --seeds 3"
    assert {"Waiting", "Tokens", "Engine", "Repeat it", "Notes"} <= set(page.texts["h2"])
    settings = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    assert settings == {"workload": "trace.csv", "engine": "a100-llama3-8b", "rate": "32", "epsilon_sl": "0.1"}
    assert "The arrivals were not in order: sorted." in page.text("li")


def test_every_chart_has_its_place(page: Page):
    places = {attributes.get("id") for tag, attributes in page.elements if tag == "div"}
    charts = page.charts()
    assert len(charts) == 7
    assert {chart["place"] for chart in charts} <= places


def test_it_loads_nothing_from_anywhere(page: Page):
    text = html_report(typical())
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not attributes.keys() & {"src", "href", "srcset", "data", "action", "poster"}
    style = page.text("style")
    assert "@import" not in style
    assert "url(" not in style
    policy = next(a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a) or ""
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    assert not [source for source in ("connect-src", "font-src", "*") if source in policy]
    assert not re.search(r"""(?:fetch|import|importScripts)\(\s*["']https?:""", text)


def test_its_charts_hold_their_data(page: Page):
    text = json.dumps(page.charts())
    assert '"url"' not in text
    assert "NaN" not in text


def test_the_same_comparison_gives_the_same_page_however_long_it_took():
    assert html_report(typical(wall_seconds=0.1)) == html_report(typical(wall_seconds=7.0))


def test_what_comes_from_outside_cannot_become_markup():
    evil = "</script><script>alert(1)</script>&<b>"
    comparison = of_waits({evil: [1.0] * 50, "b": [2.0] * 50}, workload=evil, command=evil, **{evil: [evil, {evil: 1}]})
    page = Page(html_report(comparison))
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "b" not in [tag for tag, _ in page.elements]
    assert evil in page.text("h1")
    assert evil in page.text("code")
    assert evil.partition("(")[0] in json.dumps(page.charts())


def test_a_partial_comparison_says_so_at_the_top():
    builder = ComparisonBuilder({})
    builder.add(waiting_run("fcfs", [1.0]))
    assert "Interrupted: these results are partial." in Page(html_report(builder.build(partial=True))).text("p")
    assert "Interrupted" not in Page(html_report(builder.build())).text("p")


def test_a_comparison_of_nothing_still_makes_a_page():
    rejected = record([outcome(0, **REJECTED)], residence=residence())
    builder = ComparisonBuilder({})
    assert "nothing to compare" in Page(html_report(builder.build())).text("p")
    builder.add(rejected)
    assert "nothing to compare" in Page(html_report(builder.build())).text("p")


def test_writing_it(tmp_path: Path):
    path = tmp_path / "report.html"
    write_html(typical(), path)
    assert path.read_text(encoding="utf-8") == html_report(typical())
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="No such file"):
        write_html(typical(), tmp_path / "missing" / "report.html")


def test_only_who_draws_waits_for_altair():
    code = "import sys, headway.report.html, headway.report.tables; sys.exit('altair' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
