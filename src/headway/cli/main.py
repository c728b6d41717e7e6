"""`headway`: the application, and the one place where errors become lines and exit statuses."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import click
import typer

from headway.cli.compare import compare
from headway.cli.console import fail
from headway.cli.engines import engines
from headway.cli.policies import policies
from headway.cli.simulate import simulate
from headway.cli.trace import trace
from headway.cli.workloads import workloads
from headway.core.errors import HeadwayError, InvalidInput

INVALID, INTERRUPTED = 2, 130

app = typer.Typer(
    name="headway",
    help="One scheduler for LLM serving: compare policies on your own trace before you run them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in (compare, simulate, trace, policies, engines, workloads):
    app.command()(command)


@app.callback()
def headway(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Compare LLM scheduling policies on your own trace before you run them."""
    if show_version:
        typer.echo(f"headway {version('headway')}")
        raise typer.Exit


def main() -> None:
    """Run the command line: exit status 2 and one line for a wrong value, 130 when interrupted."""
    sys.path.insert(0, str(Path.cwd()))  # own policies by import path lie where the user is
    try:
        status = app(standalone_mode=False)
    except click.exceptions.Abort:
        status = INTERRUPTED
    except click.ClickException as error:
        fail(error.format_message())
        status = INVALID
    except (InvalidInput, OSError) as error:
        fail(str(error))
        status = INVALID
    except HeadwayError as error:
        fail(str(error))
        status = 1
    except KeyboardInterrupt:
        fail("interrupted before the first result; nothing was written")
        status = INTERRUPTED
    sys.exit(status if isinstance(status, int) else 0)
