"""Every command explains itself."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from headway.cli.main import app
from tests.cli.conftest import Headway

COMMANDS = [info.callback.__name__ for info in app.registered_commands if info.callback is not None]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_has_an_example_and_json(headway: Headway, command: str, flag: str):
    result = headway(command, flag)
    assert (result.status, result.err) == (0, "")
    assert f"Example: headway {command}" in result.out
    assert "--json" in result.out


def test_the_commands_are_those_of_the_issue(headway: Headway):
    advice = ["compare", "simulate", "frontier", "sweep", "tune", "capacity", "why", "theory"]
    assert [*advice, "trace", "policies", "engines", "workloads", "serve", "key"] == COMMANDS
    listed = headway("--help").out
    for command in COMMANDS:
        assert f" {command} " in listed


def test_version(headway: Headway):
    assert headway("--version").out == f"headway {version('headway')}\n"
