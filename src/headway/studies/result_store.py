"""Where the rows of a sweep lie: in a folder, each on the disk as soon as its cell is finished.

```
results.parquet   a row a cell: key, settings, figures
parts/            what has been finished since that was written; each file is named by the digest of its content
.lock             held by the one process that may write
```

Every file is written whole and put into its place by a rename, so that an end at any moment leaves whole files only.
Parts are folded into the results now and then, and at the end; a row that is in both is the same row.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from headway.core.errors import InvalidInput
from headway.files import write_whole
from headway.studies.cells import Row
from headway.studies.grid import COLUMNS, Planned, Settings

RESULTS, PARTS, LOCK, DAMAGED = "results.parquet", "parts", ".lock", ".damaged"

HEAD: dict[str, type[pl.DataType]] = {"key": pl.String, "current": pl.Boolean, "headway": pl.String, **COLUMNS}
"""Columns of the results before the figures. `current` says that the row is of the sweep that was run last."""

PART_SCHEMA: dict[str, pl.DataType] = {
    "key": pl.String(),
    "settings": pl.String(),  # JSON
    "names": pl.List(pl.String),
    "values": pl.List(pl.Float64),
}

_Kept = tuple[str, Settings, Mapping[str, float]]
"""A key, the settings and the figures that the cell has."""

FOLD = 256
"""Parts after which they are folded into the results."""


@dataclass
class ResultStore:
    """The rows in a folder; made by `open_store`.

    Attributes:
        folder: where they lie.
        known: keys of the cells whose rows are there.
        warnings: what was wrong in the folder, a sentence each.
    """

    folder: Path
    known: set[str] = field(default_factory=set[str])
    warnings: list[str] = field(default_factory=list[str])
    _fresh: list[_Kept] = field(default_factory=list[_Kept])
    _parts: list[Path] = field(default_factory=list[Path])

    def add(self, planned: Planned, row: Row) -> None:
        """Put the row of a finished cell on the disk.

        Raises:
            InvalidInput: it cannot be written.
        """
        known = {name: value for name, value in row.items() if value is not None}
        settings, names, values = json.dumps(dict(planned.settings)), list(known), list(known.values())
        part = pl.DataFrame(
            {"key": [planned.key], "settings": [settings], "names": [names], "values": [values]}, schema=PART_SCHEMA
        )
        content = _parquet(part)
        path = self.folder / PARTS / f"{_digest(content)}.parquet"
        self._write(path, content)
        self.known.add(planned.key)
        self._parts.append(path)
        self._fresh.append((planned.key, planned.settings, known))
        if len(self._fresh) >= FOLD:
            self.fold()

    def fold(self, cells: Sequence[Planned] = ()) -> pl.DataFrame:
        """Bring everything into one file; return the rows of the given cells that are there, in their order.

        Args:
            cells: of the sweep that is run: their rows come first, with the settings as they are called now.

        Raises:
            InvalidInput: it cannot be written.
        """
        frame = _joined([self._read_results(), _frame(self._fresh)])
        if cells:
            frame = _current(frame, cells)
        if frame.height:
            self._write(self.folder / RESULTS, _parquet(frame))
        for part in self._parts:  # not all that are there: of one that Ctrl-C came upon nothing is known
            part.unlink(missing_ok=True)
        self._parts.clear()
        self._fresh.clear()
        found = frame.filter("current") if cells else frame.clear()
        figures = [name for name in found.columns if name in HEAD or found[name].null_count() < found.height]
        return found.select(figures).drop("current")

    def load(self) -> None:
        """Find out which rows are there; what is damaged is set aside."""
        for rest in (*self.folder.glob(".*.part"), *(self.folder / PARTS).glob(".*.part")):
            rest.unlink(missing_ok=True)  # of a process that was killed while it wrote
        self.known = set(self._read_results()["key"])
        for part in sorted((self.folder / PARTS).glob("*.parquet")):
            self._fresh += (kept := self._read_part(part))
            self._parts += [part] if kept else []
        self.known |= {key for key, _, _ in self._fresh}

    def _read_results(self) -> pl.DataFrame:
        path = self.folder / RESULTS
        if not path.exists():
            return pl.DataFrame(schema=HEAD)
        frame = _read(path.read_bytes())
        if frame is None:
            self._set_aside(path)
            return pl.DataFrame(schema=HEAD)
        if "key" not in frame.columns or any(
            HEAD.get(name, pl.Float64) != dtype for name, dtype in frame.schema.items()
        ):
            raise InvalidInput(f"{path}: not the results of a sweep; choose another folder")
        return frame

    def _read_part(self, path: Path) -> list[_Kept]:
        content = path.read_bytes()
        frame = _read(content) if path.stem == _digest(content) else None
        if frame is None or frame.schema != PART_SCHEMA:
            self._set_aside(path)
            return []
        return [
            (key, json.loads(settings), dict(zip(names, values, strict=True)))
            for key, settings, names, values in frame.iter_rows()
        ]

    def _set_aside(self, path: Path) -> None:
        aside = path.with_name(path.name + DAMAGED)
        path.replace(aside)
        self.warnings.append(f"{path} is damaged: it is now called {aside.name}, and its cells are run again")

    def _write(self, path: Path, content: bytes) -> None:
        try:
            write_whole(path, content)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def open_store(folder: Path) -> Iterator[ResultStore]:
    """Open the folder of a sweep for writing, made if it is not there; nobody else can while the block runs.

    Raises:
        InvalidInput: it cannot be written, another process has it open, or it holds results of something else.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - it takes time that other commands need not pay

    try:
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        with FileLock(folder / LOCK, timeout=0):
            store = ResultStore(folder)
            store.load()
            yield store
    except Timeout:
        raise InvalidInput(f"{folder}: another sweep writes there; wait for it, or choose another folder") from None


