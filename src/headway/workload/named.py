"""Workloads by name: `qba-paper`, `qba-paper(n=1000, rate=30)` and others.

A workload is a function: the seed first, then its options with defaults, `n` and `rate` among them; the first
line of its docstring is its description. To add one, write the function and enter it in `NAMED`. Those that are made of
others get, before the seed, the function that draws one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from headway.core.errors import InvalidSpec, InvalidTrace, InvalidWorkload
from headway.core.spec import Spec, build, parse_spec
from headway.workload.arrivals import Seconds, gamma, poisson
from headway.workload.columns import MOST
from headway.workload.composed import concat, shift
from headway.workload.labels import label
from headway.workload.lengths import Lognormal, Tokens, lognormal_pair, uniform
from headway.workload.limits import count, number, whole
from headway.workload.past_future import d1, d2, d3, o1_like
from headway.workload.seeds import ARRIVALS, LENGTHS, stream
from headway.workload.trace import Trace


def qba_paper(seed: int, /, n: int = 5000, rate: float = 32.0) -> pl.DataFrame:
    """Poisson arrivals, correlated lognormal lengths with means of 525 and 223 tokens, 15 % long.

    The workload of the Quota-Based Aging experiments. Its parameters are calibrated, the text gives none:
    prompts clip(round(exp(5.60 + 1.2 z)), 1, 4096), outputs clip(round(exp(4.81 + 1.1 z')), 1, 4096), with
    z and z' standard normal of correlation 0.15.
    """
    prompt, output = Lognormal(5.60, 1.2, 1, 4096), Lognormal(4.81, 1.1, 1, 4096)
    requests = count(n)
    lengths = lognormal_pair(prompt, output, 0.15, requests, stream(seed, LENGTHS))
    return _frame(poisson(rate, requests, stream(seed, ARRIVALS)), *lengths)


def lognormal_lengths(
    seed: int,
    /,
    n: int = 10_000,
    rate: float = 10.0,
    cv: float = 1.0,
    prompt_mean: float = 500.0,
    prompt_cv: float = 1.5,
    output_mean: float = 200.0,
    output_cv: float = 1.0,
    correlation: float = 0.0,
) -> pl.DataFrame:
    """Gamma arrivals (cv of the gaps), lognormal lengths given by mean and cv.

    Means and cv of the lengths are those before rounding to whole tokens, at least 1.
    """
    prompt = _lognormal("prompt", prompt_mean, prompt_cv)
    output = _lognormal("output", output_mean, output_cv)
    requests = count(n)
    lengths = lognormal_pair(prompt, output, correlation, requests, stream(seed, LENGTHS))
    return _frame(gamma(rate, requests, stream(seed, ARRIVALS), cv), *lengths)


def uniform_lengths(
    seed: int,
    /,
    n: int = 10_000,
    rate: float = 10.0,
    cv: float = 1.0,
    prompt_low: int = 32,
    prompt_high: int = 1024,
    output_low: int = 32,
    output_high: int = 512,
) -> pl.DataFrame:
    """Gamma arrivals (cv of the gaps), uniform lengths between the given bounds."""
    requests = count(n)
    prompts, outputs = stream(seed, LENGTHS).spawn(2)
    return _frame(
        gamma(rate, requests, stream(seed, ARRIVALS), cv),
        _uniform("prompt", 1, prompt_low, prompt_high, requests, prompts),
        _uniform("output", 0, output_low, output_high, requests, outputs),
    )


def _draw(spec: Spec, seed: int) -> pl.DataFrame:
    """Draw a workload, unlabelled."""
    return build(spec, {name: partial(make, seed) for name, make in NAMED.items()}, "workload")


NAMED: dict[str, Callable[..., pl.DataFrame]] = {
    "qba-paper": qba_paper,
    "lognormal": lognormal_lengths,
    "uniform": uniform_lengths,
    "d1": d1,
    "d2": d2,
    "d3": d3,
    "o1-like": o1_like,
    "concat": partial(concat, _draw),
    "shift": partial(shift, _draw),
}


def workload(spec: str | Spec, seed: int = 0, requests: int | None = None, rate: float | None = None) -> Trace:
    """Make the named workload, labelled by the 0.85-quantile of its output lengths.

    Args:
        spec: a name, with options in parentheses: `qba-paper(n=1000)`.
        seed: of all its random streams.
        requests: overrides the option `n`.
        rate: overrides the option `rate`, requests/s.

    Raises:
        InvalidWorkload: the name or an option is unknown, or a value out of range.
    """
    try:
        asked = spec if isinstance(spec, Spec) else parse_spec(spec)
        given = {"n": requests, "rate": rate}
        asked = Spec(asked.name, asked.arguments | {key: value for key, value in given.items() if value is not None})
        return label(Trace.from_frame(str(asked), _draw(asked, seed)))
    except (InvalidSpec, InvalidTrace) as error:
        raise InvalidWorkload(str(error)) from None


def nominal_rate(spec: str) -> float | None:
    """Return the requests/s that a workload is drawn with; one seed's requests come somewhat faster or slower.

    None where it has no rate of its own but those of its parts.

    Raises:
        InvalidWorkload: as `workload`.
    """
    asked = parse_spec(spec)
    rate = asked.arguments.get("rate", inspect.signature(NAMED[asked.name]).parameters["rate"].default)
    return None if rate is None else float(rate)


def workloads() -> dict[str, str]:
    """Return the names of all workloads, each with a description of one line."""
    functions = {name: make.func if isinstance(make, partial) else make for name, make in NAMED.items()}
    return {name: (function.__doc__ or "").partition("\n")[0] for name, function in functions.items()}


def _lognormal(kind: str, mean: float, cv: float) -> Lognormal:
    return Lognormal.of_mean(number(f"{kind}_mean", mean, 1.0, 1e7), number(f"{kind}_cv", cv, 0.0, 100.0))


def _uniform(kind: str, least: int, low: int, high: int, n: int, rng: np.random.Generator) -> Tokens:
    first = whole(f"{kind}_low", low, least, MOST)
    return uniform(first, whole(f"{kind}_high", high, first, MOST), n, rng)


def _frame(arrivals: Seconds, prompts: Tokens, outputs: Tokens) -> pl.DataFrame:
    return pl.DataFrame({"arrival": arrivals, "prompt_tokens": prompts, "output_tokens": outputs})
