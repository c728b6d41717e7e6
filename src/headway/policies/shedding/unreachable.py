"""Deadlines out of reach: reject or demote who cannot make it any more."""

from __future__ import annotations

import math

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.rules import Order, Shedding
from headway.core.sequence import Sequence
from headway.core.spec import number
from headway.policies.fit import OnlineFit
from headway.policies.shedding.drain import Drain
from headway.policies.shedding.line import Line

_SHARE = 64  # the line is sorted anew once the fit has learned from a 64th as many iterations as there are in line


class Unreachable(Shedding):
    """Who cannot keep a promised time to the first or the last token any more?

    Asked twice. On arrival: behind the work that is ahead, at the pace at which the queue drains, and beside what runs
    now. While it waits: as if the engine became empty this moment; then its latest start has passed. All estimates are
    multiplied by `safety`.

    Ahead are those whose latest start comes first, the order in which most deadlines can be met; beside an order by
    arrival, all who wait. A promise of the last token reckons with the decodes where the prediction is a number of
    tokens, else with the prompt alone. Requests without such a promise, or that have held KV, are never named.
    Cost: 10-30 microseconds an arrival with a promise, O(1) an iteration (`benchmarks/shedding_rules.py`).

    Args:
        safety: what estimates are multiplied by, above 0.
    """

    idle = False

    def __init__(self, safety: float = 1.2) -> None:
        self.safety: float = number("safety", safety, 0, 100, open_low=True)
        self._line = Line()
        self._hopeless: list[Sequence] = []  # found on arrival, to be demoted with the next plan
        self._named: set[Sequence] = set()  # in nobody's way, though some of them wait

    def attach(self, engine: EngineProfile) -> None:
        """Start from the engine's own cost model."""
        self._engine: EngineProfile = engine
        self._fit: OnlineFit = OnlineFit(engine)
        self._filled: dict[int, float] = {}  # seconds to fill a prompt on an empty engine, by the model of the version
        self._version: int = 0
        self._learned: int = 0  # iterations, since the line was last sorted
        self._pausing: bool = engine.mode == "prefill-first"
        self._emitted: int = 1 if engine.first_token == "prefill" else 0

    def watch(self, ledger: KvLedger, order: Order) -> None:
        """See how full the engine is, and whose work goes first."""
        self._ledger: KvLedger = ledger
        self._by_arrival: bool = order.by_arrival
        self._drain: Drain = Drain(self._engine, self._fit, ledger, order)

    def push(self, seq: Sequence, now: float) -> bool:
        """Take in a request, unless it would be late."""
        latest = self.latest_start(seq)
        if latest < math.inf and self._is_late(seq, now, latest):
            if self.demotes:
                self._hopeless.append(seq)
                self._named.add(seq)
            return not self.demotes
        self._drain.arrived(seq)
        if latest < math.inf:
            self._line.add(seq, latest)
        return False

    def left(self, seq: Sequence, now: float) -> None:
        """It waits no more."""
        if seq in self._named:
            self._named.remove(seq)
            return
        if seq in self._line.places:
            self._line.remove(seq)
        self._drain.left(seq, now)

    def due(self, now: float) -> list[Sequence]:
        """Name those whose latest start has passed, and whom `push` found late."""
        named, self._hopeless = self._hopeless, []
        while (first := self._line.first) is not None and first[0] < now:
            latest, _, seq = first
            self.left(seq, now)
            self._named.add(seq)
            seq.reason = "deadline"
            if not self.demotes:
                allowed = latest - seq.arrival  # what the same request would have, came it again
                seq.retry_after = self._retry_after(allowed, self._ahead(now + allowed))
            named.append(seq)
        return named

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """Learn how long iterations take; sort the line anew when that has changed much."""
        if not self._fit.learn(batch, seconds):
            return
        self._learned += 1
        if self._fit.version != self._version and self._learned * _SHARE >= len(self._line.places):
            self._version, self._learned = self._fit.version, 0
            self._filled.clear()
            self._line.sort(self.latest_start)

    def steady_until(self) -> float:
        """The next latest start."""
        if self._hopeless:
            return -math.inf
        first = self._line.first
        return math.inf if first is None else first[0]

    def latest_start(self, seq: Sequence) -> float:
        """Return until when a request must be started to be in time on an empty engine, in seconds; inf for never."""
        slo = seq.request.slo
        if slo is None or (slo.ttft is None and slo.completion is None):
            return math.inf
        filled = self._filled.get(seq.prompt)
        if filled is None:
            filled = self._filled[seq.prompt] = self._fit.prefill_seconds(seq.prompt, self._drain.chunk, 0, 0)
        first = 0.0 if self._emitted else self._fit.seconds(0, 1, seq.prompt)
        decoded = 0.0 if slo.completion is None else self._fit.span_seconds(self._decodes(seq), 0, 1, seq.prompt)
        return self._start_for(seq, filled + first, filled + decoded)

    def _is_late(self, seq: Sequence, now: float, latest: float) -> bool:
        """Whether an arriving request would be late; say why, and when to try again."""
        if latest < now:
            seq.reason = "unreachable" if latest < seq.arrival else "deadline"
            return True
        ahead = self._ahead(latest)
        allowed = self._latest_start_now(seq, ahead) - now
        if self.safety * ahead * self._drain.pace() <= allowed:
            return False
        seq.reason = "deadline"
        seq.retry_after = self._retry_after(allowed, ahead)
        return True

    def _ahead(self, start: float) -> int:
        """Return the prompt positions that are filled before a request whose latest start is `start`."""
        waiting = self._drain.positions if self._by_arrival else self._line.ahead(start)
        return self._ledger.unfilled + waiting

    def _latest_start_now(self, seq: Sequence, ahead: int) -> float:
        """Return until when it must be started to be in time beside what runs now, in seconds."""
        drain, fit, used = self._drain, self._fit, self._ledger.used
        filled = fit.prefill_seconds(seq.prompt, min(drain.space(drain.decodes), drain.chunk), drain.decodes, used)
        running = self._ledger.residents + 1
        first = 0.0 if self._emitted else fit.seconds(0, running, used + seq.prompt)
        slo = seq.request.slo
        if slo is None or slo.completion is None:
            return self._start_for(seq, filled + first, 0.0)
        steps = self._decodes(seq)
        behind = max(self._ledger.unfilled + drain.positions - ahead, 0)  # prompts that are filled while it decodes
        if self._pausing:
            waits = behind * drain.pace() if steps else 0.0
            return self._start_for(seq, filled + first, filled + waits + fit.span_seconds(steps, 0, running, used))
        space = drain.space(running)
        mixed = min(steps, -(-behind // space))
        decoded = mixed * fit.seconds(space, running, used) + fit.span_seconds(steps - mixed, 0, running, used)
        return self._start_for(seq, filled + first, filled + decoded)

    def _start_for(self, seq: Sequence, first: float, last: float) -> float:
        """Return the latest start, where the first and the last token come so many seconds after the start."""
        latest, slo = math.inf, seq.request.slo
        if slo is not None and slo.ttft is not None:
            latest = seq.arrival + slo.ttft - self.safety * first
        if slo is not None and slo.completion is not None:
            latest = min(latest, seq.arrival + slo.completion - self.safety * last)
        return latest

    def _decodes(self, seq: Sequence) -> int:
        """Return the decode iterations that a request needs, 0 where its length is not predicted as a number."""
        predicted = seq.request.predicted
        if predicted is None or isinstance(predicted, str):
            return 0
        tokens = min(predicted, seq.limit) - self._emitted
        return max(math.ceil(tokens / self._engine.decode_block), 0)

    def _retry_after(self, allowed: float, ahead: int) -> float | None:
        """Return when the work ahead will have shrunk so far that a request may start `allowed` seconds later."""
        pace = self._drain.pace()
        if allowed < 0.0 or pace <= 0.0:
            return None  # it is not the queue that makes it late, or nobody knows how fast that drains
        return max(ahead * pace - allowed / self.safety, 0.0)


class Reject(Unreachable):
    """Who cannot keep its deadline any more, and is turned away? So its client learns it at once.

    The engine works only for answers that can still be in time. See `Unreachable` for how that is found out, and for
    `safety`.
    """


class Demote(Unreachable):
    """Who cannot keep its deadline any more, and goes behind all others? It is served when nobody else is left.

    Everybody gets an answer in the end, and nobody who can still be in time waits for one that cannot. See
    `Unreachable` for how that is found out, and for `safety`.
    """

    demotes = True