def finished_keys(folder: Path) -> set[str]:
    """Return the keys of the rows in a folder, and change nothing in it; none where there is no such folder."""
    keys: set[str] = set()
    for path in (folder / RESULTS, *(folder / PARTS).glob("*.parquet")):
        frame = _read(path.read_bytes()) if path.exists() else None
        if frame is not None and "key" in frame.columns:
            keys |= set(frame["key"])
    return keys


def _current(frame: pl.DataFrame, cells: Sequence[Planned]) -> pl.DataFrame:
    """Return the rows of these cells in order, with their settings as they are called now; then all others."""
    names = [name for name in frame.columns if name not in HEAD]
    asked = _head([cell.key for cell in cells], [cell.settings for cell in cells])
    now = asked.join(frame.select("key", "headway", *names), on="key", how="inner", maintain_order="left")
    others = frame.join(asked.select("key"), on="key", how="anti").sort("key")
    return pl.concat(
        [
            now.with_columns(pl.lit(value=True).alias("current")).select(*HEAD, *names),
            others.with_columns(pl.lit(value=False).alias("current")).select(*HEAD, *names),
        ]
    )


def _frame(rows: Sequence[_Kept]) -> pl.DataFrame:
    """Return rows as a frame with the columns of the results."""
    figures = sorted({name for _, _, row in rows for name in row})
    head = _head([key for key, _, _ in rows], [settings for _, settings, _ in rows])
    values = [pl.Series(name, [row.get(name) for _, _, row in rows], dtype=pl.Float64) for name in figures]
    of_now = (pl.lit(value=False).alias("current"), pl.lit(version("headway")).alias("headway"))
    return head.with_columns(*values, *of_now)


def _head(keys: Sequence[str], settings: Sequence[Settings]) -> pl.DataFrame:
    columns = {name: pl.Series([one[name] for one in settings], dtype=dtype) for name, dtype in COLUMNS.items()}
    return pl.DataFrame({"key": pl.Series(keys, dtype=pl.String), **columns})


def _joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return all rows, a key once, with the figures in order of their names."""
    frame = pl.concat(frames, how="diagonal").unique("key", keep="first", maintain_order=True)
    return frame.select(*HEAD, *sorted(name for name in frame.columns if name not in HEAD))


def _read(content: bytes) -> pl.DataFrame | None:
    """Return what is in a Parquet file; None where it is damaged."""
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (PolarsError, PanicException, OSError, ValueError):  # polars panics on some broken files
        return None


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
