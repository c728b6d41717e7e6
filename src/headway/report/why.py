"""One request's wait in sentences, and as rows of a table."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from headway.measure.why import Refused, Wait, Why
from headway.report.numbers import count_text, list_text, percent_text, seconds_text
from headway.report.tables import NO_VALUE

MOST_ROWS = 15
_MOST_TENANTS = 3  # in a sentence

CAUSE_NAMES = {
    "demoted": "demoted, behind all others",
    "refused": "memory refused it",
    "memory": "memory refused one before it",
    "budget": "prompts took the budget",
    "fit": "no prompt fitted what was left",
    "partials": "another prompt was being filled",
    "slots": "all slots were taken",
    "decode_slots": "all decode slots were taken",
    "eviction": "the iteration evicted",
    "order": "the order named nobody",
    "interval": "no round of admission was due",
    "boundary": "until the next iteration",
}
"""Causes (`measure.why.CAUSES`) in a table."""

WAIT_NAMES = {"start": "before it started", "evicted": "after an eviction", "held": "for a decode slot"}
"""Kinds of waits (`measure.why.Wait`) in a heading."""

Rows = list[tuple[str, ...]]


def why_answer(told: Why) -> str:
    """Return the answer in a sentence: how long it waited, and behind whom."""
    who, wait = f"Request {told.id} of tenant {told.tenant}", told.waits[0]
    if told.start is not None:
        if not wait.parts:
            return f"{who} did not wait for its start under {told.policy}."
        what = f"{who} waited {seconds_text(wait.seconds)} under {told.policy}"
    else:
        reason = f" ({told.reason})" if told.reason else ""
        if not wait.parts:
            return f"{who} was {told.outcome} under {told.policy} as it arrived{reason}."
        what = f"{who} was {told.outcome} under {told.policy} after {seconds_text(wait.seconds)} in the queue{reason}"
    return f"{what}: {_behind(told, wait)}."


def why_details(told: Why) -> list[str]:
    """Return a sentence for each cause of its wait, for what the order did, and for the waits after its start."""
    wait = told.waits[0]
    lines = [f"{seconds_text(seconds)}: {_clause(told, wait, cause)}." for cause, seconds in _by_cause(wait).items()]
    started = sum(ahead.requests for ahead in wait.ahead)
    later = sum(ahead.came_later for ahead in wait.ahead)
    if later:
        decided = f"were let go first by {told.rules.order}"
        if told.demoted_after is not None:
            decided = "went first, by the order or since it was demoted"
        lines.append(
            f"{count_text(started)} request{'s' * (started != 1)} started meanwhile; {count_text(later)} of them came "
            f"later than it and {decided}."
        )
    for kind, clause in (
        ("evicted", f"it was evicted {{}} ({told.rules.eviction}) and waited {{}} to be admitted again"),
        ("held", f"with its prompt filled it waited {{}} for one of {told.rules.decode_slots} decode slots, {{}}"),
    ):
        waits = [wait for wait in told.waits[1:] if wait.kind == kind]
        if waits:
            times = "once" if len(waits) == 1 else f"{count_text(len(waits))} times"
            lines.append(f"After its start {clause.format(times, seconds_text(math.fsum(w.seconds for w in waits)))}.")
    return lines


def wait_rows(wait: Wait) -> Rows:
    """Return a row a cause and tenant: why, behind whom, by which rule, seconds, share; the largest, then the rest."""
    unit = _decimals([wait])
    rows = [
        (
            CAUSE_NAMES[part.cause],
            part.tenant or NO_VALUE,
            part.rule or NO_VALUE,
            f"{part.seconds:,.{unit}f}",
            percent_text(part.seconds / wait.seconds),
        )
        for part in wait.parts[:MOST_ROWS]
    ]
    rest = wait.parts[MOST_ROWS:]
    if rest:
        seconds = math.fsum(part.seconds for part in rest)
        name = f"{count_text(len(rest))} smaller parts"
        rows.append((name, NO_VALUE, NO_VALUE, f"{seconds:,.{unit}f}", percent_text(seconds / wait.seconds)))
    return rows


def wait_title(wait: Wait) -> str:
    """Return what a later wait is called: its kind, when it began and how long it took."""
    return f"{WAIT_NAMES[wait.kind]}, {seconds_text(wait.since)} after it arrived: {seconds_text(wait.seconds)}"


def side_by_side_rows(tolds: Sequence[Why]) -> Rows:
    """Return a row a cause and tenant with a cell of seconds for each policy: the wait for the start, its sum last."""
    waits = [told.waits[0] for told in tolds]
    unit = _decimals(waits)
    seconds = [{(part.cause, part.tenant): part.seconds for part in wait.parts} for wait in waits]
    keys = list(dict.fromkeys(key for parts in seconds for key in parts))
    keys.sort(key=lambda key: -max(parts.get(key, 0.0) for parts in seconds))

    def cells(of: Sequence[tuple[str, str | None]]) -> list[str]:
        sums = [[parts[key] for key in of if key in parts] for parts in seconds]
        return [f"{math.fsum(found):,.{unit}f}" if found else NO_VALUE for found in sums]

    rows = [(CAUSE_NAMES[key[0]], key[1] or NO_VALUE, *cells([key])) for key in keys[:MOST_ROWS]]
    rest = keys[MOST_ROWS:]
    if rest:
        rows.append((f"{count_text(len(rest))} smaller parts", NO_VALUE, *cells(rest)))
    return [*rows, ("the whole wait", "", *(f"{wait.seconds:,.{unit}f}" for wait in waits))]


def ahead_rows(wait: Wait) -> Rows:
    """Return a row a tenant: who started meanwhile, how many of them came later, and their prompt tokens."""
    rows = [
        (ahead.tenant, *map(count_text, (ahead.requests, ahead.came_later, ahead.prompt_tokens)))
        for ahead in wait.ahead[:MOST_ROWS]
    ]
    rest = wait.ahead[MOST_ROWS:]
    if rest:
        sums = [
            sum(counts) for counts in zip(*((a.requests, a.came_later, a.prompt_tokens) for a in rest), strict=True)
        ]
        rows.append((f"{count_text(len(rest))} other tenants", *map(count_text, sums)))
    return rows


def _behind(told: Why, wait: Wait) -> str:
    """Return `9.10 s behind 37 requests of noisy and 1.2 s behind nobody`."""
    started = {ahead.tenant: ahead.requests for ahead in wait.ahead}
    behind = wait.behind()
    parts: list[str] = []
    for tenant, seconds in list(behind.items())[:_MOST_TENANTS]:
        count = started.get(tenant, 0)
        whose = "its own tenant" if tenant == told.tenant else tenant
        many = f"{count_text(count)} request{'s' * (count != 1)}" if count else "requests"
        parts.append(f"{seconds_text(seconds)} behind {many} of {whose}")
    others = list(behind.values())[_MOST_TENANTS:]
    if others:
        parts.append(f"{seconds_text(math.fsum(others))} behind {count_text(len(others))} other tenants")
    alone = {part.cause: part.seconds for part in wait.parts if part.tenant is None}
    for cause, how in (("refused", "refused by memory"), ("demoted", "behind all others, demoted")):
        if cause in alone:
            parts.append(f"{seconds_text(alone.pop(cause))} {how}")
    if alone:
        parts.append(f"{seconds_text(math.fsum(alone.values()))} behind nobody")
    return list_text(parts)


def _by_cause(wait: Wait) -> dict[str, float]:
    """Return cause → seconds, longest first."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for part in wait.parts:
        seconds[part.cause].append(part.seconds)
    sums = {cause: math.fsum(parts) for cause, parts in seconds.items()}
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _clause(told: Why, wait: Wait, cause: str) -> str:
    """Return what a cause means in this run."""
    rules = told.rules
    if cause in ("refused", "memory"):
        return _refusal(told, wait, own=cause == "refused")
    clauses = {
        "demoted": f"it waited behind all others: {rules.shedding} had demoted it "
        f"{seconds_text(told.demoted_after or 0.0)} after it arrived",
        "budget": f"prompts that went before it took all positions that prompts could have ({rules.prompt_limit})",
        "fit": f"no waiting prompt that {rules.order} would take fitted the positions that were left",
        "partials": f"another prompt was being filled (partial_prompts = {count_text(rules.partial_prompts)})",
        "slots": f"all {count_text(rules.slots)} slots were taken",
        "eviction": f"the engine evicted somebody ({rules.eviction}), and such an iteration admits nobody",
        "order": f"the order {rules.order} named nobody",
        "interval": "no round of admission was due, and the last one had refused nobody "
        f"(admission_interval = {rules.admission_interval})",
        "boundary": "it waited for the next iteration to begin",
    }
    return clauses[cause]


def _refusal(told: Why, wait: Wait, *, own: bool) -> str:
    """Return whom memory refused: the request itself, or the one that was longest in its way."""
    rule = f"the memory rule {told.rules.memory}"
    refused = [one for one in wait.refused if (one.id == told.id) == own]
    if own:
        return f"{rule} refused it: {_room(told, refused[0])}"
    longest = refused[0]
    if len(refused) == 1:
        return f"{rule} refused request {longest.id} of {longest.tenant}, which went before it: {_room(told, longest)}"
    return (
        f"{rule} refused {count_text(len(refused))} requests that went before it; longest, for "
        f"{seconds_text(longest.seconds)}, request {longest.id} of {longest.tenant}: {_room(told, longest)}"
    )


def _room(told: Why, refused: Refused) -> str:
    return (
        f"a prompt of {count_text(refused.prompt_tokens)} tokens, with {count_text(max(refused.free_tokens, 0))} of "
        f"{count_text(told.rules.kv_tokens)} KV tokens free at first"
    )


def _decimals(waits: Sequence[Wait]) -> int:
    """Return how many decimals tell the seconds of these waits apart."""
    return 2 if max(wait.seconds for wait in waits) >= 10 else 4
