"""A naive walk: the naive engine notes in every iteration, for everybody, what keeps waiting requests out."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from headway.core.sequence import Sequence
from headway.testing.naive import NaiveEngine, NaiveRow


@dataclass(frozen=True)
class Iteration:
    """From when to when it ran, why nobody else was in it, whom memory refused, who was filled, and who was there."""

    began: float
    end: float
    cause: str
    first: int | None
    last: int | None
    filled: list[tuple[int, int]]
    residents: list[int]


class WalkedEngine(NaiveEngine):
    """Keeps `iterations`. What the order and the memory rule were asked and answered is overheard, not worked out."""

    def run(self) -> list[NaiveRow]:
        self.iterations_run: list[Iteration] = []
        self.refused: list[Sequence] = []
        self.asked = self.holds = self.lost = False
        self._overhear()
        return super().run()

    def _overhear(self) -> None:
        fits, next_, push = self.memory.fits, self.order.next, self.order.push

        def overheard_fits(seq, ledger):
            answer = fits(seq, ledger)
            if not answer:
                self.refused = [*self.refused, seq] if self.tried else [seq]
                self.tried = True
            return answer

        def overheard_next(now, space, refused):
            answer = next_(now, space, refused)
            self.tried = refused is not None
            if answer is None:
                self.refused = self.refused if self.tried else []
                picky = self.order.choosy
                if refused is None:
                    self.holds = not (picky and self.filled_now)
                else:
                    self.holds = self.memory.steady and not (picky and (self.admitted or self.joined_now))
            return answer

        def overheard_push(seq, now):
            answer = push(seq, now)
            if answer is not False:
                self.holds = False
            return answer

        self.memory.fits, self.order.next, self.order.push = overheard_fits, overheard_next, overheard_push

    def _iterate(self) -> bool:
        self.asked = self.lost = False
        self.filled_now: list[int] = []
        self.joined_now: list[int] = []
        return super()._iterate()

    def _admit(self, space, chunks) -> None:
        self.asked, self.holds, self.refused = True, False, []
        super()._admit(space, chunks)

    def _fill(self, row, space, chunks) -> int:
        take = super()._fill(row, space, chunks)
        if take:
            self.filled_now.append(row.seq.id)
        if row.seq.filled == row.seq.prompt:
            self.holds = False
            self.joined_now.append(row.seq.id)
        return take

    def _evict(self, row) -> None:
        self.holds = False
        super()._evict(row)
        self.lost = self.lost or row in self._queue()

    def _end(self, row, state, reason=None) -> None:
        if row in self.residents:
            self.holds = False
        super()._end(row, state, reason)

    def _run(self, decoding, chunks) -> None:
        began, cause = self.now, self._cause(decoding, chunks)
        refused = self.refused if cause == "memory" or (self.asked and self._queue()) else []
        filled = [(row.seq.id, tokens) for row, tokens in chunks]
        if cause == "partials":
            filled = [(self._partials()[0].seq.id, 1)]
        residents = [row.seq.id for row in self.residents]
        super()._run(decoding, chunks)
        first = refused[0].id if refused else None
        last = refused[-1].id if refused else None
        self.iterations_run.append(Iteration(began, self.now, cause, first, last, filled, residents))

    def _cause(self, decoding, chunks) -> str:
        engine = self.engine
        taken = sum(tokens for _, tokens in chunks)
        if engine.mode != "prefill-first":
            taken += sum(tokens for _, tokens in decoding)
        if self.lost and not self.asked:
            return "eviction"
        if len(self._partials()) >= (engine.partial_prompts or engine.max_sequences):
            return "partials"
        if len(self.residents) >= engine.slots:
            return "slots"
        if chunks and taken >= engine.token_budget:
            return "budget"
        if not self._queue():
            return "boundary"
        if not self.asked and not self.holds:
            return "interval"
        return "memory" if self.refused else "order"

    def walk(self, row: int) -> dict[tuple[str, str | None], float]:
        """Put every second of a request's wait down to a cause and a tenant."""
        waiting = self.rows[row]
        end = waiting.finish if math.isnan(waiting.start) else waiting.start
        seconds: dict[tuple[str, str | None], float] = defaultdict(float)
        for run in self.iterations_run:
            span = min(end, run.end) - max(waiting.seq.arrival, run.began)
            if span <= 0:
                continue
            if row == run.first or (run.cause == "memory" and row == run.last):
                seconds["refused", None] += span
            elif run.cause == "memory":
                seconds["memory", self._tenant(run.last)] += span
            elif run.cause in ("budget", "partials"):
                for other, tokens in run.filled:
                    seconds[run.cause, self._tenant(other)] += span * tokens / sum(size for _, size in run.filled)
            elif run.cause == "slots":
                for other in run.residents:
                    seconds["slots", self._tenant(other)] += span / len(run.residents)
            else:
                seconds[run.cause, None] += span
        return dict(seconds)

    def _tenant(self, row: int | None) -> str:
        assert row is not None
        return self.requests[row].tenant
