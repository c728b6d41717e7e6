"""How evenly tenants were served while they had requests waiting.

Whoever has nothing waiting asks for no more than it gets, so only *backlogged* tenants are compared: those with a
request that has arrived and not started. Service is in charged units over the tenant's weight (`charges`).
Source: Deadline-Aware Batching and Tenant Fairness; Fairness in Serving Large Language Models (OSDI 2024).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from headway.measure.charges import W_IN, W_OUT, ServiceCurves
from headway.measure.latency import known_mean
from headway.measure.record import RunRecord
from headway.measure.spans import between, common, covers, longer

MOST_COMPARED = 32
"""Tenants that are compared with each other: of more, those that were backlogged longest."""

_PARTS = 50  # of a run: windows are no longer, and for Jain's index nobody was backlogged who waited shorter


@dataclass(frozen=True)
class Fairness:
    """How evenly tenants were served.

    Attributes:
        jain: Jain's index over the service of the backlogged tenants: 1 is even, 1/n is everything for one of n. Mean
            over the stretches of time in which it is the same two or more, weighted by their length; waits of less
            than 1/50 of the run are left out, since service comes in lumps. None where there is no such stretch.
        max_gap: by how much the service of two tenants differed at most over any stretch of time in which both were
            backlogged, in units; 0 where no two ever were.
        bound: 2U, within which fair queueing keeps that gap: twice the larger of the longest prompt and of the decode
            positions that fill the KV cache, in units of the smallest weight.
        longest_without_service: the longest that a backlogged tenant went without any service, in seconds.
    """

    jain: float | None
    max_gap: float | None
    bound: float | None
    longest_without_service: float | None

    @classmethod
    def over_seeds(cls, seeds: Sequence[Fairness]) -> Fairness:
        """Average each figure over the seeds that have it."""
        return cls(*(known_mean([getattr(one, field.name) for one in seeds]) for field in fields(cls)))

    def to_dict(self) -> dict[str, float | None]:
        """Return the figures as in `--json`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def fairness(record: RunRecord) -> Fairness | None:
    """Return how evenly the tenants of a run were served; None without a log of its work, or if nothing ran."""
    if record.work is None or record.outcomes.is_empty():
        return None
    curves = ServiceCurves(record, record.work)
    compared = _compared(curves)
    return Fairness(
        jain=_jain(curves, compared, record.totals.seconds / _PARTS),
        max_gap=_max_gap(curves, compared),
        bound=bound(record),
        longest_without_service=_longest_without_service(curves),
    )


def bound(record: RunRecord) -> float:
    """Return 2U in charged units over weight."""
    longest = int(record.outcomes["prompt_tokens"].max() or 0)  # type: ignore[arg-type]
    largest = max(W_IN * longest, W_OUT * record.totals.kv_capacity)
    return 2 * largest / float(record.outcomes["weight"].min() or 1.0)  # type: ignore[arg-type]


def jain_index(values: np.ndarray) -> np.ndarray:
    """Return (Σx)² / (n · Σx²) of the numbers in each column [n, m], NaN ones left out; NaN where all are 0 [m].

    Source: Jain, Chiu, Hawe, A Quantitative Measure of Fairness and Discrimination (1984).
    """
    squares = (~np.isnan(values)).sum(axis=0) * np.nansum(values * values, axis=0)
    return np.divide(np.nansum(values, axis=0) ** 2, squares, out=np.full(squares.shape, np.nan), where=squares > 0)


@dataclass(frozen=True)
class Windows:
    """Service in windows of time, each beginning in the middle of the one before.

    Attributes:
        seconds: how long a window is.
        ends: when each ends, seconds [w].
        gaps: largest difference in service between two tenants that were backlogged all through it [w], NaN without.
    """

    seconds: float
    ends: np.ndarray
    gaps: np.ndarray


def windows(record: RunRecord, curves: ServiceCurves) -> Windows:
    """Return the service in windows between the first arrival and the end of the run."""
    start, span = float(record.outcomes["arrival"].min() or 0.0), record.totals.seconds  # type: ignore[arg-type]
    if span <= 0:
        return Windows(0.0, np.empty(0), np.empty(0))
    seconds = _handy(span / _PARTS)
    begins = start + np.arange(int(2 * span / seconds)) * seconds / 2
    gained = _gained(curves, range(len(curves.tenants)), begins, begins + seconds)
    gaps = np.full(begins.size, np.nan)
    several = _count(gained) > 1
    gaps[several] = np.nanmax(gained[:, several], axis=0) - np.nanmin(gained[:, several], axis=0)
    return Windows(seconds, begins + seconds, gaps)


