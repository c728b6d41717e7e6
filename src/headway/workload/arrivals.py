"""When requests arrive.

Each function: a rate in requests/s, a count n and a random stream → ascending seconds, float64 [n]. The first
request arrives after the first gap. Arrivals of a trace are its column `arrival`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headway.workload.limits import number, positive, whole

Seconds = NDArray[np.float64]


def poisson(rate: float, n: int, rng: np.random.Generator) -> Seconds:
    """Draw independent exponential gaps: the standard model of many independent users."""
    return _times(rng.exponential(1.0 / positive("rate", rate), whole("n", n, 1)))


def gamma(rate: float, n: int, rng: np.random.Generator, cv: float) -> Seconds:
    """Draw independent gamma gaps with coefficient of variation `cv`: 1 is Poisson, above 1 bursty."""
    variance = number("cv", cv, 0.01, 100.0) ** 2  # beyond these bounds gaps are all equal, or all but one are 0
    return _times(rng.gamma(1.0 / variance, variance / positive("rate", rate), whole("n", n, 1)))


def deterministic(rate: float, n: int, rng: np.random.Generator) -> Seconds:  # noqa: ARG001 - the shape of all arrivals
    """Return equal gaps of 1/rate."""
    return np.arange(1, whole("n", n, 1) + 1) / positive("rate", rate)


def poisson_or_at_once(rate: float, n: int, rng: np.random.Generator) -> Seconds:
    """Return Poisson arrivals; at a rate of inf, all at time 0: the queue is full when the run begins."""
    return np.zeros(whole("n", n, 1)) if rate == math.inf else poisson(rate, n, rng)


def on_off(running: Seconds, on: float, off: float) -> Seconds:
    """Return when arrivals happen whose clock runs for `on` seconds, stands for `off` seconds, and so on.

    Poisson arrivals stay Poisson while the clock runs; a gap of any other kind may go on behind a pause.

    Args:
        running: float64 [n], ascending readings of that clock, in seconds.
        on: how long it runs at a time, in seconds.
        off: how long it stands in between, in seconds.
    """
    pauses = np.floor(running / positive("on", on))
    return running + pauses * number("off", off, 0.0, math.inf, open_high=True)


def _times(gaps: Seconds) -> Seconds:
    """Return when the arrivals are between which these gaps lie; infinite where that is beyond all numbers."""
    with np.errstate(over="ignore"):
        return np.cumsum(gaps)
