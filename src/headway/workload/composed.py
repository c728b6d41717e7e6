"""Workloads made of others, whose lengths change on the way: at once (`concat`) or little by little (`shift`).

Each part is drawn with a seed of its own, so that parts are independent, also two of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl

from headway.core.errors import InvalidWorkload
from headway.core.spec import Spec, parse_spec
from headway.workload.arrivals import poisson_or_at_once
from headway.workload.limits import count, number, whole
from headway.workload.seeds import ARRIVALS, child, stream

Draw = Callable[[Spec, int], pl.DataFrame]
Part = Spec | str

_MIXTURE = "mixture"


def concat(
    draw: Draw,
    seed: int,
    /,
    a: Part = "d1",
    b: Part = "d3",
    c: Part | None = None,
    d: Part | None = None,
    n: int | None = None,
    rate: float | None = None,
) -> pl.DataFrame:
    """Two to four workloads one behind the other.

    The arrivals of each part count from the last arrival of the part before it. Parts whose requests are all queued
    at time 0 stand in the queue one behind the other.

    Args:
        draw: draws a part.
        seed: of all random streams.
        a: the first workload, as in `concat(a=d1(n=500), b=d3)`.
        b: the second.
        c: the third.
        d: the fourth.
        n: keep the first so many requests.
        rate: requests/s of Poisson arrivals, or inf for all at time 0; the parts' own arrivals otherwise.
    """
    parts = {key: part for key, part in {"a": a, "b": b, "c": c, "d": d}.items() if part is not None}
    frames: list[pl.DataFrame] = []
    end = 0.0
    for key, part in parts.items():
        frame = draw(_spec(key, part), child(seed, key))
        frames.append(frame.with_columns(pl.col("arrival") + end))
        end = frames[-1]["arrival"][-1]
    whole_frame = pl.concat(frames)
    if n is not None:
        whole_frame = whole_frame.head(count(n))
    if rate is not None:
        arrivals = poisson_or_at_once(rate, len(whole_frame), stream(seed, ARRIVALS))
        whole_frame = whole_frame.with_columns(pl.Series("arrival", arrivals))
    return whole_frame


def shift(
    draw: Draw,
    seed: int,
    /,
    before: Part = "d1",
    after: Part = "d3",
    at: float = 0.5,
    within: int = 1000,
    n: int = 3000,
    rate: float = math.inf,
) -> pl.DataFrame:
    """One workload turns into another, request by request, within a window.

    Of the n requests, number i (from 0) has the lengths of `after` with probability
    `clip((i + 1/2 - at·n) / within + 1/2, 0, 1)`, and of `before` otherwise: the change begins `within`/2 requests
    before the share `at` of the requests and ends as many after it. With `within=0` it is a step.

    Args:
        draw: draws a part.
        seed: of all random streams.
        before: the workload whose lengths come first; its n and rate are those of the shift.
        after: the workload whose lengths come last.
        at: the middle of the change, as a share of the requests, in [0, 1].
        within: requests that the change takes; a scheduler that looks back over 1000 sees both in one window.
        n: requests.
        rate: requests/s of Poisson arrivals, or inf for all at time 0.

    Raises:
        InvalidWorkload: a part has an n or a rate of its own, or gives fewer than n requests.
    """
    requests, middle = count(n), number("at", at, 0.0, 1.0) * n
    first, second = (
        _lengths(draw, key, part, requests, child(seed, key)) for key, part in (("before", before), ("after", after))
    )
    distance = np.arange(requests) + 0.5 - middle
    steepness = max(whole("within", within, 0), 0.5)  # half a request: no request stands within the change
    share = np.clip(distance / steepness + 0.5, 0.0, 1.0)
    turned = pl.Series(stream(seed, _MIXTURE).random(requests) < share)
    arrivals = poisson_or_at_once(rate, requests, stream(seed, ARRIVALS))
    return pl.DataFrame(
        {"arrival": arrivals, **{column: second[column].zip_with(turned, first[column]) for column in first.columns}}
    )


def _lengths(draw: Draw, key: str, part: Part, requests: int, seed: int) -> pl.DataFrame:
    spec = _spec(key, part)
    if own := [option for option in ("n", "rate") if option in spec.arguments]:
        raise InvalidWorkload(f"{key}={spec}: a part has no {own[0]} of its own; give {own[0]} to shift itself")
    frame = draw(Spec(spec.name, {**spec.arguments, "n": requests}), seed)
    if len(frame) < requests:
        raise InvalidWorkload(f"{key}={spec} has {len(frame)} requests, fewer than n={requests}; choose a smaller n")
    return frame.select("prompt_tokens", "output_tokens")


def _spec(key: str, part: object) -> Spec:
    if isinstance(part, Spec):
        return part
    if isinstance(part, str):
        return parse_spec(part)
    raise InvalidWorkload(f"{key} must be a workload such as d1 or d1(n=500), got {part!r}")
