"""Least slack: whoever can least afford to wait."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from headway.core.batch import Batch
from headway.core.cost import Linear
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec
from headway.core.rules import Order
from headway.core.sequence import WAITING, Sequence
from headway.core.spec import Spec, choice, construct, number
from headway.policies.fit import OnlineFit
from headway.policies.order.need_index import Entry, NeedIndex
from headway.policies.outlook import Outlook

_LOOKED_AT = 64  # requests within the band that are compared, the most urgent ones
_RENEWED = 4  # stale keys that an arrival or admission renews
TIES = ("arrival", "cache")


class LeastSlack(Order):
    """Who can least afford to wait? The deadline less the time that is still needed, for the promise that is nearest.

    The key is `deadline + alpha * time still needed`: alpha = -1 is slack, 0 the earliest deadline, and above 0 short
    requests go first the more the larger it is. The time comes from a linear model of the iteration that is fitted as
    the engine runs. A request may start if its first chunk fits the positions left in the iteration; otherwise it waits
    for one where it does. Requests without a promise come last, by arrival. A request that memory refuses blocks the
    others. Cost: O(log n) an arrival or admission; after a refit, keys are renewed a few at a time.
    Source: Deadline-Aware Batching and Tenant Fairness, "Deadline slack as the ordering key".

    Args:
        alpha: weight of the time still needed.
        band: seconds; whoever is within it of the most urgent one counts as equally urgent.
        ties: how those are told apart: by "arrival"; or by "cache", the one with the most tokens in the engine's prefix
            cache, then arrival, which takes a look at up to 64 prompts at every admission. Without a promise all are
            equally urgent.
        model: the iteration model if it is to stay as given, as in linear(c0=0.01, prefill=1e-4, decode=2e-4); it is
            fitted as the engine runs by default.
    """

    choosy = True

    def __init__(
        self, alpha: float = -1.0, band: float = 0.0, ties: str = "arrival", model: Spec | None = None
    ) -> None:
        super().__init__()
        self.alpha = number("alpha", alpha, -1, 1e6)
        self.band = number("band", band, 0, math.inf)
        self.by_cache = choice("ties", ties, TIES) == "cache"
        self.outlook: Outlook | None = None
        self._whole: LeastSlack | None = None
        self._given = _given(model)
        self._cached: Callable[[Sequence], int] = lambda _: 0  # without a cache
        self._index = NeedIndex(1)
        self._largest: int = 1  # positions that a first chunk needs at the most
        self._line: deque[tuple[Sequence, int]] = deque()  # waiting requests, and the version of the keys they have

    def attach(self, engine: EngineProfile) -> None:
        """Learn the engine's sizes, and make the iteration model unless one is shared."""
        space = engine.prompt_space(0)
        chunk = min(engine.chunk_cap or space, self.chunk_cap or space, space)
        # What is left when everybody else decodes: more than that is never sure to be free.
        sure = engine.prompt_space(engine.slots - 1)
        self._largest = min(chunk, sure)
        self._index = NeedIndex(self._largest)
        if self.outlook is None:
            self.outlook = new_outlook(engine, chunk, self._given)

    def attach_cache(self, cached: Callable[[Sequence], int]) -> None:
        """Learn whom to ask what is cached."""
        self._cached = cached

    def join(self, whole: LeastSlack) -> None:
        """Be one of several such orders: learn with the others, and let `whole` answer for all of them together."""
        self.outlook = whole.outlook
        self._whole = whole

    def push(self, seq: Sequence, now: float) -> bool:
        """Rank a request by the promise that is nearest."""
        before = self._index.first(self._largest)
        self._enter(seq)
        self._renew()
        if self.band > 0.0 or self.by_cache:
            return True
        return before is None or self._index.first(self._largest) is not before

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the most urgent request whose first chunk fits; one that memory refused blocks the others."""
        if refused is not None:
            return None
        entry = self.most_urgent(space)
        if entry is None:
            return None
        if self.band == 0.0 and not self.by_cache:
            return entry[4]
        return self.first_within(space, entry[0] + self.band)

    def first_within(self, space: int, limit: float) -> Sequence:
        """Return who goes first of those that fit and whose key is `limit` or less; there is at least one."""
        if self.by_cache:
            urgent = [entry[4] for entry in self._index.firsts(self._largest, limit, _LOOKED_AT)]
            known = [(self._cached(seq), -seq.ticket, seq) for seq in urgent]
            fitting = [one for one in known if self._need(one[2], one[0]) <= space]
            if fitting:
                return max(fitting)[2]
        return min((entry[4] for entry in self._index.firsts(space, limit, _LOOKED_AT)), key=lambda seq: seq.ticket)

    def most_urgent(self, space: int) -> Entry | None:
        """Return the entry (its key first, its sequence last) with the least key of those that fit."""
        entry = self._index.first(min(space, self._largest))
        if not self.by_cache or space >= self._largest:
            return entry
        before = self._index.firsts(self._largest, math.inf if entry is None else entry[0], _LOOKED_AT)
        return next((one for one in before if self._need(one[4], self._cached(one[4])) <= space), entry)

    def _need(self, seq: Sequence, cached: int) -> int:
        """Positions that its first chunk needs, after those that are cached."""
        return min(seq.prompt - cached, self._largest)

    def admitted(self, seq: Sequence, now: float) -> None:
        """Renew a few keys that an older model gave."""
        self._renew()

    def next_ready(self, ready: dict[Sequence, None]) -> Sequence:
        """Name the one whose next token, or completion, is due first."""
        return min(ready, key=_due)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """Learn how long iterations take."""
        if self.outlook is not None:
            self.outlook.ran(batch, seconds)

    def key(self, seq: Sequence) -> float:
        """Return the least of its promises' `deadline + alpha * time still needed`; infinite without a promise."""
        slo, outlook = seq.request.slo, self.outlook
        if slo is None or outlook is None:
            return math.inf
        key = math.inf
        if slo.ttft is not None:
            key = seq.arrival + slo.ttft + self.alpha * outlook.first_token(seq)
        if slo.completion is not None:
            key = min(key, seq.arrival + slo.completion + self.alpha * outlook.completion(seq))
        return key

    @property
    def _version(self) -> int:
        return 0 if self.outlook is None else self.outlook.version

    def _enter(self, seq: Sequence) -> None:
        seq.mark += 1
        need, key = min(seq.prompt, self._largest), self.key(seq)
        self._index.push(need, key, seq)
        if self._whole is not None:
            self._whole._index.push(need, key, seq)
        self._line.append((seq, self._version))

    def _renew(self) -> None:
        """Give a few requests the key that the model of today would give them."""
        line = self._line
        for _ in range(min(_RENEWED, len(line))):
            seq, version = line.popleft()
            if seq.state != WAITING or seq.evictions:
                continue
            if version != self._version and self.alpha != 0.0:
                self._enter(seq)
            else:
                line.append((seq, version))


def new_outlook(engine: EngineProfile, chunk: int, given: Linear | None) -> Outlook:
    """Return an outlook with a model that is given, or one that starts from the engine's cost model and learns."""
    fit = OnlineFit(engine) if given is None else OnlineFit.from_cost(engine, given)
    return Outlook(engine, fit, chunk)


def _due(seq: Sequence) -> float:
    """Return the deadline of the promise that is nearest, in seconds, of one that waits for a decode slot."""
    slo = seq.request.slo
    if slo is None:
        return math.inf
    due = math.inf if slo.completion is None else seq.arrival + slo.completion
    if not seq.generated:
        return due if slo.ttft is None else min(due, seq.arrival + slo.ttft)
    return due if slo.itl is None else min(due, seq.ready_at + slo.itl)  # its last token came then


def _given(model: object) -> Linear | None:
    if model is None:
        return None
    if not isinstance(model, Spec) or model.name != "linear":
        raise InvalidSpec(
            f"model: unknown value {model}; expected linear(c0=..., prefill=..., decode=..., context=...)"
        )
    return construct(Linear, model, "model")
