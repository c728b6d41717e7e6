"""How long will an iteration take? A linear model that is fitted as the engine runs."""

from __future__ import annotations

import math

from headway.core.batch import Batch
from headway.core.cost import CostModel, Linear, Piecewise, Roofline
from headway.core.engine import EngineProfile

Line = tuple[float, float, float, float]  # seconds: at rest, for a prefill position, a decode position, a KV token

FORGETTING = 0.97  # weight of an iteration against that of the next one like it; about the last 150 of all kinds count
_LEAST_NEWS = (1.0 - FORGETTING) / FORGETTING  # variance of a prediction, below which an iteration tells nothing new
_DOUBT = 25.0  # variance of the prior: a coefficient may be wrong by all of itself where an iteration is by a fifth
_SMALL = 0.1  # share of a full iteration by which a coefficient may be wrong that the prior takes for small
_MATERIAL = 0.05  # relative change from which on users are told
_PASSES = 20  # over iterations of all sizes, to find the line that is near a cost model


class OnlineFit:
    """How long will an iteration take?

    `T = c0 + c1 prefill + c2 decode + c3 context`, of prefill positions, decode positions and live KV tokens. Where the
    engine's cost model has a knee, T is the larger of two such lines, and an iteration teaches the one it lies on.

    It starts from the cost model and is fitted to relative errors by recursive least squares with directional
    forgetting: an iteration makes room for its own direction only. What a steady load never shows is therefore kept as
    it was, and the covariance cannot grow beyond that of the start, where plain exponential forgetting overflows after
    some 20,000 equal iterations. Coefficients stay >= 0 (the start of a line beyond a knee may be lower). Outside the
    range seen, the answer is the cost model's, slower or faster by as much as in the nearest point of the range.
    Cost: 3-6 microseconds an iteration learned, 1-2 a question (`benchmarks/online_fit.py`).
    Source: directional forgetting of Kulhavy and Karny, Tracking of slowly varying parameters by directional forgetting
    (IFAC 1984), held at the covariance of the start.

    Attributes:
        version: grows when iterations like the one just learned take another time by more than 5 % than at the version
            before: whoever keeps what the model said then should ask again.
    """

    __slots__ = ("_block", "_fits", "_high", "_learns", "_lines", "_low", "_prior", "_sizes", "_told", "version")

    def __init__(self, engine: EngineProfile, *, cost: CostModel | None = None, learns: bool = True) -> None:
        """Start from a cost model.

        Args:
            engine: its sizes scale the model, so that coefficients of 1e-8 s and contexts of 1e5 tokens go together.
            cost: the model to start from; None takes the engine's.
            learns: fit what is seen; otherwise the model stays as given.
        """
        self._learns: bool = learns
        self._block: int = engine.decode_block
        self._sizes: Line = (
            1.0,
            float(engine.token_budget),
            float(engine.decode_slots * engine.decode_block),
            float(engine.kv_capacity),
        )
        self._prior: list[Line] = _lines(cost or engine.cost, engine)
        self._lines: list[Line] = list(self._prior)
        self._told: list[Line] = list(self._prior)
        self._fits: list[_Fit] = [_Fit(line, self._sizes) for line in self._prior]
        self._low: tuple[float, float, float] = (math.inf, math.inf, math.inf)
        self._high: tuple[float, float, float] = (-math.inf, -math.inf, -math.inf)
        self.version: int = 0

    @classmethod
    def from_cost(cls, engine: EngineProfile, cost: CostModel | None = None) -> OnlineFit:
        """Return a model that is given and never changes: a cost model's, by default the engine's."""
        return cls(engine, cost=cost, learns=False)

    @property
    def coefficients(self) -> list[Line]:
        """The lines whose largest is the time of an iteration: c0 in s, c1 and c2 in s a position, c3 in s a token."""
        return list(self._lines)

    def learn(self, batch: Batch, seconds: float) -> bool:
        """Take in how long an iteration took; return whether it counts.

        Only iterations in which somebody was admitted or joined count. A host may take quiet ones together without
        planning each, so that a model which learned from them would depend on the host.

        Args:
            batch: the iteration as it was planned.
            seconds: how long it took; what is not above 0 and finite is left out.
        """
        if not self._learns or not (batch.admitted or batch.joined) or not 0.0 < seconds < math.inf:
            return False
        prefill, decode, context = batch.prefill_positions, batch.decode_positions, batch.context
        active, predicted = 0, -math.inf
        for index, line in enumerate(self._lines):
            value = _value(line, prefill, decode, context)
            if value > predicted:
                active, predicted = index, value
        new = self._fits[active].learn(self._sizes, (prefill, decode, context), predicted, seconds)
        self._lines[active] = new
        self._low = (min(self._low[0], prefill), min(self._low[1], decode), min(self._low[2], context))
        self._high = (max(self._high[0], prefill), max(self._high[1], decode), max(self._high[2], context))
        old = self._told[active]
        moved = (
            abs(new[0] - old[0])
            + abs(new[1] - old[1]) * prefill
            + abs(new[2] - old[2]) * decode
            + abs(new[3] - old[3]) * context
        )
        if moved > _MATERIAL * seconds:
            self._told = list(self._lines)
            self.version += 1
        return True

    def seen(self, prefill: float, decodes: float, context: float) -> bool:
        """Whether an iteration like this lies in the range that was learned from; arguments as in `seconds`."""
        decode = decodes * self._block
        low, high = self._low, self._high
        return low[0] <= prefill <= high[0] and low[1] <= decode <= high[1] and low[2] <= context <= high[2]

    def seconds(self, prefill: float, decodes: float, context: float) -> float:
        """Return how long an iteration takes, in seconds.

        Args:
            prefill: prompt positions.
            decodes: sequences that decode, each a whole block.
            context: live KV tokens once the iteration has run.
        """
        decode = decodes * self._block
        if self._low[0] == math.inf:  # nothing was learned
            return _largest(self._prior, prefill, decode, context)
        lines, ratio = self._model(prefill, decode, context)
        return ratio * _largest(lines, prefill, decode, context)

    def span_seconds(self, steps: int, prefill: float, decodes: float, context: float) -> float:
        """Return how long so many equal iterations take, one after the other, in seconds.

        Args:
            steps: iterations, 0 or more.
            prefill: prompt positions in each.
            decodes: sequences that decode in each.
            context: live KV tokens before the first; every iteration adds its positions to them.
        """
        if steps <= 0:
            return 0.0
        decode = decodes * self._block
        growth = prefill + decode
        first = context + growth
        lines, ratio = self._model(prefill, decode, first + growth * (steps - 1) / 2)
        return ratio * _total(lines, steps, prefill, decode, first, growth)

    def prefill_seconds(self, prompt: int, chunk: int, decodes: float, context: float) -> float:
        """Return how long it takes to fill a prompt, in seconds: the sum over the iterations that it needs.

        Args:
            prompt: positions to fill.
            chunk: the most that go into one iteration, at least 1.
            decodes: sequences that decode beside it.
            context: live KV tokens before the first iteration.
        """
        full, rest = divmod(prompt, chunk)
        taken = self.span_seconds(full, chunk, decodes, context)
        if not rest:
            return taken
        return taken + self.span_seconds(1, rest, decodes, context + full * (chunk + decodes * self._block))

    def _model(self, prefill: float, decode: float, context: float) -> tuple[list[Line], float]:
        """Return what to ask about iterations like this, and by how much to multiply the answer."""
        low, high = self._low, self._high
        if low[0] <= prefill <= high[0] and low[1] <= decode <= high[1] and low[2] <= context <= high[2]:
            return self._lines, 1.0
        if low[0] == math.inf:  # nothing was learned
            return self._prior, 1.0
        near = (
            min(max(prefill, low[0]), high[0]),
            min(max(decode, low[1]), high[1]),
            min(max(context, low[2]), high[2]),
        )
        before = _largest(self._prior, *near)
        return (self._prior, _largest(self._lines, *near) / before) if before > 0.0 else (self._lines, 1.0)


