"""Evict who came last."""

from __future__ import annotations

from headway.core.rules import Eviction


class LastAdmitted(Eviction):
    """Who was admitted last? That one gives way, so that the others keep what they have.

    Whoever has been there longest is never evicted. Cost: O(1). Source: Past-Future (ASPLOS 2025), eviction; so do
    most engines.
    """
