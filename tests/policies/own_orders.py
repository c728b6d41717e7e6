"""Orders as a user writes them, found by import path."""

from __future__ import annotations

from headway.core.rules import Order
from headway.core.sequence import Sequence


class SmallestPrompt(Order):
    """Fewest prompt tokens first."""

    def key(self, seq: Sequence) -> float:
        return seq.request.prompt_tokens


class Urgent(Order):
    """Highest priority first; `boost` is what a long prompt is worth."""

    def __init__(self, boost: float = 0.0, name: str = "x") -> None:
        super().__init__()
        self.boost = boost
        self.name = name

    def key(self, seq: Sequence) -> float:
        return -seq.request.priority - self.boost * seq.request.prompt_tokens


class Demanding(Order):
    """Cannot be made without an argument."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self.level = level


NOT_A_CLASS = SmallestPrompt.key


class NotAnOrder:
    """Any class."""
