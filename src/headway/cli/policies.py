"""`headway policies`: what there is to choose from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption
from headway.cli.paths import json_output
from headway.cli.tables import plain_table
from headway.core.spec import parameters
from headway.policies.eviction import EVICTION_RULES
from headway.policies.memory import MEMORY_RULES
from headway.policies.order import ORDERS
from headway.policies.shedding import SHEDDING_RULES

KINDS: dict[str, Mapping[str, Callable[..., object]]] = {
    "order": ORDERS,
    "memory": MEMORY_RULES,
    "shedding": SHEDDING_RULES,
    "eviction": EVICTION_RULES,
}


def policies(json: JsonOption = None) -> None:
    """List orders, memory, shedding and eviction rules, a line each.

    Example: headway policies
    """
    target = json_output(json)
    rows = [
        {"kind": kind, "name": name, "question": question_of(make), "spec": spec_of(name, make)}
        for kind, known in KINDS.items()
        for name, make in known.items()
    ]
    if target is not None:
        write_json({"policies": rows}, target)
        return
    out.print(
        plain_table(
            ("kind", "name", "question"), [(row["kind"], row["name"], row["question"]) for row in rows], wrap=(2,)
        )
    )
    out.print("Options: headway policies --json -", style="dim")


def spec_of(name: str, make: Callable[..., object]) -> str:
    """Return the spec with every option at its default."""
    options = [f"{key}={_text(option.default)}" for key, option in parameters(make).items()]
    return f"{name}({', '.join(options)})" if options else name


def question_of(make: Callable[..., object]) -> str:
    """Return the question that a rule answers: the start of its docstring."""
    return (inspect.getdoc(make) or "").split("?")[0] + "?"


def _text(value: object) -> str:
    return "none" if value is None else str(value)
