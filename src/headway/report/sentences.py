"""The question and the answer in words: the same on the terminal and in the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headway.measure.comparison import Comparison
from headway.measure.record import RunRecord
from headway.measure.summary import Summary
from headway.report.labels import short_labels
from headway.report.numbers import count_text, list_text, percent_text, seconds_apart, seconds_text
from headway.report.served import NAMED, leading, unequal, waits_of_started

SAME, SAME_SHARE = 1e-6, 5e-4
"""Waits closer than this (seconds, or as a share) are called the same."""

MOST = 5
"""Sentences of an answer."""

AT_ONCE = 1e-3
"""Share of a run within which all requests arrive that were there at the start."""

BACKLOG = 0.05
"""Share of the requests still waiting at the last arrival from which on an engine is said not to keep up."""

BACKLOG_REQUESTS = 20
"""And how many these must be: a handful that came together at the end is no queue that grows."""


def question(comparison: Comparison) -> str:
    """Return what was asked."""
    workload, engine = (str(comparison.settings.get(name, "")) for name in ("workload", "engine"))
    place = f" on {engine}" if engine else ""
    if engine and engine == workload:
        place = " on the engine of the same name"
    what = workload or "these requests"
    if len(comparison.policies) == 1:
        label = short_labels([comparison.policies[0].policy])[comparison.policies[0].policy]
        return f"What does {label} do to {what}{place}?"
    return f"Which policy should serve {what}{place}?"


def rules_line(comparison: Comparison) -> str:
    """Return what holds for every policy beside its order, where that is not the default; empty where nothing does."""
    rules = [*comparison.settings.get("rules", ())]
    if sla := comparison.settings.get("sla"):
        rules.append(f"sla {sla}")
    return f"With {', '.join(rules)}." if rules else ""


def answer(comparison: Comparison) -> str:
    """Return the answer, in one to five sentences.

    Who waits least, how sure that is, and what it costs. The agreement goes before the waits where there is one; so
    does what was served where promises were made, or requests were turned away or lost in different numbers.
    """
    known = [summary for summary in comparison.policies if summary.latency.wait.mean is not None]
    if not known:
        return "No request was started, so there is nothing to compare."
    labels = short_labels([summary.policy for summary in comparison.policies])
    turned = [*_turned_away(comparison), *_left(comparison)]
    lead = leading(comparison, labels)
    if len(known) == 1:
        return " ".join([*lead, _alone(known[0]), *_overload(comparison), *turned][:MOST])
    distinct = comparison.unlike()
    apart = [one for one in known if one in distinct]
    waits = _among(comparison, apart if len(apart) > 1 else known, labels, lead=bool(lead))
    if lead and unequal(comparison):
        waits = [waits_of_started(known, labels)]
    sentences = [*lead, *waits[: 2 if lead else 3], *_overload(comparison), *turned]
    return " ".join(sentences[:MOST])


def _alone(summary: Summary) -> str:
    label = short_labels([summary.policy])[summary.policy]
    wait, ttft = summary.latency.wait, summary.latency.ttft
    text = f"Under {label}, requests wait {_text(wait.mean)} on average and {_text(wait.p99)} at P99"
    return f"{text}; the first token comes after {_text(ttft.p99)} at P99." if ttft.p99 is not None else f"{text}."


def _among(comparison: Comparison, known: Sequence[Summary], labels: dict[str, str], *, lead: bool) -> list[str]:
    """Say who has the lowest mean wait, whether that may be chance, and what it does to long requests.

    Args:
        comparison: the whole.
        known: policies with waits, none of which did the same as another.
        labels: the policies' names.
        lead: a sentence before has named the workload.
    """
    ranked = sorted(known, key=_mean)
    best = [one for one in ranked if _same(_mean(one), _mean(ranked[0]))]
    others = ranked[len(best) :]
    if not others:
        same = f"All policies give the same mean wait here ({_text(_mean(best[0]))})"
        return [f"{same}: the order of the queue makes no difference."]
    reference = others[0] if known[0] in best else known[0]
    lowest, compared = seconds_apart(_mean(best[0]), _mean(reference))
    workload = "" if lead else str(comparison.settings.get("workload", ""))
    where = f"On {workload}, " if workload else ""
    first = f"{where}{list_text([labels[one.policy] for one in best])} {'has' if len(best) == 1 else 'have'}"
    first += f" the lowest mean wait{' in this run' if len(comparison.seeds) == 1 else ''}, {lowest}"
    saved = percent_text(1 - _mean(best[0]) / _mean(reference))
    first += f", {saved} below {labels[reference.policy]} ({compared})."
    return [first, *_certainty(comparison, best[0], others, labels), *_price(best, known, labels)]


def _certainty(comparison: Comparison, best: Summary, others: Sequence[Summary], labels: dict[str, str]) -> list[str]:
    """Say to whom the difference of the best is more than chance."""
    pairs = [(one, comparison.difference(one.policy, best.policy)) for one in others]
    told = [(one, pair) for one, pair in pairs if pair is not None and pair.ci95 is not None]
    if len(told) < len(others):
        return ["There is too little to say whether that is more than chance."]
    if any(pair.significant is None for _, pair in told):
        return ["One run cannot tell whether that is more than chance."]
    chance = [labels[one.policy] for one, pair in told if not pair.significant]
    if chance:
        are = "difference to {} is" if len(chance) == 1 else "differences to {} are"
        return [f"The {are.format(list_text(chance))} not significant."]
    if len(told) > 1:
        return ["The differences to all others are significant."]
    interval = told[0][1].ci95
    bounds = f" (95 % interval {_text(interval.low)} to {_text(interval.high)})" if interval else ""
    return [f"The difference is significant{bounds}."]


def _price(best: Sequence[Summary], known: Sequence[Summary], labels: dict[str, str]) -> list[str]:
    """Say what the policy with the lowest mean does to the tail of long requests; of several, which is kindest."""
    tails = {
        summary.policy: tail
        for summary in known
        if "long" in summary.classes and (tail := summary.classes["long"].wait.p99) is not None
    }
    if len(tails) < 2 or any(one.policy not in tails for one in best):
        return []
    kindest = min(best, key=lambda one: tails[one.policy]).policy
    own, lowest, highest = tails[kindest], min(tails.values()), max(tails.values())
    if len(best) > 1:
        apart = not all(_same(tails[one.policy], own) for one in best)
        return [f"Of these, {labels[kindest]} has the lowest P99 wait of long requests, {_text(own)}."] if apart else []
    if _same(own, lowest):
        return [f"It also has the lowest P99 wait of long requests, {_text(own)}."]
    kinder = next(policy for policy, tail in tails.items() if tail == lowest)
    rank = ", the highest of all" if own == highest else ""
    shown, least = seconds_apart(own, lowest)
    return [f"But its P99 wait of long requests is {shown}{rank}; {labels[kinder]} has the lowest, {least}."]


def _overload(comparison: Comparison) -> list[str]:
    """Say it where the engine does not keep up under any policy: the waits are then of the trace's length.

    Not where clients send by what they get, or leave: then waits do not grow with the trace.
    """
    if any(comparison.settings.get(name) is not None for name in ("clients", "patience")):
        return []
    shares = [one.backlog / one.latency.requests for one in comparison.policies if one.latency.requests]
    fewest = min((one.backlog for one in comparison.policies), default=0)
    if not shares or min(shares) < BACKLOG:
        return []
    if all(_at_once(run) for run in comparison.first.values()):
        return _emptied(comparison.policies)
    if fewest < BACKLOG_REQUESTS:
        return []
    waiting = f"{percent_text(min(shares))} of the requests or more were still waiting at the last arrival"
    return [f"The engine does not keep up: {waiting}, so the waits would grow with a longer trace."]


def _at_once(run: RunRecord) -> bool:
    """Whether all requests were there at the start: their arrivals take next to no time of the run."""
    arrivals = run.outcomes["arrival"].to_numpy()
    return arrivals.size > 0 and float(np.ptp(arrivals)) <= AT_ONCE * run.totals.seconds


def _emptied(policies: Sequence[Summary]) -> list[str]:
    """Say how long it took to serve what was there at the start, which is as long as the slowest request."""
    took = [seconds for one in policies if (seconds := one.latency.e2e.max) is not None]
    if not took:
        return []
    least, most = seconds_text(min(took)), seconds_text(max(took))
    span = least if least == most else f"from {least} to {most}, depending on the policy"
    return [f"All requests were there at the start; serving them took {span}."]


def _turned_away(comparison: Comparison) -> list[str]:
    """Say who rejected requests: their waits are of fewer requests than the others'."""
    shares = _counts(comparison, lambda one: one.rejected)
    return [f"Rejected requests have no wait and do not count in it: {shares}."] if shares else []


def _left(comparison: Comparison) -> list[str]:
    """Say whose clients left: those that were never started have no wait, and those that were are not finished."""
    shares = _counts(comparison, lambda one: one.cancelled)
    if not shares:
        return []
    return [f"Clients left before their answer was complete: {shares}; who was never started has no wait."]


def _counts(comparison: Comparison, count: Callable[[Summary], float]) -> str:
    """Return under which policies it happened to how many requests of all; of many policies, the least and the most."""
    labels = short_labels([summary.policy for summary in comparison.policies])
    found = [one for one in comparison.policies if count(one)]
    if len(found) > NAMED:
        low, high = (count_text(extreme(map(count, found))) for extreme in (min, max))
        span = low if low == high else f"{low} to {high}"
        return f"{span} of {count_text(found[0].latency.requests)} under {len(found)} of the policies"
    return list_text(
        [f"{labels[one.policy]} {count_text(count(one))} of {count_text(one.latency.requests)}" for one in found]
    )


def _same(a: float, b: float) -> bool:
    return abs(a - b) < max(SAME, SAME_SHARE * max(a, b))


def _mean(summary: Summary) -> float:
    return summary.latency.wait.mean or 0.0


def _text(value: float | None) -> str:
    return "none" if value is None else seconds_text(value)
