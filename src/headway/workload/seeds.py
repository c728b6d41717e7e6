"""One seed, many independent random streams.

Each subsystem draws from a stream of its own, found by name. So a change in how many numbers one draws never
shifts another: a sweep over prediction errors keeps arrivals and lengths, number by number.
"""

from __future__ import annotations

import numpy as np

from headway.workload.limits import whole

ARRIVALS, LENGTHS, LABELS = "arrivals", "lengths", "labels"


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random stream `name` of `seed`; the same pair gives the same numbers, on every machine.

    Streams with different names, or of different seeds, are independent (numpy's SeedSequence; the name is
    the key of its child).

    Raises:
        InvalidWorkload: the seed is not a whole number of at least 0.
    """
    entropy = whole("seed", seed, 0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=tuple(name.encode())))


def child(seed: int, name: str) -> int:
    """Return the seed of the part `name`: all its streams are independent of those of `seed` and of other parts.

    Raises:
        InvalidWorkload: the seed is not a whole number of at least 0.
    """
    low, high = stream(seed, name).integers(0, 2**63, 2)
    return int(high) << 63 | int(low)
