"""The bounds of a workload's parameters: the checks of specs, raised as a workload's error."""

from __future__ import annotations

import math

from headway.core import spec
from headway.core.errors import InvalidSpec, InvalidWorkload

LARGEST = 100_000_000  # requests: what a machine can hold at all


def positive(name: str, value: object) -> float:
    """Return `value` as a float above 0 and finite; InvalidWorkload otherwise."""
    return number(name, value, 0.0, math.inf, open_low=True, open_high=True)


def number(
    name: str, value: object, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """Return `value` as a float within the bounds; InvalidWorkload otherwise."""
    try:
        return spec.number(name, value, low, high, open_low=open_low, open_high=open_high)
    except InvalidSpec as error:
        raise InvalidWorkload(str(error)) from None


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int within the bounds; InvalidWorkload otherwise."""
    try:
        return spec.whole(name, value, low, high)
    except InvalidSpec as error:
        raise InvalidWorkload(str(error)) from None


def count(n: object) -> int:
    """Return `n` as a number of requests that a workload can have; InvalidWorkload otherwise."""
    return whole("n", n, 1, LARGEST)
