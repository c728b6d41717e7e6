"""The reduced M/G/n model beside the simulator (II-B, III-B, IV-B): its mean waits, and the claims about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.core.engine import preset
from headway.measure.findings import Claim, Judged
from headway.studies.cells import Row
from headway.studies.papers.qba.grid import CALIBRATED, ENGINE, LOADS, POLICIES, PROMOTED, Point
from headway.studies.papers.qba.measures import PREFIX
from headway.studies.papers.qba.runs import Runs, close, everywhere, in_parts
from headway.studies.theory import Calibration, calibrate

MOST_APART = 0.5
"""QBA is lower than AA "over most of the range" at more than this share of the loads."""


def calibrated(points: Sequence[Point], rows: Mapping[int, Row], seeds: int) -> Calibration:
    """Return the model's numbers from the rows of `with_residence`, seed by seed, in each a row a point."""

    def of(point: Point) -> list[Row]:
        place = points.index(point)
        found = [rows[seed * len(points) + place] for seed in range(seeds)]
        return [
            {name.removeprefix(PREFIX): value for name, value in row.items() if name.startswith(PREFIX)}
            for row in found
        ]

    promoted = {policy: {rate: of(Point(policy, rate)) for rate in PROMOTED} for policy in ("aa", "qba")}
    return calibrate(of(Point("fcfs", CALIBRATED)), CALIBRATED, promoted, preset(ENGINE))


@dataclass(frozen=True)
class Modelled:
    """Mean waits of the model over the load, beside the runs.

    Attributes:
        servers: number of servers by name: `literal`, the paper's formula, and `fitted` to the wait of FCFS at 30/s.
        waits: (name of the number, policy, rate) → seconds, infinite where the model is unstable.
        runs: of the load sweep.
    """

    servers: Mapping[str, float]
    waits: Mapping[tuple[str, str, float], float]
    runs: Runs

    @classmethod
    def of(cls, found: Calibration, runs: Runs) -> Modelled:
        """Return the curves of a calibrated model."""
        waits = {
            (name, policy, rate): found.waits(policy, rate, servers).mean
            for name, servers in found.servers.items()
            for policy in POLICIES
            for rate in LOADS
        }
        return cls(found.servers, waits, runs)

    def stable(self, name: str) -> list[float]:
        """Return the loads at which the model has a mean wait with a number of servers."""
        return [rate for rate in LOADS if all(math.isfinite(self.waits[name, policy, rate]) for policy in POLICIES)]

    def everywhere(self) -> list[tuple[str, float]]:
        """Return all numbers of servers with all loads at which the model is stable."""
        return [(name, rate) for name in self.servers for rate in self.stable(name)]


def _called(name: str, rate: float) -> str:
    return f"{rate:g}/s ({name} n)"


def _below_fcfs(found: Modelled) -> Judged:
    return _everywhere(
        found,
        {
            _called(name, rate): max(found.waits[name, policy, rate] for policy in ("psf", "aa", "qba"))
            < found.waits[name, "fcfs", rate]
            for name, rate in found.everywhere()
        },
    )


def _psf_lowest(found: Modelled) -> Judged:
    return _everywhere(
        found,
        {
            _called(name, rate): found.waits[name, "psf", rate]
            < min(found.waits[name, policy, rate] for policy in ("fcfs", "aa", "qba"))
            for name, rate in found.everywhere()
        },
    )


def _between(found: Modelled) -> Judged:
    return _everywhere(
        found,
        {
            _called(name, rate): all(
                found.waits[name, "psf", rate] < found.waits[name, policy, rate] < found.waits[name, "fcfs", rate]
                for policy in ("aa", "qba")
            )
            for name, rate in found.everywhere()
        },
    )


def _everywhere(found: Modelled, held: Mapping[str, bool]) -> Judged:
    numbers = ", ".join(f"{name} n = {servers:.3g}" for name, servers in found.servers.items())
    return everywhere(held, f"stable loads ({numbers})")


def _qba_by_aa(found: Modelled) -> Judged:
    ratios = [found.waits[name, "qba", rate] / found.waits[name, "aa", rate] for name, rate in found.everywhere()]
    lower = sum(ratio < 1 for ratio in ratios)
    parts = {
        "within a tenth of AA everywhere": all(close(ratio, 1) for ratio in ratios),
        "lower over most of the range": lower > MOST_APART * len(ratios),
        "never far from FCFS's order": all(
            found.waits[name, "qba", rate] < found.waits[name, "fcfs", rate] for name, rate in found.everywhere()
        ),
    }
    spread = f"QBA's mean wait is {min(ratios):.3f} to {max(ratios):.3f} times AA's"
    return in_parts(parts, f"{spread}, lower at {lower} of {len(ratios)} loads")


def _same_order(found: Modelled) -> Judged:
    """In model and simulator alike FCFS waits longest, PSF shortest, AA and QBA between; over all loads simulated."""
    runs = found.runs
    held: dict[str, bool] = {}
    for rate in LOADS:
        fcfs, psf, aa, qba = (Point(policy, rate) for policy in POLICIES)
        held[f"{rate:g}/s"] = (
            runs.below(psf, qba, "mean")
            and runs.below(psf, aa, "mean")
            and runs.below(qba, fcfs, "mean")
            and runs.below(aa, fcfs, "mean")
        )
    judged = everywhere(held, "loads have the model's order in the simulator")
    last = max((rate for rate in found.stable(_best(found))), default=None)
    end = "nowhere stable" if last is None else f"stable up to {last:g}/s"
    why = f"{judged.why} By construction the model cannot show AA above FCFS.".strip()
    return Judged(f"{judged.ours}; model {end}", "", judged.verdict, "" if judged.verdict == "holds" else why)


def _best(found: Modelled) -> str:
    """Return the number of servers that the simulator is compared with: the fitted one where there is one."""
    return "fitted" if "fitted" in found.servers else "literal"


_WHERE, _NEEDS = "IV-B, Fig. 2: the reduced model", frozenset({"fig2"})

CLAIMS: tuple[Claim[Modelled], ...] = (
    Claim(
        "model-below-fcfs",
        "In the model all three others improve on FCFS's mean wait.",
        _WHERE,
        _below_fcfs,
        needs=_NEEDS,
    ),
    Claim("model-psf-lowest", "In the model PSF has the lowest mean wait.", _WHERE, _psf_lowest, needs=_NEEDS),
    Claim("model-between", "In the model AA and QBA lie between PSF and FCFS.", _WHERE, _between, needs=_NEEDS),
    Claim(
        "model-qba-aa",
        "In the model QBA stays very close to AA, slightly lower over most of the range.",
        _WHERE,
        _qba_by_aa,
        needs=_NEEDS,
    ),
    Claim(
        "model-trends",
        "The model has the first-order trends of the simulator: the order of the mean waits.",
        "II-B2 and IV-B",
        _same_order,
        needs=_NEEDS,
    ),
)
