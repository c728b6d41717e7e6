"""`headway`: the application, and the one place where errors become lines and exit statuses."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from headway.cli import reproduce
from headway.cli.capacity import capacity
from headway.cli.compare import compare
from headway.cli.console import FAILED, INTERRUPTED, INVALID, fail, flush, tolerant_streams
from headway.cli.engines import engines
from headway.cli.frontier import frontier
from headway.cli.key import key
from headway.cli.policies import policies
from headway.cli.serve import serve
from headway.cli.simulate import simulate
from headway.cli.sweep import sweep
from headway.cli.theory import theory
from headway.cli.trace import trace
from headway.cli.tune import tune
from headway.cli.why import why
from headway.cli.workloads import workloads
from headway.core.errors import HeadwayError, InvalidInput

app = typer.Typer(
    name="headway",
    help="One scheduler for LLM serving: compare policies on your own trace before you run them.",
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    compare,
    simulate,
    frontier,
    sweep,
    tune,
    capacity,
    why,
    theory,
    trace,
    policies,
    engines,
    workloads,
    serve,
    key,
):
    app.command()(command)
app.add_typer(reproduce.app)


@app.callback(invoke_without_command=True)
def headway(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Compare LLM scheduling policies on your own trace before you run them.

    Example: headway compare qba-paper
    """
    if show_version:
        typer.echo(f"headway {version('headway')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise InvalidInput("which command? See the list above")


def main() -> None:
    """Run the command line: exit status 2 and one line for a wrong value, 130 when interrupted, else 1."""
    tolerant_streams()
    try:
        status = _run(sys.argv[1:])
        flush()
    except typer.TyperException as error:  # an option or argument that cannot be read
        fail(error.format_message() + _of_a_list(sys.argv[1:], error.format_message()))
        status = INVALID
    except InvalidInput as error:
        fail(str(error))
        status = INVALID
    except BrokenPipeError:  # the reader has seen enough (head, a pager)
        flush(quietly=True)
        status = FAILED
    except OSError as error:
        fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
        flush(quietly=True)
        status = INVALID
    except HeadwayError as error:
        fail(str(error))
        status = FAILED
    except MemoryError:
        fail("out of memory; take fewer requests (--limit) or a machine that has more")
        status = FAILED
    except KeyboardInterrupt:
        fail("interrupted")
        status = INTERRUPTED
    sys.exit(status)


def _of_a_list(arguments: list[str], message: str) -> str:
    """Return where to look for one entry of a list, when a command that lists them was asked for it."""
    name = next((word for word in arguments[1:] if not word.startswith("-")), "")
    if "unexpected extra argument" not in message or not name:
        return ""
    told = {
        "workloads": f"options are told by 'headway workloads --json -', and 'headway compare {name}' runs it",
        "policies": "options are told by 'headway policies --json -'",
        "engines": "all that is known of each by 'headway engines --json -'",
    }
    return f"; it lists them all: {told[arguments[0]]}" if arguments[0] in told else ""


def _run(arguments: list[str]) -> int:
    """Run one command; return its exit status. Errors come out as they were raised."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("headway", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0