def _handy(most: float) -> float:
    """Return the longest of 1, 2, 5, 10, 20, 50, … seconds that is no longer than `most`, also below a second."""
    decade = 10.0 ** math.floor(math.log10(most))
    return max(step * decade for step in (1, 2, 5) if step * decade <= most * (1 + 1e-9))


def _compared(curves: ServiceCurves) -> list[int]:
    """Return the tenants that are compared: those that were backlogged longest, where there are many."""
    lasting = [float((tenant.backlog[1] - tenant.backlog[0]).sum()) for tenant in curves.tenants]
    longest = sorted(range(len(lasting)), key=lambda tenant: -lasting[tenant])[:MOST_COMPARED]
    return sorted(tenant for tenant in longest if lasting[tenant] > 0)


def _gained(curves: ServiceCurves, tenants: Iterable[int], begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return what each of the tenants gained in each stretch of time [tenants, n]; NaN if not backlogged throughout."""
    rows: list[np.ndarray] = []
    for tenant in tenants:
        through = covers(curves.tenants[tenant].backlog, begins, ends)
        row = np.full(begins.size, np.nan)
        row[through] = curves.at(tenant, ends[through]) - curves.at(tenant, begins[through])
        rows.append(row)
    return np.stack(rows) if rows else np.empty((0, begins.size))


def _count(gained: np.ndarray) -> np.ndarray:
    return (~np.isnan(gained)).sum(axis=0)


def _jain(curves: ServiceCurves, compared: Sequence[int], least: float) -> float | None:
    """Return the mean of Jain's index over time, for tenants that were backlogged for `least` seconds or longer."""
    lasting = {tenant: longer(curves.tenants[tenant].backlog, least) for tenant in compared}
    edges = np.unique(np.concatenate([edge for spans in lasting.values() for edge in spans] or [np.empty(0)]))
    begins, ends = edges[:-1], edges[1:]
    gained = _gained(curves, compared, begins, ends)
    for row, spans in zip(gained, lasting.values(), strict=True):
        row[~covers(spans, begins, ends)] = np.nan
    index = np.where(_count(gained) > 1, jain_index(gained), np.nan)
    known = ~np.isnan(index)
    return float(np.average(index[known], weights=(ends - begins)[known])) if known.any() else None


def _max_gap(curves: ServiceCurves, compared: Sequence[int]) -> float:
    """Return the largest difference in service of two tenants over any stretch in which both were backlogged.

    Over a stretch in which both are, that is the range of the difference of their curves. The curves change their
    pace at the ends of segments and of chunks only.
    """
    if len(compared) < 2:
        return 0.0
    tenants = {tenant: curves.tenants[tenant] for tenant in compared}
    edges = [edge for work in tenants.values() for edge in (*work.backlog, work.chunk_times)]
    times = np.unique(np.concatenate((curves.clock.segments.end, *edges)))
    counts = curves.clock.counts(times)
    served = {tenant: work.served(times, counts) for tenant, work in tenants.items()}
    largest = 0.0
    for one, other in itertools.combinations(tenants, 2):
        begins, ends = common(tenants[one].backlog, tenants[other].backlog)
        if begins.size:
            bounds = np.stack((np.searchsorted(times, begins), np.searchsorted(times, ends, side="right")), axis=1)
            ahead = np.append(served[one] - served[other], 0.0)  # so that a bound may lie at the end
            most = np.maximum.reduceat(ahead, bounds.ravel())[::2]
            least = np.minimum.reduceat(ahead, bounds.ravel())[::2]
            largest = max(largest, float((most - least).max()))
    return largest


def _longest_without_service(curves: ServiceCurves) -> float:
    longest = 0.0
    for row, tenant in enumerate(curves.tenants):
        if tenant.backlog[0].size:
            begins, ends = common(between(curves.serving(row)), tenant.backlog)
            longest = max(longest, float((ends - begins).max(initial=0.0)))
    return longest
