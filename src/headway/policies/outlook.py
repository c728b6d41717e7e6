"""How long would this request take if it were admitted now?"""

from __future__ import annotations

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.sequence import Sequence
from headway.policies.fit import OnlineFit

_MATERIAL = 0.1  # relative change of an iteration's time from which on estimates are made anew


class Outlook:
    """An iteration model and the load that it is asked about: what decodes beside a request that starts now.

    The load is that of the last iteration that the model learned from, so that estimates do not depend on how many
    quiet iterations a host took together.

    Attributes:
        version: grows when estimates may have changed; whoever keeps one should then ask again.
    """

    __slots__ = ("_chunk", "_context", "_decodes", "_fit", "_fitted", "_told", "version")

    def __init__(self, engine: EngineProfile, fit: OnlineFit, chunk: int) -> None:
        """Take the engine, the iteration model, and the most prompt positions of one request in an iteration."""
        self._fit = fit
        self._fitted: int = fit.version
        self._chunk = chunk
        self._decodes: int = 0
        self._context: int = 0
        self._told: float = fit.seconds(0, 1, 0)
        self.version: int = 0

    def ran(self, batch: Batch, seconds: float) -> None:
        """Learn from an iteration, and look at the load."""
        if not (batch.admitted or batch.joined):
            return
        self._fit.learn(batch, seconds)
        self._decodes = batch.decodes + len(batch.joined)
        self._context = batch.context
        pace = self._fit.seconds(0, self._decodes, self._context)
        if self._fit.version != self._fitted or abs(pace - self._told) > _MATERIAL * self._told:
            self._fitted, self._told = self._fit.version, pace
            self.version += 1

    def first_token(self, seq: Sequence) -> float:
        """Return the time, in seconds, in which its prompt would be filled, chunk by chunk."""
        return self._fit.prefill_seconds(seq.prompt, self._chunk, self._decodes, self._context)

    def completion(self, seq: Sequence) -> float:
        """Return the time, in seconds, in which its answer would be complete; without a prediction, its prompt."""
        predicted = seq.request.predicted
        rest = predicted - seq.generated if isinstance(predicted, int | float) else 0.0
        pace = self._fit.seconds(0, self._decodes + 1, self._context + seq.prompt)
        return self.first_token(seq) + max(rest, 0.0) * pace
