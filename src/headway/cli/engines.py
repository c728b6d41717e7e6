"""`headway engines`: the presets."""

from __future__ import annotations

import re

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption
from headway.cli.tables import plain_table
from headway.core.engine import PRESETS


def engines(json: JsonOption = None) -> None:
    """List engine presets, a line each; --json adds where the figures come from.

    Example: headway engines
    """
    if json is not None:
        keys = (
            "name",
            "token_budget",
            "max_sequences",
            "kv_tokens",
            "decode_block",
            "mode",
            "eviction",
            "memory",
            "source",
        )
        write_json({"engines": [{key: getattr(e, key) for key in keys} for e in PRESETS.values()]}, json)
        return
    heads = ("engine", "positions", "sequences", "KV tokens", "what")
    rows = [
        (e.name, f"{e.token_budget:,}", f"{e.max_sequences:,}", f"{e.kv_tokens:,}", re.split(r"[;.] ", e.source)[0])
        for e in PRESETS.values()
    ]
    out.print(plain_table(heads, rows, right=(1, 2, 3)))
    out.print("Sources, memory rules and modes: headway engines --json -", style="dim")
