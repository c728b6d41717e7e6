"""Claims about the load sweep (IV-B, Fig. 2), and about the four policies at 32 requests/s."""

from __future__ import annotations

from collections.abc import Callable

from headway.measure.findings import Claim, Judged
from headway.studies.papers.qba.grid import LOADS, REFERENCE, Point
from headway.studies.papers.qba.measures import Name
from headway.studies.papers.qba.runs import (
    CHANCE,
    FAR,
    LITTLE,
    Runs,
    Told,
    as_reported,
    close,
    everywhere,
    in_parts,
    judged_figure,
    percent,
    worst,
)

LOW = tuple(rate for rate in LOADS if rate < 29)
"""What is taken for low load."""
CONGESTED = tuple(rate for rate in LOADS if rate >= 29)
LESS_KEPT = "Less than a quarter"
FCFS, PSF, AA, QBA = (Point(policy) for policy in ("fcfs", "psf", "aa", "qba"))
_NEEDS = frozenset({"fig2"})


def _at(rate: float) -> tuple[Point, Point, Point, Point]:
    return Point("fcfs", rate), Point("psf", rate), Point("aa", rate), Point("qba", rate)


def _called(rate: float) -> str:
    return f"{rate:g}/s"


def _below(
    first: str, others: tuple[str, ...], figure: Name, rates: tuple[float, ...] = LOADS, *, far: bool = False
) -> Callable[[Runs], Judged]:
    """Return the predicate "first is (far) below others at every load", with its margin at the reference load."""

    def judge(runs: Runs) -> Judged:
        held = {
            _called(rate): worst(
                runs.compared(Point(first, rate), Point(other, rate), figure, far=far) for other in others
            )
            for rate in rates
        }
        rate = REFERENCE if REFERENCE in rates else rates[-1]
        nearest = min(others, key=lambda other: runs.mean(Point(other, rate), figure))
        margin = runs.difference(Point(first, rate), Point(nearest, rate), figure)
        return everywhere(
            held, "loads", margin.range(), f"{margin.text()} against {nearest.upper()} at {_called(rate)}"
        )

    return judge


def _aa_exceeds_fcfs(runs: Runs) -> Judged:
    """Lower at the lowest load, higher from some load on; all beyond chance."""
    above = [rate for rate in LOADS if runs.below(Point("fcfs", rate), Point("aa", rate), "mean")]
    last = runs.difference(Point("aa", LOADS[-1]), Point("fcfs", LOADS[-1]), "mean")
    parts = {
        "AA below FCFS at the lowest load": runs.below(Point("aa", LOADS[0]), Point("fcfs", LOADS[0]), "mean"),
        "AA above FCFS from some load on": bool(above) and above == [rate for rate in LOADS if rate >= above[0]],
    }
    first = f"above, beyond chance, from {_called(above[0])} on; " if above else "never above beyond chance; "
    return in_parts(parts, f"{first}{last.text()} at {_called(LOADS[-1])}", last.range())


def _keeps_share(runs: Runs) -> Judged:
    """A quarter of PSF's gain over FCFS at least, beyond chance, at every load."""
    kept = {rate: runs.share_kept(Point("qba", rate)) for rate in LOADS}
    held: dict[str, Told] = {
        _called(rate): share.value - share.half >= FAR or (CHANCE if share.value >= FAR else LESS_KEPT)
        for rate, share in kept.items()
    }
    shown = (LOADS[0], REFERENCE, LOADS[-1])
    ours = ", ".join(f"{kept[rate].text('%', 100, 0)} at {_called(rate)}" for rate in shown)
    ranges = ", ".join(found for rate in shown if (found := kept[rate].range("%", 100, 0)))
    return everywhere(held, "loads with a quarter of it", ranges, ours)


def _share_kept(runs: Runs) -> Judged:
    return judged_figure(runs.share_kept(QBA), 0.59, len(runs.of_seeds(QBA, "mean")), "%", 100, 0)


def _between(runs: Runs) -> Judged:
    parts = {
        "mean wait above PSF's": runs.below(PSF, QBA, "mean"),
        "mean wait below AA's": runs.below(QBA, AA, "mean"),
        "true-long P99 below PSF's": runs.below(QBA, PSF, "long"),
        "true-long P99 above AA's": runs.below(AA, QBA, "long"),
    }
    means, tails = ([runs.mean(point, figure) for point in (PSF, QBA, AA)] for figure in ("mean", "long"))
    said = " / ".join(f"{value:.2f}" for value in means), " / ".join(f"{value:.2f}" for value in tails)
    return in_parts(parts, f"mean {said[0]} s, true-long P99 {said[1]} s (PSF / QBA / AA)")


