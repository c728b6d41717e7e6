"""Brute-force orders: a plain list, scanned and sorted anew for every question.

They share no structure with the orders of the product. Each says, for a moment, whom it would try one after the other
while memory keeps refusing (`tries`); everything else follows from that list.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.rules import Order
from headway.core.sequence import Sequence
from headway.core.spec import Spec


class Model(Order):
    """Keeps who waits in two lists: those that were never started, and those that came back."""

    def __init__(self) -> None:
        super().__init__()
        self.line: list[Sequence] = []
        self.came_back: list[Sequence] = []  # the last one first

    def tries(self, now: float) -> list[Sequence]:
        """Whom to try, among those that were never started, while memory refuses one after the other."""
        raise NotImplementedError

    def sorted_line(self) -> list[Sequence]:
        return sorted(self.line, key=lambda seq: (seq.arrival, seq.ticket))

    def push(self, seq: Sequence, now: float) -> bool:
        self.line.append(seq)
        return True

    def back(self, seq: Sequence, now: float) -> None:
        self.came_back.insert(0, seq)

    def next(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        tries = self.answers(now)
        place = 0 if refused is None else tries.index(refused) + 1
        return tries[place] if place < len(tries) else None

    def answers(self, now: float) -> list[Sequence]:
        """Whom to try, one after the other: who came back goes first, and blocks the others when refused."""
        return self.came_back[:1] or self.tries(now)

    def admitted(self, seq: Sequence, now: float) -> None:
        self.remove(seq)

    def remove(self, seq: Sequence) -> None:
        (self.came_back if seq in self.came_back else self.line).remove(seq)

    def steady_until(self, now: float) -> float:
        return now  # ask again at every boundary


class FcfsModel(Model):
    def tries(self, now: float) -> list[Sequence]:
        return self.sorted_line()[:1]


class ShortFirstModel(Model):
    def __init__(self, threshold: float | None = None) -> None:
        super().__init__()
        self.threshold = threshold

    def is_long(self, seq: Sequence) -> bool:
        predicted = seq.request.predicted
        if predicted is None or isinstance(predicted, str):
            return predicted == "long"
        assert self.threshold is not None
        return predicted > self.threshold

    def longs(self) -> list[Sequence]:
        return [seq for seq in self.sorted_line() if self.is_long(seq)]

    def shorts(self) -> list[Sequence]:
        return [seq for seq in self.sorted_line() if not self.is_long(seq)]

    def tries(self, now: float) -> list[Sequence]:
        return (self.shorts() or self.longs())[:1]


class AgingModel(ShortFirstModel):
    def __init__(
        self,
        gamma: float = 0.8,
        reference: str = "history",
        window: int | None = None,
        threshold: float | None = None,
    ) -> None:
        super().__init__(threshold)
        self.gamma = Decimal(str(gamma))
        self.reference = reference
        self.window = window
        self.history: list[float] = []

    def admitted(self, seq: Sequence, now: float) -> None:
        super().admitted(seq, now)
        if seq.evictions == 0:
            self.history.append(now - seq.arrival)

    def sample(self, now: float) -> list[float]:
        if self.reference == "queue":
            return [now - seq.arrival for seq in self.line]
        return self.history if self.window is None else self.history[-self.window :]

    def is_aged(self, seq: Sequence, now: float) -> bool:
        waits = sorted(self.sample(now))
        if not waits:
            return False
        return now - seq.arrival > waits[math.ceil(self.gamma * len(waits)) - 1]


class AggressiveAgingModel(AgingModel):
    def tries(self, now: float) -> list[Sequence]:
        oldest = self.longs()[:1]
        if oldest and self.is_aged(oldest[0], now):
            return oldest + self.shorts()[:1]
        return super().tries(now)


class QuotaAgingModel(AgingModel):
    def __init__(
        self,
        k: int = 5,
        gamma: float = 0.8,
        reference: str = "history",
        window: int | None = None,
        refused: str = "fall-through",
        threshold: float | None = None,
    ) -> None:
        super().__init__(gamma, reference, window, threshold)
        self.k = k
        self.when_refused = refused
        self.count = 0
        self.debt = 0
        self.promoted = 0

    def tries(self, now: float) -> list[Sequence]:
        aged = [seq for seq in self.longs() if self.is_aged(seq, now)]
        if not self.debt or not aged:
            return super().tries(now)
        if self.when_refused == "stop":
            return aged[:1]
        return (aged if self.when_refused == "oldest-that-fits" else aged[:1]) + self.shorts()[:1]

    def admitted(self, seq: Sequence, now: float) -> None:
        # While a debt stands, a long request goes before the short ones only by promotion.
        if self.debt and seq in self.line and self.is_long(seq) and self.is_aged(seq, now):
            self.debt = self.count = 0
            self.promoted += 1
        super().admitted(seq, now)

    def prefilled(self, seq: Sequence, now: float) -> None:
        if not self.debt and not self.is_long(seq) and seq.evictions == 0:
            self.count += 1
            if self.count >= self.k:
                self.debt = 1


class ShortestWorkModel(Model):
    def __init__(self, aging: float = 50.0) -> None:
        super().__init__()
        self.aging = aging

    def tries(self, now: float) -> list[Sequence]:
        # `now` is the same for all: what counts is the work left after `aging` positions for every second waited.
        return sorted(self.line, key=lambda seq: (self.work(seq) + self.aging * seq.arrival, seq.ticket))[:1]

    def work(self, seq: Sequence) -> float:
        predicted = seq.request.predicted
        return seq.request.prompt_tokens + (predicted if isinstance(predicted, int | float) else 0)


@dataclasses.dataclass
class Stay:
    """One request from an admission to the next eviction or end, in positions."""

    seq: Sequence
    paid: int = 0  # decode positions that were predicted
    prompt: int = 0
    decoded: int = 0
    tokens: int | None = None  # when it began to decode; None before
    over: bool = False

    @property
    def charged(self) -> int:
        return self.decoded if self.over else max(self.paid, self.decoded)


class Tenant:
    """All that ever happened to a tenant."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.weight = 1.0
        self.stays: list[Stay] = []
        self.start = 0.0  # its time when it was last lifted or its weight changed, and the charges before
        self.before = (0, 0, 0)

    def charges(self) -> tuple[int, int, int]:
        """Admissions, prompt and decode positions."""
        admissions = len({stay.seq for stay in self.stays})
        return admissions, sum(stay.prompt for stay in self.stays), sum(stay.charged for stay in self.stays)

    def restart(self, time: float) -> None:
        self.start = time
        self.before = self.charges()

    @property
    def active(self) -> bool:
        return bool(self.inner.line or self.inner.came_back) or any(not stay.over for stay in self.stays)


