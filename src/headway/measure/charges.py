"""The service that tenants received, in charged units, as it grew over time.

A prompt position is one unit and a decode position two, as fair-share charges them by default: for work that was done,
and not for what an eviction made the engine compute again. Source: Fairness in Serving Large Language Models
(OSDI 2024), the cost function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.measure.clock import ROUNDING, DecodeClock
from headway.measure.gaps import cut
from headway.measure.record import RunRecord
from headway.measure.spans import Spans, backlog, merged, places
from headway.measure.work import Work

W_IN = 1.0  # units a prompt position
W_OUT = 2.0  # units a decode position


def units(work: Work, requests: int) -> np.ndarray:
    """Return what each request was served, in charged units [requests]."""
    chunks, fills, stays = work.chunks, work.fills, work.stays
    filled = fills["positions"] * (fills["until"] - fills["after"])
    total = W_IN * np.bincount(chunks["row"], chunks["positions"], requests)
    total += W_IN * np.bincount(fills["row"], filled, requests)
    return total + W_OUT * np.bincount(stays["row"], stays["tokens"], requests)


@dataclass(frozen=True)
class TenantWork:
    """What one tenant was served and when; units are charged units over the weight of the request that got them.

    Attributes:
        chunk_times: ends of the iterations that filled its chunks, seconds [c], ascending.
        chunk_units: units of all chunks up to each of them [c + 1], from 0.
        after: decode clocks after which it gains with every iteration [s], ascending.
        rates: units an iteration of all spans up to each of them [s + 1], from 0; `after_units`: times their clocks.
        until: decode clocks until which it gains [s], ascending; likewise.
        backlog: when something of it waited.
    """

    chunk_times: np.ndarray
    chunk_units: np.ndarray
    after: np.ndarray
    after_rates: np.ndarray
    after_units: np.ndarray
    until: np.ndarray
    until_rates: np.ndarray
    until_units: np.ndarray
    backlog: Spans

    def served(self, times: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the units up to each of `times` (seconds) [n], when so many decode iterations had delivered [n]."""
        chunks = self.chunk_units[np.searchsorted(self.chunk_times, times + ROUNDING, side="right")]
        begun = np.searchsorted(self.after, counts)
        ended = np.searchsorted(self.until, counts, side="right")
        gained = self.after_rates[begun] * counts - self.after_units[begun]
        return chunks + gained - (self.until_rates[ended] * counts - self.until_units[ended])


class ServiceCurves:
    """The service of every tenant of a run that has a log of its work.

    Cost: O(n log n) in requests, chunks and decode segments to build; O(log n) for a tenant and a time to ask.

    Attributes:
        names: the tenants, in order of their names.
        tenants: what each of them was served.
        clock: the decode iterations, in segments in which nobody's pace of service changes.
    """

    def __init__(self, record: RunRecord, work: Work) -> None:
        outcomes = record.outcomes
        self.names: list[str] = sorted(outcomes["tenant"].unique())
        whose = outcomes["tenant"].replace_strict(self.names, range(len(self.names)), return_dtype=pl.Int64).to_numpy()
        weight = outcomes["weight"].to_numpy()
        row, after, until, rate, missing = _spans(work)
        self.clock = DecodeClock(cut(record.segments, np.concatenate((after, until))))
        rate, missing = rate / weight[row], missing / weight[row]
        chunk_row, chunk_times, positions = (work.chunks[name].to_numpy() for name in work.chunks.columns)
        chunk_units = W_IN * positions / weight[chunk_row]

        members = _groups(whose, len(self.names))
        of_chunks, of_spans = _groups(whose[chunk_row], len(self.names)), _groups(whose[row], len(self.names))
        self.tenants: list[TenantWork] = []
        for member, chunks, spans in zip(members, of_chunks, of_spans, strict=True):
            opening = spans[np.argsort(after[spans], kind="stable")]
            closing = spans[np.argsort(until[spans], kind="stable")]
            self.tenants.append(
                TenantWork(
                    chunk_times=chunk_times[chunks],
                    chunk_units=_running(chunk_units[chunks]),
                    after=after[opening],
                    after_rates=_running(rate[opening]),
                    after_units=_running(rate[opening] * after[opening]),
                    until=until[closing],
                    until_rates=_running(rate[closing]),
                    until_units=_running(rate[closing] * until[closing] - missing[closing]),
                    backlog=backlog(outcomes[member]),
                )
            )

    def at(self, tenant: int, times: np.ndarray) -> np.ndarray:
        """Return a tenant's units up to each of `times` (seconds) [n]."""
        return self.tenants[tenant].served(times, self.clock.counts(times))

    def serving(self, tenant: int) -> Spans:
        """Return when a tenant was served, as spans between whose ends nothing was missing but one iteration.

        They are closed, and many are points. A span covers the iterations of a segment but the last, which is its
        longest: the gap before that shows.
        """
        work, segments = self.tenants[tenant], self.clock.segments
        # Begins and ends are sorted apart, which changes the pairs and not the union.
        enter, leave = np.searchsorted(segments.clock, work.after), np.searchsorted(segments.clock, work.until)
        of = places(*merged(enter, leave))
        first, end = self.clock.times(segments.clock[of] + 1), segments.end[of]
        before = np.where(segments.steps[of] > 1, end - segments.last[of], first)
        begins = np.concatenate((first, end, work.chunk_times))
        ends = np.concatenate((np.maximum(before, first), end, work.chunk_times))
        order = np.argsort(begins, kind="stable")
        return begins[order], np.maximum.accumulate(ends[order])


def _spans(work: Work) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return row, clocks after and until, units an iteration, and what the last one lacked, of fills and stays."""
    fills, stays = work.fills, work.stays.filter(pl.col("left") > pl.col("joined"))
    full = work.block * (stays["left"] - stays["joined"])
    return (
        np.concatenate((fills["row"], stays["row"])),
        np.concatenate((fills["after"], stays["joined"])),
        np.concatenate((fills["until"], stays["left"])),
        np.concatenate((W_IN * fills["positions"].to_numpy(), np.full(stays.height, W_OUT * work.block))),
        np.concatenate((np.zeros(fills.height), W_OUT * (full - stays["tokens"]).to_numpy())),
    )


def _groups(of: np.ndarray, count: int) -> list[np.ndarray]:
    """Return the places of each of 0 .. count - 1 in `of`, in order."""
    order = np.argsort(of, kind="stable")
    return np.split(order, np.searchsorted(of[order], np.arange(1, count)))


def _running(values: np.ndarray) -> np.ndarray:
    """Return the sums of the first 0, 1, 2, … values."""
    return np.append(0.0, np.cumsum(values))
