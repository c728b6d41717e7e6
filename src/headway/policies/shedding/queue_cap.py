"""A full queue."""

from __future__ import annotations

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec
from headway.core.kv import KvLedger
from headway.core.rules import Order, Shedding
from headway.core.sequence import Sequence
from headway.core.spec import whole
from headway.policies.fit import OnlineFit
from headway.policies.shedding.drain import Drain


class QueueCap(Shedding):
    """Who finds the queue full? Whoever arrives then is turned away, whatever was promised.

    The queue is full when so many requests, or so many prompt tokens, wait for their first start. Cost: O(1).

    Args:
        requests: the most requests that wait; None for no limit.
        tokens: prompt tokens from which on nobody else is let in, so that a large prompt always finds an empty queue
            open; None for no limit.
    """

    idle = False

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        if requests is None and tokens is None:
            raise InvalidSpec("give requests=..., tokens=... or both, as in queue-cap(requests=100)")
        self.requests: int | None = None if requests is None else whole("requests", requests, 1)
        self.tokens: int | None = None if tokens is None else whole("tokens", tokens, 1)

    def attach(self, engine: EngineProfile) -> None:
        """Start from the engine's own cost model."""
        self._engine: EngineProfile = engine
        self._fit: OnlineFit = OnlineFit(engine)

    def watch(self, ledger: KvLedger, order: Order) -> None:
        """See how full the engine is."""
        self._drain: Drain = Drain(self._engine, self._fit, ledger, order)

    def push(self, seq: Sequence, now: float) -> bool:
        """Let it in, or refuse it where the queue is full."""
        surplus = self._surplus()
        if surplus > 0.0:
            seq.reason = "queue_full"
            seq.retry_after = surplus * self._drain.pace() or None
            return True
        self._drain.arrived(seq)
        return False

    def left(self, seq: Sequence, now: float) -> None:
        """It waits no more."""
        self._drain.left(seq, now)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """Learn how long iterations take."""
        self._fit.learn(batch, seconds)

    def _surplus(self) -> float:
        """Return the prompt positions that must leave the queue before somebody is let in; 0 where it is open."""
        drain = self._drain
        surplus = 0.0
        if self.requests is not None and drain.waiting >= self.requests:
            surplus = (drain.waiting - self.requests + 1) * drain.positions / drain.waiting
        if self.tokens is not None and drain.positions >= self.tokens:
            surplus = max(surplus, drain.positions - self.tokens + 1)
        return surplus
