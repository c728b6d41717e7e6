"""One request's life in the KV cache: how its memory grows, is taken away, and comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from headway.measure.record import Followed, RunRecord


@dataclass(frozen=True)
class Piece:
    """A stretch of one phase: seconds and KV tokens, on a line from one entry to the next.

    Attributes:
        phase: "waiting" for admission, "prefill" while KV is filled, "decode" while it grows with the answer.
        times: seconds, at least two, not decreasing.
        held: KV tokens at these times.
    """

    phase: str
    times: tuple[float, ...]
    held: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.times[-1] - self.times[0]


def pieces(followed: Followed) -> list[Piece]:
    """Return a request's life from its arrival to its end, in pieces of one phase each."""
    found: list[Piece] = []
    phase: str | None = None
    times: list[float] = []
    held: list[int] = []

    def close() -> None:
        if phase is not None and len(times) > 1:
            found.append(Piece(phase, tuple(times), tuple(held)))

    rows: list[tuple[float, str, int]] = followed.notes.select("time", "phase", "held").rows()
    if rows and rows[0][0] > followed.arrival:
        rows.insert(0, (followed.arrival, "waiting", 0))
    for (time, before, tokens), (then, after, tokens_then) in pairwise(rows):
        if after in ("waiting", "ended") and before != "waiting":
            close()
            phase = None  # what it held is gone at once
            continue
        now = "prefill" if before == "waiting" and after != "waiting" else before
        if now != phase:
            close()
            phase, times, held = now, [time], [tokens]
        times.append(then)
        held.append(tokens_then)
    close()
    return found


def evictions(followed: Followed) -> list[tuple[float, int]]:
    """Return when the request lost its memory (seconds), and how many KV tokens."""
    rows = followed.notes.select("time", "phase", "held").iter_rows()
    return [
        (then, tokens)
        for (_, before, tokens), (then, after, _) in pairwise(rows)
        if before in ("prefill", "decode") and after == "waiting"
    ]


def most_evicted(records: Mapping[str, RunRecord]) -> tuple[str, int] | None:
    """Return the policy and the row of the request that was evicted most often; None where nobody was.

    Of several it is the one with the largest gap between tokens, then the first.
    """
    worst: tuple[int, float, str, int] | None = None
    for policy, record in records.items():
        ranked = record.outcomes.select("evictions", pl.col("largest_gap").fill_null(0.0)).with_row_index("row")
        row, count, gap = ranked.sort(["evictions", "largest_gap"], descending=True, maintain_order=True).row(0)
        if count and (worst is None or (count, gap) > worst[:2]):
            worst = (count, gap, policy, row)
    return None if worst is None else worst[2:]
