"""The most KV memory that a batch will need at any future moment."""

from __future__ import annotations

import numpy as np


def peaks(held: np.ndarray, remaining: np.ndarray, growth: int = 1, slack: int = 0) -> np.ndarray:
    """Return, for each list of remaining lengths, the largest occupancy at any future iteration.

    Between two completions occupancy only grows, so the peak lies at a completion. With requests sorted by what
    remains, longest first, the occupancy when the i-th of them ends is `M_i = sum of held_j over j <= i, plus
    i * growth * remaining_i`. Source: Past-Future (ASPLOS 2025), future memory estimation.

    Args:
        held: KV tokens held now, int64 [requests].
        remaining: decode iterations that each still needs, int64 [lists, requests].
        growth: tokens that a request gains in an iteration.
        slack: tokens by which rounding to blocks may raise what one request holds.

    Returns:
        int64 [lists]; 0 without requests.
    """
    if held.size == 0:
        return np.zeros(len(remaining), dtype=np.int64)
    order = remaining.argsort(axis=1)[:, ::-1]
    grown = np.sort(remaining, axis=1)[:, ::-1] * growth  # a second sort is cheaper than gathering by the first
    grown += slack
    grown *= np.arange(1, held.size + 1)
    occupied = held.take(order).cumsum(axis=1)
    occupied += grown
    return occupied.max(axis=1)
