"""Which format a file has: the one whose columns are exactly there."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from headway.core.errors import InvalidTrace, expect
from headway.workload.limits import whole
from headway.workload.trace import Trace
from headway.workload.traces.azure import azure
from headway.workload.traces.blis import BLIS, is_header
from headway.workload.traces.burstgpt import BURSTGPT
from headway.workload.traces.format import Format
from headway.workload.traces.mooncake import MOONCAKE
from headway.workload.traces.own import HEADWAY
from headway.workload.traces.servegen import is_servegen, read_servegen
from headway.workload.traces.table import read_table
from headway.workload.traces.vidur import VIDUR


@dataclass(frozen=True)
class SeededTrace:
    """A trace whose file holds distributions and not requests (ServeGen): every seed draws others.

    Attributes:
        path: a folder of ServeGen, or a file of one of its clients.
    """

    path: str | Path

    @property
    def name(self) -> str:
        """The folder's or file's name."""
        return Path(self.path).resolve().name

    def draw(self, seed: int) -> Trace:
        """Return the requests of one seed.

        Raises:
            InvalidTrace: a file is missing or wrong.
            InvalidWorkload: the seed is not a whole number of at least 0.
        """
        return replace(read_servegen(Path(self.path), whole("seed", seed, 0)), name=self.name)


def open_trace(path: str | Path, *, tokens_per_image: int = 0) -> Trace | SeededTrace:
    """Read a trace as `read_trace` does; where every seed draws other requests, return what draws them."""
    seeded = is_servegen(Path(path))
    return SeededTrace(path) if seeded else read_trace(path, tokens_per_image=tokens_per_image)


def read_trace(path: str | Path, *, tokens_per_image: int = 0, seed: int = 0) -> Trace:
    """Read a trace file in any known format, recognised by its column names; gzip is unpacked.

    ServeGen's folders, and the files of one of its clients, are known by the names of the files (`chunk-0-trace.csv`).

    Args:
        path: CSV, JSON lines or Parquet, or a folder of ServeGen.
        tokens_per_image: prompt tokens that an image counts for, where a format has images (Azure 2025).
        seed: of what is drawn, where a format holds distributions and not requests (ServeGen).

    Raises:
        InvalidTrace: the file cannot be read, no format fits its columns, or a value is wrong.
        InvalidWorkload: `tokens_per_image` or `seed` is out of range.
    """
    expect("path", path, (str, Path), "the path of a trace file")
    source = Path(path)
    azures = azure(whole("tokens_per_image", tokens_per_image, 0, 100_000))
    whole("seed", seed, 0)
    if is_servegen(source):
        return SeededTrace(source).draw(seed)
    formats = (HEADWAY, azures, VIDUR, MOONCAKE, BURSTGPT, BLIS)
    table = read_table(source)
    if is_header(table.columns):
        raise InvalidTrace(f"{source}: the header of a BLIS trace; expected the CSV beside it")
    trace = _format(source, table, formats).convert(str(source), table)
    return replace(trace, name=source.name)


def _format(source: Path, table: pl.DataFrame, formats: tuple[Format, ...]) -> Format:
    def distance(form: Format) -> int:
        return len(form.missing(table.columns)) + len(form.unknown(table.columns))

    nearest = min(formats, key=distance)
    if distance(nearest) == 0:
        return nearest
    faults = {"missing": nearest.missing(table.columns), "unknown": nearest.unknown(table.columns)}
    wrong = " and ".join(f"{fault} {_listed(columns)}" for fault, columns in faults.items() if columns)
    tried = "; ".join(f"{form.name} ({', '.join(form.required)})" for form in formats)
    raise InvalidTrace(
        f"{source}: no trace format fits its columns; nearest is {nearest.name}: {wrong}. Tried: {tried}"
    )


def _listed(columns: list[str]) -> str:
    shown = ", ".join(reprlib.repr(column) for column in columns[:5])
    return shown if len(columns) <= 5 else f"{shown} and {len(columns) - 5} more"
