"""Claims about the sensitivity of QBA to k and gamma (IV-C, Fig. 3), at 32 requests/s."""

from __future__ import annotations

from headway.measure.findings import Claim, Judged
from headway.studies.papers.qba.grid import LEVELS, QUOTAS, Point
from headway.studies.papers.qba.measures import Name
from headway.studies.papers.qba.runs import (
    CLOSE,
    FAR,
    Runs,
    Told,
    close,
    everywhere,
    falling,
    flat,
    in_parts,
    percent,
    spread_of,
)

FCFS, PSF, AA, QBA = (Point(policy) for policy in ("fcfs", "psf", "aa", "qba"))
BY_QUOTA = {k: Point("qba", k=k) for k in QUOTAS}
QBA_BY_LEVEL = {gamma: Point("qba", gamma=gamma) for gamma in LEVELS}
AA_BY_LEVEL = {gamma: Point("aa", gamma=gamma) for gamma in LEVELS}
BROAD = tuple(gamma for gamma in LEVELS if gamma <= 0.95)
_NEEDS = frozenset({"fig3"})


def _mean_over_k(runs: Runs) -> Judged:
    means = {k: runs.mean(point, "mean") for k, point in BY_QUOTA.items()}
    moderate = [point for k, point in BY_QUOTA.items() if k >= 4]
    drop = runs.difference(BY_QUOTA[14], BY_QUOTA[2], "mean")
    parts = {
        "flat from k = 2 to 4": close(means[2], means[4]),
        "falling from k = 4 to 14": falling(runs, moderate, "mean"),
        "far lower at k = 14 than at 2": runs.far_below(BY_QUOTA[14], BY_QUOTA[2], "mean"),
    }
    return in_parts(
        parts,
        f"{means[2]:.2f} s at k = 2, {means[4]:.2f} at 4, {means[8]:.2f} at 8, {means[14]:.2f} at 14",
        f"{drop.range()} (k = 14 less k = 2)",
    )


def _tail_over_k(runs: Runs) -> Judged:
    tails = {k: runs.mean(point, "p99") for k, point in BY_QUOTA.items()}
    best = min(tails, key=tails.__getitem__)
    beyond = [point for k, point in reversed(BY_QUOTA.items()) if k >= 4]
    gain = runs.difference(BY_QUOTA[4], BY_QUOTA[2], "p99")
    parts = {
        "lowest near k = 4": best == 4,
        "higher at k = 2, beyond chance": runs.below(BY_QUOTA[4], BY_QUOTA[2], "p99"),
        "rising from k = 4 on": falling(runs, beyond, "p99"),
    }
    ours = (
        f"lowest at k = {best}: {tails[2]:.2f} s at 2, {tails[4]:.2f} at 4, {tails[6]:.2f} at 6, {tails[14]:.2f} at 14"
    )
    return in_parts(parts, ours, f"{gain.range()} (k = 4 less k = 2)")


def _ends_of_k(runs: Runs) -> Judged:
    """Small k is close to AA, and each end of the sweep nearer to one of AA and PSF than the other end is."""

    def apart(k: int, other: Point) -> float:
        figures: tuple[Name, ...] = ("mean", "long")
        return max(runs.apart(BY_QUOTA[k], other, name) for name in figures)

    parts = {
        "k = 2 within a tenth of AA": apart(2, AA) <= CLOSE,
        "k = 2 nearer to AA than k = 14": apart(2, AA) < apart(14, AA),
        "k = 14 nearer to PSF than k = 2": apart(14, PSF) < apart(2, PSF),
        "k = 2 nearer to AA than to PSF": apart(2, AA) < apart(2, PSF),
        "k = 14 nearer to PSF than to AA": apart(14, PSF) < apart(14, AA),
    }
    ours = (
        f"mean and long tail at k = 2 differ by at most {apart(2, AA) * 100:.0f} % from AA's, "
        f"at k = 14 by {apart(14, PSF) * 100:.0f} % from PSF's"
    )
    return in_parts(parts, ours)


