"""An independent simulation of n servers and a waiting line: nothing of it is shared with what it checks."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np


def waits(arrivals: np.ndarray, services: np.ndarray, servers: int, key: Callable[[int], float] = float) -> np.ndarray:
    """Seconds that each request waits, where the smallest key of all who wait is next and nobody is broken off."""
    free, busy, line = servers, [], []
    found = np.zeros(len(arrivals))
    came = 0
    while came < len(arrivals) or line:
        if busy and (came == len(arrivals) or busy[0] <= arrivals[came]):
            now = heapq.heappop(busy)
            free += 1
        else:
            now = arrivals[came]
            heapq.heappush(line, (key(came), came))
            came += 1
        while free and line:
            _, who = heapq.heappop(line)
            found[who] = now - arrivals[who]
            heapq.heappush(busy, now + services[who])
            free -= 1
    return found
