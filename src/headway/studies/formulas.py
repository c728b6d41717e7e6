"""The queueing model's answer to a few numbers, as plain data: no run, no trace."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

from headway.measure.comparison import plain
from headway.theory import Queue, TwoClasses, Waits


def formula_waits(
    traffic: Queue | TwoClasses, promoted: float | None = None, command: str | None = None
) -> dict[str, Any]:
    """Return what the model says of requests at so many servers.

    Args:
        traffic: one class, which knows order of arrival only; or two, for which short requests can go first.
        promoted: a fraction of the long requests that goes first with the short ones, as under `aa` and `qba`; None
            leaves that row out.
        command: what repeats it.

    Returns:
        Plain data with infinity where no mean wait exists: `rate_per_s`, `servers`, `service` (`mean`, `scv`),
        `offered`, `rho`, `stable`, `highest_rate_per_s`, `erlang_c`, and `policies`: a row each with `policy`, `mean`,
        `short`, `long` (seconds; None where there is one class) and `exact`, whether the formula is a theorem there.

    Raises:
        InvalidInput: a number out of range.
    """
    queue = traffic if isinstance(traffic, Queue) else traffic.together
    return {
        "headway": version("headway"),
        "command": command,
        "rate_per_s": queue.rate,
        "servers": queue.servers,
        "service": {"mean": queue.service.mean, "scv": queue.service.scv},
        "offered": queue.offered,
        "rho": queue.rho,
        "stable": queue.stable,
        "highest_rate_per_s": queue.highest_rate,
        "erlang_c": queue.waiting_probability,
        "policies": _policies(queue, traffic, promoted),
    }


def formula_json(answer: dict[str, Any]) -> dict[str, Any]:
    """Return it without infinity, which JSON lacks: None where no mean wait exists."""
    return plain(answer)


def _policies(queue: Queue, traffic: Queue | TwoClasses, promoted: float | None) -> list[dict[str, Any]]:
    single = queue.servers == 1
    exact = single or (float(queue.servers).is_integer() and math.isclose(queue.service.scv, 1, rel_tol=1e-9))
    if isinstance(traffic, Queue):
        return [{"policy": "fcfs", "mean": queue.wait, "short": None, "long": None, "exact": exact}]
    rows = [_row("fcfs", traffic.fcfs(), exact=exact), _row("psf", traffic.psf(), exact=single or _alike(traffic))]
    if promoted is not None:
        rows.insert(1, _row(f"aa, qba (φ = {promoted:g})", traffic.promoted(promoted), exact=False))
    return rows


def _row(policy: str, waits: Waits, *, exact: bool) -> dict[str, Any]:
    return {"policy": policy, "mean": waits.mean, "short": waits.short, "long": waits.long, "exact": exact}


def _alike(traffic: TwoClasses) -> bool:
    """Whether both classes have the same exponential service times, as far as two moments tell, at whole servers."""
    same = math.isclose(traffic.short.mean, traffic.long.mean, rel_tol=1e-9)
    exponential = all(math.isclose(of.scv, 1, rel_tol=1e-9) for of in (traffic.short, traffic.long))
    return same and exponential and float(traffic.servers).is_integer()
