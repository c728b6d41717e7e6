"""What tenants receive, counted from plans by an observer that knows nothing of the order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence as Items

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, Sequence
from headway.policies.policy import Policy
from headway.testing.stepping import SteppingHost


class Meter(Scheduler):
    """Counts service: `w_in * prompt positions + w_out * decode positions`, without what was computed again.

    Attributes:
        service: units by request, as far as the last plan gives them.
        history: at each plan, its time and the units by tenant before it.
        never_started: requests that wait, apart from those that return.
    """

    def __init__(self, engine: EngineProfile, policy: Policy, w_in: float = 1.0, w_out: float = 2.0) -> None:
        super().__init__(engine, *policy.rules(engine))
        self.w_in, self.w_out = w_in, w_out
        self.service: dict[Sequence, float] = {}
        self.by_tenant: Counter[str] = Counter()
        self.history: list[tuple[float, Counter[str]]] = []
        self.never_started: dict[Sequence, None] = {}
        self._held: dict[Sequence, int] = {}  # positions in KV
        self._computed: Counter[Sequence] = Counter()  # the most that it ever held

    def submit(self, request: Request, now: float) -> Sequence:
        seq = super().submit(request, now)
        if request.prompt_tokens <= self.engine.kv_capacity:
            self.never_started[seq] = None
            self.service[seq] = 0.0
        return seq

    def cancel(self, seq: Sequence, now: float) -> None:
        self.never_started.pop(seq, None)
        super().cancel(seq, now)

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        self.history.append((now, self.by_tenant.copy()))
        batch = super().plan(now, ending)
        for seq in batch.evicted:
            self._held[seq] = 0
        for seq in batch.admitted:
            self._held[seq] = 0
            self.never_started.pop(seq, None)
        for seq, positions in batch.chunks:
            self._receives(seq, positions, self.w_in)
        if batch.decodes:
            empty = dict(ending)
            for seq in self.residents:
                if seq.state == DECODING:
                    self._receives(seq, self.engine.decode_block - empty.get(seq, 0), self.w_out)
        return batch

    def complete(self, batch: Batch, now: float, finished: Iterable[Sequence] = ()) -> None:
        finished = list(finished)
        super().complete(batch, now, finished)
        for seq in finished:
            del self._held[seq]

    def waits(self) -> Counter[str]:
        """How many requests of each tenant wait that were never started."""
        return Counter(seq.request.tenant for seq in self.never_started)

    def since(self, time: float) -> list[Counter[str]]:
        """What each tenant received since a time, at each later plan."""
        start = next(units for when, units in self.history if when >= time)
        return [
            Counter({tenant: units[tenant] - start[tenant] for tenant in units})
            for when, units in self.history
            if when >= time
        ]

    def _receives(self, seq: Sequence, positions: int, weight: float) -> None:
        before = self._held[seq]
        self._held[seq] = before + positions
        units = weight * max(before + positions - max(self._computed[seq], before), 0)
        self._computed[seq] = max(self._computed[seq], before + positions)
        self.service[seq] += units
        self.by_tenant[seq.request.tenant] += units


def metered(
    engine: EngineProfile,
    policy: str,
    requests: Items[Request],
    outputs: Items[int],
    *,
    until: float | None = None,
    eviction: str = "last-admitted",
    charges: tuple[float, float] = (1.0, 2.0),
) -> Meter:
    """Run requests to their end, or until a time, in seconds, at which all clients leave."""
    meter = Meter(engine, Policy.of(policy, eviction=eviction), *charges)
    cancels = [] if until is None else [(until, request.id) for request in requests]
    SteppingHost(meter, requests, outputs, engine.cost, cancels).run()
    return meter
