"""What decides a cell's figures, as one short text: equal keys, equal figures.

Names that only reports show (of a trace, of an engine) are no part of a key; the content of a trace is. So a file may
be moved and renamed, and a changed row of it is noticed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import polars as pl

from headway.core.cost import CostModel
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.spec import Spec, parse_spec
from headway.policies.policy import Policy
from headway.studies.cells import Cell
from headway.studies.own_code import source_file
from headway.studies.source import Source
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

FIGURES = ("core", "policies", "workload", "simulate", "measure")
"""The packages whose code decides figures."""

_SHOWN_ONLY = {EngineProfile: {"name", "source", "memory"}, TenantsFile: {"name"}}
"""Fields that decide no figure; the engine's memory rule is part of the policy's key, which may have its own."""


class Keys:
    """Makes keys, and looks at what many cells share once."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, ...], str] = {}
        self._kept: list[object] = []  # what `_texts` knows by its address must not be freed

    def of(self, cell: Cell) -> str:
        """Return the key of a cell, 40 hexadecimal digits.

        Raises:
            InvalidInput: a trace's file is gone, or something cannot be told apart from others of its kind.
        """
        parts = [
            code(),
            self._text(_origin, cell.source.origin),
            self._text(_changes, cell.source),
            self._text(_policy, cell.policy, cell.engine),
            self._text(plain, cell.engine),
            _written([plain(getattr(cell, name)) for name in _RUN]),
        ]
        return hashlib.sha256(_written(parts).encode()).hexdigest()[:40]

    def _text(self, make: Callable[..., Any], *parts: object) -> str:
        known = tuple(map(id, parts))
        if known not in self._texts:
            self._texts[known] = _written(make(*parts))
            self._kept += parts
        return self._texts[known]


_RUN = [field.name for field in fields(Cell) if field.name not in ("source", "policy", "engine")]


@cache
def code() -> str:
    """Return the version of Headway; while it is in development, with a digest of the code that decides figures."""
    number = version("headway")
    if ".dev" not in number:
        return number
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for file in sorted(file for package in FIGURES for file in (root / package).rglob("*.py")):
        digest.update(file.read_bytes())
    return f"{number}+{digest.hexdigest()[:12]}"


def plain(value: Any) -> Any:
    """Return a value as JSON data, two of them equal where and only where the values are.

    Raises:
        InvalidInput: it is of a kind that has no such form.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Spec):
        left_out = _SHOWN_ONLY.get(type(value), set[str]())
        names = [field.name for field in fields(value) if field.name not in left_out]
        return [_kind(value), *([name, plain(getattr(value, name))] for name in names)]
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    raise InvalidInput(f"{value!r} cannot be part of a sweep: nothing tells it from others of its kind")


def content(trace: Trace) -> str:
    """Return a digest of a trace's rows; whatever its file is called and in whatever format it is."""
    digest = hashlib.sha256()
    for name in sorted(trace.frame.columns):
        digest.update(f"{name} {trace.frame.schema[name]} {len(trace)}\n".encode())
        for part in _parts(trace.frame[name]):
            digest.update(part)
    return digest.hexdigest()


def _parts(column: pl.Series) -> list[bytes]:
    """Return the values of a column as bytes, the missing ones marked."""
    missing = column.is_null().to_numpy().tobytes()
    if isinstance(column.dtype, pl.List):
        return [missing, column.list.len().fill_null(0).to_numpy().tobytes(), *_parts(column.drop_nulls().explode())]
    if column.dtype == pl.String:
        texts = column.fill_null("")
        return [missing, texts.str.len_bytes().to_numpy().tobytes(), "".join(texts.to_list()).encode()]
    return [missing, column.fill_null(0).to_numpy().tobytes()]


def _changes(source: Source) -> Any:
    """Return what is done to the requests of a source's origin."""
    return [[field.name, plain(getattr(source, field.name))] for field in fields(Source) if field.name != "origin"]


def _origin(origin: Trace | SeededTrace | TenantsFile | str) -> Any:
    match origin:
        case str():
            return ["workload", str(_sorted(parse_spec(origin)))]
        case Trace():
            return ["trace", content(origin)]
        case SeededTrace():
            return ["seeded trace", *_files(Path(origin.path))]
        case TenantsFile():
            return ["tenants", plain(origin)]


def _files(path: Path) -> list[list[str]]:
    """Return the names of the files that a seeded trace is drawn from, each with a digest."""
    if path.is_dir():
        files, of = sorted(path.glob("chunk-*")), ""
    else:
        of = path.name.rpartition("-")[0]
        files = sorted(path.parent.glob(f"{of}-*"))
    try:
        return [[of], *([file.name, hashlib.sha256(file.read_bytes()).hexdigest()] for file in files)]
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror or error}") from None


def _policy(policy: Policy, engine: EngineProfile) -> Any:
    return [
        _order(policy),
        *(str(_sorted(spec)) for spec in (policy.memory_on(engine), policy.shedding, policy.eviction)),
        plain(policy.shares),
    ]


def _order(policy: Policy) -> list[str]:
    """Return the order's spec; with a digest of its file where it is the user's own."""
    if isinstance(policy.order, type):
        return [policy.order.__qualname__, _code_of(policy.order.__module__)]
    module, colon, name = policy.order_spec.partition(":")
    if not colon:
        return [str(_sorted(parse_spec(policy.order_spec)))]
    name, bracket, arguments = name.partition("(")
    return [module, name, str(_sorted(parse_spec(f"own{bracket}{arguments}"))), _code_of(module)]


def _code_of(module: str) -> str:
    file = source_file(module)
    return module if file is None else hashlib.sha256(file.read_bytes()).hexdigest()


def _sorted(spec: Spec) -> Spec:
    """Return a spec with its arguments in order of their names."""
    return Spec(
        spec.name,
        {key: _sorted(value) if isinstance(value, Spec) else value for key, value in sorted(spec.arguments.items())},
    )


def _number(value: float) -> Any:
    if not math.isfinite(value):
        return ["number", str(value)]
    return int(value) if value.is_integer() else value


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str | bool | int | None, lambda value: value),
    (float, _number),
    (Fraction, lambda value: ["fraction", value.numerator, value.denominator]),
    (bytes, lambda value: ["bytes", value.hex()]),
    (Spec, lambda value: ["spec", str(_sorted(value))]),
    (Mapping, lambda value: ["mapping", sorted([str(key), plain(item)] for key, item in value.items())]),
    (Sequence, lambda value: ["list", *map(plain, value)]),
    (FunctionType, lambda value: ["function", value.__module__, value.__qualname__, _code_of(value.__module__)]),
    (partial, lambda value: ["partial", *map(plain, (value.func, value.args, value.keywords))]),
    (CostModel, lambda value: [_kind(value), _code_of(type(value).__module__), plain(vars(value))]),
)
"""How the values of each kind are written; the first kind that fits."""
