"""`headway key`: a new API key, and what a tenants file has of it."""

from __future__ import annotations

import json as text_of
import secrets
from typing import Annotated

import typer

from headway.cli.console import write_json
from headway.cli.options import JsonOption
from headway.cli.paths import json_output
from headway.core.errors import InvalidInput
from headway.serve.access import digest

PREFIX = "hw-"
_RANDOM = 32  # bytes


def key(
    tenant: Annotated[
        str | None,
        typer.Argument(metavar="TENANT", help="The tenant whose key it is to be.", show_default=False),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Make a random API key, and the line with its hash for a tenants file; the key itself is kept nowhere.

    Example: headway key chat
    """
    target = json_output(json)
    if tenant is not None and not (tenant.strip() and tenant.isprintable()):
        raise InvalidInput(f"TENANT = {tenant!r}; expected a printable name")
    made = PREFIX + secrets.token_urlsafe(_RANDOM)
    hashed = f"sha256:{digest(made).hex()}"
    if target is not None:
        write_json({"key": made, "tenant": tenant, "hash": hashed}, target)
        return
    head = "" if tenant is None else f"[[tenant]]\nname = {text_of.dumps(tenant, ensure_ascii=False)}\n"
    typer.echo(f"{made}\n\n# For the client: the line above, shown only now. For the tenants file:")
    typer.echo(f'{head}keys = ["{hashed}"]')
