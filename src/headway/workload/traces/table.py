"""From a file to a table: CSV, JSON lines or Parquet, plain or gzip, told apart by content and not by name.

CSV columns stay text: what a value means is judged later, where it can be named. Nothing is dropped silently
but blank lines.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import zlib
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from headway.core.errors import InvalidTrace
from headway.workload.files import read_bytes

_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_BLANK = b" \t\r\n"


def read_table(path: Path) -> pl.DataFrame:
    """Read the file as it is; blank lines are left out.

    Raises:
        InvalidTrace: the file cannot be read, is empty, is neither text nor Parquet, or its rows are broken.
    """
    data = content(path)
    if data.startswith(_PARQUET):
        return _parquet(path, data)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip(_BLANK):
        raise InvalidTrace(f"{path}: the file is empty; expected a trace in CSV, JSON lines or Parquet")
    if not _is_text(data):
        raise InvalidTrace(
            f"{path}: neither UTF-8 text nor Parquet nor gzip; expected a trace in CSV, JSON lines or Parquet"
        )
    first = data.lstrip(_BLANK)[:1]
    if first == b"[":
        raise InvalidTrace(f"{path}: a JSON array; expected CSV, Parquet or JSON lines (one object a line)")
    return _json_lines(path, data) if first == b"{" else _csv(path, data)


def content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if it is gzip.

    Raises:
        InvalidTrace: it cannot be read, or is a broken gzip file.
    """
    try:
        data = read_bytes(path)
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidTrace(f"{path}: broken gzip file: {_line(error)}") from None
    except OSError as error:
        raise InvalidTrace(f"cannot read {path}: {error.strerror or error}") from None


def _is_text(data: bytes) -> bool:
    """Whether it holds no zero bytes and starts as UTF-8; the parser checks the rest."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:65536])
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _parquet(path: Path, data: bytes) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(data))
    except (PolarsError, PanicException, OSError, ValueError) as error:  # polars panics on some broken files
        raise InvalidTrace(f"{path}: broken Parquet file: {_line(error)}") from None


def _csv(path: Path, data: bytes) -> pl.DataFrame:
    try:
        frame = pl.read_csv(io.BytesIO(data), infer_schema=False, truncate_ragged_lines=False)
    except PolarsError as error:
        _refuse_ragged(path, data)
        raise InvalidTrace(f"{path}: cannot be read as CSV: {_line(error)}") from None
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    if frame[:, -1].null_count():  # an empty cell, or a row that is too short: polars fills it up silently
        _refuse_ragged(path, data)
    names = [name.strip() for name in frame.columns]
    if len(set(names)) < len(names):
        raise InvalidTrace(f"{path}: a column is there twice: {', '.join(names)}")
    frame.columns = names
    return frame


def _refuse_ragged(path: Path, data: bytes) -> None:
    """Name the first row whose number of fields is not that of the header."""
    rows = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    try:
        filled = (fields for fields in rows if any(fields))
        width = len(next(filled))
        for row, fields in enumerate(filled, start=1):
            if len(fields) != width:
                raise InvalidTrace(f"{path}: row {row} has {len(fields)} fields, expected {width} as in the header")
    except csv.Error:
        return  # not CSV for Python either: what polars said stands


def _json_lines(path: Path, data: bytes) -> pl.DataFrame:
    try:
        return pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except PolarsError as error:
        _refuse_json(path, data)
        raise InvalidTrace(f"{path}: cannot be read as JSON lines: {_line(error)}") from None


def _refuse_json(path: Path, data: bytes) -> None:
    """Name the first line that is no object of plain numbers (lists are skipped: hashes)."""
    lines = (line for line in data.decode("utf-8", "replace").splitlines() if line.strip())
    for row, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise InvalidTrace(f"{path}: row {row} is not a JSON object: {line[:40]!r}")
        for key, value in record.items():
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number and key != "hash_ids":
                raise InvalidTrace(
                    f"{path}: column '{key}', row {row}: found {json.dumps(value)[:40]}, expected a number"
                )


def _line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
