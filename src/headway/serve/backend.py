"""What an engine that computes tokens must be able to do; the loop knows no more of it.

A backend holds KV for up to `slots` sequences, `kv_tokens` tokens in all. It is told what to compute and decides
nothing. All calls but those of its vocabulary come from one thread, one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Protocol

from headway.core.errors import HeadwayError


class BackendFailed(HeadwayError):  # noqa: N818 - the name says what happened
    """The backend could not compute an iteration; what it holds is lost."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen.

    Attributes:
        temperature: 0 takes the most likely token.
        top_p: share of the probability among whose most likely tokens one is drawn; 1 for all.
        top_k: number of the most likely tokens among which one is drawn; 0 for all.
        seed: of the draws; None for a random one.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None


@dataclass(slots=True)
class Row:
    """Tokens of one sequence in an iteration: a chunk of its prompt, or the token that it generated last.

    Attributes:
        slot: the sequence's place in the backend.
        tokens: to compute, in order.
        position: of the first one in the sequence, counted from 0.
        wanted: the token that follows the last one is to be sampled.
    """

    slot: int
    tokens: Items[int]
    position: int
    wanted: bool


class Vocabulary(Protocol):
    """Text to tokens and back; may be asked by any thread.

    Attributes:
        size: tokens are numbers from 0 to below it.
    """

    size: int

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text; with `special`, names of control tokens in it are these tokens."""
        ...

    def chat(self, messages: Items[Mapping[str, str]]) -> str:
        """Return the prompt of a conversation, up to where the assistant's answer begins."""
        ...

    def text(self, tokens: Items[int]) -> str:
        """Return the text of tokens; U+FFFD stands at the end where a character is not complete yet."""
        ...

    def ends(self, token: int) -> bool:
        """Whether an answer is complete with this token, which is no part of it."""
        ...


class Backend(Protocol):
    """One model with its KV cache.

    Attributes:
        name: of the model.
        kv_tokens: tokens that it holds at most.
        slots: sequences that it holds at most.
        budget: positions that it computes at most in one iteration.
        context: tokens of one sequence at most.
    """

    name: str
    kv_tokens: int
    slots: int
    budget: int
    context: int

    @property
    def vocabulary(self) -> Vocabulary:
        """Text to tokens and back."""
        ...

    def open(self, slot: int, sampling: Sampling) -> None:
        """A sequence takes a slot; its draws begin, and go on over evictions until `close`."""
        ...

    def decode(self, rows: Items[Row]) -> list[int]:
        """Compute an iteration; return a token for each row that wants one, in order.

        Raises:
            BackendFailed: it could not; nothing that it holds is of use any more.
        """
        ...

    def drop(self, slot: int) -> None:
        """Forget what is held for a slot; it may be filled again."""
        ...

    def close(self, slot: int) -> None:
        """The sequence has ended; its slot is free."""
        ...

    def held(self, slot: int) -> int:
        """Tokens that are held for a slot."""
        ...

    def reset(self) -> None:
        """Forget everything, after a failure.

        Raises:
            BackendFailed: it cannot go on.
        """
        ...

    def shutdown(self) -> None:
        """Free the model; nothing else is called afterwards."""
        ...
