from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.theory import erlang_b, erlang_c

offered = st.floats(0.01, 200)
servers = st.floats(0.05, 200)


@pytest.mark.parametrize(
    ("n", "a", "blocked"),
    [
        (0, 3.0, 1.0),
        (1, 1.0, 1 / 2),  # A / (1 + A)
        (2, 1.0, 1 / 5),  # (A²/2) / (1 + A + A²/2)
        (3, 2.0, 4 / 19),  # (8/6) / (1 + 2 + 2 + 8/6)
        (5, 0.0, 0.0),
    ],
)
def test_small_cases_by_hand(n: int, a: float, blocked: float) -> None:
    assert erlang_b(n, a) == pytest.approx(blocked, rel=1e-14)


def by_definition(n: int, a: float) -> float:
    """(A^n / n!) / Σ A^i / i!, in logarithms."""
    terms = [i * math.log(a) - math.lgamma(i + 1) for i in range(n + 1)]
    top = max(terms)
    return math.exp(terms[n] - top) / math.fsum(math.exp(term - top) for term in terms)


@given(st.integers(1, 300), offered)
def test_against_the_definition(n: int, a: float) -> None:
    assert erlang_b(n, a) == pytest.approx(by_definition(n, a), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("a", [4_990.0, 5_000.0, 9_000.0])
def test_thousands_of_servers(a: float) -> None:
    assert erlang_b(5000, a) == pytest.approx(by_definition(5000, a), rel=1e-8)
    assert 0 < erlang_c(5000, a) <= 1


@given(servers, offered)
def test_between_whole_numbers_it_is_the_integral(n: float, a: float) -> None:
    """1/B = A ∫ exp(-A y) (1 + y)^n dy, by a fine sum over the part that counts."""
    peak = max(n / a - 1, 0.0)
    width = (30 * math.sqrt(max(n, 1.0)) + 60) / a
    y = np.linspace(max(peak - width, 0.0), peak + width, 400_001)
    height = np.exp(n * np.log1p(y) - a * y - n * math.log1p(peak) + a * peak)
    total = (height.sum() - (height[0] + height[-1]) / 2) * (y[1] - y[0])
    inverse = math.log(a * total) + n * math.log1p(peak) - a * peak
    assert erlang_b(n, a) == pytest.approx(math.exp(-inverse), rel=1e-5, abs=1e-300)


@given(st.integers(1, 50), offered)
def test_it_is_continuous_at_whole_numbers(n: int, a: float) -> None:
    assert erlang_b(n - 1e-9, a) == pytest.approx(erlang_b(n, a), rel=1e-6)
    assert erlang_b(n + 1e-9, a) == pytest.approx(erlang_b(n, a), rel=1e-6)


@given(servers, offered, st.floats(1.001, 3))
def test_more_servers_block_less_and_more_load_blocks_more(n: float, a: float, factor: float) -> None:
    assert erlang_b(n * factor, a) <= erlang_b(n, a) * (1 + 1e-12)
    assert erlang_b(n, a * factor) >= erlang_b(n, a) * (1 - 1e-12)
    assert erlang_c(n * factor, a) <= erlang_c(n, a) * (1 + 1e-12)
    assert erlang_c(n, a * factor) >= erlang_c(n, a) * (1 - 1e-12)


@given(servers, offered)
def test_both_are_shares_and_waiting_is_likelier_than_being_turned_away(n: float, a: float) -> None:
    assert 0 <= erlang_b(n, a) <= erlang_c(n, a) <= 1


@given(st.floats(0.001, 0.999))
def test_with_one_server_who_waits_is_who_finds_it_busy(a: float) -> None:
    assert erlang_c(1, a) == pytest.approx(a, rel=1e-12)


def test_two_servers_by_hand() -> None:
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3, rel=1e-14)


def test_limits() -> None:
    assert erlang_c(4, 1e-9) < 1e-30
    assert erlang_c(10_000, 5.0) == 0.0
    assert erlang_c(4, 4.0) == erlang_c(4, 7.0) == 1.0
    assert erlang_c(4, 0.0) == 0.0


@pytest.mark.parametrize(("n", "a"), [(-1, 1.0), (math.nan, 1.0), (2, -0.1), (2, math.inf), (1e9, 1.0)])
def test_what_cannot_be(n: float, a: float) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        erlang_b(n, a)
    with pytest.raises(InvalidInput, match="must be"):
        erlang_c(n, a)
    with pytest.raises(InvalidInput, match="servers must be"):
        erlang_c(0, 1.0)
