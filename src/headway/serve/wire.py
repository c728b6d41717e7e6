"""Headers and body fields to a request of the scheduler: what a client says of itself, read once, at the edge.

What the wire says goes before the tenant's terms, key by key. Header names are those of the llm-d gateway, newer before
older, and our own for what it has no name for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from headway.core.request import Request, Slo
from headway.serve.access import LONGEST_NAME, TENANT_HEADER, Caller
from headway.serve.refusal import wrong_value
from headway.workload.columns import LONG, MOST, SHORT

TENANT = (TENANT_HEADER, "x-gateway-inference-fairness-id")
CLASS = ("x-llm-d-inference-objective",)
TTFT = ("x-llm-d-slo-ttft-ms", "x-slo-ttft-ms")
ITL = ("x-llm-d-slo-tpot-ms", "x-slo-tpot-ms")
COMPLETION = ("x-headway-slo-completion-ms",)
PREDICTED = ("x-headway-predicted",)
"""Names of each header, the one that counts first."""

TIERS = {"auto": 0, "default": 0, "flex": -1, "priority": 1}
"""What a `service_tier` adds to the tenant's priority."""

_LATEST_MS = 1e12  # milliseconds: thirty years
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")

Headers = Mapping[str, str]
"""Asked in lower case."""


def tenant_of(headers: Headers) -> str | None:
    """Return the tenant that a request names, None where it names none."""
    return _first(headers, TENANT)[1]


def request_of(
    caller: Caller,
    headers: Headers,
    prompt_tokens: int,
    max_new: int | None,
    priority: int | None = None,
    service_tier: str | None = None,
) -> Request:
    """Return the request that the scheduler judges; its `id` and `arrival` are the loop's to give.

    Args:
        caller: on whose behalf.
        headers: of the request.
        prompt_tokens: of the prompt, counted or estimated.
        max_new: tokens that the client wants at most; None without a limit of its own.
        priority: of the body, as vLLM has it: lower is more urgent; turned round here and nowhere else. It goes before
            `service_tier`.
        service_tier: of the body: `flex` is less urgent than `default`, `priority` more; `auto` is the default.

    Raises:
        Refused: 400, a header or field has a wrong value; it is named.
    """
    terms = caller.terms.promised
    ttft = _milliseconds(headers, TTFT, terms.get("ttft_slo"))
    itl = _milliseconds(headers, ITL, terms.get("itl_slo"))
    completion = _milliseconds(headers, COMPLETION, terms.get("completion_slo"))
    promised = ttft is not None or itl is not None or completion is not None
    own = terms.get("class")
    return Request(
        id=0,
        arrival=0.0,
        prompt_tokens=prompt_tokens,
        max_new_tokens=max_new,
        predicted=_predicted(headers),
        tenant=caller.tenant,
        label=_label(headers) or (None if own is None else str(own)),
        priority=_urgency(int(terms.get("priority", 0)), priority, service_tier),
        slo=Slo(ttft, itl, completion) if promised else None,
        weight=caller.terms.weight,
    )


def _first(headers: Headers, names: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the first of several headers that is there, with its value, None where none is or it is empty."""
    for name in names:
        value = _text(headers.get(name, "")).strip()
        if value:
            return name, value
    return names[0], None


def _text(value: str) -> str:
    """Return a header as its client wrote it: servers read bytes as Latin-1, clients send UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _milliseconds(headers: Headers, names: tuple[str, ...], otherwise: str | float | None) -> float | None:
    """Return a promise in seconds: the header's, which is in milliseconds, or the tenant's."""
    name, value = _first(headers, names)
    if value is None:
        return None if otherwise is None else float(otherwise)
    number = _number(value)
    if not 0.0 < number <= _LATEST_MS:
        raise wrong_value(name, f"expected milliseconds above 0, got {_shown(value)}")
    return number / 1000.0


def _predicted(headers: Headers) -> str | float | None:
    name, value = _first(headers, PREDICTED)
    if value is None or value in (SHORT, LONG):
        return value
    number = _number(value)
    if not 0.0 <= number <= MOST:
        raise wrong_value(name, f"expected {SHORT}, {LONG} or a number of tokens, got {_shown(value)}")
    return number


def _label(headers: Headers) -> str | None:
    name, value = _first(headers, CLASS)
    if value is not None and (len(value) > LONGEST_NAME or not value.isprintable()):
        raise wrong_value(name, f"expected at most {LONGEST_NAME} printable characters")
    return value


def _urgency(own: int, priority: int | None, tier: str | None) -> int:
    """Return the priority as the scheduler has it: higher is more urgent."""
    if tier is not None and tier not in TIERS:
        raise wrong_value("service_tier", f"expected one of {', '.join(TIERS)}, got {_shown(tier)}")
    if priority is None:
        return own + (0 if tier is None else TIERS[tier])
    if abs(priority) > MOST:
        raise wrong_value("priority", f"expected a whole number from -{MOST:,} to {MOST:,}")
    return -priority


def _number(value: str) -> float:
    """Return a plain number, not a number for anything else."""
    return float(value) if _NUMBER.fullmatch(value) else math.nan


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:37]}...")
