"""What became of promises, in words."""

from __future__ import annotations

from headway.measure.comparison import Comparison
from headway.report.labels import short_labels
from headway.report.numbers import percent_text

_SAME = 0.005
"""Shares of promises kept that are closer than this are called the same."""


def promises_kept(comparison: Comparison) -> list[str]:
    """Say which policy keeps most promises to the tenant that it serves worst, and which fewest; nothing if all do."""
    labels = short_labels([summary.policy for summary in comparison.policies])
    worst: list[tuple[float, str, str]] = []  # share, policy, whose
    for summary in comparison.policies:
        if summary.tenancy is None or summary.tenancy.promises is None:
            return []
        shares = {name: group.promises.attainment for name, group in summary.tenancy.tenants.items()}
        known = [(share, name) for name, share in shares.items() if share is not None]
        if known:
            share, name = min(known)
            worst.append((share, labels[summary.policy], name if len(shares) > 1 else ""))
    if len(worst) < 2 or max(worst)[0] - min(worst)[0] < _SAME:
        return []
    named = [f"{policy} keeps {percent_text(share)}{f' ({whose})' if whose else ''}" for share, policy, whose in worst]
    best, least = named[worst.index(max(worst))], named[worst.index(min(worst))]
    of = "the promises to the tenant that it serves worst" if worst[0][2] else "the promises"
    return [f"Of {of}, {best}; {least}."]
