"""Claims about errors of prediction (IV-D, Figs. 4 and 5), at 32 requests/s."""

from __future__ import annotations

from headway.measure.findings import Claim, Judged
from headway.studies.papers.qba.grid import ERRORS, Point, with_errors
from headway.studies.papers.qba.measures import Name
from headway.studies.papers.qba.runs import (
    CLOSE,
    FAR,
    Estimate,
    Runs,
    Told,
    agrees,
    as_reported,
    close,
    everywhere,
    falling,
    in_parts,
    judged_figure,
    percent,
)

WRONG = ERRORS[1:]
FIGURES: tuple[Name, ...] = ("mean", "short", "long")
_SL, _LS = frozenset({"fig4"}), frozenset({"fig5"})
_BOTH = _SL | _LS


def sl(policy: str, error: float) -> Point:
    """Return the point at which so many of the short requests are predicted long."""
    return with_errors(policy, short_to_long=error)


def ls(policy: str, error: float) -> Point:
    """Return the point at which so many of the long requests are predicted short."""
    return with_errors(policy, long_to_short=error)


def _change(runs: Runs, first: Point, last: Point, figure: Name) -> str:
    return f"{runs.mean(first, figure):.2f} to {runs.mean(last, figure):.2f} s"


def _all_agree(
    runs: Runs, reported: dict[str, tuple[Point, Name, float]], ours: str, more: dict[str, bool] | None = None
) -> Judged:
    """Judge a claim that gives several figures in seconds, and perhaps more in words."""
    parts: dict[str, bool] = {}
    ranges: list[str] = []
    for words, (point, figure, value) in reported.items():
        found = runs.estimate(point, figure)
        parts[f"{words} {value:g} s"] = agrees(found, value, len(runs.of_seeds(point, figure)))
        ranges.append(found.range())
    return in_parts(parts | (more or {}), ours, ", ".join(ranges))


def _psf_mean_rises(runs: Runs) -> Judged:
    points = [sl("psf", error) for error in reversed(ERRORS)]
    rise = runs.difference(points[0], points[-1], "mean")
    parts = {"rising at every step": falling(runs, points, "mean")}
    return in_parts(parts, _change(runs, points[-1], points[0], "mean"), rise.more())


def _psf_short_jumps(runs: Runs) -> Judged:
    first, last = sl("psf", 0.0), sl("psf", 0.05)
    reported: dict[str, tuple[Point, Name, float]] = {"from": (first, "short", 1.24), "to": (last, "short", 7.03)}
    more = {"a sharp rise": runs.far_above(last, first, "short")}
    return _all_agree(runs, reported, _change(runs, first, last, "short"), more)


def _qba_mean_dips(runs: Runs) -> Judged:
    first, last = sl("qba", 0.0), sl("qba", 0.1)
    more = {"a fall beyond chance": runs.below(last, first, "mean")}
    return _all_agree(runs, {"to": (last, "mean", 1.13)}, _change(runs, first, last, "mean"), more)


def _qba_tails_grow(runs: Runs) -> Judged:
    first, last = sl("qba", 0.0), sl("qba", 0.1)
    reported: dict[str, tuple[Point, Name, float]] = {
        "true-short P99 from": (first, "short", 3.44),
        "true-short P99 to": (last, "short", 7.59),
        "true-long P99 from": (first, "long", 7.64),
        "true-long P99 to": (last, "long", 9.45),
    }
    more = {f"true-{name} P99 rising": runs.below(first, last, name) for name in ("short", "long")}
    ours = f"true-short {_change(runs, first, last, 'short')}, true-long {_change(runs, first, last, 'long')}"
    return _all_agree(runs, reported, ours, more)


