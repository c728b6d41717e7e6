"""Agreements: read, and kept or not."""

from __future__ import annotations

import pytest

from headway.core.errors import InvalidInput
from headway.measure.sla import Sla, service
from tests.measure.fake_runs import LEFT, REJECTED, outcome, record


def test_an_agreement_is_read_and_written() -> None:
    assert Sla.parse("ttft=10, mtpot=1.5") == Sla(ttft=10.0, mtpot=1.5)
    assert str(Sla.parse("mtpot=1.5,ttft=10")) == "ttft=10,mtpot=1.5"
    assert Sla.parse("e2e=3e1") == Sla(e2e=30.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not of the form ttft=10"),
        ("ttft", "'ttft' is not of the form ttft=10"),
        ("tft=1", "unknown limit 'tft'; did you mean 'ttft'?"),
        ("ttft=0", "ttft = '0'; expected a number of seconds above 0"),
        ("ttft=nan", "expected a number of seconds above 0"),
        ("ttft=1,ttft=2", "'ttft' is given twice"),
    ],
)
def test_what_is_no_agreement_is_said_in_one_line(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Sla.parse(text)
    assert words in str(caught.value)


def test_only_what_kept_every_limit_counts() -> None:
    rows = [
        outcome(0),  # ttft 1.5, largest gap 0.25, end to end 3
        outcome(1, first_token=5.0),  # ttft 4
        outcome(2, largest_gap=2.0),
        outcome(3, **REJECTED),
        outcome(4, largest_gap=None),  # one delivery: no gap to be late with
    ]
    run = record(rows)
    kept = service(run, Sla(ttft=2.0, mtpot=1.0))
    assert kept.attainment == pytest.approx(2 / 5)
    assert kept.goodput_tokens_per_s == pytest.approx(2 * 15 / run.totals.seconds)
    assert service(run, Sla(e2e=2.9)).attainment == 0
    assert service(run, Sla(e2e=3.0)).attainment == pytest.approx(4 / 5)


def test_whose_client_left_was_not_served() -> None:
    """Neither before its first token, which would otherwise count as none being due, nor after one in time."""
    rows = [outcome(0), outcome(1, **LEFT), outcome(2, **LEFT | {"first_token": 2.5, "output_tokens": 1})]
    run = record(rows)
    for agreement in (Sla(ttft=2.0), Sla(mtpot=1.0), Sla(e2e=3.0), Sla(ttft=2.0, mtpot=1.0, e2e=3.0)):
        kept = service(run, agreement)
        assert kept.attainment == pytest.approx(1 / 3)
        assert kept.goodput_tokens_per_s == pytest.approx(15 / run.totals.seconds)
