"""The reduced M/G/n model beside the simulator (II-B, III-B, IV-B): its mean waits, and the claims about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headway.core.engine import preset
from headway.measure.findings import Claim, Judged
from headway.studies.cells import Row
from headway.studies.papers.qba.grid import CALIBRATED, ENGINE, LOADS, POLICIES, PROMOTED, Point
from headway.studies.papers.qba.measures import PREFIX
from headway.studies.papers.qba.runs import Runs, Told, close, everywhere, in_parts, worst
from headway.studies.theory import Calibration, calibrate

MOST_APART = 0.5
"""QBA is lower than AA "over most of the range" at more than this share of the loads."""

_PAPERS = "literal"
_NO_WAIT = "No mean wait in the model"


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

    def means(self, name: str, rate: float) -> dict[str, float]:
        """Return the mean waits of the policies, seconds."""
        return {policy: self.waits[name, policy, rate] for policy in POLICIES}


def _at_all_loads(test: Callable[[dict[str, float]], bool]) -> Callable[[Modelled], Judged]:
    """Return the predicate of an order: at every load with the paper's number, and wherever the other has a mean."""

    def judge(found: Modelled) -> Judged:
        held: dict[str, Told] = {}
        said: list[str] = []
        for name, servers in found.servers.items():
            stable = found.stable(name)
            rates = LOADS if name == _PAPERS else stable
            came_out = {rate: rate in stable and test(found.means(name, rate)) for rate in rates}
            held |= {f"{rate:g}/s ({servers:.3g} servers)": so for rate, so in came_out.items()}
            said.append(f"{sum(came_out.values())} of {len(LOADS)} with {servers:.3g} servers ({name})")
        judged = everywhere(held, "loads")
        ends = [
            f"With {found.servers[name]:.3g} servers there is no mean wait above {_last(found, name)}."
            for name in found.servers
            if len(found.stable(name)) < len(LOADS)
        ]
        return Judged(", ".join(said), "", judged.verdict, " ".join(filter(None, (judged.why, *ends))))

    return judge


def _last(found: Modelled, name: str) -> str:
    """Return the highest load at which there is a mean wait."""
    return f"{max(found.stable(name), default=0):g}/s"


def _qba_by_aa(found: Modelled) -> Judged:
    ratios = [found.means(name, rate)["qba"] / found.means(name, rate)["aa"] for name, rate in found.everywhere()]
    lower = sum(ratio < 1 for ratio in ratios)
    parts = {
        "within a tenth of AA everywhere": all(close(ratio, 1) for ratio in ratios),
        "lower over most of the range": lower > MOST_APART * len(ratios),
    }
    spread = f"QBA's mean wait is {min(ratios):.3f} to {max(ratios):.3f} times AA's"
    return in_parts(parts, f"{spread}, lower at {lower} of the {len(ratios)} loads that have one")


def _same_order(found: Modelled) -> Judged:
    """In model and simulator alike FCFS waits longest, PSF shortest, AA and QBA between: at every load simulated."""
    runs, name = found.runs, _best(found)
    stable = found.stable(name)
    held: dict[str, Told] = {}
    for rate in LOADS:
        fcfs, psf, aa, qba = (Point(policy, rate) for policy in POLICIES)
        pairs = ((psf, qba), (psf, aa), (qba, fcfs), (aa, fcfs))
        held[f"{rate:g}/s"] = worst(runs.compared(a, b, "mean") for a, b in pairs) if rate in stable else _NO_WAIT
    ours = f"with {found.servers[name]:.3g} servers a mean wait up to {_last(found, name)}"
    return everywhere(held, "loads", "", ours)


def _over_corrects(found: Modelled) -> Judged:
    """Somewhere in the model AA's mean wait is above FCFS's."""
    above = [
        rate for name, rate in found.everywhere() if found.means(name, rate)["aa"] > found.means(name, rate)["fcfs"]
    ]
    why = "" if above else "By construction it cannot: whoever is promoted passes others of the same mean service."
    judged = in_parts({"AA above FCFS at some load": bool(above)}, f"AA above FCFS at {len(above)} loads")
    return Judged(judged.ours, "", judged.verdict, why)


def _best(found: Modelled) -> str:
    """Return the number of servers that the simulator is compared with: the fitted one where there is one."""
    return "fitted" if "fitted" in found.servers else "literal"


_WHERE, _NEEDS = "IV-B, Fig. 2: the reduced model", frozenset({"fig2"})

CLAIMS: tuple[Claim[Modelled], ...] = (
    Claim(
        "model-below-fcfs",
        "In the model all three others improve on FCFS's mean wait.",
        _WHERE,
        _at_all_loads(lambda waits: max(waits[policy] for policy in ("psf", "aa", "qba")) < waits["fcfs"]),
        needs=_NEEDS,
    ),
    Claim(
        "model-psf-lowest",
        "In the model PSF has the lowest mean wait.",
        _WHERE,
        _at_all_loads(lambda waits: waits["psf"] < min(waits[policy] for policy in ("fcfs", "aa", "qba"))),
        needs=_NEEDS,
    ),
    Claim(
        "model-between",
        "In the model AA and QBA lie between PSF and FCFS over the evaluated range of loads.",
        _WHERE,
        _at_all_loads(lambda waits: all(waits["psf"] < waits[policy] < waits["fcfs"] for policy in ("aa", "qba"))),
        needs=_NEEDS,
    ),
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
    Claim(
        "model-over-corrects",
        "The model shows why aggressive ageing can over-correct.",
        "I, contributions",
        _over_corrects,
        needs=_NEEDS,
    ),
)
