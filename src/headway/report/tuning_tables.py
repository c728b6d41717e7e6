"""What `tune` found, as tables: the settings that were judged, and what the chosen one does to other figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.measure.gain import Gain
from headway.measure.tuning import Candidate, Tuning
from headway.report.columns import NO_VALUE, Column, Table
from headway.report.tuning_words import amount, change_amount, interval_text, relative_text

SHORT = {"no significant difference": "not significant", "too small to matter": "too small"}
"""Verdicts as they fit a table."""


def candidates_table(found: Tuning) -> Table:
    """Return the settings that were judged on the held-out stretches, the baseline last."""
    rows = [*(one for one in found.candidates if one.name != found.baseline.name), found.baseline]
    unit = found.objective.unit
    shown = unit if unit == "s" else ""  # seconds may be milliseconds, which each figure says itself
    group = found.objective.short if shown else f"{found.objective.short}, {unit}"

    def mean(value: float | None) -> str:
        return NO_VALUE if value is None else amount(value, shown)

    def against(of: Callable[[Candidate], str]) -> tuple[str, ...]:
        return tuple(NO_VALUE if one is found.baseline else of(one) for one in rows)

    def beside(one: Candidate) -> str:
        if one is found.chosen:
            return "chosen"
        return "alike" if one.within_noise else one.behind.judgement

    columns = (
        _column(group, "search", [mean(one.training) for one in rows]),
        _column(group, "held out", [mean(one.held_out) for one in rows]),
        _column("Gain", "share", against(lambda one: relative_text(one.gain) or NO_VALUE)),
        _column("Gain", "95 % interval", against(lambda one: interval_text(one.gain, shown))),
        _column("Gain", "verdict", against(lambda one: _verdict(one.gain))),
        _column("Beside", "chosen", [beside(one) for one in rows]),
    )
    names = tuple(one.name for one in rows)
    return Table("Settings on the held-out stretches", names, columns, "setting", dict.fromkeys(names, "transparent"))


def changes_table(found: Tuning) -> Table | None:
    """Return what the chosen setting does to every figure; None where it is the baseline."""
    if not found.changes or found.chosen.name == found.baseline.name:
        return None
    changes = found.changes
    columns = (
        _column("Mean", "baseline", [change_amount(one, one.before) for one in changes]),
        _column("Mean", "chosen", [change_amount(one, one.after) for one in changes]),
        _column("Gain", "share", [relative_text(one.gain) or NO_VALUE for one in changes]),
        _column("Gain", "95 % interval", [interval_text(one.gain, one.unit) for one in changes]),
        _column("Gain", "verdict", [_verdict(one.gain) for one in changes]),
    )
    names = tuple(change.words for change in changes)
    return Table("What it changes", names, columns, "figure", dict.fromkeys(names, "transparent"))


def _column(group: str, name: str, cells: Sequence[str]) -> Column:
    return Column(group, name, "", tuple(cells), ("",) * len(cells))


def _verdict(gain: Gain) -> str:
    return SHORT.get(gain.judgement, gain.judgement)