class _Fit:
    """Recursive least squares of one line, in seconds that each feature takes at its largest."""

    __slots__ = (
        "c0", "c1", "c2", "c3", "lowest",
        "p00", "p01", "p02", "p03", "p11", "p12", "p13", "p22", "p23", "p33",
    )  # fmt: skip

    def __init__(self, line: Line, sizes: Line) -> None:
        self.c0: float = line[0] * sizes[0]
        self.c1: float = line[1] * sizes[1]
        self.c2: float = line[2] * sizes[2]
        self.c3: float = line[3] * sizes[3]
        self.lowest: float = min(self.c0, 0.0)
        small = _SMALL * (self.c0 + self.c1 + self.c2 + self.c3) or 1.0
        self.p00: float = _DOUBT * (abs(self.c0) + small) ** 2
        self.p11: float = _DOUBT * (self.c1 + small) ** 2
        self.p22: float = _DOUBT * (self.c2 + small) ** 2
        self.p33: float = _DOUBT * (self.c3 + small) ** 2
        self.p01: float = 0.0
        self.p02: float = 0.0
        self.p03: float = 0.0
        self.p12: float = 0.0
        self.p13: float = 0.0
        self.p23: float = 0.0

    def learn(self, sizes: Line, counts: tuple[float, float, float], predicted: float, seconds: float) -> Line:
        """Take in one iteration; return the line, in seconds a position and a token."""
        weight = 1.0 / (predicted if predicted > 0.1 * seconds else seconds)  # errors count as shares of the time
        _, size1, size2, size3 = sizes
        z0, z1, z2, z3 = weight, weight * counts[0] / size1, weight * counts[1] / size2, weight * counts[2] / size3
        v0 = self.p00 * z0 + self.p01 * z1 + self.p02 * z2 + self.p03 * z3
        v1 = self.p01 * z0 + self.p11 * z1 + self.p12 * z2 + self.p13 * z3
        v2 = self.p02 * z0 + self.p12 * z1 + self.p22 * z2 + self.p23 * z3
        v3 = self.p03 * z0 + self.p13 * z1 + self.p23 * z2 + self.p33 * z3
        news = z0 * v0 + z1 * v1 + z2 * v2 + z3 * v3  # variance of the prediction
        gain = (seconds - predicted) * weight / (1.0 + news)
        self.c0 = max(self.c0 + gain * v0, self.lowest)
        self.c1 = max(self.c1 + gain * v1, 0.0)
        self.c2 = max(self.c2 + gain * v2, 0.0)
        self.c3 = max(self.c3 + gain * v3, 0.0)
        if news > _LEAST_NEWS:
            self._narrow(v0, v1, v2, v3, news)
        return (self.c0, self.c1 / size1, self.c2 / size2, self.c3 / size3)

    def _narrow(self, v0: float, v1: float, v2: float, v3: float, news: float) -> None:
        """Doubt less in the direction of an iteration; the part of it that is forgotten comes off."""
        keep = FORGETTING - (1.0 - FORGETTING) / news
        k = keep / (1.0 + keep * news)
        k0, k1, k2, k3 = k * v0, k * v1, k * v2, k * v3
        self.p00 -= k0 * v0
        self.p01 -= k0 * v1
        self.p02 -= k0 * v2
        self.p03 -= k0 * v3
        self.p11 -= k1 * v1
        self.p12 -= k1 * v2
        self.p13 -= k1 * v3
        self.p22 -= k2 * v2
        self.p23 -= k2 * v3
        self.p33 -= k3 * v3


