"""What `tune` found: what to run, how sure that is, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.measure.gain import Gain, Judgement


@dataclass(frozen=True)
class Objective:
    """What is to be improved.

    Attributes:
        name: as on the command line.
        path: of the figure, as in `--json` of a run.
        lower_is_better: whether it is a time.
        words: what it is called; `short` in a table.
        unit: of the figure.
    """

    name: str
    path: str
    lower_is_better: bool
    words: str
    short: str
    unit: str

    def score(self, figures: Mapping[str, float | None]) -> float:
        """Return the figure of one run such that higher is better; -inf where it has none."""
        value = figures.get(self.path)
        if value is None:
            return float("-inf")
        return -value if self.lower_is_better else value


OBJECTIVES = {
    one.name: one
    for one in (
        Objective("goodput", "sla.goodput_tokens_per_s", False, "goodput under the agreement", "Goodput", "tokens/s"),
        Objective("p99", "ttft.p99", True, "the P99 time to first token", "TTFT P99", "s"),
        Objective("mean", "ttft.mean", True, "the mean time to first token", "TTFT mean", "s"),
    )
}


@dataclass(frozen=True)
class Candidate:
    """One setting that came to the end of the search, and what it did where nothing had been looked at before.

    Attributes:
        name: how it is called: its order, and what else it changes.
        parts: kind of rule or share → its spec.
        changed: how many parts differ from the baseline's.
        predicts: it needs predicted output lengths.
        promised: it needs to know what requests were promised.
        training: mean of the objective over the training stretches.
        held_out: mean over the held-out stretches.
        gain: over the baseline, on the held-out stretches.
        behind: over the one that was chosen, likewise; below 0 is worse.
    """

    name: str
    parts: Mapping[str, str]
    changed: int
    predicts: bool
    promised: bool
    training: float | None
    held_out: float | None
    gain: Gain
    behind: Gain

    @property
    def within_noise(self) -> bool:
        """Whether it does not differ significantly from the one that was chosen."""
        return not self.behind.differs

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        return {
            "name": self.name,
            **self.parts,
            "parts_changed": self.changed,
            "needs_predictions": self.predicts,
            "needs_promises": self.promised,
            "training": self.training,
            "held_out": self.held_out,
            "gain": self.gain.to_dict(),
            "behind": self.behind.to_dict(),
            "within_noise": self.within_noise,
        }


@dataclass(frozen=True)
class Change:
    """What the chosen setting does to one figure, on the held-out stretches.

    Attributes:
        path: of the figure, as in `--json` of a run.
        words: what it is called.
        unit: "s", "%" or "tokens/s".
        before: its mean under the baseline.
        after: and under the chosen one.
        gain: of the chosen one over the baseline; above 0 is better.
        of: requests of a stretch, in the mean, where the figure counts some of them; None for others.
    """

    path: str
    words: str
    unit: str
    before: float
    after: float
    gain: Gain
    of: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return its entry in `--json`."""
        return {
            "figure": self.path,
            "unit": self.unit,
            "before": self.before,
            "after": self.after,
            "of": self.of,
            "gain": self.gain.to_dict(),
        }


@dataclass(frozen=True)
class Tuning:
    """The answer of `tune`.

    Attributes:
        settings: what was asked, and how.
        objective: what was to be improved.
        baseline: what it was compared with.
        candidates: those that were judged on the held-out stretches, the chosen one first, then by the training.
        changes: what the chosen one does to other figures.
        searched: how many settings were tried.
        runs: how many runs that took.
        warnings: why the answer may be worth less than it looks, a sentence each.
        notes: what else a reader should know.
        paste: what to run: `compare`, a command line; `baseline`, another one or None; `serve`, TOML; `promises`, TOML
            of a tenants file or None.
        partial: it was interrupted, and judged on fewer stretches.
        unsafe: held-out stretches in which the chosen one ran out of memory, and the baseline did not.
    """

    settings: dict[str, Any]
    objective: Objective
    baseline: Candidate
    candidates: tuple[Candidate, ...]
    changes: tuple[Change, ...]
    searched: int
    runs: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    paste: Mapping[str, str | None]
    partial: bool = False
    unsafe: int = 0

    @property
    def chosen(self) -> Candidate:
        """What the training stretches spoke for."""
        return self.candidates[0]

    @property
    def judgement(self) -> Judgement:
        """Whether it is better than the baseline on the held-out stretches."""
        return self.chosen.gain.judgement

    @property
    def hollow(self) -> Change | None:
        """How many keep the agreement, where goodput rose and they are no more; None elsewhere."""
        kept = next((change for change in self.changes if change.path == "sla.attainment"), None)
        rose = self.objective.name == "goodput" and self.judgement == "better"
        return kept if kept is not None and rose and kept.gain.mean <= 0 else None

    @property
    def recommended(self) -> Candidate:
        """What to run: the baseline, unless the chosen one is better, keeps more, and never runs out of memory."""
        better = self.judgement == "better" and not self.unsafe and self.hollow is None
        return self.chosen if better else self.baseline

    @property
    def unpredicted(self) -> Candidate | None:
        """The best of the others that need no predicted lengths, where the chosen one needs them."""
        others = [one for one in self.candidates[1:] if not one.predicts]
        return others[0] if self.chosen.predicts and others else None

    @property
    def worse(self) -> Sequence[Change]:
        """The figures that the chosen one makes worse."""
        return [change for change in self.changes if change.gain.judgement == "worse"]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "headway": self.settings.get("headway"),
            "settings": {key: value for key, value in self.settings.items() if key != "headway"},
            "judgement": self.judgement,
            "recommended": self.recommended.name,
            "unsafe": self.unsafe,
            "baseline": self.baseline.to_dict(),
            "candidates": [one.to_dict() for one in self.candidates],
            "changes": [change.to_dict() for change in self.changes],
            "searched": self.searched,
            "runs": self.runs,
            "paste": dict(self.paste),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "partial": self.partial,
        }
