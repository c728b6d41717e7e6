"""The figures as tables of text: units in the head, one number of decimals in a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.measure.comparison import Comparison
from headway.measure.latency import CLASSES
from headway.measure.quantiles import STATISTICS, Stats
from headway.measure.summary import Summary
from headway.report.columns import NO_VALUE, Column, Table, decimals, durations, percent, plain, unit
from headway.report.labels import short_labels
from headway.report.numbers import count_text

REASONS = {"deadline": "Deadline", "unreachable": "Unreachable", "queue_full": "Queue full", "kv_capacity": "Memory"}
"""How reasons of rejection are called; others by themselves."""


def waiting_table(comparison: Comparison) -> Table:
    """Return the waits (arrival to first scheduled): of all requests, and the tail by true class."""
    waits = [(name.title(), _wait, name) for name in STATISTICS]
    tails = [
        (label.title(), _class_wait(label), "p99")
        for label in CLASSES
        if any(label in summary.classes for summary in comparison.policies)
    ]
    columns = _durations(comparison, "Wait", waits) + _durations(comparison, "P99 wait by class", tails)
    return Table("Waiting", _rows(comparison), tuple(columns))


def tokens_table(comparison: Comparison) -> Table:
    """Return what users see of tokens: first token, between tokens, largest gap, end to end."""
    groups: list[tuple[str, Callable[[Summary], Stats]]] = [
        ("First token (TTFT)", lambda summary: summary.latency.ttft),
        ("Between tokens (ITL)", lambda summary: summary.latency.itl),
        ("Largest gap (MTPOT)", lambda summary: summary.latency.mtpot),
        ("End to end", lambda summary: summary.latency.e2e),
    ]
    columns = [
        column
        for group, of in groups
        for column in _durations(comparison, group, [(name.title(), of, name) for name in ("mean", "p99")])
    ]
    return Table("Tokens", _rows(comparison), tuple(columns))


def engine_table(comparison: Comparison) -> Table:
    """Return what the engine did: throughput, use of batch and KV cache, who got no answer, what was in vain."""
    policies = comparison.policies
    columns = [
        plain("Throughput", "All tokens", "tokens/s", [s.throughput_tokens_per_s for s in policies]),
        plain("Throughput", "Output", "tokens/s", [s.output_tokens_per_s for s in policies]),
        plain("Use", "Batch", "%", [percent(s.batch_use) for s in policies]),
        plain("Use", "KV mean", "%", [percent(s.kv.mean) for s in policies]),
        plain("Use", "KV peak", "%", [percent(s.kv.peak) for s in policies]),
        plain("Use", "OOM", "", [s.kv.oom_events for s in policies]),
        plain("Requests", "Finished", "", [s.finished for s in policies]),
        plain("Requests", "Rejected", "", [s.rejected for s in policies]),
    ]
    if any(s.cache.hit_rate is not None for s in policies):
        columns.append(plain("Prefix cache", "Hit", "%", [percent(s.cache.hit_rate) for s in policies]))
    patient = comparison.settings.get("patience") is not None
    for group, name, values, wanted in (
        ("Requests", "Cancelled", [s.cancelled for s in policies], patient),
        ("Requests", "Expired", [s.expired for s in policies], False),
        ("Wasted", "Tokens", [s.wasted_tokens for s in policies], patient),
    ):
        if wanted or any(values):
            columns.append(plain(group, name, "", values))
    return Table("Engine", _rows(comparison), tuple(columns))


def memory_table(comparison: Comparison) -> Table | None:
    """Return what the memory rules did, and how the agreement was kept; None where there is nothing to tell."""
    policies = comparison.policies
    uses = [s.memory for s in policies]
    columns: list[Column] = []
    if any(use is not None and (use.eviction_events or use.future_required_mean is not None) for use in uses):
        known = [use for use in uses if use is not None]
        if len(known) == len(uses):
            columns += [
                plain("KV used", "mean", "%", [percent(use.used_mean) for use in known]),
                plain("KV used", "max", "%", [percent(use.used_max) for use in known]),
                plain("Required", "mean", "%", [percent(use.future_required_mean) for use in known]),
                plain("Decode", "Steps", "", [use.decode_steps for use in known]),
                plain("Evictions", "Events", "", [use.eviction_events for use in known]),
                plain("Evictions", "Requests", "", [use.evicted_requests for use in known]),
                plain("Recomputed", "Tokens", "", [use.recomputed_tokens for use in known]),
            ]
    if refusals_table(comparison) is None:  # where there are refusals, the agreement stands beside them
        columns += _agreement(comparison)
    return Table("Memory and agreement", _rows(comparison), tuple(columns)) if columns else None


def refusals_table(comparison: Comparison) -> Table | None:
    """Return who was rejected and why, how soon they were told, who was demoted, and how the agreement was kept.

    What admitting anyway, demoting and rejecting come to, in one table; None where nobody was rejected or demoted.
    """
    policies = comparison.policies
    reasons = sorted({reason for one in policies for reason in one.refusals.by_reason})
    columns = [
        plain("Rejected", REASONS.get(reason, reason), "", [one.refusals.by_reason.get(reason, 0) for one in policies])
        for reason in reasons
    ]
    if reasons:
        columns += _durations(
            comparison, "Told after", [(name.title(), _refusal, name) for name in ("p50", "p99", "max")]
        )
    if any(one.refusals.demoted for one in policies):
        columns.append(plain("Demoted", "Requests", "", [one.refusals.demoted for one in policies]))
    if not columns:
        return None
    agreement = _agreement(comparison)
    if agreement:
        served = [_served(one) for one in policies]
        agreement.insert(1, plain("Agreement", "Of finished", "%", [percent(share) for share in served]))
    return Table("Refusals", _rows(comparison), (*columns, *agreement))


def _agreement(comparison: Comparison) -> list[Column]:
    """Return how the service agreement was kept, where there is one."""
    services = [one.sla for one in comparison.policies if one.sla is not None]
    if len(services) < len(comparison.policies):
        return []
    return [
        plain("Agreement", "Met", "%", [percent(one.attainment) for one in services]),
        plain("Goodput", "All tokens", "tokens/s", [one.goodput_tokens_per_s for one in services]),
    ]


def _served(summary: Summary) -> float | None:
    """Return the share of the finished requests that met the agreement."""
    met = summary.sla.attainment if summary.sla is not None else None
    return met * summary.latency.requests / summary.finished if met is not None and summary.finished else None


def differences_table(comparison: Comparison) -> list[tuple[str, str, str, str, str]]:
    """Return a row a pair of policies: pair, difference in mean wait, share, 95 % interval, verdict."""
    labels = short_labels(_rows(comparison))
    name_of_unit, factor = unit([pair.difference for pair in comparison.paired])
    places = decimals([pair.difference and pair.difference * factor for pair in comparison.paired])

    def text(value: float) -> str:
        return _signed(value * factor, places)

    rows: list[tuple[str, str, str, str, str]] = []
    for pair in comparison.paired:
        if pair.difference is None:
            continue
        name = f"{labels[pair.a]} against {labels[pair.b]}"
        share = NO_VALUE if pair.relative is None else f"{_signed(pair.relative * 100, 0)} %"
        bounds, verdict = NO_VALUE, "unknown" if pair.requests is None else f"too few: {count_text(pair.requests)}"
        if pair.same:
            verdict = "none: the same outcomes"
        elif pair.ci95 is not None:
            bounds = f"{text(pair.ci95.low)} to {text(pair.ci95.high)} {name_of_unit}"
            verdict = {True: "significant", False: "not significant", None: "one run"}[pair.significant]
            if pair.significant is None and pair.ci95.contains_zero:
                verdict = "may be chance"
        rows.append((name, f"{text(pair.difference)} {name_of_unit}", share, bounds, verdict))
    return rows


def _rows(comparison: Comparison) -> tuple[str, ...]:
    return tuple(summary.policy for summary in comparison.policies)


def _wait(summary: Summary) -> Stats:
    return summary.latency.wait


def _refusal(summary: Summary) -> Stats:
    return summary.refusals.seconds


def _class_wait(label: str) -> Callable[[Summary], Stats]:
    return lambda summary: summary.classes[label].wait if label in summary.classes else Stats()


def _durations(
    comparison: Comparison, group: str, wanted: Sequence[tuple[str, Callable[[Summary], Stats], str]]
) -> list[Column]:
    return durations(group, [(name, list(map(of, comparison.policies)), stat) for name, of, stat in wanted])


def _signed(value: float, places: int) -> str:
    """Return a number with its sign, a true minus, which is as wide as a plus."""
    shown = round(value, places)
    return f"{shown:+,.{places}f}".replace("-", "\N{MINUS SIGN}") if shown else f"{0:.{places}f}"
