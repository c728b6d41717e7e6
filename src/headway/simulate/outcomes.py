"""What a simulated run notes as it goes: arrays that grow with the requests and not with their tokens."""

from __future__ import annotations

import math
from array import array


class Outcomes:
    """What happened to each request: one entry a row, in order of the trace; times in seconds, NaN for "never"."""

    def __init__(self, rows: int) -> None:
        never = array("d", [math.nan]) * rows
        self.start = array("d", never)
        self.first_token = array("d", never)
        self.finish = array("d", never)
        self.generated = array("q", [0]) * rows
        self.evictions = array("q", [0]) * rows
        self.state = array("b", [0]) * rows
        self.demoted: list[int] = []
        self.reasons: dict[int, str] = {}


class Decoding:
    """The decode iterations, run-length coded, and who took part in them; see `measure.record`. Rows lie in line."""

    def __init__(self) -> None:
        self.segments = array("d")  # clock, steps, first gap, last gap, end
        self.residence = array("q")  # row, joined, left
        self.stray = array("d")  # row, gap of that request alone: see `measure.gaps`
