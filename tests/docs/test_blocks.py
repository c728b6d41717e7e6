"""What the documentation shows is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from headway.cli.main import app
from tests.docs.blocks import PAGES, ROOT, Block, arguments, blocks, furnish, refreshed

GROUP = typer.main.get_command(app)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


CONSOLE = [
    pytest.param(block, id=f"{named(page)}:{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "console"))
]
COMMANDS = [
    pytest.param(command, id=f"{named(page)}: {command}")
    for page in PAGES
    for block in blocks(page, "console", "sh")
    for command in block.commands
    if arguments(command) is not None
]
PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.fixture
def furnished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", CONSOLE)
def test_outputs_are_real(block: Block, furnished: Path):
    """Run `python -m tests.docs.rewrite` where the commands print something new."""
    assert refreshed(block) == block.text


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_can_be_typed(command: str):
    words = arguments(command)
    assert words is not None
    if not words or words[0].startswith("-"):
        return
    subcommand = GROUP.commands[words[0]]  # type: ignore[attr-defined]
    if {"--help", "-h"} & set(words):
        return
    context = subcommand.make_context(words[0], words[1:])
    if named := getattr(subcommand, "commands", None):
        named[words[1]].make_context(words[1], words[2:], parent=context)


@pytest.mark.parametrize("page", PYTHON, ids=named)
def test_python_blocks_run_one_after_the_other(page: Path, furnished: Path):
    names: dict[str, object] = {"__name__": "documentation"}
    for block in blocks(page, "python"):
        exec(compile(block.text, named(page), "exec"), names)  # noqa: S102 - our own documentation


def test_blocks_say_what_they_are():
    for page in PAGES:
        for block in blocks(page):
            assert block.language in ("console", "sh", "python", "text", "toml", "json", "csv"), named(page)
