"""`headway workloads`: what can be compared without a trace."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption, read_tenants_file
from headway.cli.paths import check_apart, json_output
from headway.cli.policies import spec_of
from headway.cli.tables import plain_table
from headway.cli.tenants import declared_json, print_declared
from headway.workload.named import NAMED
from headway.workload.named import workloads as described


def workloads(
    json: JsonOption = None,
    tenants: Annotated[
        str | None,
        typer.Option("--tenants", metavar="FILE", help="List the tenants of this file instead.", show_default=False),
    ] = None,
) -> None:
    """List named workloads, a line each; or the tenants of a file.

    Example: headway workloads
    """
    target = json_output(json)
    if tenants is not None:
        check_apart((tenants,), {"--json": target})
        file = read_tenants_file(tenants)
        if target is not None:
            write_json({"tenants": declared_json(file)}, target)
        else:
            print_declared(file, out)
        return
    rows = [(name, spec_of(name, NAMED[name]), line) for name, line in described().items()]
    if target is not None:
        keys = ("name", "spec", "description")
        write_json({"workloads": [dict(zip(keys, row, strict=True)) for row in rows]}, target)
        return
    out.print(plain_table(("workload", "description"), [(name, line) for name, _, line in rows], wrap=(1,)))
    out.print("Options: headway workloads --json -", style="dim")
