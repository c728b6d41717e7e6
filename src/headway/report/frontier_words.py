"""The frontier in words: question and answer, the same on the terminal and on the page."""

from __future__ import annotations

from headway.measure.equal_use import LEVEL, EqualUse, Line, Ratio, Stretch, against_reference, setting_at, used_at
from headway.measure.frontier import Frontier
from headway.measure.memory_curve import Curve
from headway.report.labels import short_labels
from headway.report.numbers import list_text, rate_text

RATE = 1.0
"""Evictions per 100 requests that a service may bear: the use under each rule is named for it."""

HELD_BACK = 0.95
"""Share of the highest use below which a rule is said to hold requests back where nothing was evicted: the requests are
the same, so less in use means that they were let in later. What rules differ by chance is well above."""


def frontier_question(found: Frontier) -> str:
    """Return what was asked."""
    engine, workload = found.settings.get("engine", "the engine"), found.settings.get("workload", "these requests")
    return f"How full can {engine} run its KV cache on {workload}, and at how many evictions?"


def frontier_answer(found: Frontier) -> str:
    """Return the answer: the first rule against the reference, the use under each rule, the limit."""
    if not any(point.evictions_mean for curve in found.curves for point in curve.points):
        return " ".join(_without_evictions(found))
    told = [*_first_against_reference(found), *_use_at_rate(found), *_limit(found)]
    return " ".join([*told, *_warm_up(found)])


def use_text(share: float) -> str:
    """Return a share of the cache as per cent, with a decimal where it has one."""
    return f"{share * 100:.1f}".removesuffix(".0") + " %"


def times_text(ratio: Ratio, *, more: bool = False) -> str:
    """Return how many times fewer (or more) evictions the one rule has: `4.2 times`, `over 140 times`."""
    times = 1 / ratio.times if more else ratio.times
    bound = ratio.b.bound if more else ratio.a.bound
    return f"{'over ' if bound else ''}{rate_text(float(f'{times:.2g}'))} times"


def _first_against_reference(found: Frontier) -> list[str]:
    pairs = against_reference(found.turned)
    if not pairs:
        return []
    pair = pairs[0]
    labels = short_labels([curve.rule for curve in found.curves])
    one, other = labels[pair.rule], labels[pair.reference]
    told = {verdict: _longest(pair, verdict) for verdict in ("fewer", "level", "more")}
    sentences: list[str] = []
    if fewer := told["fewer"]:
        high, middle = fewer.ratios[-1], fewer.ratios[len(fewer.ratios) // 2]
        sure = f" (95 % interval {rate_text(high.ci95.low)} to {rate_text(high.ci95.high)})" if high.ci95 else ""
        text = f"{_between(fewer)} in use, {one} evicts less than {other} at the same use: {times_text(high)} less"
        text += f" at {use_text(high.used)}{sure}"
        if middle.used != high.used:
            text += f", {times_text(middle)} at {use_text(middle.used)}"
        sentences.append(f"{text}.")
    if more := told["more"]:
        sentences.append(
            f"{_between(more)} in use, {one} evicts more than {other}: {times_text(more.ratios[-1], more=True)} more "
            f"at {use_text(more.high)}."
        )
    if level := told["level"]:
        names = "the two" if sentences else f"{one} and {other}"
        sentences.append(f"{_between(level)}, {names} are level: within a factor of {LEVEL:g}.")
    return sentences or [f"There were too few evictions to tell {one} from {other} at the same use."]


def _longest(pair: EqualUse, verdict: str) -> Stretch | None:
    stretches = [stretch for stretch in pair.stretches if stretch.verdict == verdict]
    return max(stretches, key=lambda stretch: len(stretch.ratios), default=None)


def _between(stretch: Stretch) -> str:
    low, high = use_text(stretch.low), use_text(stretch.high)
    return f"At {low} of the cache" if low == high else f"From {low.removesuffix(' %')} to {high} of the cache"


def _use_at_rate(found: Frontier) -> list[str]:
    """Say how full the cache is under each rule at one eviction in 100 requests, and at what setting; fullest first."""
    labels = short_labels([curve.rule for curve in found.curves])
    lines = {curve.rule: Line.of(curve) for curve in found.turned}
    evicting = [curve for curve in found.turned if lines[curve.rule].evictions.any()]
    uses = [(used_at(lines[curve.rule], RATE), curve) for curve in evicting]
    known = sorted(((use, curve) for use, curve in uses if use is not None), key=lambda one: -one[0])
    if not known:
        return []
    parts: list[str] = []
    for use, curve in known:
        more = "at least " if lines[curve.rule].evictions.max() <= RATE else ""  # bolder settings may exist
        setting = f"at {curve.knob} {'' if more else 'about '}{setting_at(curve, use):.2g}"
        name = labels[curve.rule]
        text = f"{name} {more}{use_text(use)}" if parts else f"{name} fills {more}{use_text(use)} of the cache"
        parts.append(f"{text} ({setting})")
    return [f"At {RATE:g} eviction in 100 requests {list_text(parts)}."]


def _without_evictions(found: Frontier) -> list[str]:
    """Say how full the cache was, which rules held requests back all the same, and where rules differ in evictions."""
    labels = short_labels([curve.rule for curve in found.curves])
    most = max(map(_most_used, found.curves))
    held = [
        f"{labels[curve.rule]} ({_span(curve)})"
        for curve in found.curves
        if min(point.used_mean for point in curve.points) < HELD_BACK * most
    ]
    sentences = [f"No rule evicted anything; {use_text(most)} of the cache are in use at the highest (mean)."]
    if held:
        some = list_text(held)
        sentences.append(f"Though memory was free, requests were held back, so that less is in use, by {some}.")
        sentences += _warm_up(found)
    scarce = "Evictions come where memory is scarce: with more requests at once (--rate) or longer ones"
    return [*sentences, f"{scarce} (--scale-lengths)."]


def _warm_up(found: Frontier) -> list[str]:
    """Hint at the start of a rule that learns lengths, where it never evicted and stays below all others."""
    tops = {curve.rule: _most_used(curve) for curve in found.curves}
    for curve in found.curves:
        others = [use for rule, use in tops.items() if rule != curve.rule]
        evicted = any(point.evictions_mean for point in curve.points)
        if not curve.rule.startswith("past-future") or "seed_length=" in curve.rule or evicted or not others:
            continue
        if tops[curve.rule] < HELD_BACK * max(others):
            hint = "past-future expects the longest answers until enough requests have finished: give it a usual length"
            return [f"{hint}, as in past-future(seed_length=500)."]
    return []


def _most_used(curve: Curve) -> float:
    return max(point.used_mean for point in curve.points)


def _span(curve: Curve) -> str:
    """Return what a rule's settings fill, from the least to the most."""
    low, high = use_text(min(point.used_mean for point in curve.points)), use_text(_most_used(curve))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def _limit(found: Frontier) -> list[str]:
    limit = found.limit
    if limit is None:
        return []
    rate = f"{rate_text(limit.evictions_mean)} evictions in 100" if limit.evictions_mean else "without any eviction"
    return [f"Who knew every length in advance (oracle) would fill {use_text(limit.used_mean)}, {rate}."]
