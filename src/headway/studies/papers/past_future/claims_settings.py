"""What the paper says of Past-Future's own settings, of its start, and of traffic that changes."""

from __future__ import annotations

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
from headway.studies.papers.past_future.judging import apart, listed, same
from headway.studies.papers.past_future.rows import Runs

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
    return Judged(
        f"evictions in 100 after start-up with 1, 5, 20 lists: {shown}",
        f"1 list {one.around()}, 5 lists {rates[5, 'max'].around()}",
        all_of([by_maximum, by_mean]),
        "The maximum of several peaks is a hidden reserve; "
        + ("their mean, which is none, helps too." if by_mean else "that their mean helps is not beyond chance."),
    )


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
    for workload, name in ((D1, "D1"), (CONCAT, "four workloads in a row")):
        usual = [runs.get(figure, workload, BASE) for figure in ("steady_used", "steady_events")]
        for window in runs.size.windows:
            if window == 1000:
                continue
            used, events = (runs.get(figure, workload, windowed(window)) for figure in ("steady_used", "steady_events"))
            close = abs(used.mean - usual[0].mean) < 1 and same(events, usual[1].mean, half=usual[1].half)
            parts[f"{name}: {window}"] = close
    return Judged(f"makes a difference: {listed(parts)}", "", all_of(list(parts.values())))


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
    """Whether a window that begins with short lengths evicts at the start, and one with long lengths only after it."""
    start, late = (runs.get(name, D1, BASE) for name in ("start_events", "steady_events"))
    careful, after = (runs.get(name, D1, AS_IN_THE_TEXT) for name in ("start_events", "steady_events"))
    forgotten = same(late, after.mean, half=after.half)
    return Judged(
        f"{start.text()} evictions in 100 of the first 1000 requests, {late.text()} after; begun with the longest "
        f"answer {careful.text()} and {after.text()}",
        f"{start.around()}; {late.around()}",
        all_of([apart(start, late) and start.mean > 2 * late.mean, apart(start, careful) and forgotten]),
        "With a window that begins with 500 lengths of 512, as in the public simulation.",
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
    alone = [sum(runs.get(name, one, BASE).mean for one in WORKLOADS) / len(WORKLOADS) for name in ("used", "events")]
    idle = runs.get("used", CONCAT, CONSERVATIVE)
    thrown = runs.get("events", CONCAT, watermark(0.9))
    parts = [
        together[1].mean <= 2 * alone[1] + 0.5,
        abs(together[0].mean - alone[0]) < 3,
        apart(together[0], idle) and apart(thrown, together[1]),
    ]
    return Judged(
        f"{together[0].text(' %')} and {together[1].text()} evictions in 100; each alone, in the mean, "
        f"{alone[0]:.1f} % and {alone[1]:.1f}; the watermark at 90 % {thrown.text()}",
        f"{together[0].around()}; {together[1].around()}",
        all_of(parts),
    )


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
    parts = [
        all(apart(worse, other) for other in (usual, better, low)) and worse.mean < high.mean
        for worse, better, low, high in zip(longer, shorter, lower, upper, strict=True)
    ]
    shown = ", ".join(
        f"{f'within {within} requests' if within else 'at once'} {worse.text()} and {better.text()} "
        f"(longer with a window of 200 {low.text()}, a watermark {high.text()})"
        for within, worse, better, low, high in zip(runs.size.within, longer, shorter, lower, upper, strict=True)
    )
    return Judged(
        f"evictions in 100 where answers turn longer, and shorter: {shown}; no shift {usual.text()}",
        longer[-1].around(),
        all_of(parts),
        "The paper leaves it open. Where answers turn longer, more is evicted for the time of a window.",
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
