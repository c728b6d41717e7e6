"""Eviction rules: who gives way when memory runs out?"""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import Eviction
from headway.policies.eviction.last_admitted import LastAdmitted
from headway.policies.eviction.least_computed import LeastComputed
from headway.policies.eviction.longest_remaining import LongestRemaining

EVICTION_RULES: dict[str, Callable[..., Eviction]] = {
    "last-admitted": LastAdmitted,
    "least-computed": LeastComputed,
    "longest-remaining": LongestRemaining,
}