def _converge(runs: Runs) -> Judged:
    """In mean and both tails PSF and QBA are nearer to each other at 0.4 than without error, and close in the end."""

    def apart(error: float, figure: Name) -> float:
        return runs.apart(sl("psf", error), sl("qba", error), figure)

    parts: dict[str, bool] = {}
    for figure in FIGURES:
        parts[f"{_SAID[figure]} nearer by far"] = apart(0.4, figure) < apart(0.0, figure) * (1 - FAR)
    parts["all close at 0.4"] = max(apart(0.4, figure) for figure in FIGURES) <= CLOSE
    ours = "; ".join(
        f"{_SAID[figure]} {apart(0.0, figure) * 100:.0f} % apart without error, {apart(0.4, figure) * 100:.0f} % at 0.4"
        for figure in FIGURES
    )
    return in_parts(parts, ours)


def _redistributes(runs: Runs) -> Judged:
    """Under short-to-long errors QBA's mean falls while both tails grow: no robustness."""
    first, last = sl("qba", 0.0), sl("qba", 0.1)
    parts = {
        "the mean falls": runs.below(last, first, "mean"),
        "the true-short tail grows sharply": runs.far_above(last, first, "short"),
        "the true-long tail grows": runs.below(first, last, "long"),
    }
    ours = ", ".join(f"{_SAID[figure]} {percent(runs.ratio(last, first, figure).value - 1)}" for figure in FIGURES)
    return in_parts(parts, f"{ours} at 0.1")


def _psf_mean_steady(runs: Runs) -> Judged:
    first, last = ls("psf", 0.0), ls("psf", 0.4)
    reported: dict[str, tuple[Point, Name, float]] = {"from": (first, "mean", 0.83), "to": (last, "mean", 0.91)}
    more = {"within a tenth": close(runs.mean(first, "mean"), runs.mean(last, "mean"))}
    return _all_agree(runs, reported, _change(runs, first, last, "mean"), more)


def _psf_short_moderate(runs: Runs) -> Judged:
    """The true-short tail grows, by less than a quarter, and far less than under short-to-long errors of that size."""
    first, last, other = ls("psf", 0.0), ls("psf", 0.4), sl("psf", 0.4)
    grown, there = runs.difference(last, first, "short"), runs.ratio(other, first, "short")
    parts = {
        "it grows": runs.below(first, last, "short"),
        "by less than a quarter": not runs.far_above(last, first, "short"),
        "far less than under short-to-long errors": runs.far_below(last, other, "short"),
    }
    ours = f"{_change(runs, first, last, 'short')} (short-to-long: {there.value:.1f} times)"
    return in_parts(parts, ours, grown.more())


def _psf_long_rises(runs: Runs) -> Judged:
    first, last = ls("psf", 0.0), ls("psf", 0.4)
    reported: dict[str, tuple[Point, Name, float]] = {"from": (first, "long", 11.10), "to": (last, "long", 17.29)}
    more = {"a rise by far": runs.far_above(last, first, "long")}
    return _all_agree(runs, reported, _change(runs, first, last, "long"), more)


def _psf_long_share(runs: Runs) -> Judged:
    grown = runs.ratio(ls("psf", 0.4), ls("psf", 0.0), "long")
    return judged_figure(_less_one(grown), 0.56, len(runs.of_seeds(ls("psf", 0.4), "long")), "%", 100, 0)


def _qba_shifts(runs: Runs) -> Judged:
    first, last = ls("qba", 0.0), ls("qba", 0.4)
    reported: dict[str, tuple[Point, Name, float]] = {
        "true-long P99 from": (first, "long", 7.64),
        "true-long P99 to": (last, "long", 5.27),
        "true-short P99 from": (first, "short", 3.44),
        "true-short P99 to": (last, "short", 5.23),
    }
    more = {
        "the long tail falls": runs.below(last, first, "long"),
        "the short tail rises": runs.below(first, last, "short"),
    }
    ours = f"true-long {_change(runs, first, last, 'long')}, true-short {_change(runs, first, last, 'short')}"
    return _all_agree(runs, reported, ours, more)


