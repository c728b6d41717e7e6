"""How fast does the queue drain?"""

from __future__ import annotations

import math

from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.rules import Order
from headway.core.sequence import FILLING, Sequence
from headway.policies.fit import OnlineFit

_KEPT = 63 / 64  # weight of an admission round against that of the next one


class Drain:
    """How long until so many prompt positions that wait have been admitted?

    Seconds a position: as seen in recent admission rounds while somebody went on waiting, so that it counts whatever
    holds admissions up (prompts, decodes, slots, memory); where little was seen, those of an iteration that is filled
    with prompts, by the iteration model. Cost: O(1).

    Attributes:
        fit: the iteration model.
        ledger: KV totals of the engine.
        waiting: requests in the queue that were never started.
        positions: their prompt positions.
        chunk: the most prompt positions of one request in an iteration.
    """

    def __init__(self, engine: EngineProfile, fit: OnlineFit, ledger: KvLedger, order: Order) -> None:
        self.fit = fit
        self.ledger = ledger
        self.waiting: int = 0
        self.positions: int = 0
        self._budget: int = engine.token_budget
        self._block: int = engine.decode_block
        self._pausing: bool = engine.mode == "prefill-first"
        self.chunk: int = min(self._budget, engine.chunk_cap or self._budget, order.chunk_cap or self._budget)
        self._most: int = min(self._budget, self.chunk * (engine.partial_prompts or engine.max_sequences))
        self._seconds: float = 0.0  # between rounds, while somebody waited
        self._admitted: float = 0.0  # prompt positions in the rounds at their ends
        self._round: float = -math.inf  # when somebody was last admitted
        self._counts: bool = False  # somebody waited from the round before to this one
        self._backlog: bool = False  # somebody waited on after this round

    @property
    def decodes(self) -> int:
        """Sequences that decode beside prompts, nearly."""
        return 0 if self._pausing else self.ledger.residents

    def space(self, decodes: int) -> int:
        """Prompt positions that fit into an iteration beside so many decodes, at least 1."""
        return max(min(self._budget - decodes * self._block, self._most), 1)

    def arrived(self, seq: Sequence) -> None:
        """A request waits."""
        self.waiting += 1
        self.positions += seq.prompt

    def left(self, seq: Sequence, now: float) -> None:
        """A request waits no more: admitted if its prompt is being filled, else gone."""
        self.waiting -= 1
        self.positions -= seq.prompt
        if seq.state != FILLING:
            self._backlog = self._backlog and self.waiting > 0
            return
        if now > self._round:
            self._seconds *= _KEPT
            self._admitted *= _KEPT
            self._counts = self._backlog
            if self._counts:
                self._seconds += now - self._round
            self._round = now
        if self._counts:
            self._admitted += seq.prompt
        self._backlog = self.waiting > 0

    def pace(self) -> float:
        """Return the seconds that a waiting prompt position takes."""
        decodes = self.decodes
        space = self.space(decodes)
        modelled = self.fit.seconds(space, decodes, self.ledger.used + space) / space
        return (self._budget * modelled + self._seconds) / (self._budget + self._admitted)