def _psf_inflates(runs: Runs) -> Judged:
    """PSF's P99 is the highest by far at every load, and its distance grows from the lowest load to the highest."""
    held: dict[str, Told] = {
        _called(rate): worst(_higher(runs, psf, other) for other in (fcfs, aa, qba))
        for rate in LOADS
        for fcfs, psf, aa, qba in (_at(rate),)
    }
    gaps = [runs.mean(psf, "p99") - runs.mean(fcfs, "p99") for fcfs, psf, *_ in map(_at, (LOADS[0], LOADS[-1]))]
    held["the trend with load"] = gaps[1] > gaps[0] / (1 - FAR)
    ours = f"{gaps[0]:.1f} s above FCFS at {_called(LOADS[0])}, {gaps[1]:.1f} s at {_called(LOADS[-1])}"
    return everywhere(held, "comparisons", "", ours)


def _higher(runs: Runs, a: Point, b: Point) -> Told:
    """Whether a's P99 is above b's by at least a quarter of b's, beyond chance; else what it is."""
    told = runs.compared(b, a, "p99")
    return told if told is not True else runs.far_above(a, b, "p99") or LITTLE


def _low_load(runs: Runs) -> Judged:
    held: dict[str, Told] = {}
    for rate in LOW:
        fcfs, psf, _, qba = _at(rate)
        held[f"{_called(rate)} (FCFS close to QBA)"] = close(runs.mean(fcfs, "p99"), runs.mean(qba, "p99"))
        held[f"{_called(rate)} (below PSF)"] = worst(
            runs.compared(point, psf, "p99", far=True) for point in (fcfs, qba)
        )
    ratio = runs.ratio(Point("qba", LOW[0]), Point("fcfs", LOW[0]), "p99")
    return everywhere(
        held, "comparisons", ratio.range(""), f"QBA's P99 is {ratio.text('')} times FCFS's at {_called(LOW[0])}"
    )


def _better_trade(runs: Runs) -> Judged:
    """Where AA's P99 is lower, QBA saves a larger share of the mean than it costs of P99."""
    held: dict[str, bool] = {}
    for rate in CONGESTED:
        *_, aa, qba = _at(rate)
        saved, cost = 1 - runs.ratio(qba, aa, "mean").value, runs.ratio(qba, aa, "p99").value - 1
        held[_called(rate)] = runs.below(qba, aa, "mean") and saved > cost
    mean, tail = runs.ratio(QBA, AA, "mean"), runs.ratio(QBA, AA, "p99")
    ours = f"at 32/s {percent(mean.value - 1)} mean, {percent(tail.value - 1)} P99 against AA"
    return everywhere(held, "loads", "", ours)


def _starvation(runs: Runs) -> Judged:
    ratio = runs.ratio(AA, PSF, "long")
    parts = {
        "AA's true-long P99 far below PSF's": runs.far_below(AA, PSF, "long"),
        "QBA's true-long P99 far below PSF's": runs.far_below(QBA, PSF, "long"),
    }
    kept, less = runs.ratio(QBA, PSF, "long"), runs.difference(QBA, PSF, "long")
    ours = f"AA {percent(ratio.value - 1)}, QBA {percent(kept.value - 1)} against PSF"
    return in_parts(parts, ours, f"QBA {less.range()} against PSF" if less.interval else "")


def _psf_defers(runs: Runs) -> Judged:
    parts = {
        "true-long P99 far above FCFS's": runs.far_above(PSF, FCFS, "long"),
        "mean wait below FCFS's": runs.below(PSF, FCFS, "mean"),
        "true-short P99 below FCFS's": runs.below(PSF, FCFS, "short"),
    }
    ratio, more = runs.ratio(PSF, FCFS, "long"), runs.difference(PSF, FCFS, "long")
    return in_parts(parts, f"true-long P99 {ratio.text('')} times FCFS's", more.more())


MEAN, TAIL = "IV-B, Fig. 2: mean wait", "IV-B, Fig. 2: P99 wait"
_AT_32 = "IV-D and V: the four policies at 32 requests/s"

