"""The objects that clients get: whole answers and chunks of a stream, of both kinds of completion."""

from __future__ import annotations

import secrets
import time
from typing import Any

CHAT = "chat.completion"
TEXT = "text_completion"

Counts = tuple[int, int]
"""Tokens of the prompt and of the answer."""


class Answer:
    """One answer under its id.

    Args:
        kind: `CHAT` or `TEXT`.
        model: name of the model.
        tier: service tier to be told; None for none.
    """

    def __init__(self, kind: str, model: str, tier: str | None) -> None:
        self.kind = kind
        self.id = ("chatcmpl-" if kind == CHAT else "cmpl-") + secrets.token_hex(12)
        self._head: dict[str, Any] = {"id": self.id, "created": int(time.time()), "model": model}
        if tier is not None:
            self._head["service_tier"] = tier
        self._begun = False

    def whole(self, text: str, why: str, counts: Counts) -> dict[str, Any]:
        """Return the whole answer."""
        said: dict[str, Any] = {"text": text}
        if self.kind == CHAT:
            said = {"message": {"role": "assistant", "content": text, "refusal": None}}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": why}
        return {**self._head, "object": self.kind, "choices": [choice], "usage": usage(*counts)}

    def chunk(self, text: str, why: str | None, counts: Counts | None = None) -> dict[str, Any]:
        """Return the next chunk of a stream; `why` with the last one that has text, `counts` where they are wanted."""
        said: dict[str, Any] = {"text": text}
        if self.kind == CHAT:
            delta: dict[str, Any] = {"content": text} if text or not self._begun else {}
            if not self._begun:
                delta = {"role": "assistant", **delta}
            said = {"delta": delta}
        self._begun = True
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": why}
        told = {} if counts is None else {"usage": usage(*counts)}
        return {**self._head, "object": self._object, "choices": [choice], **told}

    def counts(self, counts: Counts) -> dict[str, Any]:
        """Return the chunk with the counts of tokens, which comes last."""
        return {**self._head, "object": self._object, "choices": [], "usage": usage(*counts)}

    @property
    def _object(self) -> str:
        return "chat.completion.chunk" if self.kind == CHAT else TEXT


def usage(prompt_tokens: int, tokens: int) -> dict[str, int]:
    """Return the counts of tokens."""
    return {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}
