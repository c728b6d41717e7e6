"""What tune found, in words and tables: every verdict, and what goes with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.measure.gain import Gain, gain
from headway.measure.intervals import Interval
from headway.measure.tuning import OBJECTIVES, Candidate, Change, Tuning
from headway.report.columns import NO_VALUE
from headway.report.tuning import tuning_page
from headway.report.tuning_tables import candidates_table, changes_table
from headway.report.tuning_words import amount, interval_text, relative_text, tuning_answer

BASE = [10.0, 12.0, 11.0, 13.0]
EQUAL = gain(BASE, BASE, lower_is_better=True)


def candidate(name: str, values: list[float], chosen: list[float], **more: object) -> Candidate:
    one = Candidate(
        name=name,
        parts={"order": name, "memory": "prompt-fit", "shed": "keep", "prefill_share": "0", "reserve": ""},
        changed=int(name != "fcfs"),
        predicts=False,
        promised=False,
        training=11.0,
        held_out=sum(values) / len(values),
        gain=gain(values, BASE, lower_is_better=True),
        behind=gain(values, chosen, lower_is_better=True),
    )
    return replace(one, **more)  # type: ignore[arg-type]


def tuning(values: list[float], *others: Candidate, **more: object) -> Tuning:
    """Return what tune says of a setting `psf` with these figures, beside a baseline of `BASE` seconds."""
    found = Tuning(
        settings={
            "workload": "t.csv",
            "engine": "e",
            "held_out": 4,
            "training": 4,
            "traffic": "windows",
            "requests": 100,
        },
        objective=OBJECTIVES["mean"],
        baseline=candidate("fcfs", BASE, values),
        candidates=(candidate("psf", values, values, predicts=True), *others),
        changes=(
            Change("ttft.p99", "TTFT P99", "s", 2.0, 1.0, Gain(1.0, Interval(0.5, 1.5), 0.5, 4)),
            Change("classes.long.ttft.p99", "long: TTFT P99", "s", 2.0, 4.0, Gain(-2.0, Interval(-3, -1), -1.0, 4)),
        ),
        searched=30,
        runs=100,
        warnings=("Beware.",),
        notes=("A note.",),
        paste={
            "compare": "headway compare t.csv",
            "baseline": None,
            "serve": '[policy]\norder = "psf"\n',
            "promises": None,
        },
    )
    return replace(found, **more)  # type: ignore[arg-type]


GOOD = [5.0, 6.0, 5.0, 6.5]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            GOOD,
            "Run psf: the mean time to first token is 51 % lower than under fcfs on 4 held-out windows (5.62 s",
        ),
        ([2 * value for value in BASE], "Keep what you have (fcfs). The best that the search found, psf, is worse"),
        ([14.0, 8.0, 12.0, 11.5], "No significant difference: keep what you have (fcfs)."),
        ([value * 0.995 for value in BASE], "No difference that matters: keep what you have (fcfs)."),
    ],
)
def test_every_verdict_has_its_sentence(values: list[float], says: str):
    found = tuning(values)
    assert tuning_answer(found)[0].startswith(says)
    assert found.recommended.name == ("psf" if says.startswith("Run") else "fcfs")


def test_what_runs_out_of_memory_is_not_advised():
    found = tuning(GOOD, unsafe=2)
    assert found.recommended is found.baseline
    assert "psf, runs out of memory in 2 of 4 held-out windows." in tuning_answer(found)[0]


def test_what_it_needs_and_costs_is_said():
    other = candidate("shortest-work", [6.0, 7.0, 6.0, 7.0], GOOD)
    text = " ".join(tuning_answer(tuning(GOOD, other)))
    assert "needs a prediction of who will be long. Without one, shortest-work is better than fcfs too (+43 %" in text
    assert "What gets worse: long: TTFT P99 from 2.00 s to 4.00 s." in text
    assert "Nothing that needs none came to the end of the search." in " ".join(tuning_answer(tuning(GOOD)))


def test_requests_turned_away_have_their_share_beside_them():
    change = Change("rejected", "requests turned away", "", 0.0, 7.2, Gain(-7.2, Interval(-9, -5), None, 4), of=250)
    found = tuning(GOOD, changes=(change,))
    assert "What gets worse: requests turned away from 0 to 7.2 of 250 (2.9 %)." in tuning_answer(found)
    table = changes_table(found)
    assert table is not None
    assert [column.cells for column in table.columns][:2] == [("0",), ("7.2 (2.9 %)",)]


def test_the_baseline_by_its_own_rules_is_on_the_page():
    shared = {"compare": "c", "baseline": "headway compare t.csv --policy fcfs", "serve": "", "promises": None}
    assert "above, all but --policy holds for both" in tuning_page(tuning(GOOD, paste=shared))
    assert "all but --policy" not in tuning_page(tuning(GOOD, paste=shared | {"baseline": None}))


def test_what_does_as_well_or_better_is_named():
    alike = candidate("aa", [5.2, 5.8, 5.1, 6.4], GOOD, predicts=True)
    above = candidate("qba", [4.0, 4.9, 4.1, 5.4], GOOD, predicts=True)
    text = " ".join(tuning_answer(tuning(GOOD, alike, above)))
    assert "Within noise of it on these: aa." in text
    assert "Better still on these: qba (+" in text
    assert "a hint and no result" in text


def test_tables_have_a_row_for_each():
    found = tuning(GOOD, candidate("aa", GOOD, GOOD))
    table = candidates_table(found)
    assert table.rows == ("psf", "aa", "fcfs")
    assert [column.cells[-1] for column in table.columns] == ["11.0 s", "11.5 s", *[NO_VALUE] * 3, "worse"]
    changes = changes_table(found)
    assert changes is not None
    assert changes.rows == ("TTFT P99", "long: TTFT P99")
    assert changes_table(tuning(BASE, candidates=(candidate("fcfs", BASE, BASE),))) is None


def test_the_page_has_all_of_it():
    page = tuning_page(tuning(GOOD, partial=True))
    for text in (
        "What should e run on t.csv?",
        "Run psf",
        "Beware.",
        "headway compare t.csv",
        "order = &quot;psf&quot;",
    ):
        assert text in page
    assert "these results are partial" in page


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.876, "%", "87.6 %"), (4901.2, "tokens/s", "4,901 tokens/s"), (7.25, "", "7.2"), (0.0123, "s", "12.3 ms")],
)
def test_figures_have_their_unit(value: float, unit: str, text: str):
    assert amount(value, unit) == text


def test_goodput_without_more_kept_agreements_is_no_reason():
    """Whoever turns requests away has shorter runs, and more tokens a second in them."""

    def told(before: float, after: float) -> str:
        kept = Change("sla.attainment", "agreement kept", "%", before, after, Gain(after - before, None, None, 4))
        found = tuning([20.0, 21.0, 19.0, 20.0], objective=OBJECTIVES["goodput"])
        found = replace(found, baseline=replace(found.baseline, name="mod:Mine"), changes=(kept,))
        better = replace(found.chosen, gain=Gain(5.0, Interval(4.0, 6.0), 0.5, 4))
        return tuning_answer(replace(found, candidates=(better,)))[0]

    assert told(0.6, 0.8).startswith("Run psf: goodput under the agreement is 50 % higher than under mod:Mine")
    assert told(0.6, 0.6).startswith("Keep what you have (mod:Mine). The best that the search found, psf, has a higher")
    assert "for no more requests (60.0 % before, 60.0 % then)" in told(0.6, 0.6)


def test_an_agreement_that_nobody_keeps_is_said():
    found = tuning([0.0] * 4, objective=OBJECTIVES["goodput"])
    nothing = replace(found.baseline, held_out=0.0)
    (text, *_) = tuning_answer(replace(found, baseline=nothing, candidates=(nothing,)))
    assert text.startswith("Nothing can be said: no request of 4 held-out windows keeps the agreement under fcfs")


def test_both_ends_of_an_interval_are_alike():
    def shown(low: float, high: float, unit: str = "s") -> str:
        return interval_text(Gain(0.0, Interval(low, high), None, 3), unit)

    assert shown(-0.0005, 0.00455) == "\N{MINUS SIGN}0.50 to +4.55 ms"
    assert shown(0.148, 0.574) == "+0.148 to +0.574 s"
    assert shown(0.0, 0.0) == "+0 to +0 ms"
    assert shown(4644.2, 5028.0, "tokens/s") == "+4,644 to +5,028 tokens/s"
    assert shown(0.817, 0.895, "%") == "+81.7 to +89.5 points"
    assert interval_text(Gain(0.0, None, None, 1), "s") == "no interval"


def test_shares_are_times_where_they_are_large():
    assert relative_text(Gain(1, None, 4.6, 3)) == "\N{MULTIPLICATION SIGN} 5.6"
    assert relative_text(Gain(1, None, -0.72, 3)) == "\N{MINUS SIGN}72 %"
    assert relative_text(Gain(1, None, 1e-5, 3)) == "0 %"
    assert relative_text(EQUAL) == "0 %"