def _value(line: Line, prefill: float, decode: float, context: float) -> float:
    return line[0] + line[1] * prefill + line[2] * decode + line[3] * context


def _largest(lines: list[Line], prefill: float, decode: float, context: float) -> float:
    largest = 0.0
    for c0, c1, c2, c3 in lines:
        value = c0 + c1 * prefill + c2 * decode + c3 * context
        if value > largest:
            largest = value
    return largest


def _total(lines: list[Line], steps: int, prefill: float, decode: float, context: float, growth: float) -> float:
    """Sum the largest line over iterations whose context grows from `context` by `growth` in each."""
    first, slope = _course(lines[0], prefill, decode, context, growth)
    if len(lines) == 1:
        return max(_progression(first, slope, steps), 0.0)
    other, other_slope = _course(lines[1], prefill, decode, context, growth)
    upper, lower = (first, slope), (other, other_slope)
    if first < other or (first == other and slope < other_slope):
        upper, lower = lower, upper
    # The lower line may overtake once; from there on it is the larger one.
    closing = lower[1] - upper[1]
    crossing = steps if closing <= 0.0 else min(math.ceil((upper[0] - lower[0]) / closing), steps)
    rest = steps - crossing
    total = _progression(*upper, crossing) + _progression(lower[0] + lower[1] * crossing, lower[1], rest)
    return max(total, 0.0)


def _course(line: Line, prefill: float, decode: float, context: float, growth: float) -> tuple[float, float]:
    """Return a line's time in the first iteration, and how much more it takes in each later one."""
    return _value(line, prefill, decode, context), line[3] * growth


def _progression(first: float, slope: float, steps: int) -> float:
    return steps * (first + slope * (steps - 1) / 2)


def _lines(cost: CostModel, engine: EngineProfile) -> list[Line]:
    """Return the lines whose largest is the cost model: exactly where it is one of ours, else the nearest line."""
    each = engine.concurrency / engine.decode_block  # extra seconds of a decode position
    if isinstance(cost, Linear):
        return [(cost.c0, cost.prefill, cost.decode + each, cost.context)]
    if isinstance(cost, Piecewise):
        return [(cost.c0, 0.0, each, 0.0), (cost.c0 - cost.a * cost.b0, cost.a, cost.a + each, 0.0)]
    if isinstance(cost, Roofline):
        return [
            (cost.c0 + cost.weights / cost.memory, 0.0, each, cost.kv_bytes / cost.memory),
            (cost.c0, cost.flop / cost.prefill_flops, cost.flop / cost.decode_flops + each, 0.0),
        ]
    return [_nearest_line(cost, engine)]


def _nearest_line(cost: CostModel, engine: EngineProfile) -> Line:
    """Return the line that is near a cost model, by relative errors, over iterations of all sizes."""
    block, most = engine.decode_block, engine.decode_slots * engine.decode_block
    sizes = (1.0, float(engine.token_budget), float(most), float(engine.kv_capacity))
    line: Line = (cost.seconds(engine.token_budget, 0, engine.kv_capacity), 0.0, 0.0, 0.0)
    fit = _Fit(line, sizes)
    for _ in range(_PASSES):
        for prefill in (engine.token_budget, engine.token_budget // 8, 0):
            for decode in (most, most // 8 // block * block, 0):
                for context in (engine.kv_capacity, engine.kv_capacity // 8, 1):
                    taken = cost.seconds(prefill, decode, context) + engine.concurrency * decode / block
                    if prefill + decode and taken > 0.0:
                        counts = (float(prefill), float(decode), float(context))
                        line = fit.learn(sizes, counts, _value(line, *counts), taken)
    return line
