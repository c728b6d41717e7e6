"""The fewest that hold: asked for, and one less too."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.studies.fewest import fewest


@given(st.integers(1, 400), st.integers(0, 500))
def test_so_many_hold_and_one_less_does_not(least: int, guess: int):
    asked: list[int] = []

    def holds(count: int) -> bool:
        asked.append(count)
        return count >= least

    assert fewest(holds, guess) == least
    assert least in asked
    assert least == 1 or least - 1 in asked
    assert len(asked) == len(set(asked))
    assert len(asked) < 40


def test_a_good_guess_asks_little():
    asked: list[int] = []
    fewest(lambda count: asked.append(count) or count >= 12, 12)  # type: ignore[func-returns-value]
    assert asked == [12, 11]
