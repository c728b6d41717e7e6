"""How long an iteration takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.core.errors import InvalidEngine

_VECTOR = 48  # iterations from which numpy beats a loop; results are the same either way
_STRAIGHT = 1e-9  # how far a span may lie off the line, as a share of it
_LARGEST = 1e30  # no rate or size of an engine is larger, and products of two stay finite
_STRIDE = 4096  # the most iterations that one vector holds
_RAMP = np.arange(1.0, _STRIDE + 1.0)  # whole numbers, exact in floating point


Coast = tuple[int, float, float, float]  # iterations, time after them, seconds of the first and of the last


class CostModel:
    """Seconds that one iteration takes, from the counts of its batch.

    `seconds` must not fall when an argument grows. A subclass that overrides `coast` adds the same numbers in the same
    order as the loop below, so that a fast-forward equals the steps taken one by one, bit by bit.
    """

    steady: bool = True  # the same counts always take the same time

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds.

        Args:
            prefill: prompt positions.
            decode: decode positions.
            context: live KV tokens once the iteration has run.
        """
        raise NotImplementedError

    def coast(self, now: float, limit: float, steps: int, decode: int, context: int, prefill: int = 0) -> Coast:
        """Run up to `steps` iterations of equal counts that start before `limit`.

        Returns how many ran, the time after them, and the spans of the first and the last one; those in between lie
        on a line between the two.

        Args:
            now: start of the first, in seconds.
            limit: none starts at or after this time.
            steps: the most to run.
            decode: decode positions in each.
            context: live KV tokens before the first; every iteration adds its positions to them.
            prefill: prompt positions in each.
        """
        growth = prefill + decode
        first = last = self.seconds(prefill, decode, context + growth)
        slope = 0.0
        taken = 0
        while taken < steps and now < limit:
            context += growth
            span = self.seconds(prefill, decode, context)
            if taken == 1:
                slope = span - first
            elif taken and abs(span - last - slope) > _STRAIGHT * span:
                break  # a knee: the next call goes on from here
            now += span
            last = span
            taken += 1
        return taken, now, first, last


@dataclass(frozen=True)
class Piecewise(CostModel):
    """`c0 + a * max(0, positions - b0)`: a launch overhead, free up to a knee, then linear.

    Source: Quota-Based Aging, II-A4. c0 in seconds, a in seconds a position, b0 in positions.
    """

    c0: float
    a: float
    b0: float = 0.0

    def __post_init__(self) -> None:
        _as_floats(self, "c0", "a", "b0")

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds."""
        over = prefill + decode - self.b0
        return self.c0 + self.a * over if over > 0.0 else self.c0

    def coast(self, now: float, limit: float, steps: int, decode: int, context: int, prefill: int = 0) -> Coast:
        """Every step takes the same time; see the base class."""
        return _run_constant(now, limit, steps, self.seconds(prefill, decode, context))


@dataclass(frozen=True)
class Linear(CostModel):
    """`c0 + prefill * p + decode * d + context * c`: overhead, compute by position, KV reads by live token.

    c0 in seconds, prefill and decode in seconds a position, context in seconds a token.
    """

    c0: float
    prefill: float
    decode: float
    context: float = 0.0

    def __post_init__(self) -> None:
        _as_floats(self, "c0", "prefill", "decode", "context")

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds."""
        return self.c0 + self.prefill * prefill + self.decode * decode + self.context * context

    def coast(self, now: float, limit: float, steps: int, decode: int, context: int, prefill: int = 0) -> Coast:
        """Only the context term changes from step to step; see the base class."""
        base = self.c0 + self.prefill * prefill + self.decode * decode
        slope = self.context
        growth = prefill + decode
        if slope == 0.0:
            return _run_constant(now, limit, steps, base)
        first = span = base + slope * (context + growth)
        taken = 0
        if _stride(steps, now, limit, first) < _VECTOR:
            while taken < steps and now < limit:
                context += growth
                span = base + slope * context
                now += span
                taken += 1
        while taken < steps and now < limit:
            stride = _stride(steps - taken, now, limit, first)
            spans = _RAMP[:stride] * growth
            spans += context
            spans *= slope
            spans += base
            used, now, span = _accumulate(now, limit, spans)
            context += growth * used
            taken += used
        return taken, now, first, span


