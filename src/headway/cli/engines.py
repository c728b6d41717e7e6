"""`headway engines`: the presets."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption
from headway.cli.paths import json_output
from headway.cli.tables import plain_table
from headway.core.engine import PRESETS, EngineProfile


def engines(json: JsonOption = None) -> None:
    """List engine presets, a line each; --json adds every figure and where it comes from.

    Example: headway engines
    """
    target = json_output(json)
    if target is not None:
        write_json({"engines": [_plain(engine) for engine in PRESETS.values()]}, target)
        return
    heads = ("engine", "positions", "sequences", "KV tokens", "what")
    rows = [
        (e.name, f"{e.token_budget:,}", f"{e.max_sequences:,}", f"{e.kv_tokens:,}", re.split(r"[;.] ", e.source)[0])
        for e in PRESETS.values()
    ]
    out.print(plain_table(heads, rows, right=(1, 2, 3), wrap=(4,)))
    out.print("Sources, memory rules and modes: headway engines --json -", style="dim")


def _plain(engine: EngineProfile) -> dict[str, Any]:
    """Return every attribute of an engine as plain data; its cost model is named by `kind`."""
    plain = dataclasses.asdict(engine)
    plain["cost"] = {"kind": type(engine.cost).__name__.lower(), **plain["cost"]}
    return plain
