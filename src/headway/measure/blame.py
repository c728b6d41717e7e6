"""A stretch of waiting, put down to causes and tenants by the notes of a journal."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from headway.core.journal import (
    BUDGET,
    EVICTED,
    EVICTION,
    INTERVAL,
    MEMORY,
    NOBODY,
    OPEN,
    ORDER,
    PARTIALS,
    RETURNED,
    SLOTS,
)
from headway.measure.journal import RunJournal

_Key = TypeVar("_Key")

_CAUSES = {
    OPEN: "boundary",
    PARTIALS: "partials",
    SLOTS: "slots",
    BUDGET: "budget",
    EVICTION: "eviction",
    MEMORY: "memory",
    ORDER: "order",
    INTERVAL: "interval",
}


@dataclass(frozen=True)
class _Piece:
    """Time, in seconds, in which one note holds: what it says, and whom memory refused first (`NOBODY`: nobody)."""

    since: float
    until: float
    noted: float
    what: int
    who: int
    first: int
    free: int


class Blame:
    """Adds up what kept one request out.

    Args:
        journal: of the run.
        row: of the request.

    Attributes:
        free: row of a request that memory refused → KV tokens neither taken nor promised when that began.
    """

    def __init__(self, journal: RunJournal, row: int) -> None:
        self._journal = journal
        self._row = row
        self._parts: dict[tuple[str, str | None], list[float]] = defaultdict(list)
        self._refused: dict[int, list[float]] = defaultdict(list)
        self.free: dict[int, int] = {}

    @property
    def seconds(self) -> dict[tuple[str, str | None], float]:
        """(Cause, tenant in the way or None) → seconds, longest first."""
        return _sums(self._parts)

    @property
    def refused(self) -> dict[int, float]:
        """Row of a request that memory refused → seconds in which that kept this one out, longest first."""
        return _sums(self._refused)

    def add(self, cause: str, tenant: str | None, seconds: float) -> None:
        """Put so many seconds down to a cause."""
        if seconds > 0:
            self._parts[cause, tenant].append(seconds)

    def look(self, begin: float, end: float) -> None:
        """Put the time from `begin` to `end` down to what the notes say."""
        full: list[_Piece] = []
        for piece in _pieces(self._journal, begin, end):
            seconds = piece.until - piece.since
            if self._row == piece.first or (piece.what == MEMORY and self._row == piece.who):
                self._refuse(self._row, piece, "refused", None)
            elif piece.what == MEMORY:
                self._refuse(piece.who, piece, "memory", self._tenant(piece.who))
            elif piece.what == SLOTS:
                full.append(piece)
            elif piece.what == BUDGET and piece.who == NOBODY:
                for tenant, share in self._filled_at(piece.noted):
                    self.add("budget", tenant, seconds * share)
            else:
                self.add(_CAUSES[piece.what], None if piece.who == NOBODY else self._tenant(piece.who), seconds)
        for tenant, seconds in _held(self._journal, full):
            self.add("slots", tenant, seconds)

    def _refuse(self, row: int, piece: _Piece, cause: str, tenant: str | None) -> None:
        self._refused[row].append(piece.until - piece.since)
        self.free.setdefault(row, piece.free)
        self.add(cause, tenant, piece.until - piece.since)

    def _tenant(self, row: int) -> str:
        return self._journal.requests["tenant"][row]

    def _filled_at(self, noted: float) -> Iterator[tuple[str, float]]:
        """Yield the tenant of each chunk of an iteration, and its share of the positions."""
        chunks = self._journal.notes["chunk"]
        times = chunks["time"].to_numpy()
        first, last = np.searchsorted(times, noted, "left"), np.searchsorted(times, noted, "right")
        filled = chunks[int(first) : int(last)]
        for row, tokens in filled.select("request", "tokens").iter_rows():
            yield self._tenant(row), tokens / filled["tokens"].sum()


def _sums(parts: dict[_Key, list[float]]) -> dict[_Key, float]:
    total = {key: math.fsum(seconds) for key, seconds in parts.items()}
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _pieces(journal: RunJournal, begin: float, end: float) -> Iterator[_Piece]:
    """Cut the time from `begin` to `end` where another note begins to hold."""
    barriers, refusals = journal.notes["barrier"], journal.notes["refusal"]
    times, refused = barriers["time"].to_numpy(), refusals["time"].to_numpy()
    first = max(int(np.searchsorted(times, begin, "right")) - 1, 0)
    last = int(np.searchsorted(times, end, "left"))
    since, noted, what, who = begin, -math.inf, OPEN, NOBODY  # before the first note
    for time, next_what, next_who in [*barriers[first:last].iter_rows(), (end, OPEN, NOBODY)]:
        if time > since:
            found = int(np.searchsorted(refused, noted, "left"))
            beside = refusals.row(found)[1:] if found < len(refused) and refused[found] == noted else (NOBODY, 0)
            yield _Piece(since, time, noted, what, who, *beside)
            since = time
        noted, what, who = time, next_what, next_who


def _held(journal: RunJournal, full: list[_Piece]) -> Iterator[tuple[str | None, float]]:
    """Divide the time in which all slots were taken by the tenants that held them: each moment by requests."""
    if not full:
        return
    edges = np.array([(piece.since, piece.until) for piece in full])
    lengths = edges[:, 1] - edges[:, 0]
    before = np.repeat(np.cumsum(lengths), 2)  # seconds of that time that have passed at each edge
    before[::2] -= lengths
    stays = journal.requests.drop_nulls("start").rename({"start": "since", "finish": "until"})
    away = absences(journal)
    tenants = pl.concat([stays["tenant"], journal.requests["tenant"].gather(away["request"])])
    sign = np.repeat([1.0, -1.0], [stays.height, away.height])
    since, until = (
        np.interp(pl.concat([stays[edge], away[edge]]).fill_null(math.inf).to_numpy(), edges.ravel(), before)
        for edge in ("since", "until")
    )
    held = pl.DataFrame({"tenant": tenants, "seconds": sign * (until - since)}).group_by("tenant", maintain_order=True)
    shares = held.agg(pl.col("seconds").sum()).filter(pl.col("seconds") > 0)
    whole = math.fsum(lengths)
    if shares.is_empty():  # an interrupted run does not know who was there
        yield None, whole
    for tenant, seconds in shares.iter_rows():
        yield tenant, whole * seconds / shares["seconds"].sum()


def absences(journal: RunJournal) -> pl.DataFrame:
    """Return a row an eviction: `request`, and `since` and `until`, the seconds between which it held no memory.

    In order of eviction; `until` is the end of the request where it was not admitted again.
    """
    finish = journal.requests["finish"]
    rows: list[tuple[int, float, float | None]] = []
    open_: dict[int, int] = {}  # request → its row in the result
    for time, request, what in journal.notes["event"].iter_rows():
        if what == EVICTED:
            open_[request] = len(rows)
            rows.append((request, time, finish[request]))
        elif what == RETURNED:
            place = open_.pop(request)
            rows[place] = (request, rows[place][1], time)
    schema = {"request": pl.Int64, "since": pl.Float64, "until": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