def _cut(runs: Runs) -> Judged:
    kept = _less_one(runs.ratio(ls("qba", 0.4), ls("psf", 0.4), "long"))
    return judged_figure(kept, -0.70, len(runs.of_seeds(ls("qba", 0.4), "long")), "%", 100, 0)


def _advantage_erodes(runs: Runs) -> Judged:
    first, last = ls("qba", 0.0), ls("qba", 0.4)
    fcfs = Point("fcfs")
    kept = runs.ratio(last, fcfs, "mean")
    more = {
        "below FCFS still": runs.mean(last, "mean") < runs.mean(fcfs, "mean"),
        "by less than a quarter": not runs.far_below(last, fcfs, "mean"),
        "a rise by far": runs.far_above(last, first, "mean"),
    }
    reported: dict[str, tuple[Point, Name, float]] = {"from": (first, "mean", 1.42), "to": (last, "mean", 1.92)}
    ours = f"{_change(runs, first, last, 'mean')}, {percent(kept.value - 1)} against FCFS"
    return _all_agree(runs, reported, ours, more)


def _aa_stable(runs: Runs) -> Judged:
    """AA's true-long tail at high errors stays bounded: it moves less than PSF's, and stays far below it."""
    high = [error for error in ERRORS if error >= 0.2]
    parts = {f"far below PSF's at {error}": runs.far_below(ls("aa", error), ls("psf", error), "long") for error in high}
    parts["no step from 0.2 to 0.4"] = close(
        runs.mean(ls("aa", 0.2), "long"), runs.mean(ls("aa", 0.4), "long")
    ) or runs.below(ls("aa", 0.4), ls("aa", 0.2), "long")
    ours = " / ".join(f"{runs.mean(ls('aa', error), 'long'):.2f}" for error in (0.0, *high))
    return in_parts(parts, f"{ours} s at 0, {', '.join(map(str, high))}")


def _avoids(runs: Runs) -> Judged:
    """QBA's long tail does not grow sharply, and is far below PSF's wherever an error makes that grow sharply."""
    none = {policy: Point(policy) for policy in ("psf", "qba")}
    held: dict[str, Told] = {}
    for name, of in (("short-to-long", sl), ("long-to-short", ls)):
        for error in WRONG:
            qba, psf = of("qba", error), of("psf", error)
            held[f"{name} {error}"] = not runs.far_above(qba, none["qba"], "long") or "Grown by a quarter"
            if runs.far_above(psf, none["psf"], "long"):
                held[f"{name} {error} (against PSF)"] = runs.compared(qba, psf, "long", far=True)
    held["PSF (growth)"] = any("(against PSF)" in place for place in held) or "Not grown by a quarter"
    highest = max((of("qba", error) for of in (sl, ls) for error in WRONG), key=lambda point: runs.mean(point, "long"))
    found, grown = runs.estimate(highest, "long"), runs.ratio(highest, none["qba"], "long")
    ours = f"at most {found.text()}, {percent(grown.value - 1)} against none"
    return everywhere(held, "comparisons", found.range(), ours)


def _direction(runs: Runs) -> Judged:
    """For PSF: one direction hurts the short tail, the other one the long tail."""
    none, mean = Point("psf"), "mean"
    towards_long, towards_short = sl("psf", 0.4), ls("psf", 0.4)
    parts = {
        "short-to-long: the short tail grows by far": runs.far_above(towards_long, none, "short"),
        "long-to-short: the long tail grows by far": runs.far_above(towards_short, none, "long"),
        "the long tail grows more under long-to-short": runs.below(towards_long, towards_short, "long"),
        "the mean grows less under long-to-short": runs.below(towards_short, towards_long, mean),
    }
    longs = " / ".join(f"{runs.mean(point, 'long'):.2f}" for point in (none, towards_long, towards_short))
    means = " / ".join(f"{runs.mean(point, mean):.2f}" for point in (none, towards_long, towards_short))
    return in_parts(parts, f"true-long P99 {longs} s, mean {means} s (none / short-to-long / long-to-short 0.4)")


