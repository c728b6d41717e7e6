"""What a trace format is: column names, and how they become a Trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from headway.workload.trace import Trace


@dataclass(frozen=True)
class Format:
    """A trace format, known by its column names.

    Attributes:
        name: for messages.
        required: columns that must be there.
        optional: columns that may be there; any other is unknown.
        convert: (name of the file, its table) → Trace.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    convert: Callable[[str, pl.DataFrame], Trace]

    def missing(self, columns: list[str]) -> list[str]:
        """Return the required columns that are not among `columns`."""
        return [column for column in self.required if column not in columns]

    def unknown(self, columns: list[str]) -> list[str]:
        """Return those of `columns` that this format does not know."""
        return [column for column in columns if column not in self.required + self.optional]
