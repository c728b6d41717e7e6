"""Who was where in a run: who held memory, and, with pools, who had a decode slot; shared out by tenants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.core.journal import DECODES, EVICTED, HELD, RETURNED
from headway.measure.journal import RunJournal

_SCHEMA = {"request": pl.Int64, "since": pl.Float64, "until": pl.Float64}


@dataclass(frozen=True)
class Stays:
    """Stretches of time, in seconds, in which one request was somewhere.

    Attributes:
        tenant: text [n], whose it was.
        since: float64 [n], and `until`, when it began and ended.
        sign: float64 [n], -1 where it is to be taken off another one of the same tenant, 1 elsewhere.
    """

    tenant: pl.Series
    since: np.ndarray
    until: np.ndarray
    sign: np.ndarray

    def share(self, spans: list[tuple[float, float]]) -> Iterator[tuple[str | None, float]]:
        """Divide every moment of some spans (in order, apart) equally by those who were there.

        Yields:
            Tenant and seconds, positive; None for the time in which nobody was there.
        """
        if not spans:
            return
        bounds = np.array(spans)
        low, high = bounds[0, 0], bounds[-1, 1]
        since, until = (np.clip(edge, low, high) for edge in (self.since, self.until))
        edges = np.unique(np.concatenate([bounds.ravel(), since, until]))
        lengths = np.diff(edges)
        lengths[edges[:-1] >= bounds[np.searchsorted(bounds[:, 0], edges[:-1], "right") - 1, 1]] = 0.0  # in no span
        change = np.zeros(len(edges))
        np.add.at(change, np.searchsorted(edges, since), self.sign)
        np.add.at(change, np.searchsorted(edges, until), -self.sign)
        there = np.rint(np.cumsum(change)[:-1])
        each = np.divide(lengths, there, out=np.zeros_like(lengths), where=there > 0)
        passed = np.concatenate([[0.0], np.cumsum(each)])  # what one who is always there has had at every edge
        had = passed[np.searchsorted(edges, until)] - passed[np.searchsorted(edges, since)]
        shares = pl.DataFrame({"tenant": self.tenant, "seconds": self.sign * had})
        sums = shares.group_by("tenant", maintain_order=True).agg(pl.col("seconds").sum())
        yield from sums.filter(pl.col("seconds") > 0).iter_rows()
        if (nobody := float(lengths[there <= 0].sum())) > 0:
            yield None, nobody


def holders(journal: RunJournal) -> Stays:
    """Return who held memory when."""
    rows = journal.requests.with_row_index("request").drop_nulls("start")
    rows = rows.select(
        pl.col("request").cast(pl.Int64), pl.col("start").alias("since"), pl.col("finish").alias("until")
    )
    return _stays(journal, rows, absences(journal))


def decoders(journal: RunJournal) -> Stays:
    """Return who had a decode slot when; it was noted with pools only."""
    return _stays(journal, _between(journal, (DECODES,), (EVICTED,)))


def absences(journal: RunJournal) -> pl.DataFrame:
    """Return a row an eviction: `request`, and `since` and `until`, the seconds between which it held no memory.

    In order of `since`; `until` is the end of the request where it was not admitted again.
    """
    return _between(journal, (EVICTED,), (RETURNED,))


def holds(journal: RunJournal) -> pl.DataFrame:
    """Return a row a wait for a decode slot with the prompt filled: `request`, `since` and `until`, in seconds."""
    return _between(journal, (HELD,), (DECODES, EVICTED))


def _between(journal: RunJournal, opening: tuple[int, ...], closing: tuple[int, ...]) -> pl.DataFrame:
    """Return the stretches from one kind of event to another one of the same request, or to its end."""
    finish = journal.requests["finish"].to_list()
    rows: list[tuple[int, float, float | None]] = []
    open_: dict[int, int] = {}  # request → its row in the result
    for time, request, what in journal.notes["event"].iter_rows():
        if what in closing and request in open_:
            place = open_.pop(request)
            rows[place] = (request, rows[place][1], time)
        if what in opening:
            open_[request] = len(rows)
            rows.append((request, time, finish[request]))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _stays(journal: RunJournal, there: pl.DataFrame, away: pl.DataFrame | None = None) -> Stays:
    rows = there if away is None else pl.concat([there, away])
    since = rows["since"].to_numpy()
    until = rows["until"].fill_null(np.inf).to_numpy()  # an interrupted run does not know
    sign = np.repeat([1.0, -1.0], [there.height, rows.height - there.height])
    return Stays(journal.requests["tenant"].gather(rows["request"]), since, np.maximum(since, until), sign)
