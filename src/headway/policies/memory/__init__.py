"""Memory rules: may it join, given what everyone will need?"""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import MemoryRule
from headway.policies.memory.prompt_fit import PromptFit

MEMORY_RULES: dict[str, Callable[..., MemoryRule]] = {
    "prompt-fit": PromptFit,
}