def _fcfs_below(runs: Runs) -> Judged:
    held: dict[str, Told] = {f"k = {k}": runs.compared(FCFS, point, "p99") for k, point in BY_QUOTA.items()}
    best = min(BY_QUOTA.values(), key=lambda point: runs.mean(point, "p99"))
    gap = runs.difference(FCFS, best, "p99")
    return everywhere(held, "values of k", gap.range(), f"{gap.text()} against the best k, {best.k}")


def _intermediate(runs: Runs) -> Judged:
    kept = runs.share_kept(BY_QUOTA[4])
    best = min(QUOTAS, key=lambda k: runs.mean(BY_QUOTA[k], "p99"))
    parts = {
        "k = 4 has the best P99 of the family": best == 4,
        "a mean far below FCFS's": runs.far_below(BY_QUOTA[4], FCFS, "mean"),
    }
    mean = runs.ratio(BY_QUOTA[4], FCFS, "mean")
    ours = f"at k = 4 a mean of {percent(mean.value - 1)} against FCFS, {kept.text('%', 100, 0)} of PSF's gain kept"
    return in_parts(parts, ours, f"{kept.range('%', 100, 0)} kept" if kept.interval else "")


def _qba_flat(runs: Runs) -> Judged:
    tails = [runs.mean(QBA_BY_LEVEL[gamma], "p99") for gamma in BROAD]
    return in_parts({"every P99 within a tenth of their mean": flat(tails)}, f"{min(tails):.2f} to {max(tails):.2f} s")


def _qba_collapses(runs: Runs) -> Judged:
    nearest = max(BROAD, key=lambda gamma: runs.mean(QBA_BY_LEVEL[gamma], "p99"))
    parts = {
        "far worse at 1.0 than at any lower gamma": all(
            runs.far_above(QBA_BY_LEVEL[1.0], QBA_BY_LEVEL[gamma], "p99") for gamma in BROAD
        )
    }
    return in_parts(parts, *_rise(runs, QBA_BY_LEVEL, nearest))


def _aa_improves(runs: Runs) -> Judged:
    points = [AA_BY_LEVEL[gamma] for gamma in BROAD]
    tails = [runs.mean(point, "p99") for point in points]
    change = runs.difference(points[-1], points[0], "p99")
    parts = {
        "lower at 0.95 than at 0.5, beyond chance": runs.below(points[-1], points[0], "p99"),
        "falling at every step": falling(runs, points, "p99"),
    }
    return in_parts(parts, f"{tails[0]:.2f} s at 0.5, {tails[-1]:.2f} s at 0.95", change.range())


def _aa_collapses(runs: Runs) -> Judged:
    parts = {"far worse at 1.0 than at 0.95": runs.far_above(AA_BY_LEVEL[1.0], AA_BY_LEVEL[0.95], "p99")}
    return in_parts(parts, *_rise(runs, AA_BY_LEVEL, 0.95))


def _rise(runs: Runs, points: dict[float, Point], gamma: float) -> tuple[str, str]:
    """Return how far P99 at 1.0 lies above that at another gamma, and the interval of the difference that is judged."""
    ratio, more = (of(points[1.0], points[gamma], "p99") for of in (runs.ratio, runs.difference))
    return f"P99 {ratio.text('')} times that at {gamma}", more.more()


def _more_sensitive(runs: Runs) -> Judged:
    """AA's P99 spreads wider over gamma than QBA's, below 1.0."""
    spread = {
        name: spread_of([runs.mean(points[gamma], "p99") for gamma in BROAD])
        for name, points in (("AA", AA_BY_LEVEL), ("QBA", QBA_BY_LEVEL))
    }
    parts = {
        "AA's P99 moves beyond chance": runs.below(AA_BY_LEVEL[0.95], AA_BY_LEVEL[0.5], "p99"),
        "AA's spreads further by far": spread["AA"] > spread["QBA"] * (1 + FAR),
    }
    return in_parts(parts, f"P99 varies by {spread['AA'] * 100:.0f} % under AA, {spread['QBA'] * 100:.0f} % under QBA")


