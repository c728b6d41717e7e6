"""What the paper says of Past-Future's own settings, of its start, and of traffic that changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headway.measure.equal_use import Line, evictions_at
from headway.measure.findings import Claim, Judged, all_of
from headway.studies.papers.past_future.grid import (
    AGGREGATES,
    AS_IN_THE_TEXT,
    BASE,
    CONCAT,
    CONSERVATIVE,
    D1,
    LISTS,
    NEAREST,
    PROFILES,
    TURNS,
    WORKLOADS,
    past_future,
    shifting,
    watermark,
    windowed,
)
from headway.studies.papers.past_future.judging import apart, listed
from headway.studies.papers.past_future.rows import Figure, Runs

BETTER = 1.25
"""As many times more evictions at equal use are called worse."""

ABLATIONS, START, SHIFT = (frozenset({name}) for name in ("ablations", "start-up", "shift"))
EVALUATION, LIMITS = "Evaluation, ablation table", "Trade-offs and scope"


def _lists(runs: Runs) -> Judged:
    """Whether several lists help beyond the reserve that their maximum is."""
    rates = {
        (lists, aggregate): runs.get("steady_events", D1, past_future(0.05, lists=lists, aggregate=aggregate))
        for lists in LISTS
        for aggregate in AGGREGATES
    }
    one = rates[1, "max"]
    five, twenty = ({aggregate: rates[lists, aggregate] for aggregate in AGGREGATES} for lists in (5, 20))
    alike = rates[1, "mean"].mean == one.mean  # one list has no other to be averaged with
    by_maximum, by_mean = (
        alike and apart(one, five[aggregate]) and five[aggregate].mean >= twenty[aggregate].mean
        for aggregate in AGGREGATES
    )
    by_maximum = by_maximum and one.mean > 2 * five["max"].mean
    shown = "; ".join(
        f"{aggregate} {', '.join(rates[lists, aggregate].text() for lists in LISTS)}" for aggregate in AGGREGATES
    )
    used, single, several = _at_equal_use(runs)
    better = single > BETTER * several
    return Judged(
        f"evictions in 100 after start-up with 1, 5, 20 lists: {shown}; in all, at {used:.1f} % used, {single:.1f} "
        f"with 1 list and {several:.1f} with 5",
        f"1 list {one.around()}, 5 lists {rates[5, 'max'].around()}",
        all_of([by_maximum, by_mean, better]),
        "" if better else "Several lists are a hidden reserve: at equal use one list evicts hardly more.",
    )


def _at_equal_use(runs: Runs) -> tuple[float, float, float]:
    """Return the use in % that one list reaches, its evictions in 100, and those of five lists at that use.

    NaN where five lists reach it with no reserve.
    """
    used, events = (runs.get(name, D1, past_future(0.05, lists=1)).mean for name in ("used", "events"))
    several = [
        [runs.get(name, D1, past_future(reserve)) for name in ("used", "events")] for reserve in runs.size.reserves
    ]
    uses, rates = np.array(sorted((u.mean, e.mean) for u, e in several)).T
    requests = int(runs.rows(D1, BASE)["requests"].sum()) or 1
    found = evictions_at(Line(uses, rates, 50.0 / requests, requests), used)
    return used, events, math.nan if found is None else found.per_100


def _reserve(runs: Runs) -> Judged:
    used, events = (
        [runs.get(name, D1, past_future(reserve)).mean for reserve in runs.size.reserves] for name in ("used", "events")
    )
    falls = [line == sorted(line, reverse=True) and line[0] > 1.05 * line[-1] for line in (used, events)]
    shown = ", ".join(
        f"{reserve:.0%} {u:.1f} % / {e:.1f}" for reserve, u, e in zip(runs.size.reserves, used, events, strict=True)
    )
    return Judged(f"used / evictions in 100: {shown}", "", all_of(falls))


def _window(runs: Runs) -> Judged:
    parts: dict[str, bool] = {}
    shown: list[str] = []
    for workload, name in ((D1, "D1"), (CONCAT, "four workloads in a row")):
        usual = [runs.get(figure, workload, BASE) for figure in ("steady_used", "steady_events")]
        for window in runs.size.windows:
            if window == 1000:
                continue
            used, events = (runs.get(figure, workload, windowed(window)) for figure in ("steady_used", "steady_events"))
            ratio = events.mean / usual[1].mean if usual[1].mean else math.inf
            parts[f"{name}: {window}"] = abs(used.mean - usual[0].mean) < 1 and 1 / BETTER <= ratio <= BETTER
            shown.append(
                f"{name} {window}: {used.mean - usual[0].mean:+.1f} points used, {ratio:.2f} times the evictions"
            )
    return Judged(
        "; ".join(shown),
        "",
        all_of(list(parts.values())),
        f"Makes a difference: {listed(parts)}. A window above 1000 still holds lengths that it began with in the part "
        "of the run that is compared."
        if not all(parts.values())
        else "",
    )


def _starts_carefully(runs: Runs) -> Judged:
    start, late = (runs.get(name, D1, AS_IN_THE_TEXT) for name in ("start_used", "steady_used"))
    pessimistic = runs.get("start_used", D1, CONSERVATIVE)
    thrown = runs.get("start_events", D1, AS_IN_THE_TEXT)
    reached = abs(late.mean - runs.get("steady_used", D1, BASE).mean) < 1
    return Judged(
        f"{start.text(' %')} used in the first 1000 finishes ({thrown.text()} evictions in 100), then "
        f"{late.text(' %')}; conservative {pessimistic.text(' %')}",
        start.around(),
        all_of([apart(late, start) and reached, start.mean < pessimistic.mean + 5]),
        "It starts below what it reaches, but far above conservative scheduling: the peak is less than the sum even "
        "when every answer is expected to be the longest."
        if start.mean >= pessimistic.mean + 5
        else "",
    )


def _seeding(runs: Runs) -> Judged:
    """Whether more is evicted at the start than after it, however the window begins."""
    start, late = (runs.get(name, D1, BASE) for name in ("start_events", "steady_events"))
    careful, after = (runs.get(name, D1, AS_IN_THE_TEXT) for name in ("start_events", "steady_events"))
    return Judged(
        f"{start.text()} evictions in 100 of the first 1000 requests, {late.text()} after; begun with the longest "
        f"answer {careful.text()} and {after.text()}",
        f"{start.around()}; {late.around()}",
        all_of([apart(start, late) and start.mean > 2 * late.mean, apart(careful, after)]),
        "The first is a window that begins with 500 lengths of 512, as in the public simulation"
        + ("." if apart(careful, after) else "; begun as the text says, evictions come after the start."),
    )


def _minutes(runs: Runs) -> Judged:
    """How long 1000 finishes take, and what the start leaves idle, at the heaviest load of each profile."""
    parts: list[bool] = []
    shown: list[str] = []
    for name, profile in PROFILES.items():
        begun, warm, idle = (
            runs.service("used", name, profile.clients[-1], rule).mean
            for rule in (AS_IN_THE_TEXT, NEAREST, CONSERVATIVE)
        )
        minutes = 1000 / runs.service("finishes_per_s", name, profile.clients[-1], AS_IN_THE_TEXT).mean / 60
        parts.append(minutes <= 10 and abs(warm - begun) < 3 and begun > idle + 10)
        shown.append(f"{name} {minutes:.0f} min, {begun:.0f} % used (warm {warm:.0f} %)")
    return Judged(
        "; ".join(shown),
        "",
        all_of(parts),
        "The time of 1000 finishes of reasoning answers, after which nothing of the seed is left in the window, and "
        "the mean use of a run that begins with the longest answer.",
    )


def _step_change(runs: Runs) -> Judged:
    """Four workloads in a row, against the mean of the four alone."""
    together = [runs.get(name, CONCAT, BASE) for name in ("used", "events")]
    alone = [_mean_of([runs.get(name, one, BASE) for one in WORKLOADS]) for name in ("used", "events")]
    idle = runs.get("used", CONCAT, CONSERVATIVE)
    thrown = runs.get("events", CONCAT, watermark(0.9))
    harmed = apart(together[1], alone[1])
    parts = [not harmed, abs(together[0].mean - alone[0].mean) < 3 and apart(together[0], idle)]
    return Judged(
        f"{together[0].text(' %')} and {together[1].text()} evictions in 100; each alone, in the mean, "
        f"{alone[0].text(' %')} and {alone[1].text()}; the watermark at 90 % {thrown.text()}",
        f"{together[0].around()}; {together[1].around()}",
        all_of(parts),
        "It fills as much, and evicts more than the four alone, beyond chance." if harmed else "",
    )


def _mean_of(figures: Sequence[Figure]) -> Figure:
    """Return the mean of several figures, seed by seed, of the seeds that all have."""
    seeds = min(figure.values.size for figure in figures)
    return Figure(np.mean([figure.values[:seeds] for figure in figures], axis=0))


def _sudden(runs: Runs) -> Judged:
    """Whether more is evicted where answers turn longer than where not, and than with a smaller window."""
    longer, shorter = (
        [runs.get("steady_events", shifting(*turn, within), BASE) for within in runs.size.within] for turn in TURNS
    )
    usual = runs.get("steady_events", D1, BASE)
    lower, upper = (
        [runs.get("steady_events", shifting(*TURNS[0], within), rule) for within in runs.size.within]
        for rule in (windowed(200), watermark(0.9))
    )
    names = [f"within {within} requests" if within else "at once" for within in runs.size.within]
    parts = {
        f"{name}, {words}": apart(worse, other)
        for name, worse, better, low in zip(names, longer, shorter, lower, strict=True)
        for words, other in (("than without", usual), ("than shorter", better), ("than with a window of 200", low))
    }
    shown = ", ".join(
        f"{name} {worse.text()} and {better.text()} "
        f"(longer with a window of 200 {low.text()}, a watermark {high.text()})"
        for name, worse, better, low, high in zip(names, longer, shorter, lower, upper, strict=True)
    )
    return Judged(
        f"evictions in 100 where answers turn longer, and shorter: {shown}; no shift {usual.text()}",
        longer[-1].around(),
        all_of(list(parts.values())),
        f"The paper leaves it open. More evictions where answers turn longer, not beyond chance: {listed(parts)}.",
    )


CLAIMS: tuple[Claim[Runs], ...] = (
    Claim(
        "repeated-sampling",
        "Small batches need several lists of draws to be steady",
        "Implementation, repeated sampling",
        _lists,
        "",
        ABLATIONS,
    ),
    Claim(
        "reserve-trades",
        "A reserve trades use of memory against evictions",
        EVALUATION,
        _reserve,
        "3, 5 and 10 %",
        ABLATIONS,
    ),
    Claim(
        "window-of-a-thousand",
        "Tuning the window further makes a negligible difference",
        "Trace analysis, window sizes",
        _window,
        "1000 requests",
        ABLATIONS,
    ),
    Claim(
        "careful-start",
        "Until the window has filled it behaves like conservative scheduling",
        "Implementation, start-up",
        _starts_carefully,
        "",
        START,
    ),
    Claim(
        "start-up-evicts",
        "Evictions belong to the start: afterwards they are rarer",
        "Implementation, start-up",
        _seeding,
        "",
        START,
    ),
    Claim(
        "converges-in-minutes",
        "The window forgets its seed within minutes",
        "Implementation, start-up",
        _minutes,
        "a few minutes",
        frozenset({"goodput"}),
    ),
    Claim(
        "step-change",
        "Four workloads one behind the other do it no harm",
        "Trace analysis; evaluation, concatenated workloads",
        _step_change,
        "",
        SHIFT,
    ),
    Claim(
        "sudden-shift",
        "It leans on lengths that stay alike within a window: a sudden shift misleads it",
        LIMITS,
        _sudden,
        "not tested",
        SHIFT,
    ),
)
