"""Tenants in the terminal and as JSON: what a trace has of them, and what a tenants file says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from headway.cli.tables import plain_table
from headway.core.spec import Spec
from headway.report.columns import NO_VALUE
from headway.workload.shares import BOUNDS, Share
from headway.workload.tenants import Tenant, TenantsFile, Terms
from headway.workload.traffic import Traffic

MOST_ROWS = 20
HEADS = {"priority": "priority", "ttft_slo": "TTFT s", "itl_slo": "ITL s", "completion_slo": "completion s"}


def print_tenants(found: Sequence[Share], console: Console) -> None:
    """Print a row for each tenant and class, the largest; nothing where there is none."""
    if not found:
        return
    classes = any(share.label is not None for share in found)
    promises = [column for column in BOUNDS if any(column in share.bounds for share in found)]
    heads = ["tenant", *(["class"] if classes else []), "requests", "requests/s", "tokens %"]
    rows = [
        [
            share.tenant,
            *([share.label or NO_VALUE] if classes else []),
            f"{share.requests:,}",
            f"{share.rate:,.3f}" if math.isfinite(share.rate) else NO_VALUE,
            f"{100 * share.share:.1f}",
            *(_between(share, column) for column in promises),
        ]
        for share in found[:MOST_ROWS]
    ]
    names = 2 if classes else 1
    heads += [HEADS[column] for column in promises]
    console.print(plain_table(heads, rows, right=range(names, len(heads)), wrap=range(names)))
    if len(found) > MOST_ROWS:
        console.print(f"and {len(found) - MOST_ROWS:,} more, all in --json", style="dim")


def tenants_json(found: Sequence[Share]) -> list[dict[str, Any]]:
    """Return the shares as data; what has no value is None."""
    return [
        {
            "tenant": share.tenant,
            "class": share.label,
            "requests": share.requests,
            "rate_per_s": share.rate if math.isfinite(share.rate) else None,
            "tokens": share.tokens,
            "share_of_tokens": share.share,
            **{column: _bounds(share, column) for column in BOUNDS},
        }
        for share in found
    ]


def declared_json(file: TenantsFile) -> list[dict[str, Any]]:
    """Return what a tenants file says of each tenant, [default] last."""
    return [_tenant_json(tenant) for tenant in _tables(file)]


def print_declared(file: TenantsFile, console: Console) -> None:
    """Print a row for each tenant of a file, [default] last."""
    tables = _tables(file)
    promises = [column for column in ("class", *BOUNDS) if any(column in one.terms.promised for one in tables)]
    rows = [
        (
            tenant.name,
            f"{tenant.terms.weight:g}",
            *(_value(tenant.terms.promised.get(column)) for column in promises),
            NO_VALUE if tenant.traffic is None else _sent(tenant.traffic),
        )
        for tenant in tables
    ]
    heads = ("tenant", "weight", *(HEADS.get(column, column) for column in promises), "sends")
    figures = [heads.index(head) for head in ("weight", *HEADS.values()) if head in heads]
    console.print(plain_table(heads, rows, right=figures, wrap=(0, len(heads) - 1)))


def _between(share: Share, column: str) -> str:
    if column not in share.bounds:
        return NO_VALUE
    low, high = share.bounds[column]
    text = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return text if share.promised[column] == share.requests else f"{text} ({share.promised[column]:,})"


def _bounds(share: Share, column: str) -> dict[str, float] | None:
    if column not in share.bounds:
        return None
    low, high = share.bounds[column]
    return {"requests": share.promised[column], "min": low, "max": high}


def _tables(file: TenantsFile) -> list[Tenant]:
    return [*file.tenants, *([] if file.default == Terms() else [Tenant("[default]", file.default)])]


def _tenant_json(tenant: Tenant) -> dict[str, Any]:
    traffic = tenant.traffic
    return {
        "tenant": tenant.name,
        "weight": tenant.terms.weight,
        **{column: tenant.terms.promised.get(column) for column in ("class", *BOUNDS)},
        "arrivals": None if traffic is None else str(traffic.arrivals),
        **_lengths(traffic),
        "requests": None if traffic is None else traffic.requests,
        "start": None if traffic is None else traffic.start,
        "end": None if traffic is None or traffic.end == math.inf else traffic.end,
    }


def _sent(traffic: Traffic) -> str:
    given = (f"{key} {spec}" for key, spec in _lengths(traffic).items() if spec is not None)
    parts = [str(traffic.arrivals), *given]
    if traffic.requests is not None:
        parts.append(f"{traffic.requests:,} requests")
    if traffic.start > 0:
        parts.append(f"from {traffic.start:g} s")
    if traffic.end < math.inf:
        parts.append(f"until {traffic.end:g} s")
    return ", ".join(parts)


def _lengths(traffic: Traffic | None) -> dict[str, str | None]:
    """Return the specs of lengths under the keys of the file."""
    if traffic is None:
        return {"prompt": None, "output": None, "lengths": None}
    if isinstance(traffic.lengths, Spec):
        return {"prompt": None, "output": None, "lengths": str(traffic.lengths)}
    prompt, output = traffic.lengths
    return {"prompt": str(prompt), "output": str(output), "lengths": None}


def _value(value: str | float | None) -> str:
    return NO_VALUE if value is None else value if isinstance(value, str) else f"{value:g}"
