"""Past-Future: lengths drawn from what recently finished, the peak over future moments."""

from __future__ import annotations

import numpy as np

from headway.core.engine import MOST, EngineProfile
from headway.core.kv import KvLedger
from headway.core.sequence import Sequence
from headway.core.spec import choice, number, whole
from headway.policies.memory.forecast import PeakRule

MOST_LENGTHS = 1_000_000
"""Finished requests that a window may hold: they are looked through at every check."""

_ENOUGH = 200  # residents from which one list of draws is steady by itself


class PastFuture(PeakRule):
    """Will the batch ever need too much, if answers are as long as those that just finished?

    The final length of every running request is drawn anew each round from the recent lengths above what it has
    generated; a queued request draws from all of them. Small batches draw several lists, since a few draws say
    little; the largest peak of all lists must stay below the capacity less the reserve. Refusals are about timing:
    who is refused now may fit two steps later. Cost: a few vector operations a check, 40-90 microseconds at 10-1000
    residents. Source: Past-Future Scheduler for LLM Serving under SLA Guarantees (ASPLOS 2025).

    Args:
        reserve: share of the capacity that is kept free, in [0, 1).
        window: finished requests that count as recent.
        lists: the most lists of draws; a batch of n uses min(lists, 200 // n + 1).
        aggregate: "max" or "mean" of the lists' peaks; the maximum is a hidden reserve.
        seed_length: length, in tokens, that the window is filled with at the start; None for the most that a request
            may generate.
        seed_count: how many of them; None fills the window.
        natural: record only answers that ended by themselves, not those cut off at their limit.
    """

    draws = True

    def __init__(
        self,
        reserve: float = 0.05,
        window: int = 1000,
        lists: int = 5,
        aggregate: str = "max",
        seed_length: int | None = None,
        seed_count: int | None = None,
        natural: bool = False,
    ) -> None:
        super().__init__(number("reserve", reserve, 0, 1, open_high=True))
        self.window = whole("window", window, 1, MOST_LENGTHS)
        self.lists = whole("lists", lists, 1, 1000)
        self.mean = choice("aggregate", aggregate, ("max", "mean")) == "mean"
        self.seed_length = None if seed_length is None else whole("seed_length", seed_length, 1, MOST)
        self.seed_count = self.window if seed_count is None else whole("seed_count", seed_count, 1, self.window)
        self.natural = natural
        self._recent = np.zeros(self.window, dtype=np.int64)
        self._known: int = 0  # lengths in the ring
        self._next: int = 0  # where the next one goes
        self._line: np.ndarray | None = None
        self._rng = np.random.default_rng(0)

    def attach(self, engine: EngineProfile, rng: np.random.Generator) -> None:
        """Take the randomness, and fill the window."""
        super().attach(engine, rng)
        self._rng = rng
        self._recent[: self.seed_count] = self.seed_length or engine.longest_answer
        self._known = self.seed_count
        self._next = self.seed_count % self.window

    def finished(self, seq: Sequence, ledger: KvLedger) -> None:
        """A length more; the oldest one goes."""
        if self.natural and seq.generated >= seq.limit:
            return
        self._recent[self._next] = seq.generated
        self._next = (self._next + 1) % self.window
        self._known = min(self._known + 1, self.window)
        self._line = None

    def predict_residents(self, generated: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Draw each length uniformly along the line through `generated`, the recent lengths above it, and the limit."""
        line = self._recent_line()
        after = line[1:]
        least = generated.astype(np.float64)
        first = after.searchsorted(least, "right")  # the piece of the line in which `generated` lies
        lists = min(self.lists, _ENOUGH // max(least.size, 1) + 1)
        at = self._rng.random((lists, least.size))
        at *= after.size - first  # pieces: from `generated` through the lengths above it to the top
        piece = at.astype(np.int64)
        at -= piece
        piece += first
        start = np.maximum(line.take(piece), least)
        rise = np.minimum(after.take(piece), np.maximum(limit, line[-2]))
        rise -= start
        at *= rise
        at += start
        return np.maximum(np.rint(at, out=at).astype(np.int64), generated + 1)

    def predict_candidate(self, seq: Sequence, lists: int) -> np.ndarray:
        """Draw from all recent lengths; one that was evicted has a length above what it has generated."""
        line = self._recent_line()
        drawn = line[self._rng.integers(1, line.size - 1, lists)].astype(np.int64)
        return np.maximum(np.minimum(drawn, max(seq.limit, 1)), seq.generated + 1)

    def aggregate(self, values: np.ndarray) -> float:
        """Return the largest peak, or their mean."""
        return float(values.mean() if self.mean else values.max())

    def _recent_line(self) -> np.ndarray:
        """Return 0, the recent lengths in order, and infinity."""
        if self._line is None:
            self._line = np.concatenate(([0.0], np.sort(self._recent[: self._known]), [np.inf]))
        return self._line
