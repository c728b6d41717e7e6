"""Specs: `name(key=value, …)` read as data, never evaluated.

A policy, a memory rule or a workload is named on the command line by such a text: `qba(k=3, gamma=0.9)`,
`fair-share(inner=qba(k=3))`, `qba-paper(rate=32)`. Python's own parser builds the tree; only names, numbers, strings,
true/false/none and nested specs are accepted in it.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from headway.core.errors import InvalidSpec, expect, nearest

T = TypeVar("T")

# A hyphen joins the words of a name (a minus stands before a digit); quoted texts are left alone.
_HYPHEN = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<=[A-Za-z0-9])-(?=[A-Za-z])""")
_WORDS = {"true": True, "false": False, "none": None, "inf": math.inf}
_LONGEST = 60  # digits of a number


@dataclass(frozen=True)
class Spec:
    """A name and its arguments; values are numbers, texts, booleans, None or nested specs."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        """Write the spec as it would be typed; `parse_spec(str(spec)) == spec`."""
        if not self.arguments:
            return self.name
        return f"{self.name}({', '.join(f'{key}={_written(value)}' for key, value in self.arguments.items())})"


def parse_spec(text: str) -> Spec:
    """Read `name` or `name(key=value, …)`.

    Raises:
        InvalidSpec: the text is not of this form; the message names the text and the form.
    """
    expect("spec", text, str, "a text: name or name(key=value, ...), for example qba(k=5, gamma=0.8)")
    try:
        tree = ast.parse(_HYPHEN.sub(lambda match: match[1] or "_", text.strip()), mode="eval").body
        return _spec(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        detail = f": {error}" if isinstance(error, InvalidSpec) else ""
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise InvalidSpec(
            f"cannot read the spec {shown!r}{detail}; expected name or name(key=value, ...), "
            "for example qba(k=5, gamma=0.8)"
        ) from None


def build(spec: Spec, known: dict[str, Callable[..., T]], kind: str) -> T:
    """Call the class that `known` has under the spec's name with the spec's arguments.

    Args:
        spec: what to build.
        known: constructors by spec name; their keyword parameters are the spec's options.
        kind: what is being built, for messages ("policy", "memory rule").

    Raises:
        InvalidSpec: unknown name or option (with the nearest known one), or the constructor refused a value.
    """
    constructor = known.get(spec.name)
    if constructor is None:
        raise InvalidSpec(f"unknown {kind} '{spec.name}'; {nearest(spec.name, known)}")
    return construct(constructor, spec, kind)


def construct(constructor: Callable[..., T], spec: Spec, kind: str) -> T:
    """Call `constructor` with the spec's arguments, turning a wrong option into one clear line."""
    options = parameters(constructor)
    for key in spec.arguments:
        if key not in options:
            raise InvalidSpec(
                f"{kind} '{spec.name}' has no parameter '{key}'; "
                + (nearest(key, options) if options else "it takes none")
            )
    missing = [key for key, option in options.items() if option.default is option.empty and key not in spec.arguments]
    if missing:
        raise InvalidSpec(f"{kind} '{spec.name}' needs {missing[0]}=..., as in {spec.name}({missing[0]}=...)")
    try:
        return constructor(**spec.arguments)
    except InvalidSpec as error:
        raise InvalidSpec(f"{kind} '{spec.name}': {error}") from None


def parameters(constructor: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the named parameters of a constructor, in order."""
    signature = inspect.signature(constructor)
    return {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def number(
    name: str, value: object, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """Return `value` as a float when it is a number within the bounds.

    Raises:
        InvalidSpec: it is not; the message names the parameter, the value and the bounds.
    """
    bounds = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidSpec(f"{name} must be a number in {bounds}, got {_written(value)}")
    below = value <= low if open_low else value < low
    above = value >= high if open_high else value > high
    if below or above:
        raise InvalidSpec(f"{name} must be in {bounds}, got {value:g}")
    return float(value)


def _plain(value: object) -> object:
    """Return a number of an array as one of Python's."""
    return value.item() if isinstance(value, np.number) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int when it is a whole number within the bounds.

    Raises:
        InvalidSpec: it is not; the message names the parameter, the value and the bounds.
    """
    bounds = f">= {low}" if high is None else f"in [{low}, {high}]"
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value != int(value):
        raise InvalidSpec(f"{name} must be a whole number {bounds}, got {_written(value)}")
    if value < low or (high is not None and value > high):
        raise InvalidSpec(f"{name} must be {bounds}, got {value:g}")
    return int(value)


def choice(name: str, value: object, known: tuple[str, ...]) -> str:
    """Return `value` when it is one of the known words.

    Raises:
        InvalidSpec: it is not; the message names the nearest known word.
    """
    if not isinstance(value, str) or value not in known:
        raise InvalidSpec(f"{name}: unknown value {_written(value)}; {nearest(str(value), known)}")
    return value


def _spec(tree: ast.expr) -> Spec:
    if isinstance(tree, ast.Name):
        return Spec(_name(tree.id))
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise InvalidSpec("not a name with arguments")
    if tree.args:
        raise InvalidSpec("arguments need names, as in key=value")
    arguments: dict[str, Any] = {}
    for argument in tree.keywords:
        if argument.arg is None or argument.arg in arguments:
            raise InvalidSpec("each argument needs a name of its own")
        arguments[argument.arg] = _value(argument.value)
    return Spec(_name(tree.func.id), arguments)


def _value(tree: ast.expr) -> Any:
    if isinstance(tree, ast.Name):
        return _WORDS[tree.id] if tree.id in _WORDS else _name(tree.id)
    if isinstance(tree, ast.Constant) and (tree.value is None or isinstance(tree.value, int | float | str)):
        if isinstance(tree.value, int) and abs(tree.value) >= 10**_LONGEST:
            raise InvalidSpec(f"a number has at most {_LONGEST} digits")
        return tree.value
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        value = _value(tree.operand)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(tree, ast.Call):
        return _spec(tree)
    raise InvalidSpec("a value is a number, a word, a quoted text or another spec")


def _name(identifier: str) -> str:
    return identifier.replace("_", "-")


def _written(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, Spec) and not value.arguments:
        return f"{value.name}()"  # the bare name would be a text
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, str):
        plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*", value)
        return value if plain and value not in _WORDS and not keyword.iskeyword(value) else repr(value)
    return str(value)
