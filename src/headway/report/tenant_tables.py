"""What tenants and classes got, and how evenly tenants were served, as tables of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headway.measure.comparison import Comparison
from headway.measure.fairness import Fairness
from headway.measure.quantiles import Stats
from headway.measure.tenancy import Group, Tenancy
from headway.report.columns import NO_VALUE, Column, Table, decimals, durations, lowest, percent, plain, unit

MOST = 20
"""Tenants that a table shows: of more, those with the most requests."""

_PROMISES = {"ttft": "TTFT", "itl": "ITL", "completion": "E2E"}


def tenants_table(comparison: Comparison) -> Table | None:
    """Return a row a tenant and policy, with the tenant's class where it has one; None without tenants."""
    return _table(comparison, "Tenants", "tenant", lambda tenancy: tenancy.tenants)


def classes_table(comparison: Comparison) -> Table | None:
    """Return a row a class and policy; None without classes, or where each tenant is a class of its own."""
    for one in _tenancies(comparison):
        labels = [group.label for group in one.tenants.values()]
        if None not in labels and len(set(labels)) == len(labels):
            return None
    return _table(comparison, "Classes", "class", lambda tenancy: tenancy.labels)


def fairness_table(comparison: Comparison) -> Table | None:
    """Return how evenly tenants were served under each policy; None where there are not several tenants."""
    tenancies = _tenancies(comparison)
    shares = [one.fairness for one in tenancies if one.fairness is not None]
    if not shares or len(shares) < len(comparison.policies) or all(len(one.tenants) < 2 for one in tenancies):
        return None
    rows = tuple(summary.policy for summary in comparison.policies)
    worst = [_worst(one) for one in tenancies]
    columns = [
        _index([one.jain for one in shares]),
        _gap([one.max_gap for one in shares]),
        plain("Service gap, units", "2U", "", [_whole(one.bound) for one in shares]),
        _starved(shares),
    ]
    if any(one.promises is not None for one in tenancies):
        columns.append(plain("Promises kept", "Worst tenant", "%", [percent(share) for share in worst]))
    return Table("Fairness", rows, tuple(columns))


def _tenancies(comparison: Comparison) -> list[Tenancy]:
    return [summary.tenancy for summary in comparison.policies if summary.tenancy is not None]


def _table(
    comparison: Comparison, title: str, head: str, groups_of: Callable[[Tenancy], Mapping[str, Group]]
) -> Table | None:
    by_policy = {
        summary.policy: groups_of(summary.tenancy) for summary in comparison.policies if summary.tenancy is not None
    }
    requests = {
        name: group.latency.requests for groups in reversed(by_policy.values()) for name, group in groups.items()
    }
    if (len(requests) < 2 and not any(one.promises for one in _tenancies(comparison))) or not requests:
        return None
    largest = sorted(sorted(requests), key=lambda name: -requests[name])[:MOST]
    if len(requests) > MOST:
        title += f": {MOST} of {len(requests):,}, those with the most requests"
    found = [
        (name, policy, groups[name])
        for name in sorted(largest)
        for policy, groups in by_policy.items()
        if name in groups
    ]
    blocks = [_named(name, group, head) for name, _, group in found]
    promised = any(one.promises is not None for one in _tenancies(comparison)) or comparison.policies[0].sla is not None
    columns = _columns([group for *_, group in found], blocks, promised=promised)
    return Table(title, tuple(policy for _, policy, _ in found), tuple(columns), blocks=tuple(blocks), block_head=head)


def _named(name: str, group: Group, head: str) -> str:
    """Return a tenant's name, with its class where all its requests have the same."""
    return f"{name} ({group.label})" if head == "tenant" and group.label is not None else name


def _columns(groups: Sequence[Group], blocks: Sequence[str], *, promised: bool) -> list[Column]:
    columns = [plain("Requests", "", "", [group.latency.requests for group in groups])]
    for name, counts in (("Rejected", [g.rejected for g in groups]), ("Demoted", [g.demoted for g in groups])):
        if any(counts):
            columns.append(plain(name, "", "", counts))
    if promised:
        kinds = [name for name in _PROMISES if any(name in group.kept for group in groups)]
        several = kinds if len(kinds) > 1 else []  # the only one is all
        columns += [
            _shares("All", [group.promises.attainment for group in groups], blocks),
            *(_shares(_PROMISES[name], [group.kept.get(name) for group in groups], blocks) for name in several),
            plain("Goodput", "", "tokens/s", [group.promises.goodput_tokens_per_s for group in groups]),
        ]
    measures: list[tuple[str, Callable[[Group], Stats], tuple[str, ...]]] = [
        ("Wait", lambda group: group.latency.wait, ("mean", "p99")),
        ("First token (TTFT)", lambda group: group.latency.ttft, ("mean", "p99")),
        ("Between tokens (ITL)", lambda group: group.latency.itl, ("mean", "p99", "max")),
    ]
    for measure, of, statistics in measures:
        columns += durations(measure, [(stat.title(), list(map(of, groups)), stat) for stat in statistics], blocks)
    return columns


def _shares(name: str, shares: Sequence[float | None], blocks: Sequence[str]) -> Column:
    """Return a column of shares of promises kept; the highest is the best."""
    column = plain("Promises kept", name, "%", [percent(share) for share in shares])
    return _marked(column, [None if share is None else -round(share, 3) for share in shares], blocks)


def _marked(column: Column, ranks: Sequence[float | None], blocks: Sequence[str] = ()) -> Column:
    """Return the column with the rows of the lowest rank marked."""
    return Column(column.group, column.name, column.unit, column.cells, column.spread, lowest(ranks, blocks))


def _index(values: Sequence[float | None]) -> Column:
    cells = tuple(NO_VALUE if value is None else f"{value:.3f}" for value in values)
    column = Column("Service", "Jain", "", cells, ("",) * len(cells))
    return _marked(column, [None if value is None else -round(value, 3) for value in values])


def _gap(values: Sequence[float | None]) -> Column:
    whole = [_whole(value) for value in values]
    return _marked(plain("Service gap, units", "Largest", "", whole), whole)


def _starved(shares: Sequence[Fairness]) -> Column:
    """Return the longest times without service."""
    values = [one.longest_without_service for one in shares]
    name, factor = unit(values)
    places = decimals([value and value * factor for value in values])
    shown = [None if value is None else round(value * factor, places) for value in values]
    cells = tuple(NO_VALUE if value is None else f"{value:,.{places}f}" for value in shown)
    return Column("Without service", "Longest", name, cells, ("",) * len(cells), lowest(shown))


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)


def _worst(tenancy: Tenancy) -> float | None:
    """Return the share of requests whose promises were kept, of the tenant with the smallest."""
    shares = [group.promises.attainment for group in tenancy.tenants.values()]
    return min((share for share in shares if share is not None), default=None)