CLAIMS: tuple[Claim[Runs], ...] = (
    Claim(
        "psf-lowest-mean",
        "PSF has the lowest mean wait at every load.",
        MEAN,
        _below("psf", ("fcfs", "aa", "qba"), "mean"),
        needs=_NEEDS,
    ),
    Claim(
        "aa-over-corrects",
        "Aggressive ageing over-corrects: under congestion its mean wait eventually exceeds FCFS's.",
        MEAN,
        _aa_exceeds_fcfs,
        needs=_NEEDS,
    ),
    Claim(
        "qba-below-fcfs",
        "QBA's mean wait stays below FCFS's at every load.",
        MEAN,
        _below("qba", ("fcfs",), "mean"),
        needs=_NEEDS,
    ),
    Claim(
        "qba-below-aa",
        "QBA's mean wait stays significantly below AA's at every load.",
        MEAN,
        _below("qba", ("aa",), "mean"),
        needs=_NEEDS,
    ),
    Claim(
        "qba-keeps-share",
        "Across the loads QBA keeps a substantial fraction of PSF's advantage in the mean.",
        MEAN,
        _keeps_share,
        needs=_NEEDS,
    ),
    Claim(
        "psf-worst-tail",
        "PSF's P99 is inflated most severely, above all at high load.",
        TAIL,
        _psf_inflates,
        needs=_NEEDS,
    ),
    Claim(
        "ageing-reduces-tail",
        "Both AA and QBA reduce the P99 of PSF substantially.",
        TAIL,
        lambda runs: everywhere(
            {
                f"{_called(rate)} ({policy.upper()})": runs.compared(
                    Point(policy, rate), Point("psf", rate), "p99", far=True
                )
                for rate in LOADS
                for policy in ("aa", "qba")
            },
            "comparisons",
        ),
        needs=_NEEDS,
    ),
    Claim(
        "low-load-tail",
        "At low load the P99 of FCFS and QBA are very close, and both are well below PSF's.",
        TAIL,
        _low_load,
        needs=_NEEDS,
    ),
    Claim(
        "fcfs-best-tail",
        "Under moderate and high load FCFS has the lowest P99.",
        TAIL,
        _below("fcfs", ("psf", "aa", "qba"), "p99", CONGESTED),
        needs=_NEEDS,
    ),
    Claim(
        "aa-tail-below-qba",
        "Under moderate and high load AA has a lower P99 than QBA.",
        TAIL,
        _below("aa", ("qba",), "p99", CONGESTED),
        needs=_NEEDS,
    ),
    Claim(
        "qba-tail-below-psf",
        "Under moderate and high load QBA's P99 remains far below PSF's.",
        TAIL,
        _below("qba", ("psf",), "p99", CONGESTED, far=True),
        needs=_NEEDS,
    ),
    Claim(
        "qba-better-trade",
        "QBA trades mean against tail better than AA: it saves more of the mean than it costs of P99.",
        TAIL,
        _better_trade,
        needs=_NEEDS,
    ),
    Claim(
        "psf-mean",
        "Mean wait of PSF.",
        _AT_32,
        as_reported(PSF, "mean", 0.83),
        "0.83 s",
        _NEEDS,
    ),
    Claim(
        "psf-short",
        "P99 wait of true-short requests under PSF.",
        _AT_32,
        as_reported(PSF, "short", 1.24),
        "1.24 s",
        _NEEDS,
    ),
    Claim(
        "psf-long",
        "P99 wait of true-long requests under PSF.",
        _AT_32,
        as_reported(PSF, "long", 11.10),
        "11.10 s",
        _NEEDS,
    ),
    Claim("qba-mean", "Mean wait of QBA.", _AT_32, as_reported(QBA, "mean", 1.42), "1.42 s", _NEEDS),
    Claim(
        "qba-short",
        "P99 wait of true-short requests under QBA.",
        _AT_32,
        as_reported(QBA, "short", 3.44),
        "3.44 s",
        _NEEDS,
    ),
    Claim(
        "qba-long",
        "P99 wait of true-long requests under QBA.",
        _AT_32,
        as_reported(QBA, "long", 7.64),
        "7.64 s",
        _NEEDS,
    ),
    Claim(
        "share-kept",
        "Share of PSF's gain in mean wait over FCFS that QBA keeps.",
        "V",
        _share_kept,
        "about 59 %",
        _NEEDS,
    ),
    Claim(
        "qba-between",
        "QBA is a middle ground: between PSF and AA in mean wait, and the other way round in the long tail.",
        "IV-B and V",
        _between,
        needs=_NEEDS,
    ),
    Claim(
        "psf-starves",
        "Short-first admission lowers the mean and defers long requests: their tail grows far beyond FCFS's.",
        "I",
        _psf_defers,
        needs=_NEEDS,
    ),
    Claim(
        "ageing-mitigates-starvation",
        "Ageing mitigates starvation: the long tail falls substantially, unbounded (AA) or bounded (QBA).",
        "III-A5 and V",
        _starvation,
        needs=_NEEDS,
    ),
)
