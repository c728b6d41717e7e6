"""What a tenant sends: when, how much, from when to when.

Arrivals and lengths are specs, as in `poisson(rate=5)` and `lognormal(mean=500, cv=1.5)`. To add a kind, write the
function and enter it in `ARRIVAL_KINDS` or in `length_kinds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from headway.core.errors import InvalidSpec, InvalidWorkload
from headway.core.spec import Spec, build, number, whole
from headway.workload import arrivals, lengths
from headway.workload.arrivals import Seconds
from headway.workload.columns import MOST
from headway.workload.lengths import Lognormal, Tokens
from headway.workload.limits import LARGEST
from headway.workload.named import workload
from headway.workload.seeds import ARRIVALS, LENGTHS, child, stream

Times = Callable[[int, np.random.Generator], Seconds]
Lengths = Callable[[int, np.random.Generator], Tokens]

AT_ONCE = "at-once"
_FIRST_DRAW = 1024  # requests; more are drawn until the end is reached


def poisson(rate: float) -> Times:
    """Independent users: exponential gaps."""
    return partial(arrivals.poisson, _rate(rate))


def gamma(rate: float, cv: float = 2.0) -> Times:
    """Bursty (cv above 1) or regular (below 1): gamma gaps."""
    return partial(arrivals.gamma, _rate(rate), cv=_cv(cv))


def constant(rate: float) -> Times:
    """Equal gaps."""
    return partial(arrivals.deterministic, _rate(rate))


def on_off(rate: float, on: float, off: float, cv: float = 1.0) -> Times:
    """Gamma gaps (Poisson by default) for some seconds, nothing for some, and so on."""
    gaps = gamma(rate, cv)
    busy = number("on", on, 0.0, math.inf, open_low=True, open_high=True)
    idle = number("off", off, 0.0, math.inf, open_high=True)
    return lambda n, rng: arrivals.on_off(gaps(n, rng), busy, idle)


def at_once() -> Times:
    """All at the start."""
    return partial(arrivals.poisson_or_at_once, math.inf)


ARRIVAL_KINDS: dict[str, Callable[..., Times]] = {
    "poisson": poisson,
    "gamma": gamma,
    "constant": constant,
    "on-off": on_off,
    AT_ONCE: at_once,
}


def length_kinds(least: int) -> dict[str, Callable[..., Lengths]]:
    """Return the kinds of lengths where the shortest has `least` tokens: 1 for prompts, 0 for outputs."""

    def constant_length(tokens: int) -> Lengths:
        return partial(lengths.constant, whole("tokens", tokens, least, MOST))

    def uniform(low: int, high: int) -> Lengths:
        first = whole("low", low, least, MOST)
        return partial(lengths.uniform, first, whole("high", high, first, MOST))

    def lognormal(mean: float, cv: float = 1.0, low: int = 1, high: int = MOST) -> Lengths:
        first = whole("low", low, least, MOST)
        spread = number("cv", cv, 0.0, 100.0)
        shape = Lognormal.of_mean(number("mean", mean, 1.0, 1e7), spread, first, whole("high", high, first, MOST))
        return partial(lengths.lognormal, shape)

    return {"constant": constant_length, "uniform": uniform, "lognormal": lognormal}


@dataclass(frozen=True)
class Traffic:
    """The requests of one tenant, drawn from random streams of its own.

    Attributes:
        arrivals: spec of the arrivals, one of `ARRIVAL_KINDS`.
        lengths: specs of the prompt and the output lengths, of `length_kinds`; or the spec of a named workload whose
            prompts and outputs are taken in pairs.
        requests: the most requests; None sends until `end`.
        start: seconds from which arrivals count.
        end: seconds; nothing arrives at it or later.
    """

    arrivals: Spec
    lengths: tuple[Spec, Spec] | Spec
    requests: int | None = None
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        """Build everything once, so that a wrong value is found before anything is drawn."""
        build(self.arrivals, ARRIVAL_KINDS, "arrivals")
        if isinstance(self.lengths, Spec):
            if own := [key for key in ("n", "rate") if key in self.lengths.arguments]:
                raise InvalidSpec(f"lengths '{self.lengths}': the arrivals say its {own[0]}; leave it out")
            workload(self.lengths, requests=1)
        else:
            self._kinds(self.lengths)
        if not self.start < self.end:
            raise InvalidSpec(f"end must be after start ({self.start:g}), got {self.end:g}")

    def draw(self, seed: int, requests: int | None = None, duration: float = math.inf) -> pl.DataFrame:
        """Draw the requests: `arrival`, `prompt_tokens`, `output_tokens`, a row each in order of arrival.

        Args:
            seed: of all random streams.
            requests: no more than so many are needed.
            duration: seconds; nothing arrives at it or later.

        Raises:
            InvalidWorkload: nothing says how many requests there are, or there are too many.
        """
        most = min((n for n in (self.requests, requests) if n is not None), default=None)
        times = self._times(seed, most, min(self.end, duration))
        prompts, outputs = self._lengths(seed, len(times)) if len(times) else (times, times)
        return pl.DataFrame(
            {"arrival": times, "prompt_tokens": prompts, "output_tokens": outputs},
            schema_overrides={"prompt_tokens": pl.Int64, "output_tokens": pl.Int64},
        )

    def _times(self, seed: int, most: int | None, end: float) -> Seconds:
        """Draw arrivals before `end`: some, and twice as many until the last one is behind it.

        A longer draw starts with the shorter one, so how often that happens does not show.
        """
        if most is None and (end == math.inf or self.arrivals.name == AT_ONCE):
            missing = "requests" if self.arrivals.name == AT_ONCE else "requests, an end or a duration"
            raise InvalidWorkload(f"nothing says how many requests there are; give {missing}")
        draw: Times = build(self.arrivals, ARRIVAL_KINDS, "arrivals")
        ceiling = LARGEST if most is None else most
        n = min(_FIRST_DRAW, ceiling)
        while (times := self.start + draw(n, stream(seed, ARRIVALS)))[-1] < end and n < ceiling:
            n = min(2 * n, ceiling)
        if most is None and times[-1] < end:
            raise InvalidWorkload(f"more than {LARGEST:,} requests before {end:g} s; give requests or a smaller rate")
        return times[times < end]

    def _lengths(self, seed: int, n: int) -> tuple[Tokens, Tokens]:
        if isinstance(self.lengths, Spec):
            frame = workload(self.lengths, child(seed, LENGTHS), requests=n).frame
            if len(frame) < n:
                raise InvalidWorkload(f"lengths '{self.lengths}' has {len(frame)} requests, but {n} arrive")
            return frame["prompt_tokens"].to_numpy(), frame["output_tokens"].to_numpy()
        prompt, output = self._kinds(self.lengths)
        prompts, outputs = stream(seed, LENGTHS).spawn(2)
        return prompt(n, prompts), output(n, outputs)

    @staticmethod
    def _kinds(specs: tuple[Spec, Spec]) -> tuple[Lengths, Lengths]:
        return build(specs[0], length_kinds(1), "prompt"), build(specs[1], length_kinds(0), "output")


def _rate(rate: float) -> float:
    return number("rate", rate, 0.0, math.inf, open_low=True, open_high=True)


def _cv(cv: float) -> float:
    return number("cv", cv, 0.01, 100.0)
