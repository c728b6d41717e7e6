"""The columns that a trace can have, and what each may hold.

This is the one place that judges values, wherever they come from: text of a CSV file, typed Parquet, JSON or
a generator. A refused value is named by trace, column and data row (1 is the first row after the header).
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import polars as pl

from headway.core.errors import InvalidTrace

SHORT, LONG = "short", "long"
MOST = 1_000_000_000  # tokens: no request has more, and every sum over a trace stays within 64 bits
LATEST = 10_000_000_000  # seconds: 300 years; beyond, it is another unit, and floats lose the microseconds


@dataclass(frozen=True)
class Column:
    """One column under inspection.

    Attributes:
        trace: name of the trace or file, for messages.
        label: the column's name where it came from, for messages.
        values: what it holds, before any conversion.
    """

    trace: str
    label: str
    values: pl.Series

    def tokens(self, least: int = 0) -> pl.Series:
        """Return whole token counts (Int64) in [`least`, 1e9], none missing."""
        return self._whole(least, f"a whole number of tokens from {least} to {MOST:,}")

    def count(self) -> pl.Series:
        """Return whole counts (Int64) of at least 0, none missing."""
        return self._whole(0, f"a whole number from 0 to {MOST:,}")

    def priority(self) -> pl.Series:
        """Return whole priorities (Int64); a missing one stays missing."""
        return self._whole(-MOST, f"a whole number from -{MOST:,} to {MOST:,}", missing=True)

    def time(self, unit: str = "seconds", latest: int = LATEST) -> pl.Series:
        """Return points in time (Float64) in [0, `latest`], none missing."""
        numbers = self._numbers()
        good = numbers.is_between(0, latest).fill_null(value=False)
        self.refuse(~good, f"a number of {unit} from 0 to {latest:,}")
        return numbers

    def duration(self) -> pl.Series:
        """Return durations in seconds (Float64): finite, above 0; a missing one stays missing."""
        return self._positive("a number of seconds above 0")

    def weight(self) -> pl.Series:
        """Return weights (Float64): finite, above 0; a missing one stays missing."""
        return self._positive("a number above 0")

    def _positive(self, expected: str) -> pl.Series:
        numbers = self._numbers()
        good = (numbers.is_finite() & (numbers > 0)).fill_null(value=False)
        self.refuse(~good & self.values.is_not_null(), expected)
        return numbers

    def text(self) -> pl.Series:
        """Return texts (String); whole numbers become texts, a missing one stays missing."""
        dtype = self.values.dtype
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            self._refuse_type("texts")
        return self.values.cast(pl.String)

    def ids(self) -> pl.Series:
        """Return identifiers, each once: Int64 when all are plain whole numbers, String otherwise."""
        ids = self.values if self.values.dtype.is_integer() else self.text()
        self.refuse(ids.is_null(), "an id")
        if ids.n_unique() < len(ids):
            self.refuse(~ids.is_first_distinct(), "an id that no earlier row has")
        numbers = ids.cast(pl.Int64, strict=False)
        plain = numbers.null_count() == 0 and (numbers.cast(ids.dtype) == ids).all()  # "007" is a text
        return numbers if plain else ids.cast(pl.String)

    def classes(self) -> pl.Series:
        """Return class labels, "short" or "long" (String); a missing one stays missing."""
        texts = self.text()
        self.refuse(~texts.is_in([SHORT, LONG]) & texts.is_not_null(), f"{SHORT} or {LONG}")
        return texts

    def predicted(self) -> pl.Series:
        """Return class labels (String) or predicted numbers of tokens (Int64 or Float64, at least 0)."""
        if self.values.dtype in (pl.String, pl.Null) and (
            self.values.is_in([SHORT, LONG]).any() or self._all_missing()
        ):
            return self.classes()
        numbers = self._numbers()
        good = (numbers.is_finite() & (numbers >= 0)).fill_null(value=False)
        self.refuse(~good & self.values.is_not_null(), f"{SHORT} or {LONG} in all rows, or a number of tokens in all")
        whole = self.values.cast(pl.Int64, strict=False)
        fractions = self.values.dtype.is_float() or whole.null_count() > self.values.null_count()
        return numbers if fractions else whole

    def block_tokens(self) -> pl.Series:
        """Return tokens of a block (Int64), at least 1; a missing one stays missing."""
        return self._whole(1, f"a whole number of tokens from 1 to {MOST:,}", missing=True)

    def hashes(self) -> pl.Series:
        """Return hashes of blocks (List of Int64), which may come as text with spaces between; none is missing."""
        values = self.values
        if values.dtype == pl.String:
            texts = values.str.strip_chars()
            values = texts.set(texts == "", None).str.replace_all(r"\s+", " ").str.split(" ")
        elif values.dtype != pl.Null:
            inner = values.dtype.inner if isinstance(values.dtype, pl.List) else None
            if inner is None or not (inner.is_integer() or inner == pl.Null):
                self._refuse_type("lists of whole numbers")
        hashes = values.cast(pl.List(pl.Int64), strict=False)
        wrong = hashes.list.eval(pl.element().is_null()).list.any()
        self.refuse(wrong.fill_null(value=False), "whole numbers of 64 bits, as a list or with spaces between")
        return hashes.set(hashes.list.len() == 0, None)

    def refuse(self, bad: pl.Series, expected: str) -> None:
        """Raise InvalidTrace for the first row where `bad` (Boolean) is true."""
        if bad.any():
            row = int(bad.arg_true()[0])
            value = self.values[row]
            value = value.to_list() if isinstance(value, pl.Series) else value
            found = "nothing" if value is None else reprlib.repr(value)
            where = f"{self.trace}: column '{self.label}', row {row + 1}"
            raise InvalidTrace(f"{where}: found {found}, expected {expected}")

    def _whole(self, least: int, expected: str, *, missing: bool = False) -> pl.Series:
        if self.values.dtype == pl.String:  # digits and nothing else but the ".0" of tables that hold floats
            numbers = self.values.str.strip_chars().str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
        else:
            numbers = self._numbers()
        good = (numbers.is_between(least, MOST) & (numbers == numbers.floor())).fill_null(value=False)
        self.refuse(~good & self.values.is_not_null() if missing else ~good, expected)
        return numbers.cast(pl.Int64)  # exact: within 2**53

    def _numbers(self) -> pl.Series:
        dtype = self.values.dtype
        if dtype == pl.String:
            return self.values.str.strip_chars().cast(pl.Float64, strict=False)
        if not (dtype.is_numeric() or dtype == pl.Null):
            self._refuse_type("numbers")
        return self.values.cast(pl.Float64)

    def _all_missing(self) -> bool:
        return self.values.null_count() == len(self.values)

    def _refuse_type(self, expected: str) -> NoReturn:
        raise InvalidTrace(f"{self.trace}: column '{self.label}' holds {self.values.dtype}, expected {expected}")


REQUIRED: dict[str, Callable[[Column], pl.Series]] = {
    "arrival": Column.time,
    "prompt_tokens": lambda column: column.tokens(least=1),
    "output_tokens": Column.tokens,
}
OPTIONAL: dict[str, Callable[[Column], pl.Series]] = {
    "id": Column.ids,
    "tenant": Column.text,
    "class": Column.text,
    "predicted": Column.predicted,
    "true_class": Column.classes,
    "ttft_slo": Column.duration,
    "itl_slo": Column.duration,
    "completion_slo": Column.duration,
    "priority": Column.priority,
    "weight": Column.weight,
    "blocks": Column.hashes,
    "block_tokens": Column.block_tokens,
}
