"""A paper done again: what it claims and what came out, figures as data, and how to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal

import polars as pl

from headway.measure.comparison import plain
from headway.measure.findings import Finding, counts

Kind = Literal["lines", "path", "bars", "heat"]
_COMPUTED_WITH = ("headway", "numpy", "polars")


def versions() -> dict[str, str]:
    """Return the versions of all that computes."""
    return {"python": platform.python_version(), **{name: version(name) for name in _COMPUTED_WITH}}


@dataclass(frozen=True)
class Axis:
    """An axis of a plate.

    Attributes:
        column: what lies on it.
        title: what it says, with its unit.
        log: logarithmic; only values above 0 are drawn.
        zero: begins at 0.
    """

    column: str
    title: str
    log: bool = False
    zero: bool = False


@dataclass(frozen=True)
class Plate:
    """A figure as data: a tidy frame, one row a mark, and which column stands for what.

    Rows whose value on an axis is null are not drawn. Kinds: "lines" joins points from left to right, with bands;
    "path" joins them as the rows follow each other, with whiskers and texts; "bars" stands on words, with whiskers;
    "heat" has a field for every pair of words, its colour from 0 to the largest value, its number written in it.

    Attributes:
        name: of its files, unique in a reproduction, such as `fig2-mean`.
        title: what is seen.
        caption: how to read it.
        data: what is drawn, and written as CSV and Parquet.
        x: of words for "bars" and "heat", else of numbers.
        y: of words for "heat", else of numbers.
        kind: how it is drawn.
        series: column of what is told apart by colour, such as the policy; the first to come is first in the legend.
        low: column of the lower end of the interval of y.
        high: column of its upper end.
        dash: column of what is told apart by dashes too, such as model and simulator; the first to come is solid.
        text: column of words beside points; of a field's text for "heat".
        value: of a field's colour, for "heat".
        wide: wants the whole width of the page.
    """

    name: str
    title: str
    caption: str
    data: pl.DataFrame
    x: Axis
    y: Axis
    kind: Kind = "lines"
    series: str | None = None
    low: str | None = None
    high: str | None = None
    dash: str | None = None
    text: str | None = None
    value: Axis | None = None
    wide: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table of a reproduction: its frame as it is shown, one row a row, and written as CSV and Parquet.

    Attributes:
        name: of its files, unique in a reproduction, such as `table2`.
        title: what is in it.
        caption: how to read it.
        data: texts stand left, numbers right; the first column names its row.
        decimals: of numbers that are not whole.
    """

    name: str
    title: str
    caption: str
    data: pl.DataFrame
    decimals: int = 2


@dataclass(frozen=True)
class Part:
    """A part of a paper's evaluation, such as one figure with its panels.

    Attributes:
        name: as `--only` calls it.
        title: a heading.
        text: what was done and what is seen, a paragraph each.
        plates: its figures.
        sheets: its tables.
    """

    name: str
    title: str
    text: tuple[str, ...] = ()
    plates: tuple[Plate, ...] = ()
    sheets: tuple[Sheet, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """The answer to "does this paper come out?".

    Attributes:
        name: as `headway reproduce` calls it.
        title: the paper's.
        settings: what was run and how to repeat it, plain data, as in a `Comparison`.
        findings: one a claim, those that were not run too.
        parts: what was run, with its figures and tables.
        partial: something is missing: it was interrupted.
        notes: what the reader must know, a sentence each.
        versions: of all that computes: program or package → version.
        first: what must be read before any verdict, such as that they are of fewer seeds than were asked for.
    """

    name: str
    title: str
    settings: Mapping[str, Any]
    findings: tuple[Finding, ...]
    parts: tuple[Part, ...]
    partial: bool = False
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)
    first: str = ""

    def finding(self, name: str) -> Finding:
        """Return a finding by its name; KeyError if there is none."""
        for one in self.findings:
            if one.name == name:
                return one
        raise KeyError(name)

    @property
    def plates(self) -> tuple[Plate, ...]:
        """The figures of all parts."""
        return tuple(plate for part in self.parts for plate in part.plates)

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The tables of all parts."""
        return tuple(sheet for part in self.parts for sheet in part.sheets)

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `findings.json` and `--json`: plain data without NaN or infinity (None instead)."""
        return plain(
            {
                "headway": self.versions.get("headway"),
                "paper": self.name,
                "title": self.title,
                "settings": {key: value for key, value in self.settings.items() if key != "headway"},
                "verdicts": counts(self.findings),
                "findings": [finding.to_dict() for finding in self.findings],
                "parts": [_named(part) for part in self.parts],
                "partial": self.partial,
                "notes": [*([self.first] if self.first else []), *self.notes],
                "versions": dict(self.versions),
            }
        )


def _named(part: Part) -> dict[str, Any]:
    def names(of: Sequence[Plate] | Sequence[Sheet]) -> list[str]:
        return [one.name for one in of]

    return {"name": part.name, "title": part.title, "figures": names(part.plates), "tables": names(part.sheets)}
