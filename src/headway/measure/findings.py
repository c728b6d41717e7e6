"""What a paper claims, what came out here, and whether it holds: one finding a claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Verdict = Literal["holds", "holds in part", "does not hold here", "not run"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds in part", "does not hold here", "not run")

Runs = TypeVar("Runs")


@dataclass(frozen=True)
class Finding:
    """A claim beside its evidence.

    Attributes:
        name: short and unique in its paper, such as `psf-lowest-mean`.
        claim: what the paper says, in a sentence of ours.
        where: the paper's section, figure or table.
        reported: the figure that the paper gives, with its unit; empty where it gives none.
        ours: what the runs gave, with its unit.
        interval: the 95 % interval of ours; empty where it has none.
        verdict: computed from the runs.
        why: a sentence where the verdict needs one.
    """

    name: str
    claim: str
    where: str
    reported: str
    ours: str
    interval: str
    verdict: Verdict
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Judged:
    """What runs say about a claim: the fields of a `Finding` that are computed."""

    ours: str
    interval: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Claim(Generic[Runs]):
    """A claim of a paper, and the predicate that judges it.

    Attributes:
        name: as in `Finding`.
        claim: as in `Finding`.
        where: as in `Finding`.
        judge: looks at the runs, whatever a paper's study has of them.
        reported: as in `Finding`.
        needs: the parts of the study whose runs `judge` looks at.
    """

    name: str
    claim: str
    where: str
    judge: Callable[[Runs], Judged]
    reported: str = ""
    needs: frozenset[str] = field(default_factory=frozenset[str])

    def finding(self, runs: Runs, ran: Collection[str]) -> Finding:
        """Return the finding; "not run" where a part that the claim needs is not among those that `ran`."""
        left_out = not self.needs <= set(ran)
        judged = Judged("", "", "not run") if left_out else self.judge(runs)
        return Finding(self.name, self.claim, self.where, self.reported, **vars(judged))


def all_of(parts: Sequence[bool]) -> Verdict:
    """Return the verdict of a claim that has several parts: all came out, some did, none did."""
    if all(parts):
        return "holds"
    return "holds in part" if any(parts) else "does not hold here"


def counts(findings: Sequence[Finding]) -> dict[Verdict, int]:
    """Return how many findings have each verdict."""
    found = Counter(finding.verdict for finding in findings)
    return {verdict: found[verdict] for verdict in VERDICTS}
