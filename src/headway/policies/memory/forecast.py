"""Admission by the predicted peak: what the rules that predict lengths share."""

from __future__ import annotations

import numpy as np

from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.rules import MemoryRule
from headway.core.sequence import Sequence
from headway.policies.memory.peak import peaks
from headway.policies.memory.residents import ResidentTable


class PeakRule(MemoryRule):
    """Will the batch ever need more than there is, if this one joins now?

    A subclass predicts the final length of every resident, once a round, and of each candidate; a round's
    predictions stand until its end, and an admitted candidate joins them with the prediction it was admitted by.

    Prefill iterations before a join count as delay: the occupancy is then overestimated by at most that many tokens a
    request, so that a prediction that is right stays safe in mixed batches too.
    """

    steady = False  # who is unaffordable now may be affordable in two steps, with nobody gone

    def __init__(self, reserve: float) -> None:
        self.reserve = reserve
        self.table = ResidentTable()
        self.level: float = 0.0
        self._engine: EngineProfile | None = None
        self._emitted: int = 0
        self._held = np.zeros(0, dtype=np.int64)
        self._remaining: np.ndarray | None = None  # [lists, residents] of this round
        self._candidate: tuple[np.ndarray, np.ndarray] | None = None  # held and remaining with the last one asked for

    def attach(self, engine: EngineProfile, rng: np.random.Generator) -> None:
        """Learn the engine's sizes."""
        self._engine = engine
        self._emitted = 1 if engine.first_token == "prefill" else 0
        self.level = engine.kv_capacity * (1.0 - self.reserve)

    def predict_residents(self, generated: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Return final lengths in tokens, int64 [lists, residents], each above what is generated."""
        raise NotImplementedError

    def predict_candidate(self, seq: Sequence, lists: int) -> np.ndarray:
        """Return final lengths in tokens, int64 [lists], each above what it has generated."""
        raise NotImplementedError

    def round_begins(self, ledger: KvLedger) -> None:
        """Forget the last round's predictions."""
        self._remaining = None

    def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
        """Whether the predicted peak with the candidate stays under the level."""
        if self._remaining is None:
            self._held, self._remaining = self._look_ahead(ledger)
        lists = len(self._remaining)
        rest = self.predict_candidate(seq, lists) - seq.generated - self._emitted
        iterations = self._iterations(rest) + self._delay(ledger, seq)
        # By hand: append and column_stack cost a sixth of the check.
        held = np.empty(self._held.size + 1, dtype=np.int64)
        held[:-1], held[-1] = self._held, seq.prompt
        remaining = np.empty((lists, held.size), dtype=np.int64)
        remaining[:, :-1], remaining[:, -1] = self._remaining, iterations
        self._candidate = (held, remaining)
        return self.aggregate(peaks(held, remaining, ledger.block, ledger.block_size - 1)) < self.level

    def aggregate(self, values: np.ndarray) -> float:
        """Return the peak that counts, of those of all lists."""
        return float(values.max())

    def admitted(self, seq: Sequence, ledger: KvLedger) -> None:
        """It joins the round's predictions."""
        self.table.add(seq)
        if self._candidate is not None and self._remaining is not None:
            self._held, self._remaining = self._candidate
        else:
            self._remaining = None  # nobody asked: it was the first one on an empty engine
        self._candidate = None

    def joined(self, seq: Sequence, ledger: KvLedger) -> None:
        """It decodes from now on."""
        self.table.decode(seq, ledger.clock, ledger.block)

    def left(self, seq: Sequence, ledger: KvLedger) -> None:
        """It holds nothing any more."""
        self.table.remove(seq)
        self._remaining = None

    def _look_ahead(self, ledger: KvLedger) -> tuple[np.ndarray, np.ndarray]:
        table = self.table
        grown = table.grown(ledger.clock)
        generated = table.generated() + grown
        rest = self.predict_residents(generated, table.limit()) - generated
        remaining = self._iterations(rest)
        if ledger.unfilled:
            remaining = remaining + np.where(table.filling(), self._delay(ledger), 0)
        return table.base() + grown, remaining

    def _iterations(self, tokens: np.ndarray) -> np.ndarray:
        block = self._engine.decode_block if self._engine is not None else 1
        return np.maximum(tokens if block == 1 else -(-tokens // block), 0)

    def _delay(self, ledger: KvLedger, seq: Sequence | None = None) -> int:
        """Iterations before a prompt is filled and its request decodes, at most as many as this."""
        engine = self._engine
        if engine is None or engine.mode == "prefill-first":
            return 0  # decodes pause until it is
        unfilled = ledger.unfilled + (seq.prompt if seq is not None else 0)
        space = max(engine.prompt_space(ledger.residents), 1)
        return 1 + -(-unfilled // min(space, engine.chunk_cap or space))
