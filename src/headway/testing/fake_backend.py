"""A backend without a model: answers are known in advance, and it checks that it is told the truth.

One token is one byte of UTF-8. Iterations take the time of a cost model, really slept, or none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Items

from headway.core.cost import CostModel
from headway.serve.backend import BackendFailed, Row, Sampling

END = 256  # an answer is complete with this token


class ByteVocabulary:
    """A token is a byte."""

    size = END + 1

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """Return the bytes of a text."""
        return list(text.encode())

    def chat(self, messages: Items[Mapping[str, str]]) -> str:
        """Return the messages one below the other."""
        return "".join(f"{message['role']}: {message['content']}\n" for message in messages) + "assistant: "

    def text(self, tokens: Items[int]) -> str:
        """Return what bytes say; those of a character that is not complete are U+FFFD."""
        return bytes(token for token in tokens if token != END).decode(errors="replace")

    def ends(self, token: int) -> bool:
        """Whether it is `END`."""
        return token == END


class FakeBackend:
    """Answers every prompt as `answer` says, whatever else runs beside it.

    The answer depends on the prompt alone, so that it is the same after an eviction, and a wrong position, a token that
    was not generated or KV that was not freed is an error at once.

    Args:
        answer: the prompt's text to the answer's; by default the prompt itself.
        kv_tokens: tokens that it holds.
        slots: sequences that it holds.
        budget: positions of an iteration.
        context: tokens of one sequence at most; `kv_tokens` by default.
        cost: how long an iteration takes, slept for real; none takes no time.

    Attributes:
        iterations: how many were computed.
        samplings: how each slot's tokens are to be chosen.
        fail: set it to let the next iteration fail, so many times.
    """

    name = "fake"

    def __init__(
        self,
        answer: Callable[[str], str] = lambda prompt: prompt,
        *,
        kv_tokens: int = 4096,
        slots: int = 16,
        budget: int = 256,
        context: int | None = None,
        cost: CostModel | None = None,
    ) -> None:
        self.kv_tokens, self.slots, self.budget = kv_tokens, slots, budget
        self.context = context or kv_tokens
        self.vocabulary = ByteVocabulary()
        self.iterations = 0
        self.samplings: dict[int, Sampling] = {}
        self.fail = 0
        self._answer = answer
        self._cost = cost
        self._kv: dict[int, list[int]] = {}
        self._prompts: dict[int, int] = {}  # tokens of the prompt; what comes after them was generated

    def open(self, slot: int, sampling: Sampling) -> None:
        """A sequence takes a slot that is free."""
        if slot in self.samplings or self._kv.get(slot):
            raise BackendFailed(f"slot {slot} is taken")
        self.samplings[slot] = sampling

    def decode(self, rows: Items[Row]) -> list[int]:
        """Check and hold what is computed; return the next byte of each answer that is asked for."""
        positions = sum(len(row.tokens) for row in rows)
        if not 0 < positions <= self.budget:
            raise BackendFailed(f"{positions} positions in an iteration of at most {self.budget}")
        for row in rows:
            self._hold(row)
        live = sum(map(len, self._kv.values()))
        if live > self.kv_tokens:
            raise BackendFailed(f"{live} tokens in a cache of {self.kv_tokens}")
        if self.fail:
            self.fail -= 1
            raise BackendFailed("told to fail")
        self.iterations += 1
        if self._cost is not None:
            decodes = sum(row.wanted and len(row.tokens) == 1 for row in rows)
            time.sleep(self._cost.seconds(positions - decodes, decodes, live))
        return [self._next(row.slot) for row in rows if row.wanted]

    def drop(self, slot: int) -> None:
        """Forget what is held for a slot."""
        self._kv.pop(slot, None)

    def close(self, slot: int) -> None:
        """The slot is free."""
        self.drop(slot)
        self._prompts.pop(slot, None)
        del self.samplings[slot]

    def held(self, slot: int) -> int:
        """Tokens that are held for a slot."""
        return len(self._kv.get(slot, ()))

    def reset(self) -> None:
        """Forget everything; fails as often as `fail` says."""
        self._kv.clear()
        self._prompts.clear()
        self.samplings.clear()
        if self.fail:
            self.fail -= 1
            raise BackendFailed("told to fail")

    def shutdown(self) -> None:
        """Nothing is to be freed."""

    def _hold(self, row: Row) -> None:
        if row.slot not in self.samplings:
            raise BackendFailed(f"slot {row.slot} is not open")
        held = self._kv.setdefault(row.slot, [])
        if row.position != len(held):
            raise BackendFailed(f"slot {row.slot}: position {row.position} after {len(held)} tokens")
        held += row.tokens
        if row.wanted and row.slot not in self._prompts:
            self._prompts[row.slot] = len(held)

    def _next(self, slot: int) -> int:
        """Return the next byte of an answer, once its begin is as it was."""
        held, prompt = self._kv[slot], self._prompts[slot]
        answer = self._answer(bytes(held[:prompt]).decode(errors="replace")).encode()
        said = bytes(token for token in held[prompt:] if token != END)
        if said != answer[: len(said)]:
            raise BackendFailed(f"slot {slot}: {said!r} was not generated; expected the begin of {answer!r}")
        return answer[len(said)] if len(said) < len(answer) else END
