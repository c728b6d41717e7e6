"""What the predicates share: is a figure the one that was reported, and how is it said?"""

from __future__ import annotations

import math

from headway.measure.intervals import mean_interval
from headway.studies.papers.past_future.rows import Figure

REACH = 1.5
"""Times the combined 95 % interval within which two figures are the same."""

CALIBRATION_SEEDS = 10
"""Seeds that a calibrated figure is the mean of."""


def same(ours: Figure, reported: float, *, half: float | None = None, rounding: float = 0.05) -> bool:
    """Whether a figure lies within 1.5 times the combined 95 % interval of ours and of what was reported.

    Args:
        ours: over seeds.
        reported: the figure given.
        half: half the width of its interval; by default that of ten seeds that scatter as ours do.
        rounding: half a unit of the last digit given.
    """
    if half is None:
        half = ours.half_of(CALIBRATION_SEEDS)
    return abs(ours.mean - reported) <= REACH * math.hypot(ours.half, half) + rounding


def apart(a: Figure, b: Figure) -> bool:
    """Whether a is more than b by more than chance: the 95 % interval of the difference lies above 0.

    Differences are taken seed by seed, on the same requests; of one seed the difference itself decides.
    """
    seeds = min(a.values.size, b.values.size)
    if not seeds:
        return False
    differences = a.values[:seeds] - b.values[:seeds]
    interval = mean_interval(differences)
    return bool(differences[0] > 0) if interval is None else interval.low > 0


def listed(parts: dict[str, bool], wanted: bool = False) -> str:
    """Return the names of the parts that came out so, in a list; "none" if there are none."""
    return ", ".join(name for name, came_out in parts.items() if came_out is wanted) or "none"
