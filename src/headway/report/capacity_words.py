"""What `capacity` found, in words: the same on the terminal and on the page."""

from __future__ import annotations

from headway.measure.capacity import Capacity, Held, Replicas
from headway.report.labels import short_labels
from headway.report.numbers import count_text, list_text

WIDE = 2.0
"""Factor between the ends of an interval above which more stretches of traffic are advised."""


def capacity_question(found: Capacity) -> str:
    """Return what was asked."""
    workload, engine = (found.settings.get(name, "") for name in ("workload", "engine"))
    return f"How much of {workload} does one {engine} hold, and how many hold it all?"


def capacity_answer(found: Capacity) -> list[str]:
    """Return the answer: the rates, how well they are known, what limits the best one, the replicas."""
    return [*_rates(found), *_wide(found), *_limit(found), *_replicas(found)]


def kept_text(share: float) -> str:
    """Return a share of requests, with a decimal where it is not whole: 99.2 %."""
    return f"{share * 100:.1f}".removesuffix(".0") + " %"


def per_second(rate: float) -> str:
    """Return a rate to three digits."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def interval_words(one: Held) -> str:
    """Return the interval of the capacity: `5.1 to 5.6`, open where an end was not found."""
    low, high = one.interval
    if low is None and high is None:
        return "no interval"
    if low is None or high is None:
        return f"at most {per_second(high)}" if high is not None else f"at least {per_second(low or 0.0)}"
    return f"{per_second(low)} to {per_second(high)}"


def rate_words(one: Held) -> str:
    """Return the highest rate that is held, `5.3`, or what is known of it."""
    edge = one.bracket
    if edge.low is None:
        return "none" if edge.high is None else f"< {per_second(edge.high)}"
    return per_second(edge.low) if edge.high is not None else f"> {per_second(edge.low)}"


def _rates(found: Capacity) -> list[str]:
    labels = short_labels([one.policy for one in found.held])
    bound = kept_text(found.settings["attain"])
    agreement = f"{found.settings['sla']} for {bound} of the requests"
    ranked = sorted(found.held, key=lambda one: -(one.rate or 0.0))
    best = ranked[0]
    if best.rate is None:
        return [f"No rate that was run keeps {agreement} under any policy."]
    more = "" if best.bracket.high is not None else "at least "
    told = (
        f"One engine keeps {agreement} up to {more}{per_second(best.rate)} requests/s under {labels[best.policy]} "
        f"(95 % interval {interval_words(best)})"
    )
    if len(ranked) > 1:
        told += ", " + list_text([f"{rate_words(one)} under {labels[one.policy]}" for one in ranked[1:]])
        overlap = [one for one in ranked[1:] if _overlap(best, one)]
        if overlap:
            told += f". The intervals of {list_text([labels[one.policy] for one in (best, *overlap)])} overlap"
    return [f"{told}."]


def _wide(found: Capacity) -> list[str]:
    """Say whose interval is too wide to read much from it, and what narrows it."""
    labels = short_labels([one.policy for one in found.held])
    wide = [f"{interval_words(one)} under {labels[one.policy]}" for one in found.held if _is_wide(one)]
    if not wide:
        return []
    few = f"{found.settings['stretches']} {found.settings['traffic']}"
    told = (
        f"{few} say little of a rate: its 95 % interval is {list_text(wide)}. Take more (--windows), or a longer "
        "trace, before you compare policies by it."
    )
    return [told]


def _is_wide(one: Held) -> bool:
    """Whether the ends of an interval are far apart, or one of them was not found although the rate was."""
    low, high = one.interval
    if one.rate is None or one.bracket.high is None:
        return False
    return low is None or high is None or high > WIDE * low


def _overlap(one: Held, other: Held) -> bool:
    low, high = one.interval[0], other.interval[1]
    return low is None or high is None or high >= low


def _limit(found: Capacity) -> list[str]:
    ranked = sorted((one for one in found.held if one.limit is not None), key=lambda one: -(one.rate or 0.0))
    if not ranked:
        return []
    limit, label = ranked[0].limit, short_labels([one.policy for one in found.held])[ranked[0].policy]
    if limit is None:
        return []
    told = (
        f"What limits {label} is {limit.resource}: at {per_second(limit.rate)} requests/s, {limit.because}. "
        f"What would move it: {limit.move}."
    )
    return [told]


def _replicas(found: Capacity) -> list[str]:
    known = [(one, one.replicas) for one in found.held if one.replicas is not None and one.replicas.count is not None]
    if not known:
        return []
    labels = short_labels([one.policy for one in found.held])
    rate = per_second(known[0][1].rate)
    parts = [f"{count_text(replicas.count or 0)} under {labels[one.policy]}" for one, replicas in known]
    one, fewest = min(known, key=lambda pair: pair[1].count or 0)
    under = f"under {labels[one.policy]} " if len(known) > 1 else ""
    told = (
        f"For {rate} requests/s, with each going to the replica that has the least outstanding work, the fewest "
        f"replicas are {list_text(parts)}: {under}{_verified(fewest)}."
    )
    return [told, *_more_than_the_sum(known, labels)]


def _more_than_the_sum(known: list[tuple[Held, Replicas]], labels: dict[str, str]) -> list[str]:
    """Say why replicas hold more than as many times what one engine holds, where they do."""
    sums = [
        f"{count_text(count)} times {per_second(one.rate)} is {per_second(count * one.rate)} under {labels[one.policy]}"
        for one, replicas in known
        if one.rate is not None and one.bracket.high is not None
        for count in [replicas.count or 0]
        if count * one.rate < replicas.rate
    ]
    if not sums:
        return []
    short = [(one, replicas) for one, replicas in known if (replicas.count or 0) < replicas.lasting]
    if short:
        seconds, computed = short[0][1].seconds, per_second(short[0][1].computed)
        fewer = list_text([f"{count_text(replicas.count or 0)} under {labels[one.policy]}" for one, replicas in short])
        lasting = count_text(max(replicas.lasting for _, replicas in short))
        told = (
            f"For longer than the {seconds:,.3g} s that a stretch lasts at this rate, {fewer} are too few: an engine "
            f"computes about {computed} requests/s, so that queues grow with fewer than {lasting}."
        )
        return [told]
    told = (
        f"That they hold more than as many times what one holds ({list_text(sums)}) is no contradiction: bursts even "
        "out over replicas."
    )
    return [told]


def _verified(replicas: Replicas) -> str:
    count = replicas.count or 0
    kept = kept_text(replicas.attainment(count) or 0.0)
    if count < 2:
        return f"one keeps {kept}"
    return f"{count:,} keep {kept}, {count - 1:,} only {kept_text(replicas.attainment(count - 1) or 0.0)}"
