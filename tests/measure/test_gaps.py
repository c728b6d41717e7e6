"""Pooled ITL from run-length coded iterations against every token counted one by one."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.quantile import rank
from headway.measure.gaps import largest_gaps, pooled_gaps
from headway.measure.quantiles import Stats
from headway.measure.record import Segments
from tests.measure.fake_runs import residence, segments, stray

GAPS = st.floats(0.001, 10.0)


@dataclass
class Run:
    """Decode iterations, who took part in them, gaps of single requests, and how many requests there are."""

    segments: Segments
    residence: pl.DataFrame
    stray: pl.DataFrame
    requests: int

    def pooled(self, *groups: np.ndarray, max_pieces: int = 1_000_000) -> list[Stats]:
        return pooled_gaps(self.segments, self.residence, self.stray, groups, max_pieces)


@st.composite
def runs(draw: st.DrawFn, *, aligned: bool, rising: bool = False) -> Run:
    """Contiguous segments, and requests that join, leave and join again.

    Args:
        draw: hypothesis' own.
        aligned: joining falls between two segments (leaving always does when `rising`).
        rising: gaps do not fall within a segment, and nobody joins and leaves at once.
    """
    rows: list[tuple[int, int, float, float]] = []
    clock = draw(st.integers(0, 3))
    for _ in range(draw(st.integers(1, 6))):
        steps = draw(st.integers(1, 7))
        gaps = draw(st.tuples(GAPS, GAPS)) if steps > 1 and draw(st.booleans()) else (draw(GAPS),) * 2
        rows.append((clock, steps, *(sorted(gaps) if rising else gaps)))
        clock += steps
    ends = [row[0] for row in rows] + [clock]
    edges = ends if aligned else list(range(ends[0], clock + 1))
    requests = draw(st.integers(1, 5))
    stays: list[tuple[int, int, int]] = []
    for row in range(requests):
        cuts = sorted(draw(st.lists(st.sampled_from(edges), max_size=6)))
        pairs = [(cuts[k], cuts[k + 1]) for k in range(0, len(cuts) - 1, 2)]
        if rising:
            pairs = [(joined, min(end for end in ends if end >= left)) for joined, left in pairs if left > joined]
        stays += [(row, joined, left) for joined, left in pairs]
    alone = draw(st.lists(st.tuples(st.integers(0, requests - 1), GAPS), max_size=4))
    return Run(segments(*rows), residence(*draw(st.permutations(stays))), stray(*alone), requests)


def token_by_token(run: Run, member: np.ndarray) -> list[float]:
    """Every gap that every request in the group saw, in order of size."""
    gaps: dict[int, float] = {}
    of = run.segments
    for clock, steps, first, last in zip(of.clock, of.steps, of.first, of.last, strict=True):
        for k in range(int(steps)):
            gaps[int(clock) + 1 + k] = first + (last - first) * (k / (steps - 1) if steps > 1 else 0)
    seen = [
        gaps[c] for row, joined, left in run.residence.iter_rows() if member[row] for c in range(joined + 1, left + 1)
    ]
    return sorted(seen + [seconds for row, seconds in run.stray.iter_rows() if member[row]])


def assert_describes(stats: Stats, values: list[float]) -> None:
    if not values:
        assert stats == Stats()
        return
    expected = [values[rank(Fraction(p, 100), len(values)) - 1] for p in (50, 90, 99)]
    found = [stats.mean, stats.p50, stats.p90, stats.p99, stats.max]
    assert found == pytest.approx([math.fsum(values) / len(values), *expected, values[-1]], rel=1e-9)


@given(st.booleans().flatmap(lambda aligned: runs(aligned=aligned)), st.data())
def test_pooled_gaps_are_those_of_every_token(run: Run, data: st.DataObject):
    masks = st.lists(st.booleans(), min_size=run.requests, max_size=run.requests).map(np.array)
    groups = [np.ones(run.requests, dtype=bool), data.draw(masks)]
    for stats, member in zip(run.pooled(*groups), groups, strict=True):
        assert_describes(stats, token_by_token(run, member))


@given(runs(aligned=True), st.integers(1, 8))
def test_with_few_pieces_mean_and_maximum_stay_exact_and_quantiles_near(run: Run, pieces: int):
    everyone = np.ones(run.requests, dtype=bool)
    values = token_by_token(run, everyone)
    (stats,) = run.pooled(everyone, max_pieces=pieces)
    if not values:
        assert stats == Stats()
        return
    of = run.segments
    length = -(-int(of.steps.sum()) // pieces)
    change = np.abs(of.last - of.first) / np.maximum(of.steps - 1, 1)
    error = float(change.max()) * (length - 1) / 2 + 1e-9
    assert stats.mean == pytest.approx(math.fsum(values) / len(values), rel=1e-9)
    assert stats.max == pytest.approx(values[-1], rel=1e-9)
    assert stats.p50 == pytest.approx(values[rank(Fraction(1, 2), len(values)) - 1], abs=error)


@given(st.booleans().flatmap(lambda aligned: runs(aligned=aligned, rising=True)))
def test_the_largest_gap_of_a_request_is_the_largest_that_it_saw(run: Run):
    found = largest_gaps(run.requests, run.segments, run.residence, run.stray)
    assert found.size == run.requests
    for row, largest in enumerate(found):
        seen = token_by_token(run, np.arange(run.requests) == row)
        assert largest == pytest.approx(seen[-1]) if seen else np.isnan(largest)


EVERYONE = np.ones(1, dtype=bool)


def test_a_run_without_decode_has_no_gaps():
    assert pooled_gaps(segments(), residence(), stray(), [EVERYONE]) == [Stats()]
    assert np.isnan(largest_gaps(1, segments(), residence(), stray())).all()


def test_a_request_that_joined_and_left_at_once_has_no_gap():
    assert pooled_gaps(segments((0, 4, 1.0, 1.0)), residence((0, 2, 2)), stray(), [EVERYONE]) == [Stats()]


def test_a_gap_across_an_eviction_counts_once():
    run = Run(segments((0, 4, 1.0, 1.0)), residence((0, 0, 1), (0, 3, 4)), stray((0, 7.0)), 1)
    (stats,) = run.pooled(EVERYONE)
    assert (stats.mean, stats.p50, stats.max) == (3.0, 1.0, 7.0)


def test_cost_does_not_grow_with_tokens():
    steps = 10**12
    run = segments((0, steps, 0.01, 0.01), (steps, steps, 0.01, 0.03))
    (stats,) = pooled_gaps(run, residence((0, 0, 2 * steps)), stray(), [EVERYONE])
    assert stats.mean == pytest.approx(0.015)
    assert stats.p50 == 0.01
    assert stats.p90 == pytest.approx(0.026, rel=1e-5)
    assert stats.max == pytest.approx(0.03)
