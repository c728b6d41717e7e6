"""Journals as a file: one Parquet table for all runs of a comparison."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from headway.core.errors import InvalidInput
from headway.core.journal import BARRIERS, EVENTS, MEMORY, NOBODY
from headway.measure.journal import NOTE_SCHEMAS, Rules, RunJournal

FILE_SCHEMA: dict[str, type[pl.DataType]] = {
    "policy": pl.String,
    "seed": pl.Int64,
    "kind": pl.String,
    "time": pl.Float64,
    "what": pl.String,
    "request": pl.Int64,
    "tokens": pl.Int64,
    "id": pl.String,
    "tenant": pl.String,
    "start": pl.Float64,
    "finish": pl.Float64,
    "reason": pl.String,
}
"""Columns of a journal file, in order. `kind` is run, request, or one of `NOTE_SCHEMAS`."""

_PARQUET = b"PAR1"
_WORDS = {"barrier": BARRIERS, "event": EVENTS}
_MAKE_ONE = "make one with headway compare ... --journal FILE"


def journal_frame(journal: RunJournal) -> pl.DataFrame:
    """Return a run as rows of a journal file (`FILE_SCHEMA`)."""
    head = pl.DataFrame({"kind": ["run"], "what": [json.dumps(asdict(journal.rules))]})
    requests = journal.requests.select(
        pl.lit("request").alias("kind"),
        pl.col("arrival").alias("time"),
        pl.col("outcome").alias("what"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("request"),
        pl.col("prompt_tokens").alias("tokens"),
        "id",
        "tenant",
        "start",
        "finish",
        "reason",
    )
    notes = [table.with_columns(_worded(kind), pl.lit(kind).alias("kind")) for kind, table in journal.notes.items()]
    run = (pl.lit(journal.policy).alias("policy"), pl.lit(journal.seed, dtype=pl.Int64).alias("seed"))
    return pl.concat([head, requests, *notes], how="diagonal").with_columns(*run).select(*FILE_SCHEMA)


def journal_file(frames: Iterable[pl.DataFrame]) -> bytes:
    """Return the content of a journal file that holds these runs (`journal_frame`)."""
    buffer = io.BytesIO()
    pl.concat(frames).write_parquet(buffer)
    return buffer.getvalue()


def read_journals(path: Path | str) -> list[RunJournal]:
    """Read a journal file: a journal a run, in the order in which they were written.

    Raises:
        InvalidInput: it cannot be read, is no journal file, or is damaged.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from None
    if not content.startswith(_PARQUET):
        what = "was written without a journal" if content.lstrip().startswith(b"{") else "is no journal"
        raise InvalidInput(f"{path}: {what}; {_MAKE_ONE}")
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except (PolarsError, PanicException, OSError, ValueError):  # polars panics on some broken files
        raise _damaged(path) from None
    if dict(frame.schema) != FILE_SCHEMA:
        raise InvalidInput(f"{path}: is a table without a journal; {_MAKE_ONE}")
    journals: list[RunJournal] = []
    for run in frame.partition_by("policy", "seed", maintain_order=True):
        try:
            journals.append(_run(run))
        except (PolarsError, ValueError, TypeError):
            raise _damaged(path) from None
    if not journals:
        raise _damaged(path)
    return journals


def _run(frame: pl.DataFrame) -> RunJournal:
    """Return one run of a file; ValueError, TypeError or PolarsError if something in it cannot be."""
    rules = Rules(**json.loads(frame.filter(pl.col("kind") == "run")["what"].item()))
    requests = frame.filter(pl.col("kind") == "request").select(
        "id",
        "tenant",
        pl.col("time").alias("arrival"),
        "start",
        "finish",
        pl.col("tokens").alias("prompt_tokens"),
        pl.col("what").alias("outcome"),
        "reason",
    )
    notes = {
        kind: frame.filter(pl.col("kind") == kind).with_columns(_coded(kind)).select(*schema).cast(pl.Schema(schema))
        for kind, schema in NOTE_SCHEMAS.items()
    }
    journal = RunJournal(frame["policy"][0], frame["seed"][0], rules, requests, notes)
    _check(journal)
    return journal


def _check(journal: RunJournal) -> None:
    """Raise ValueError unless every value is there and every note is about a request."""
    rules, requests = journal.rules, journal.requests
    ended_at = pl.col("finish").fill_null(math.inf)  # of an interrupted run some may not even have been sent
    sound = [
        isinstance(journal.policy, str) and isinstance(journal.seed, int),
        all(type(getattr(rules, field.name)).__name__ == field.type for field in fields(Rules)),
        not any(requests[name].has_nulls() for name in ("id", "tenant", "arrival", "prompt_tokens")),
        requests.filter(
            pl.col("outcome").is_not_null() & ~(ended_at.is_finite() & pl.col("arrival").is_finite())
        ).is_empty(),
    ]
    for notes in journal.notes.values():
        about = notes["request"]
        sound += [
            not any(column.has_nulls() for column in notes),
            notes["time"].is_sorted(),
            about.is_empty() or about.is_between(NOBODY, requests.height - 1).all(),
        ]
    refused = journal.notes["barrier"].filter(pl.col("what") == MEMORY)
    sound.append((refused["request"] != NOBODY).all())
    if not all(sound):
        raise ValueError("a value is missing or out of range")


def _worded(kind: str) -> pl.Expr:
    """What codes mean."""
    words = _WORDS.get(kind)
    if words is None:
        return pl.lit(None, dtype=pl.String).alias("what")
    return pl.col("what").replace_strict(dict(enumerate(words)), return_dtype=pl.String)


def _coded(kind: str) -> pl.Expr:
    """Codes of words; an unknown word is an error."""
    codes = {word: code for code, word in enumerate(_WORDS.get(kind, ()))}
    return pl.col("what").replace_strict(codes, return_dtype=pl.Int8) if codes else pl.col("what")


def _damaged(path: Path | str) -> InvalidInput:
    return InvalidInput(f"{path}: the journal is damaged; make it again with headway compare ... --journal FILE")