class FairShareModel(Model):
    """Sums up what every tenant was charged, from its first request on, whenever it needs a time."""

    def __init__(
        self,
        inner: str | Spec = "fcfs",
        charge: str = "iteration",
        lift: str = "active",
        w_in: float = 1.0,
        w_out: float = 2.0,
    ) -> None:
        super().__init__()
        self.inner = inner if isinstance(inner, Spec) else Spec(inner)
        self.charge, self.lift, self.w_in, self.w_out = charge, lift, w_in, w_out
        self.tenants: dict[str, Tenant] = {}
        self.floor = 0.0

    def attach(self, engine: EngineProfile) -> None:
        self.block = engine.decode_block
        self.emitted = 1 if engine.first_token == "prefill" else 0

    def tenant(self, seq: Sequence) -> Tenant:
        name = seq.request.tenant
        if name not in self.tenants:
            self.tenants[name] = Tenant(MODELS[self.inner.name](**self.inner.arguments))
        return self.tenants[name]

    def time(self, tenant: Tenant) -> float:
        admissions, prompt, decoded = (now - then for now, then in zip(tenant.charges(), tenant.before, strict=True))
        units = admissions if self.charge == "admission" else self.w_in * prompt + self.w_out * decoded
        return tenant.start + units / tenant.weight

    def level(self) -> float:
        if self.lift == "waiting":
            return min((self.time(tenant) for tenant in self.tenants.values() if tenant.inner.line), default=-math.inf)
        active = [self.time(tenant) for tenant in self.tenants.values() if tenant.active]
        return max(self.floor, min(active, default=self.floor))

    def tries(self, now: float) -> list[Sequence]:
        waiting = [tenant for tenant in self.tenants.values() if tenant.inner.line]
        if not waiting:
            return []
        oldest = {tenant: tenant.inner.sorted_line()[0] for tenant in waiting}
        turn = min(waiting, key=lambda one: (self.time(one), oldest[one].arrival, oldest[one].ticket))
        return turn.inner.tries(now)

    def push(self, seq: Sequence, now: float) -> bool:
        tenant = self.tenant(seq)
        if tenant.weight != seq.request.weight:
            tenant.restart(self.time(tenant))
            tenant.weight = seq.request.weight
        if not tenant.inner.line and self.level() > self.time(tenant):
            tenant.restart(self.level())
        tenant.inner.push(seq, now)
        return super().push(seq, now)

    def back(self, seq: Sequence, now: float) -> None:
        self.tenant(seq).inner.back(seq, now)
        super().back(seq, now)

    def admitted(self, seq: Sequence, now: float) -> None:
        tenant = self.tenant(seq)
        if seq.evictions == 0:
            self.floor = max(self.floor, self.time(tenant))
        stay = Stay(seq)
        if self.charge == "predicted" and isinstance(seq.request.predicted, int | float):
            stay.paid = max(math.ceil(seq.request.predicted) - seq.generated - self.emitted, 0)
        tenant.stays.append(stay)
        tenant.inner.admitted(seq, now)
        super().remove(seq)

    def prefilled(self, seq: Sequence, now: float) -> None:
        self.tenant(seq).inner.prefilled(seq, now)

    def remove(self, seq: Sequence) -> None:
        self.tenant(seq).inner.remove(seq)
        super().remove(seq)

    def stay(self, seq: Sequence) -> Stay:
        return next(stay for stay in self.tenant(seq).stays if stay.seq is seq and not stay.over)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        for seq in batch.resumed:  # from the decode slot that it got: it decodes in this iteration
            self.stay(seq).tokens = seq.generated
        if batch.decodes:
            for tenant in self.tenants.values():
                for stay in tenant.stays:
                    if stay.tokens is not None and not stay.over:
                        stay.decoded += self.block
        for seq, positions in batch.chunks:
            first, last = seq.filled - positions, seq.filled
            self.stay(seq).prompt += len([place for place in range(first, last) if place >= seq.computed])
        for seq in batch.joined:
            self.stay(seq).tokens = seq.generated + self.emitted

    def gone(self, seq: Sequence) -> None:
        stay = self.stay(seq)
        stay.decoded = 0 if stay.tokens is None else seq.generated - stay.tokens
        stay.over = True


MODELS: dict[str, Callable[..., Model]] = {
    "fcfs": FcfsModel,
    "psf": ShortFirstModel,
    "aa": AggressiveAgingModel,
    "qba": QuotaAgingModel,
    "shortest-work": ShortestWorkModel,
    "fair-share": FairShareModel,
}