@dataclass(frozen=True)
class Roofline(CostModel):
    """The larger of memory time and compute time, plus an overhead.

    An iteration reads the weights once and the KV of every live token, and computes `flop` for every position.
    Attributes are rates and sizes: weights and `kv_bytes` (a token) in bytes, `memory` in bytes/s, `flop` a position,
    `prefill_flops` and `decode_flops` in FLOP/s (the data sheet's peak times the share that kernels reach), `c0` in
    seconds.
    """

    weights: float
    kv_bytes: float
    memory: float
    flop: float
    prefill_flops: float
    decode_flops: float
    c0: float

    def __post_init__(self) -> None:
        _as_floats(self, "weights", "kv_bytes", "flop", "c0")
        _as_floats(self, "memory", "prefill_flops", "decode_flops", above=True)

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds."""
        memory = (self.weights + self.kv_bytes * context) / self.memory
        compute = self.flop * prefill / self.prefill_flops + self.flop * decode / self.decode_flops
        return self.c0 + (max(compute, memory))

    def coast(self, now: float, limit: float, steps: int, decode: int, context: int, prefill: int = 0) -> Coast:
        """Run until memory overtakes compute at the most, so that spans change linearly; see the base class."""
        growth = prefill + decode
        compute = self.flop * prefill / self.prefill_flops + self.flop * decode / self.decode_flops
        if (self.weights + self.kv_bytes * (context + growth)) / self.memory <= compute:
            return _run_constant(now, limit, self._flat(steps, growth, context, compute), self.c0 + compute)
        c0, weights, kv_bytes, bandwidth = self.c0, self.weights, self.kv_bytes, self.memory
        first = span = c0 + (weights + kv_bytes * (context + growth)) / bandwidth
        taken = 0
        if _stride(steps, now, limit, first) < _VECTOR:
            while taken < steps and now < limit:
                context += growth
                span = c0 + (weights + kv_bytes * context) / bandwidth
                now += span
                taken += 1
        while taken < steps and now < limit:
            stride = _stride(steps - taken, now, limit, first)
            spans = _RAMP[:stride] * growth
            spans += context
            spans *= kv_bytes
            spans += weights
            spans /= bandwidth
            spans += c0
            used, now, span = _accumulate(now, limit, spans)
            context += growth * used
            taken += used
        return taken, now, first, span

    def _flat(self, steps: int, growth: int, context: int, compute: float) -> int:
        """How many of the steps are bound by compute; the first one is, by the caller's test."""
        if self.kv_bytes == 0.0:
            return steps
        room = (compute * self.memory - self.weights) / self.kv_bytes - context  # tokens up to the knee, nearly
        flat = int(min(float(steps), room / growth + 1.0))
        while flat > 1 and (self.weights + self.kv_bytes * (context + growth * flat)) / self.memory > compute:
            flat -= 1
        return min(max(flat, 1), steps)


@dataclass(frozen=True)
class Steps(CostModel):
    """Counts decode iterations: each takes `decode` seconds, an iteration of prompts alone takes none.

    For comparisons that leave the time of prefill out. Source: Past-Future (ASPLOS 2025), the controlled comparison.
    """

    decode: float = 1.0

    def __post_init__(self) -> None:
        _as_floats(self, "decode", above=True)

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds."""
        return self.decode if decode else 0.0

    def coast(self, now: float, limit: float, steps: int, decode: int, context: int, prefill: int = 0) -> Coast:
        """Every step takes the same time; see the base class."""
        return _run_constant(now, limit, steps, self.decode if decode else 0.0)


class Concurrency(CostModel):
    """Adds a cost for every sequence that decodes, whatever its length.

    Models work that a host does a sequence and not a position (sampling, detokenising, sending): `seconds_each`, in
    seconds, times the decoding sequences (decode positions over the block of `block` tokens).
    """

    def __init__(self, inner: CostModel, seconds_each: float, block: int) -> None:
        self.inner = inner
        self.steady = inner.steady
        self.seconds_each = seconds_each
        self.block = block

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds."""
        return self.inner.seconds(prefill, decode, context) + self.seconds_each * (decode / self.block)


class Jitter(CostModel):
    """Multiplies every iteration by an independent lognormal factor with mean 1.

    Models what a schedule cannot see: clocks that change, neighbours on the host, the operating system. `cv` is the
    factor's coefficient of variation. Iterations are never fast-forwarded: each draws its own factor.
    """

    steady = False

    def __init__(self, inner: CostModel, cv: float, rng: np.random.Generator) -> None:
        self.inner = inner
        self.sigma = float(np.sqrt(np.log1p(cv * cv)))
        self.rng = rng

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        """Time of one iteration, in seconds; a new draw at every call."""
        factor = self.rng.lognormal(-0.5 * self.sigma * self.sigma, self.sigma)
        return self.inner.seconds(prefill, decode, context) * float(factor)


def _stride(steps: int, now: float, limit: float, least: float) -> int:
    """How many iterations of at least `least` seconds to look at together: none that starts after the limit, nearly."""
    most = steps if steps < _STRIDE else _STRIDE
    if least > 0.0 and (limit - now) / least < most:
        most = int((limit - now) / least) + 2
    return most if most < steps else steps


def _run_constant(now: float, limit: float, steps: int, span: float) -> Coast:
    taken = 0
    if _stride(steps, now, limit, span) < _VECTOR:
        while taken < steps and now < limit:
            now += span
            taken += 1
    while taken < steps and now < limit:
        used, now, _ = _accumulate(now, limit, np.full(_stride(steps - taken, now, limit, span), span))
        taken += used
    return taken, now, span, span


def _accumulate(now: float, limit: float, spans: np.ndarray) -> tuple[int, float, float]:
    """Add the spans to `now` one after the other, as a loop would, while the time before each is under `limit`."""
    first = float(spans[0])
    spans[0] += now
    ends = np.add.accumulate(spans)
    # Step j starts at ends[j - 1]; the first one starts under the limit by the caller's test.
    used = 1 + int(ends[:-1].searchsorted(limit))
    return used, float(ends[used - 1]), float(spans[used - 1]) if used > 1 else first


def _as_floats(model: CostModel, *names: str, above: bool = False) -> None:
    """Check that the fields are finite numbers >= 0 (> 0 if `above`), and keep them as floats."""
    for name in names:
        value = getattr(model, name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST
        if not good or (above and value == 0):
            kind = type(model).__name__.lower()
            raise InvalidEngine(
                f"cost {kind}: {name} = {value!r}; expected a finite number {'> 0' if above else '>= 0'}"
            )
        object.__setattr__(model, name, float(value))  # an integer would make integer arrays in `coast`
