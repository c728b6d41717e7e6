"""A live host in miniature: it steps, it touches what it runs, and it learns of an end when it happens."""

from __future__ import annotations

import math
from collections.abc import Sequence as Items
from dataclasses import dataclass

from headway.core.cost import CostModel
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, OUTCOMES, READY, REJECTED, Sequence


@dataclass
class Row:
    """What a live host keeps of a request; times in seconds, NaN for "never".

    `heard` is when its client last heard something: a token, or its own sending.
    """

    seq: Sequence
    heard: float
    produced: int = 0
    first_token: float = math.nan
    finish: float = math.nan


class SteppingHost:
    """Drives a scheduler as a live engine does: one plan an iteration, own rows, no calendar, no fast-forward.

    Args:
        scheduler: fresh.
        requests: in order of arrival; each `id` is its row, counted from 0.
        outputs: tokens after which each answer ends. The host reads an entry only for what runs in the iteration.
        cost: how long an iteration takes.
        cancels: (time, row), in order of time: the client leaves; taken at the next boundary.
        clients: that send the requests, each its next one when its last one has ended; None for arrivals as given.
        patience: seconds without a token after which a client leaves; None for ever.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        requests: Items[Request],
        outputs: Items[int],
        cost: CostModel,
        cancels: Items[tuple[float, int]] = (),
        clients: int | None = None,
        patience: float | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.requests = requests
        self.outputs = outputs
        self.cost = cost
        self.cancels = list(cancels)
        self.patience = math.inf if patience is None else patience
        arrivals = [request.arrival for request in requests]
        self.sent = arrivals if clients is None else [0.0] * min(clients, len(arrivals))
        self.rows: list[Row] = []
        self.running: list[Row] = []
        self.ready: list[Row] = []  # wait for a decode slot
        self.now: float = 0.0
        self.block = scheduler.engine.decode_block
        self.emits = 1 if scheduler.engine.first_token == "prefill" else 0

    def run(self) -> list[Row]:
        """Run until every request has ended; return a row a request."""
        while True:
            self._arrivals_and_cancels()
            batch = self.scheduler.plan(self.now, self._ending())
            for seq in batch.evicted + batch.ended:
                row = self.rows[seq.id]
                self._stop(row)
                if seq.state == REJECTED:
                    self._end(row, self.now)
            if batch.positions == 0:
                if batch.ended:
                    continue
                if not self._wait():
                    return self.rows
                continue
            for seq in batch.resumed:
                row = self.rows[seq.id]
                self.ready.remove(row)
                self.running.append(row)
            self.now += self.cost.seconds(batch.prefill_positions, batch.decode_positions, batch.context)
            finished: list[Row] = []
            if batch.decodes:
                finished += [row for row in self.running if self._produce(row, self.block)]
            for seqs, rows in ((batch.joined, self.running), (batch.held, self.ready)):
                for seq in seqs:
                    row = self.rows[seq.id]
                    rows.append(row)
                    if self._produce(row, self.emits):
                        finished.append(row)
            self.scheduler.complete(batch, self.now, [row.seq for row in finished])
            for row in finished:
                self._stop(row)
                self._end(row, self.now)

    def _arrivals_and_cancels(self) -> None:
        self._arrive()
        while self.cancels and self.cancels[0][0] <= self.now and self.cancels[0][1] < len(self.rows):
            self._cancel(self.rows[self.cancels.pop(0)[1]])
        self._arrive()
        while gone := [row for row in self.rows if math.isnan(row.finish) and row.heard + self.patience <= self.now]:
            for row in gone:
                self._cancel(row)
                row.seq.reason = "client_left"
            self._arrive()

    def _arrive(self) -> None:
        while len(self.rows) < len(self.sent) and self.sent[len(self.rows)] <= self.now:
            arrival = self.sent[len(self.rows)]
            request = self.requests[len(self.rows)]._replace(arrival=arrival)
            row = Row(self.scheduler.submit(request, arrival), heard=arrival)
            self.rows.append(row)
            if row.seq.state == REJECTED:
                self._end(row, arrival)

    def _cancel(self, row: Row) -> None:
        if row.seq.state in OUTCOMES:
            return
        self.scheduler.cancel(row.seq, self.now)
        self._end(row, self.now)
        self._stop(row)

    def _stop(self, row: Row) -> None:
        for rows in (self.running, self.ready):
            if row in rows:
                rows.remove(row)

    def _end(self, row: Row, finish: float) -> None:
        """It has ended; in a closed loop its client sends the next one now."""
        row.finish = finish
        if len(self.sent) < len(self.requests):
            self.sent.append(self.now)

    def _ending(self) -> list[tuple[Sequence, int]]:
        """Who ends within this block, and how much of it stays empty."""
        ending: list[tuple[Sequence, int]] = []
        for row in self.running + self.ready:
            rest = self.outputs[row.seq.id] - row.produced
            if row.seq.state in (DECODING, READY) and rest < self.block:
                ending.append((row.seq, self.block - rest))
        return ending

    def _produce(self, row: Row, tokens: int) -> bool:
        """Add tokens to an answer; return whether it is complete."""
        end = self.outputs[row.seq.id]
        if end and tokens and math.isnan(row.first_token):
            row.first_token = self.now
        if end and tokens:
            row.heard = self.now
        row.produced = min(row.produced + tokens, end)
        return row.produced == end

    def _wait(self) -> bool:
        wake = self.sent[len(self.rows)] if len(self.rows) < len(self.sent) else math.inf
        if self.scheduler.waiting:
            wake = min(wake, self.scheduler.steady_until())
            wake = min([wake, *(row.heard + self.patience for row in self.rows if math.isnan(row.finish))])
        if wake == math.inf:
            return False
        self.now = wake
        return True
