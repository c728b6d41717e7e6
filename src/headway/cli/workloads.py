"""`headway workloads`: what can be compared without a trace."""

from __future__ import annotations

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption
from headway.cli.paths import json_output
from headway.cli.policies import spec_of
from headway.cli.tables import plain_table
from headway.workload.named import NAMED
from headway.workload.named import workloads as described


def workloads(json: JsonOption = None) -> None:
    """List named workloads, a line each.

    Example: headway workloads
    """
    target = json_output(json)
    rows = [(name, spec_of(name, NAMED[name]), line) for name, line in described().items()]
    if target is not None:
        keys = ("name", "spec", "description")
        write_json({"workloads": [dict(zip(keys, row, strict=True)) for row in rows]}, target)
        return
    out.print(plain_table(("workload", "description"), [(name, line) for name, _, line in rows], wrap=(1,)))
    out.print("Options: headway workloads --json -", style="dim")
