"""Who was served and who was promised more, in words: what leads the answer where waits alone would mislead.

The mean wait is of requests that were started. Where some were rejected or left, the policy that serves fewest can have
the lowest, so what was served of all requests goes first; and where an agreement was given, that is what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headway.measure.comparison import Comparison
from headway.measure.summary import Summary
from headway.report.numbers import count_text, list_text, percent_text, seconds_apart

_SAME = 0.005
"""Shares that are closer than this are called the same."""

NAMED = 3
"""The most policies that are named in one place; more are counted."""


def unequal(comparison: Comparison) -> bool:
    """Whether the policies turned away or lost different numbers of requests."""
    return len({(one.rejected, one.cancelled, one.expired) for one in comparison.policies}) > 1


def leading(comparison: Comparison, labels: Mapping[str, str]) -> list[str]:
    """Return the sentences that go first; none where every policy served all, and nothing was promised or agreed."""
    policies = comparison.policies
    agreed = all(_agreement(one) is not None for one in policies)
    if len(policies) == 1 and agreed:
        return _alone(policies[0], labels)
    if len(policies) < 2:
        return []
    promised = all(_promises(one) is not None for one in policies)
    hurt = _hurt(policies, labels) if promised else []
    if agreed:
        return [*_share(comparison, labels, _agreement, "the agreement", "for"), *hurt]
    if promised:
        return [*_share(comparison, labels, _promises, "promises", "to"), *hurt]
    return _finished(comparison, labels) if unequal(comparison) else []


def waits_of_started(known: Sequence[Summary], labels: Mapping[str, str]) -> str:
    """Say between which policies mean waits lie, of different requests each: none of them is the better for it."""
    ranked = sorted(known, key=lambda one: one.latency.wait.mean or 0.0)
    first, last = ranked[0], ranked[-1]
    low, high = seconds_apart(first.latency.wait.mean or 0.0, last.latency.wait.mean or 0.0)
    if low == high:
        return f"Requests that were started waited {low} in the mean under each."
    return (
        f"Requests that were started waited from {low} ({labels[first.policy]}) to {high} ({labels[last.policy]}) in "
        "the mean, but these are not the same requests."
    )


def _promises(summary: Summary) -> float | None:
    found = summary.tenancy.promises if summary.tenancy is not None else None
    return found.attainment if found is not None else None


def _agreement(summary: Summary) -> float | None:
    return summary.sla.attainment if summary.sla is not None else None


def _alone(summary: Summary, labels: Mapping[str, str]) -> list[str]:
    """Say for how many requests a policy that was run alone keeps the agreement."""
    share = _agreement(summary) or 0.0
    refused = "; a rejected request counts as one not kept" if summary.rejected else ""
    return [f"{labels[summary.policy]} keeps the agreement for {percent_text(share)} of all requests{refused}."]


def _share(
    comparison: Comparison, labels: Mapping[str, str], share_of: Callable[[Summary], float | None], what: str, to: str
) -> list[str]:
    """Say which policies keep what was promised to most requests, of all, and which to fewest."""
    policies = comparison.policies
    shares = {one.policy: share_of(one) or 0.0 for one in policies}
    best, least = max(shares.values()), min(shares.values())
    where, every = _where(comparison), f"keep {what} {to} every request"
    if least == 1:
        return [f"{where}all policies {every}."]
    refused = "; a rejected request counts as one not kept" if any(one.rejected for one in policies) else ""
    if best - least < _SAME:
        return [f"{where}all policies keep {what} {to} about as many requests, {percent_text(best)} of all{refused}."]
    top = [policy for policy, share in shares.items() if share == best or (best < 1 and best - share < _SAME)]
    low = [policy for policy, share in shares.items() if share - least < _SAME]
    most = every if best == 1 else f"keep {what} {to} most requests{_run(comparison)}, {percent_text(best)} of all"
    most = most if len(top) > 1 else most.replace("keep", "keeps", 1)
    others = len(low) > NAMED and len(low) + len(top) == len(shares)
    fewest = f"{'the others' if others else _named(low, len(shares), labels)} {to} fewest, {percent_text(least)}"
    return [f"{where}{_named(top, len(shares), labels)} {most}; {fewest}{refused}."]


def _hurt(policies: Sequence[Summary], labels: Mapping[str, str]) -> list[str]:
    """Say which tenant is hurt most, under which policy, and what it got there and where it got most."""
    shares = {
        (name, one.policy): share
        for one in policies
        if one.tenancy is not None and len(one.tenancy.tenants) > 1
        for name, group in one.tenancy.tenants.items()
        if (share := group.promises.attainment) is not None
    }
    if not shares or min(shares.values()) > 1 - _SAME:
        return []
    worst = min(shares.values())
    # Of several tenants that get as little, the one that could have got most is hurt most.
    most = {name: max(share for (whose, _), share in shares.items() if whose == name) for name, _ in shares}
    hurt = max((name for (name, _), share in shares.items() if share - worst < _SAME), key=lambda name: most[name])
    own = {policy: share for (name, policy), share in shares.items() if name == hurt}
    low = [policy for policy, share in own.items() if share - worst < _SAME]
    under = _named(low, len(policies), labels)
    text = f"{hurt} is hurt most, under {under}: {percent_text(worst)} of its requests got what was promised"
    if most[hurt] - worst < _SAME:
        return [f"{text}."]
    high = [policy for policy, share in own.items() if most[hurt] - share < _SAME]
    others = len(high) > NAMED and len(high) + len(low) == len(policies)
    better = "the others" if others else _named(high, len(policies), labels)
    return [f"{text}, {percent_text(most[hurt])} under {better}."]


def _finished(comparison: Comparison, labels: Mapping[str, str]) -> list[str]:
    """Say under which policies most requests were finished, and under which fewest."""
    counts = {one.policy: one.finished for one in comparison.policies}
    best, least, requests = max(counts.values()), min(counts.values()), comparison.policies[0].latency.requests
    of = f"{count_text(best)} of {count_text(requests)} requests"
    if best == least:
        return [f"{_where(comparison)}all policies finish {of}."]
    top = [policy for policy, count in counts.items() if count == best]
    low = [policy for policy, count in counts.items() if count == least]
    most = (
        f"{_named(top, len(counts), labels)} {'finishes' if len(top) == 1 else 'finish'} most{_run(comparison)}, {of}"
    )
    return [f"{_where(comparison)}{most}; {_named(low, len(counts), labels)} fewest, {count_text(least)}."]


def _where(comparison: Comparison) -> str:
    return f"On {workload}, " if (workload := str(comparison.settings.get("workload", ""))) else ""


def _run(comparison: Comparison) -> str:
    """Return what is added to a claim that one run alone makes."""
    return " in this run" if len(comparison.seeds) == 1 else ""


def _named(policies: Sequence[str], of: int, labels: Mapping[str, str]) -> str:
    """Return the names of a few policies, or how many of all they are."""
    if len(policies) == of:
        return "every policy"
    if len(policies) > NAMED:
        return f"{len(policies)} of {of} policies"
    return list_text([labels[policy] for policy in policies])
