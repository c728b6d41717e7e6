"""Tokens to text as they come: whole characters, and no text that a stop string might still claim."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items

_LONGEST_CHARACTER = 8  # tokens: a character has four bytes at most, some vocabularies spell bytes in several tokens


class TextStream:
    """Text of one answer.

    Args:
        text: tokens to text; U+FFFD at the end where a character is not complete.
        stops: texts that end the answer and are no part of it.

    Attributes:
        stopped: a stop string was found; what comes after it is dropped.
    """

    __slots__ = ("_held", "_longest", "_pending", "_stops", "_text", "stopped")

    def __init__(self, text: Callable[[Items[int]], str], stops: Items[str] = ()) -> None:
        self._text = text
        self._stops = tuple(stops)
        self._longest: int = max(map(len, stops), default=0)
        self._pending: list[int] = []  # tokens of a character that is not complete
        self._held: str = ""  # may be the begin of a stop string
        self.stopped: bool = False

    def add(self, token: int) -> str:
        """Take the next token; return the text that may be sent now."""
        self._pending.append(token)
        text = self._text(self._pending)
        if text.endswith("\N{REPLACEMENT CHARACTER}") and len(self._pending) < _LONGEST_CHARACTER:
            return ""
        self._pending.clear()
        return self._passed(text) if self._stops else text

    def rest(self) -> str:
        """The answer is complete: return what was held back."""
        text = self._held + (self._text(self._pending) if self._pending else "")
        self._held = ""
        self._pending.clear()
        return "" if self.stopped else text

    def _passed(self, text: str) -> str:
        """Return what cannot be part of a stop string, and hold the rest."""
        if self.stopped:
            return ""
        self._held += text
        found = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if found:
            self.stopped = True
            text, self._held = self._held[: min(found)], ""
            return text
        keep = min(len(self._held), self._longest - 1)
        while keep and not any(stop.startswith(self._held[-keep:]) for stop in self._stops):
            keep -= 1
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        return text
