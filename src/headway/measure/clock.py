"""From decode clock to time and back: when did iteration c deliver, and how many had by time t?"""

from __future__ import annotations

import numpy as np

from headway.measure.record import Segments

ROUNDING = 1e-9
"""Seconds by which an event may seem to be late, since times are sums: what happens at t has happened by t."""


class DecodeClock:
    """The times of all decode iterations of a run, without a list of them.

    Gaps within a segment lie on a line, so that its times are a parabola, which can be solved.
    """

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self._slope = (segments.last - segments.first) / np.maximum(segments.steps - 1, 1)
        self._begin = segments.end - segments.steps * (segments.first + segments.last) / 2  # delivery before the first

    def times(self, clocks: np.ndarray) -> np.ndarray:
        """Return when the iterations `clocks` [n], each of them in a segment, delivered, in seconds [n]."""
        of = np.searchsorted(self.segments.clock, clocks) - 1
        segments, slope = self.segments, self._slope[of]
        after = segments.clock[of] + segments.steps[of] - clocks  # iterations of the segment that follow
        return segments.end[of] - after * (segments.last[of] - slope * (after - 1) / 2)

    def counts(self, times: np.ndarray) -> np.ndarray:
        """Return how many decode iterations had delivered by `times` (seconds) [n], int64 [n]."""
        segments = self.segments
        times = times + ROUNDING
        if not segments.clock.size:
            return np.zeros(np.shape(times), dtype=np.int64)
        of = np.searchsorted(segments.end, times, side="right")  # the first segment that has not ended
        inside = np.minimum(of, segments.clock.size - 1)
        elapsed = times - self._begin[inside]
        # n iterations take n * first + slope * n * (n - 1) / 2 seconds: solved for n in the form that bears slope 0.
        half = self._slope[inside] / 2
        linear = segments.first[inside] - half
        root = np.sqrt(np.maximum(linear * linear + 4 * half * np.maximum(elapsed, 0.0), 0.0))
        denominator = linear + root
        done = np.divide(2 * np.maximum(elapsed, 0.0), denominator, out=np.zeros_like(root), where=denominator > 0)
        whole = np.clip(np.floor(done), 0, segments.steps[inside]).astype(np.int64)
        last = int(segments.clock[-1] + segments.steps[-1])
        return np.where(of < segments.clock.size, segments.clock[inside] + whole, last)
