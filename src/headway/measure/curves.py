"""Curves of a run, thinned to what a chart can show."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.measure.latency import waits
from headway.measure.record import RunRecord


def wait_cdf(record: RunRecord, points: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return waits (seconds, ascending) and the share of started requests that waited at most so long.

    At most about `points` points: evenly spaced ranks, and the last 50 requests each, so that the tail is not
    thinned. Both arrays are empty if nobody was started.
    """
    wait = waits(record.outcomes)
    wait = np.sort(wait[~np.isnan(wait)])
    n = wait.size
    if n == 0:
        return wait, wait
    ranks = np.union1d(np.linspace(1, n, min(n, points)).astype(np.int64), np.arange(max(1, n - 49), n + 1))
    seconds = np.unique(wait[ranks - 1])
    return seconds, np.searchsorted(wait, seconds, side="right") / n


def timeline_maxima(record: RunRecord, start: float, end: float, buckets: int = 600) -> pl.DataFrame:
    """Return the timeline's largest values in equal buckets of time between `start` and `end` (seconds).

    The samples are taken at events and hold until the next, so a bucket's maximum includes the value that it
    begins with; before the first sample everything is 0. Same columns as the timeline, `time` being the
    bucket's begin; `buckets` rows at most, and none for an empty timeline.
    """
    timeline = record.timeline
    if timeline.is_empty() or not end > start:
        return timeline.head(min(timeline.height, 1))
    edges = np.linspace(start, end, buckets + 1)
    begins = edges[:-1]
    time = timeline["time"].to_numpy()
    first = np.searchsorted(time, begins)
    stop = np.append(first[1:], np.searchsorted(time, end, side="right"))
    shown = (begins <= time[-1]) & (edges[1:] > time[0])
    columns: dict[str, np.ndarray] = {"time": begins[shown]}
    for name in ("waiting", "running", "kv"):
        values = timeline[name].to_numpy()
        held = np.where(first > 0, values[np.maximum(first, 1) - 1], 0)
        # reduceat over [first, stop) pairs; an empty pair yields a single value, which `held` replaces.
        inside = np.maximum.reduceat(np.append(values, 0), np.stack((first, stop), axis=1).ravel())[::2]
        columns[name] = np.where(stop > first, np.maximum(held, inside), held)[shown]
    return pl.DataFrame(columns)
