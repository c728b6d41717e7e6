"""A workload as data: who arrives when, with how many tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from headway.core.errors import InvalidTrace, nearest
from headway.workload.columns import OPTIONAL, REQUIRED, Column


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests in order of (arrival, id), a row each. Made by `from_frame`, which checks every value.

    | column | type | holds |
    |---|---|---|
    | `id` | Int64 or String | unique; the row number from 0 where the source has none |
    | `arrival` | Float64 | seconds, at least 0 |
    | `prompt_tokens` | Int64 | at least 1 |
    | `output_tokens` | Int64 | at least 0; 0 is a request without decode |
    | `tenant`, `class` | String | optional, may be missing in a row |
    | `predicted` | String or number | optional: "short"/"long", or a number of output tokens |
    | `true_class` | String | optional: "short"/"long" |
    | `ttft_slo`, `itl_slo`, `completion_slo` | Float64 | optional: seconds, above 0 |
    | `priority` | Int64 | optional |
    | `weight` | Float64 | optional: the tenant's share beside the others', above 0 |
    | `blocks` | List(Int64) | optional: hashes of the prompt's blocks, each for all that lies before it too |
    | `block_tokens` | Int64 | optional: tokens in each of these blocks, at least 1; 512 where it is missing |

    Attributes:
        name: the workload's or file's name.
        frame: the columns above; optional ones are there only if given.
        notes: what a reader should know about how the data was taken (sorted, cut, images left out).
    """

    name: str
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        name: str,
        frame: pl.DataFrame,
        notes: tuple[str, ...] = (),
        called: Mapping[str, str] | None = None,
    ) -> Trace:
        """Check every value and return the trace, sorted by (arrival, id).

        Args:
            name: the trace's name, used in messages.
            frame: columns named as in this class, typed or as text; `id` may be left out.
            notes: what to carry along; an unsorted frame adds a note.
            called: the columns' names in the file, where they differ, for messages.

        Raises:
            InvalidTrace: no rows, a column missing or unknown, or a value that no request can have.
        """
        if missing := [column for column in REQUIRED if column not in frame.columns]:
            raise InvalidTrace(f"{name}: column '{missing[0]}' is missing; expected {', '.join(REQUIRED)}")
        checks = {**REQUIRED, **OPTIONAL}
        if unknown := [column for column in frame.columns if column not in checks]:
            raise InvalidTrace(f"{name}: unknown column '{unknown[0]}'; {nearest(unknown[0], checks)}")
        if frame.is_empty():
            raise InvalidTrace(f"{name}: there are no requests in it; expected at least one row")

        labels = called or {}
        checked = pl.DataFrame(
            {
                column: check(Column(name, labels.get(column, column), frame[column]))
                for column, check in checks.items()
                if column in frame.columns
            }
        )
        if "id" not in checked.columns:
            checked = checked.with_row_index("id").cast({"id": pl.Int64})
        if not checked["arrival"].is_sorted():
            notes = (*notes, "the arrivals were not in order: sorted by arrival")
        checked = checked.select("id", pl.exclude("id")).sort("arrival", "id")
        return cls(name, checked, notes)

    def labelled(self, **labels: pl.Expr) -> Trace:
        """Return the trace with columns of classes that are right by how they are made, so that nothing is checked."""
        frame = self.frame.with_columns(**labels)
        known = ("id", *REQUIRED, *OPTIONAL)
        return replace(self, frame=frame.select(sorted(frame.columns, key=known.index)))

    def __len__(self) -> int:
        """Return the number of requests."""
        return self.frame.height

    @property
    def span(self) -> float:
        """Seconds from the first arrival to the last."""
        arrivals = self.frame["arrival"]
        return arrivals[-1] - arrivals[0]

    @property
    def rate(self) -> float:
        """Requests per second: 1 / mean time between arrivals; inf when all arrive at once."""
        return (len(self) - 1) / self.span if self.span > 0 else math.inf

    @property
    def interarrival_scv(self) -> float:
        """Squared coefficient of variation of the times between arrivals.

        0 is regular, 1 Poisson, above 1 bursty; nan when all arrive at once.
        """
        if self.span == 0:
            return math.nan
        gaps = self.frame["arrival"].diff().drop_nulls().to_numpy()
        return float(gaps.var() / gaps.mean() ** 2)
