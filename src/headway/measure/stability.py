"""How well recent output lengths tell the coming ones: cosine similarity between windows of a trace.

A rule that forecasts from the last h finished requests is right when their lengths look like those that run now.
Source: Past-Future Scheduler for LLM Serving under SLA Guarantees (ASPLOS 2025), trace analysis: there the windows
that follow each other are alike even where the whole trace is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

SIZES = (100, 200, 500, 1000, 2000, 5000)
"""Window sizes in requests."""

BINS = 50

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Stability:
    """Mean cosine similarities of output-length histograms; nan where the trace is too short for a pair of windows.

    Both arrays are float64 [historical size, running size], each in [0, 1]; 1 is the same histogram.

    Attributes:
        sizes: window sizes in requests, of the rows and of the columns.
        bin_width: width of a histogram's bins in tokens.
        adjacent: between each running window and the requests right before it.
        everywhere: between each running window and every historical window that has no request in common with it,
            wherever in the trace ("global").
    """

    sizes: tuple[int, ...]
    bin_width: int
    adjacent: Floats
    everywhere: Floats

    def at(self, historical: int, running: int) -> tuple[float, float]:
        """Return (adjacent, everywhere) of a pair of sizes."""
        row, column = self.sizes.index(historical), self.sizes.index(running)
        return float(self.adjacent[row, column]), float(self.everywhere[row, column])


def stability(outputs: ArrayLike, sizes: Sequence[int] = SIZES) -> Stability:
    """Compare the output lengths of windows, for every pair of a historical and a running window size.

    Running windows of r requests follow each other without gap or overlap from request h on, so that each has h
    requests before it; historical windows of h requests follow each other from request 0 on. What is left over at the
    end is in no window.

    Histograms have 50 bins of equal width, the smallest whole number of tokens at which they cover the 99 % shortest
    outputs; the last bin takes all longer ones too. Windows of few requests look less alike than they are, from chance
    alone: compare figures of the same size.

    Args:
        outputs: output tokens in order of arrival, whole, at least 0.
        sizes: window sizes in requests, each at least 1.
    """
    lengths = np.asarray(outputs, dtype=np.int64)
    width = _bin_width(lengths)
    shape = (len(sizes), len(sizes))
    adjacent, everywhere = np.full(shape, np.nan), np.full(shape, np.nan)
    step = math.gcd(*sizes)
    cumulated = _cumulated(np.minimum(lengths // width, BINS - 1), step)
    for row, historical in enumerate(sizes):
        for column, running in enumerate(sizes):
            windows = (len(lengths) - historical) // running
            if windows < 1:
                continue
            starts = historical + running * np.arange(windows)
            now = _units(cumulated, starts // step, running // step)
            before = _units(cumulated, (starts - historical) // step, historical // step)
            adjacent[row, column] = np.einsum("ij,ij->i", now, before).mean()
            begins = historical * np.arange(len(lengths) // historical)
            past = _units(cumulated, begins // step, historical // step)
            everywhere[row, column] = _apart(now, past, starts // historical, (starts + running - 1) // historical)
    return Stability(tuple(sizes), width, np.minimum(adjacent, 1.0), np.minimum(everywhere, 1.0))


def _bin_width(lengths: Whole) -> int:
    if not lengths.size:
        return 1
    covered = int(np.quantile(lengths, 0.99, method="inverted_cdf"))
    return covered // BINS + 1


def _cumulated(bins: Whole, step: int) -> Whole:
    """Return the histograms of the first 0, step, 2·step, … requests: int64 [m + 1, bins]."""
    blocks = len(bins) // step
    places = np.repeat(np.arange(blocks), step) * BINS + bins[: blocks * step]
    counts = np.bincount(places, minlength=blocks * BINS).reshape(blocks, BINS)
    return np.concatenate((np.zeros((1, BINS), dtype=np.int64), counts.cumsum(axis=0)))


def _units(cumulated: Whole, starts: Whole, size: int) -> Floats:
    """Return the histograms of windows (in steps), each of length 1 as a vector."""
    counts = (cumulated[starts + size] - cumulated[starts]).astype(np.float64)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def _apart(now: Floats, past: Floats, first: Whole, last: Whole) -> float:
    """Return the mean similarity of all pairs but those that overlap: window i with the past windows first_i..last_i.

    The sum over all pairs is the product of two sums; only the few overlapping pairs are looked at one by one.
    """
    last = np.minimum(last, len(past) - 1)
    overlaps = np.maximum(last - first + 1, 0)
    running = np.repeat(np.arange(len(now)), overlaps)
    offset = np.arange(len(running)) - np.repeat(overlaps.cumsum() - overlaps, overlaps)
    together = np.einsum("ij,ij->", now[running], past[first[running] + offset])
    return float((now.sum(axis=0) @ past.sum(axis=0) - together) / (len(now) * len(past) - len(running)))
