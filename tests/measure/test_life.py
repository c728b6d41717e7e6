"""One request's memory, in pieces."""

from __future__ import annotations

import polars as pl

from headway.measure.life import Piece, evictions, most_evicted, pieces
from headway.measure.record import FOLLOWED_SCHEMA, Followed
from tests.measure.fake_runs import outcome, record

NOTES = [
    (1.0, "waiting", 0, 50),
    (2.0, "waiting", 0, 60),
    (3.0, "prefill", 4, 64),
    (4.0, "prefill", 8, 68),
    (5.0, "decode", 10, 70),
    (8.0, "decode", 13, 100),
    (8.0, "waiting", 0, 87),
    (9.0, "waiting", 0, 80),
    (10.0, "decode", 13, 93),
    (11.0, "decode", 14, 94),
    (12.0, "ended", 0, 80),
]


def followed(*notes: tuple[float, str, int, int]) -> Followed:
    return Followed(0, 0.0, pl.DataFrame(list(notes), schema=FOLLOWED_SCHEMA, orient="row"))


def test_a_life_comes_in_pieces() -> None:
    """It waits, is filled, decodes, loses all at once, waits, is filled again, goes on, and ends at once."""
    assert pieces(followed(*NOTES)) == [
        Piece("waiting", (0.0, 1.0, 2.0), (0, 0, 0)),
        Piece("prefill", (2.0, 3.0, 4.0, 5.0), (0, 4, 8, 10)),
        Piece("decode", (5.0, 8.0), (10, 13)),
        Piece("waiting", (8.0, 9.0), (0, 0)),
        Piece("prefill", (9.0, 10.0), (0, 13)),
        Piece("decode", (10.0, 11.0), (13, 14)),
    ]
    assert evictions(followed(*NOTES)) == [(8.0, 13)]
    assert pieces(followed(*NOTES))[2].seconds == 3.0


def test_a_half_filled_prompt_can_be_evicted() -> None:
    notes = [(0.0, "waiting", 0, 0), (1.0, "prefill", 4, 9), (1.0, "waiting", 0, 5), (2.0, "prefill", 6, 9)]
    assert pieces(followed(*notes)) == [Piece("prefill", (0.0, 1.0), (0, 4)), Piece("prefill", (1.0, 2.0), (0, 6))]
    assert evictions(followed(*notes)) == [(1.0, 4)]


def test_nothing_was_noted() -> None:
    assert pieces(followed()) == []
    assert pieces(followed(NOTES[0])) == [Piece("waiting", (0.0, 1.0), (0, 0))]
    assert evictions(followed()) == []


def test_who_was_evicted_most() -> None:
    """Of several the one with the largest gap, then the first; over all policies."""
    calm = record([outcome(0), outcome(1)])
    rows = [outcome(0, evictions=2, largest_gap=1.0), outcome(1, evictions=2, largest_gap=5.0), outcome(2, evictions=1)]
    assert most_evicted({"a": calm}) is None
    assert most_evicted({"a": calm, "b": record(rows)}) == ("b", 1)
    assert most_evicted({"a": record(rows), "b": record(rows)}) == ("a", 1)
    assert most_evicted({"a": record([outcome(0, evictions=1, largest_gap=None)])}) == ("a", 0)
