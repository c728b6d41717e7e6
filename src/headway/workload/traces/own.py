"""Headway's own traces: the columns of `Trace` as CSV or Parquet, the optional ones where known."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import polars as pl

from headway.core.errors import InvalidInput
from headway.workload.columns import OPTIONAL, REQUIRED
from headway.workload.trace import Trace
from headway.workload.traces.format import Format

HEADWAY = Format("headway", required=tuple(REQUIRED), optional=tuple(OPTIONAL), convert=Trace.from_frame)


def _write_csv(frame: pl.DataFrame, content: io.BytesIO) -> None:
    """Lists become texts, with a space between two numbers."""
    frame.with_columns(pl.col(pl.List(pl.Int64)).cast(pl.List(pl.String)).list.join(" ")).write_csv(content)


_WRITERS = {".csv": _write_csv, ".parquet": pl.DataFrame.write_parquet}


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write the trace as CSV or Parquet, by the suffix of `path`; whole or not at all.

    Name and notes are not written. Reading it back gives the same frame.

    Raises:
        InvalidInput: the suffix is neither, or the path cannot be written.
    """
    target = Path(path)
    write = _WRITERS.get(target.suffix)
    if write is None:
        raise InvalidInput(f"cannot write {target}: its name must end in {' or '.join(_WRITERS)}")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    content = io.BytesIO()
    write(trace.frame, content)
    try:
        unfinished.write_bytes(content.getbuffer())
        unfinished.replace(target)
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
