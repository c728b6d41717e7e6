"""Memory rules: may it join, given what everyone will need?"""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import MemoryRule
from headway.policies.memory.conservative import Conservative
from headway.policies.memory.ema import MovingAverage
from headway.policies.memory.oracle import Oracle
from headway.policies.memory.past_future import PastFuture
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.memory.watermark import Watermark

MEMORY_RULES: dict[str, Callable[..., MemoryRule]] = {
    "prompt-fit": PromptFit,
    "conservative": Conservative,
    "watermark": Watermark,
    "past-future": PastFuture,
    "ema": MovingAverage,
    "oracle": Oracle,
}
