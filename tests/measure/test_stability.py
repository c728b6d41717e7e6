"""Stability of output lengths: against a count by hand, and on traces whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.measure.stability import BINS, SIZES, Stability, stability


def by_hand(outputs: list[int], sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Every histogram counted, every pair compared."""
    n, shape = len(outputs), (len(sizes), len(sizes))
    shortest = sorted(outputs)
    covered = shortest[-(-99 * n // 100) - 1] if n else 0
    width = next(width for width in range(1, covered + 2) if width * BINS > covered)

    def vector(begin: int, size: int) -> np.ndarray:
        counts = np.zeros(BINS)
        for tokens in outputs[begin : begin + size]:
            counts[min(tokens // width, BINS - 1)] += 1
        return counts / np.sqrt((counts**2).sum())

    adjacent, everywhere = np.full(shape, np.nan), np.full(shape, np.nan)
    for i, h in enumerate(sizes):
        for j, r in enumerate(sizes):
            starts = range(h, n - r + 1, r)
            if not starts:
                continue
            adjacent[i, j] = np.mean([vector(s, r) @ vector(s - h, h) for s in starts])
            everywhere[i, j] = np.mean(
                [
                    vector(s, r) @ vector(past, h)
                    for s in starts
                    for past in range(0, n - h + 1, h)
                    if past + h <= s or past >= s + r
                ]
            )
    return adjacent, everywhere


@given(
    outputs=st.lists(st.integers(0, 3000) | st.integers(0, 5), max_size=60),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4, unique=True),
)
@settings(max_examples=150)
def test_it_is_what_counting_gives(outputs: list[int], sizes: list[int]):
    found = stability(outputs, sizes)
    adjacent, everywhere = by_hand(outputs, tuple(sizes))
    np.testing.assert_allclose(found.adjacent, adjacent, atol=1e-9)
    np.testing.assert_allclose(found.everywhere, everywhere, atol=1e-9)


def test_equal_outputs_are_alike_everywhere():
    found = stability(np.full(10_000, 77))
    assert (found.adjacent > 1 - 1e-9).all()
    assert (found.everywhere > 1 - 1e-9).all()
    assert max(found.adjacent.max(), found.everywhere.max()) <= 1


def test_a_known_answer():
    """Ten outputs of 0, then ten of 49: alike within the halves, nothing in common between them."""
    found = stability([0] * 10 + [49] * 10, (5, 10))
    assert found.bin_width == 1
    assert found.at(5, 5) == pytest.approx((2 / 3, 1 / 3))  # running windows: second, third, fourth
    assert found.at(10, 10) == (0, 0)
    assert found.at(10, 5) == pytest.approx((np.sqrt(0.5) / 2, 0))  # before the last window are 5 and 5


def test_known_pairs_at_five():
    halves = stability([0] * 10 + [49] * 10, (5,))
    pairs = [(1, 0), (1, 2), (1, 3), (2, 0), (2, 1), (2, 3), (3, 0), (3, 1), (3, 2)]
    alike = [(a < 2) == (b < 2) for a, b in pairs]
    assert halves.everywhere[0, 0] == pytest.approx(np.mean(alike))


def test_adjacent_windows_tell_more_than_all_when_lengths_drift():
    rng = np.random.default_rng(0)
    drifting = rng.integers(0, 300, 20_000) + np.linspace(0, 2000, 20_000).astype(np.int64)
    adjacent, everywhere = stability(drifting).at(1000, 1000)
    assert adjacent > 0.7
    assert everywhere < 0.3


def test_a_steady_trace_is_as_alike_near_as_far():
    steady = np.random.default_rng(0).integers(0, 1000, 50_000)
    adjacent, everywhere = stability(steady).at(1000, 1000)
    assert adjacent == pytest.approx(everywhere, abs=0.01)
    assert adjacent > 0.94


@pytest.mark.parametrize("n", [0, 1, 199, 200, 1999, 2000])
def test_a_short_trace_has_no_figure(n: int):
    found: Stability = stability(np.arange(n))
    for i, historical in enumerate(SIZES):
        for j, running in enumerate(SIZES):
            enough = n >= historical + running
            assert np.isnan(found.adjacent[i, j]) != enough
            assert np.isnan(found.everywhere[i, j]) != enough


def test_one_huge_output_does_not_widen_the_bins():
    outputs = [*range(1000), 1_000_000]
    assert stability(outputs).bin_width == 20
