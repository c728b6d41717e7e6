"""What a paper claims, what came out here, and whether it holds: one finding a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["holds", "holds in part", "does not hold here", "not run"]


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


def all_of(parts: Sequence[bool]) -> Verdict:
    """Return the verdict of a claim that has several parts: all came out, some did, none did."""
    if all(parts):
        return "holds"
    return "holds in part" if any(parts) else "does not hold here"
