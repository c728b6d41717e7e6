"""Shedding rules: who cannot make it any more?"""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import Shedding
from headway.policies.shedding.keep import Keep
from headway.policies.shedding.queue_cap import QueueCap
from headway.policies.shedding.unreachable import Demote, Reject

SHEDDING_RULES: dict[str, Callable[..., Shedding]] = {
    "keep": Keep,
    "reject": Reject,
    "demote": Demote,
    "queue-cap": QueueCap,
}
