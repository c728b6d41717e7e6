"""The question and the answer in words: the same on the terminal and in the report."""

from __future__ import annotations

from collections.abc import Sequence

from headway.measure.comparison import Comparison
from headway.measure.summary import Summary
from headway.report.labels import short_labels
from headway.report.numbers import count_text, list_text, percent_text, seconds_text

SAME = 1e-6
"""Mean waits closer than this (seconds) are called the same."""

BACKLOG = 0.05
"""Share of the requests still waiting at the last arrival from which on an engine is said not to keep up."""


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


def answer(comparison: Comparison) -> str:
    """Return the answer, in one to four sentences: who waits least, how sure that is, and what it costs."""
    known = [summary for summary in comparison.policies if summary.latency.wait.mean is not None]
    if not known:
        return "No request was started, so there is nothing to compare."
    sentences = [_alone(known[0])] if len(known) == 1 else _among(comparison, known)
    return " ".join([*sentences, *_overload(comparison), *_turned_away(comparison), *_left(comparison)])


def _alone(summary: Summary) -> str:
    label = short_labels([summary.policy])[summary.policy]
    wait, ttft = summary.latency.wait, summary.latency.ttft
    text = f"Under {label}, requests wait {_text(wait.mean)} on average and {_text(wait.p99)} at P99"
    return f"{text}; the first token comes after {_text(ttft.p99)} at P99." if ttft.p99 is not None else f"{text}."


def _among(comparison: Comparison, known: Sequence[Summary]) -> list[str]:
    """Say who has the lowest mean wait, whether that may be chance, and what it does to long requests."""
    labels = short_labels([summary.policy for summary in comparison.policies])
    ranked = sorted(known, key=_mean)
    best, worst = ranked[0], ranked[-1]
    if _mean(worst) - _mean(best) < SAME:
        same = f"All policies give the same mean wait here ({_text(_mean(best))})"
        return [f"{same}: the order of the queue makes no difference."]
    where = f"On {workload}, " if (workload := str(comparison.settings.get("workload", ""))) else ""
    first = f"{where}{labels[best.policy]} has the lowest mean wait, {_text(_mean(best))}"
    reference = comparison.policies[0] if comparison.policies[0] in known[:1] else known[0]
    if reference is best:
        reference = ranked[1]
    if _mean(reference) > 0:
        saved = 1 - _mean(best) / _mean(reference)
        first += f", {percent_text(saved)} below {labels[reference.policy]} ({_text(_mean(reference))})"
    return [f"{first}.", *_certainty(comparison, ranked, labels), *_price(best, known, labels)]


def _certainty(comparison: Comparison, ranked: Sequence[Summary], labels: dict[str, str]) -> list[str]:
    """Say to whom the difference of the best is more than chance."""
    best, others = ranked[0], ranked[1:]
    pairs = [(one, comparison.difference(one.policy, best.policy)) for one in others]
    told = [(one, pair) for one, pair in pairs if pair is not None and pair.ci95 is not None]
    if len(told) < len(others):
        return ["There is too little to say whether that is more than chance."]
    chance = [labels[one.policy] for one, pair in told if not pair.significant]
    if chance:
        are = "difference to {} is" if len(chance) == 1 else "differences to {} are"
        return [f"The {are.format(list_text(chance))} not significant."]
    if len(told) > 1:
        return ["The differences to all others are significant."]
    interval = told[0][1].ci95
    bounds = f" (95 % interval {_text(interval.low)} to {_text(interval.high)})" if interval else ""
    return [f"The difference is significant{bounds}."]


def _price(best: Summary, known: Sequence[Summary], labels: dict[str, str]) -> list[str]:
    """Say what the policy with the lowest mean does to the tail of long requests."""
    tails = {
        summary.policy: tail
        for summary in known
        if "long" in summary.classes and (tail := summary.classes["long"].wait.p99) is not None
    }
    if len(tails) < 2 or best.policy not in tails:
        return []
    own, lowest, highest = tails[best.policy], min(tails.values()), max(tails.values())
    if own - lowest < SAME:
        return [f"It also has the lowest P99 wait of long requests, {_text(own)}."]
    kindest = next(policy for policy, tail in tails.items() if tail == lowest)
    rank = ", the highest of all" if own == highest else ""
    price = f"But its P99 wait of long requests is {_text(own)}{rank}"
    return [f"{price}; {labels[kindest]} has the lowest, {_text(lowest)}."]


def _overload(comparison: Comparison) -> list[str]:
    """Say it where the engine does not keep up under any policy: the waits are then of the trace's length.

    Not where clients send by what they get, or leave: then waits do not grow with the trace.
    """
    if any(comparison.settings.get(name) is not None for name in ("clients", "patience")):
        return []
    shares = [one.backlog / one.latency.requests for one in comparison.policies if one.latency.requests]
    if not shares or min(shares) < BACKLOG:
        return []
    waiting = f"{percent_text(min(shares))} of the requests or more were still waiting at the last arrival"
    return [f"The engine does not keep up: {waiting}, so the waits would grow with a longer trace."]


def _turned_away(comparison: Comparison) -> list[str]:
    """Say who rejected requests: their waits are of fewer requests than the others'."""
    labels = short_labels([summary.policy for summary in comparison.policies])
    rejecting = [summary for summary in comparison.policies if summary.rejected]
    if not rejecting:
        return []
    shares = [
        f"{labels[one.policy]} {count_text(one.rejected)} of {count_text(one.latency.requests)}" for one in rejecting
    ]
    return [f"Rejected requests have no wait and do not count in it: {list_text(shares)}."]


def _left(comparison: Comparison) -> list[str]:
    """Say whose clients left: those that were never started have no wait, and those that were are not finished."""
    labels = short_labels([summary.policy for summary in comparison.policies])
    shares = [
        f"{labels[one.policy]} {count_text(one.cancelled)} of {count_text(one.latency.requests)}"
        for one in comparison.policies
        if one.cancelled
    ]
    if not shares:
        return []
    return [f"Clients left before their answer was complete: {list_text(shares)}; who was never started has no wait."]


def _mean(summary: Summary) -> float:
    return summary.latency.wait.mean or 0.0


def _text(value: float | None) -> str:
    return "none" if value is None else seconds_text(value)
