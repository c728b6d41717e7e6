"""Shedding rules: who cannot make it any more?"""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import Shedding
from headway.policies.shedding.keep import Keep

SHEDDING_RULES: dict[str, Callable[..., Shedding]] = {
    "keep": Keep,
}