def _not_lowest(runs: Runs) -> Judged:
    aa, qba = (
        min(points.values(), key=lambda point: runs.mean(point, "p99")) for points in (AA_BY_LEVEL, QBA_BY_LEVEL)
    )
    gap = runs.difference(aa, qba, "p99")
    parts = {"AA's best P99 below QBA's best": gap.value < 0, "beyond chance": runs.below(aa, qba, "p99")}
    return in_parts(
        parts,
        f"AA {runs.mean(aa, 'p99'):.2f} s (at {aa.gamma}), QBA {runs.mean(qba, 'p99'):.2f} s (at {qba.gamma})",
        gap.range(),
    )


def _k_is_primary(runs: Runs) -> Judged:
    """The mean moves further over k than over gamma."""
    by_k = spread_of([runs.mean(point, "mean") for point in BY_QUOTA.values()])
    by_gamma = spread_of([runs.mean(QBA_BY_LEVEL[gamma], "mean") for gamma in BROAD])
    parts = {
        "the mean falls by far from k = 2 to 14": runs.far_below(BY_QUOTA[14], BY_QUOTA[2], "mean"),
        "it moves further over k by far": by_k > by_gamma * (1 + FAR),
    }
    return in_parts(
        parts, f"the mean varies by {by_k * 100:.0f} % over k, {by_gamma * 100:.0f} % over gamma up to 0.95"
    )


_K, _GAMMA = "IV-C, Fig. 3: k", "IV-C, Fig. 3: gamma"

CLAIMS: tuple[Claim[Runs], ...] = (
    Claim(
        "k-mean", "The mean wait is nearly flat for very small k, then falls markedly.", _K, _mean_over_k, needs=_NEEDS
    ),
    Claim(
        "k-tail",
        "P99 is not monotonic in k: lowest near k = 4, then rising.",
        _K,
        _tail_over_k,
        "lowest at k = 4",
        _NEEDS,
    ),
    Claim("k-ends", "Small k behaves like AA, large k drifts towards PSF.", _K, _ends_of_k, needs=_NEEDS),
    Claim("k-fcfs", "FCFS has the lowest P99 still, whatever k.", _K, _fcfs_below, needs=_NEEDS),
    Claim(
        "k-region",
        "A moderate k has the best tail of the family and keeps a substantial gain in the mean.",
        _K,
        _intermediate,
        needs=_NEEDS,
    ),
    Claim("gamma-qba-flat", "QBA's P99 is relatively flat from gamma = 0.5 to 0.95.", _GAMMA, _qba_flat, needs=_NEEDS),
    Claim(
        "gamma-qba-one",
        "QBA's P99 deteriorates sharply only as gamma reaches 1.0.",
        _GAMMA,
        _qba_collapses,
        needs=_NEEDS,
    ),
    Claim(
        "gamma-aa-improves",
        "AA's P99 improves steadily as gamma grows towards 0.95.",
        _GAMMA,
        _aa_improves,
        needs=_NEEDS,
    ),
    Claim("gamma-aa-one", "AA's P99 collapses at gamma = 1.0.", _GAMMA, _aa_collapses, needs=_NEEDS),
    Claim(
        "gamma-robust",
        "QBA is the more robust one: AA is more sensitive to gamma.",
        _GAMMA,
        _more_sensitive,
        needs=_NEEDS,
    ),
    Claim(
        "gamma-not-lowest",
        "QBA is not the policy with the lowest tail under tuning of gamma.",
        _GAMMA,
        _not_lowest,
        needs=_NEEDS,
    ),
    Claim(
        "k-primary",
        "k is the primary control of QBA, gamma a secondary one.",
        "IV-C, Fig. 3",
        _k_is_primary,
        needs=_NEEDS,
    ),
)
