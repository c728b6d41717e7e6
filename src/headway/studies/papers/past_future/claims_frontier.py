"""What the paper says of the frontier: no watermark and no overcommit trades use for evictions as well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from headway.measure.equal_use import Ratio, ratio_at
from headway.measure.findings import Claim, Judged, all_of
from headway.measure.memory_curve import Curve
from headway.studies.papers.past_future.grid import SWEEPS, watermark
from headway.studies.papers.past_future.judging import listed
from headway.studies.papers.past_future.rows import Figure, Runs

NEEDS = frozenset({"frontier"})
WHERE = "Evaluation, parameter sweep"
USES = {"D1": range(85, 93), "D2": range(85, 93), "D3": range(88, 96)}
"""Uses in %, at which Past-Future and the watermark are compared: the crowded end, where both evict somebody."""

TIMES = 3.0
"""How many times fewer evictions are called a better frontier."""


def curves(runs: Runs, name: str) -> tuple[Curve, Curve, Curve]:
    """Return Past-Future, the watermark and the overcommit over their knobs on a sweep's workload."""
    workload = runs.size.sweep(name)
    return (
        runs.curve(workload, "past-future", "reserve"),
        runs.curve(workload, "watermark", "level"),
        runs.curve(workload, "conservative", "overcommit"),
    )


def ratios(runs: Runs, name: str) -> dict[int, Ratio]:
    """Return for each use, in %, how many times fewer evictions Past-Future has than the watermark.

    Uses that one of them does not reach are left out.
    """
    ours, theirs, _ = curves(runs, name)
    found = {used: ratio_at(ours, theirs, used / 100) for used in USES[name]}
    return {used: ratio for used, ratio in found.items() if ratio is not None}


def _times(ratio: Ratio) -> str:
    return f"{'>' if ratio.at_least else ''}{ratio.times:.1f}"


def _frontier(name: str, runs: Runs) -> Judged:
    found = ratios(runs, name)
    fewer = [ratio.verdict == "fewer" and ratio.times >= TIMES for ratio in found.values()]
    # A rule that does not reach a use has nothing to show for it.
    parts = [*fewer, *[False] * (len(USES[name]) - len(found))]
    shown = ", ".join(f"{_times(ratio)} at {used} %" for used, ratio in found.items())
    least = min(found.values(), key=lambda ratio: ratio.times, default=None)
    interval = "" if least is None or least.ci95 is None else f"{least.ci95.low:.1f}-{least.ci95.high:.1f} at the least"
    return Judged(f"times fewer: {shown or 'never at the same use'}", interval, all_of(parts))


def _settings(runs: Runs) -> Iterator[tuple[str, float, Ratio]]:
    """Yield sweep, reserve and ratio for every setting of Past-Future whose use another rule reaches too."""
    for name in SWEEPS:
        ours, *others = curves(runs, name)
        for point in ours.points:
            for other in others:
                ratio = ratio_at(ours, other, point.used_mean) if other.points else None
                if ratio is not None and ratio.verdict != "unknown":
                    yield f"{name} {point.used_mean * 100:.0f} %", point.value or 0.0, ratio


def _every_setting(runs: Runs) -> Judged:
    found = list(_settings(runs))
    seen = {where.partition(" ")[0] for where, _, _ in found} == set(SWEEPS)
    worst: dict[str, float] = {}
    for where, _, ratio in found:
        worst[where] = min(worst.get(where, ratio.times), ratio.times)
    parts = [ratio.verdict == "fewer" for _, _, ratio in found]
    level = ", ".join(f"{where} ({times:.1f})" for where, times in worst.items() if times < 2)
    return Judged(
        f"half the evictions or fewer in {sum(parts)} of {len(parts)} comparisons",
        "",
        all_of([*parts, seen]),
        f"Not clearly fewer (times): {level}. Above 92 % the rules converge, and where prompts are most of the memory "
        "(D3) a plain watermark is as good or better."
        if level
        else "",
    )


def _overcommit(runs: Runs) -> Judged:
    """Compare at every setting of the overcommit that evicts somebody."""
    parts: dict[str, bool] = {}
    for name in SWEEPS:
        ours, _, theirs = curves(runs, name)
        for point in theirs.points:
            ratio = ratio_at(ours, theirs, point.used_mean) if ours.points else None
            if ratio is not None and ratio.verdict != "unknown":
                parts[f"{name} at {point.value:g}"] = ratio.verdict == "fewer"
    unseen = ", ".join(sorted(set(SWEEPS) - {where.partition(" ")[0] for where in parts}))
    return Judged(
        f"as good as Past-Future: {listed(parts)}, of {len(parts)} settings",
        "",
        all_of([*parts.values(), not unseen]),
        f"No setting evicts at a use that Past-Future reaches too on {unseen}." if unseen else "",
    )


def _dominated(a: Curve, b: Curve, runs: Runs, workload: str) -> int:
    """Return how many settings of b some setting of a beats in decode steps and in evictions."""
    one, other = (
        [[runs.get(name, workload, point.memory).mean for name in ("steady_steps", "steady_events")] for point in line]
        for line in (a.points, b.points)
    )
    return sum(any(x[0] < y[0] and x[1] < y[1] for x in one) for y in other)


def _steps(runs: Runs) -> Judged:
    parts: dict[str, bool] = {}
    for name in SWEEPS:
        ours, *others = curves(runs, name)
        workload = runs.size.sweep(name)
        lost = sum(_dominated(other, ours, runs, workload) for other in others)
        won = [_dominated(ours, other, runs, workload) for other in others]
        parts[name] = lost == 0 and all(won)
    return Judged(
        f"no setting of another has fewer steps and fewer evictions, and some of each have more of both, on: "
        f"{listed(parts, wanted=True)}",
        "",
        all_of(list(parts.values())),
    )


def _rise(runs: Runs) -> Judged:
    """Whether seven points more of level evict half as often again or more: at 88, 92 and 95 %."""
    parts: list[bool] = []
    shown: list[str] = []
    for name in SWEEPS:
        workload = runs.size.sweep(name)
        rates: list[Figure] = [runs.get("steady_events", workload, watermark(level)) for level in (0.88, 0.92, 0.95)]
        low, middle, high = (rate.mean for rate in rates)
        parts.append(low < middle < high and high > 1.5 * low)
        shown.append(f"{name} {low:.1f}, {middle:.1f}, {high:.1f}")
    return Judged(f"in 100 requests at 88, 92, 95 %: {'; '.join(shown)}", "", all_of(parts))


CLAIMS: tuple[Claim[Runs], ...] = (
    *(
        Claim(
            f"frontier-{name.lower()}",
            f"No watermark reaches its frontier on {name}: at equal use it evicts three times as often or more",
            WHERE,
            partial(_frontier, name),
            "",
            NEEDS,
        )
        for name in SWEEPS
    ),
    Claim(
        "frontier-overcommit",
        "No overcommit reaches it either, on any workload",
        WHERE,
        _overcommit,
        "",
        NEEDS,
    ),
    Claim(
        "every-setting",
        "It beats both alternatives at every setting, not at one lucky setting",
        WHERE,
        _every_setting,
        "",
        NEEDS,
    ),
    Claim(
        "steps-frontier",
        "Neither alternative trades evictions against decode steps as favourably",
        WHERE,
        _steps,
        "",
        NEEDS,
    ),
    Claim(
        "evictions-rise-sharply",
        "A watermark's evictions rise sharply as memory fills",
        WHERE,
        _rise,
        "",
        NEEDS,
    ),
)