def _less_one(found: Estimate) -> Estimate:
    """Return a ratio as a change."""
    interval = found.interval
    moved = None if interval is None else type(interval)(interval.low - 1, interval.high - 1)
    return Estimate(found.value - 1, moved)


_SAID: dict[Name, str] = {"mean": "mean", "short": "true-short P99", "long": "true-long P99"}
_FIG4, _FIG5 = "IV-D, Fig. 4: short predicted long", "IV-D, Fig. 5: long predicted short"

CLAIMS: tuple[Claim[Runs], ...] = (
    Claim("sl-psf-mean", "PSF's mean wait rises progressively with the error.", _FIG4, _psf_mean_rises, needs=_SL),
    Claim(
        "sl-psf-short",
        "Even an error of 0.05 sharply raises PSF's true-short P99.",
        _FIG4,
        _psf_short_jumps,
        "1.24 to 7.03 s",
        _SL,
    ),
    Claim(
        "sl-psf-short-value",
        "PSF's true-short P99 at an error of 0.05.",
        _FIG4,
        as_reported(sl("psf", 0.05), "short", 7.03),
        "7.03 s",
        _SL,
    ),
    Claim("sl-qba-mean", "QBA's mean wait falls at first, to its value at 0.1.", _FIG4, _qba_mean_dips, "1.13 s", _SL),
    Claim(
        "sl-qba-tails",
        "Over the same range both of QBA's tails grow.",
        _FIG4,
        _qba_tails_grow,
        "true-short 3.44 to 7.59 s, true-long 7.64 to 9.45 s",
        _SL,
    ),
    Claim(
        "sl-qba-redistributes",
        "The lower mean is no robustness but a redistribution: both tails pay for it.",
        _FIG4,
        _redistributes,
        needs=_SL,
    ),
    Claim("sl-converge", "As the error grows PSF and QBA converge.", _FIG4, _converge, needs=_SL),
    Claim("ls-psf-mean", "PSF's mean wait hardly changes.", _FIG5, _psf_mean_steady, "0.83 to 0.91 s", _LS),
    Claim("ls-psf-short", "PSF's true-short P99 increases only moderately.", _FIG5, _psf_short_moderate, needs=_BOTH),
    Claim("ls-psf-long", "PSF's true-long P99 rises severely.", _FIG5, _psf_long_rises, "11.10 to 17.29 s", _LS),
    Claim("ls-psf-long-share", "By how much PSF's true-long P99 rises.", _FIG5, _psf_long_share, "about 56 %", _LS),
    Claim(
        "ls-qba-shifts",
        "QBA's true-long P99 falls while its true-short P99 rises.",
        _FIG5,
        _qba_shifts,
        "true-long 7.64 to 5.27 s, true-short 3.44 to 5.23 s",
        _LS,
    ),
    Claim("ls-qba-cut", "At 0.4 QBA's true-long P99 is that much below PSF's.", _FIG5, _cut, "about -70 %", _LS),
    Claim(
        "ls-qba-mean",
        "QBA's mean wait rises, which leaves a marginal advantage over FCFS.",
        _FIG5,
        _advantage_erodes,
        "1.42 to 1.92 s",
        _LS,
    ),
    Claim("ls-aa-stable", "AA's long tail is as stable at high errors.", _FIG5, _aa_stable, needs=_LS),
    Claim(
        "errors-avoids",
        "In both directions QBA avoids the severe growth of the long tail that PSF shows.",
        "IV-D, Figs. 4 and 5",
        _avoids,
        needs=_BOTH,
    ),
    Claim(
        "errors-direction",
        "The direction matters: for PSF long-to-short harms the long tail most, at little change of the mean.",
        "IV-D, Figs. 4 and 5",
        _direction,
        needs=_BOTH,
    ),
)
