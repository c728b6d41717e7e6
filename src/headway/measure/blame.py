"""A stretch of waiting, put down to causes and tenants by the notes of a journal."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from headway.core.journal import (
    BUDGET,
    EVICTION,
    FIT,
    INTERVAL,
    MEMORY,
    NOBODY,
    OPEN,
    ORDER,
    PARTIALS,
    SLOTS,
)
from headway.measure.journal import RunJournal
from headway.measure.stays import decoders, holders

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
    FIT: "fit",
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
        self._chunks = [journal.notes["chunk"][name].to_numpy() for name in ("time", "request", "tokens")]
        self.free: dict[int, int] = {}

    def parts(self, whole: float) -> dict[tuple[str, str | None], float]:
        """Return (cause, tenant in the way or None) → seconds, longest first, which add up to `whole` exactly.

        They are rounded to the distance of floating-point numbers at `whole`; what that leaves over, or what the sums
        of many stretches of time have lost, goes to the longest.
        """
        sums = _sums(self._parts)
        if not sums:
            return {}
        unit = math.ulp(whole)
        units = {key: round(seconds / unit) for key, seconds in sums.items()}
        units[next(iter(sums))] += round(whole / unit) - sum(units.values())
        return {key: many * unit for key, many in units.items() if many > 0}

    @property
    def refused(self) -> dict[int, float]:
        """Row of a request that memory refused → seconds in which that kept this one out, longest first."""
        return _sums(self._refused)

    def look(self, begin: float, end: float, *, demoted: bool = False) -> None:
        """Put the time from `begin` to `end`, in which it waited, down to what the notes say.

        Args:
            begin: seconds.
            end: seconds.
            demoted: it stood behind all others, and unless it was its turn, it is that.
        """
        full: list[tuple[float, float]] = []
        for piece in _pieces(self._journal, begin, end):
            seconds = piece.until - piece.since
            if self._row == piece.first or (piece.what == MEMORY and self._row == piece.who):
                self._refuse(self._row, piece, "refused", None)
            elif demoted:
                self._add("demoted", None, seconds)
            elif piece.what == MEMORY:
                self._refuse(piece.who, piece, "memory", self._tenant(piece.who))
            elif piece.what == SLOTS:
                full.append((piece.since, piece.until))
            elif piece.what in (BUDGET, FIT) and piece.who == NOBODY:
                for tenant, share in self._filled_at(piece.noted):
                    self._add(_CAUSES[piece.what], tenant, seconds * share)
            else:
                self._add(_CAUSES[piece.what], None if piece.who == NOBODY else self._tenant(piece.who), seconds)
        for tenant, seconds in holders(self._journal).share(full):
            self._add("slots", tenant, seconds)

    def hold(self, begin: float, end: float) -> None:
        """Put the time from `begin` to `end`, in which it waited for a decode slot, down to those who had one."""
        for tenant, seconds in decoders(self._journal).share([(begin, end)] if end > begin else []):
            self._add("decode_slots", tenant, seconds)

    def _add(self, cause: str, tenant: str | None, seconds: float) -> None:
        if seconds > 0:
            self._parts[cause, tenant].append(seconds)

    def _refuse(self, row: int, piece: _Piece, cause: str, tenant: str | None) -> None:
        self._refused[row].append(piece.until - piece.since)
        self.free.setdefault(row, piece.free)
        self._add(cause, tenant, piece.until - piece.since)

    def _tenant(self, row: int) -> str:
        return self._journal.requests["tenant"][row]

    def _filled_at(self, noted: float) -> Iterator[tuple[str | None, float]]:
        """Yield the tenant of each chunk of an iteration, and its share of the positions; nobody's where none."""
        times, rows, tokens = self._chunks
        these = slice(np.searchsorted(times, noted, "left"), np.searchsorted(times, noted, "right"))
        whole = tokens[these].sum()
        if not whole:
            yield None, 1.0
        for row, positions in zip(rows[these].tolist(), tokens[these].tolist(), strict=True):
            yield self._tenant(row), positions / whole


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
