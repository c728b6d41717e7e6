"""The decode clock against every iteration's time added up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.measure.clock import DecodeClock
from headway.measure.gaps import cut
from headway.measure.record import Segments
from tests.measure.fake_runs import segments

GAPS = st.sampled_from([0.004, 0.01, 0.25, 3.0])


@st.composite
def decoded(draw: st.DrawFn) -> tuple[Segments, np.ndarray]:
    """Segments with pauses between them, and when each iteration delivered."""
    rows, times, ends, now = [], [], [], draw(st.sampled_from([0.0, 7.5]))
    for _ in range(draw(st.integers(1, 6))):
        steps, first = draw(st.integers(1, 9)), draw(GAPS)
        last = draw(GAPS.filter(lambda gap, first=first: gap >= first)) if steps > 1 else first
        rows.append((len(times), steps, first, last))
        now += draw(st.sampled_from([0.0, 0.0, 5.0]))  # idle before
        for k in range(steps):
            now += first + (last - first) * k / max(steps - 1, 1)
            times.append(now)
        ends.append(now)
    made = segments(*rows)
    return Segments(made.clock, made.steps, made.first, made.last, np.array(ends)), np.array(times)


@given(decoded(), st.lists(st.integers(0, 60)))
def test_times_are_those_of_all_iterations_added_up(run: tuple[Segments, np.ndarray], cuts: list[int]):
    made, times = run
    clocks = np.arange(1, times.size + 1)
    for shown in (made, cut(made, np.array(cuts, dtype=np.int64))):
        np.testing.assert_allclose(DecodeClock(shown).times(clocks), times, rtol=0, atol=1e-9)


@given(decoded(), st.lists(st.floats(0, 60), max_size=20))
def test_counts_are_the_iterations_that_have_delivered(run: tuple[Segments, np.ndarray], drawn: list[float]):
    made, times = run
    asked = np.concatenate((drawn, times, times - 1e-6))
    found = DecodeClock(made).counts(asked)
    for time, count in zip(asked, found, strict=True):
        assert (times <= time - 1e-8).sum() <= count <= (times <= time + 1e-8).sum()


def test_a_run_without_decodes():
    assert DecodeClock(segments()).counts(np.array([0.0, 5.0])).tolist() == [0, 0]


def test_the_last_iterations_time_is_exact():
    made = segments((0, 1000, 0.01, 0.02), start=3.0)
    assert DecodeClock(made).times(np.array([1000]))[0] == made.end[0]
    assert made.end[0] == pytest.approx(18.0)
