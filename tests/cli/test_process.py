"""A real process: the installed command, its streams and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HEADWAY = [str(Path(sys.executable).with_name("headway"))]
if not Path(HEADWAY[0]).exists():
    HEADWAY = [sys.executable, "-c", "from headway.cli.main import main; main()"]


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([*HEADWAY, *arguments], text=True, **pipes)


def run(*arguments: str, given: str | None = None, **options: Any) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr."""
    with start(*arguments, stdin=subprocess.PIPE, **options) as process:
        out, err = process.communicate(given, timeout=120)
    return process.returncode, out, err


def test_compare_prints_json_and_exits_with_0(folder: Path):
    status, out, err = run("compare", "qba-paper", "--limit", "100", "--json", "-")
    assert (status, err) == (0, "")
    assert len(json.loads(out)["policies"]) == 4


def test_a_wrong_value_is_one_line_and_exits_with_2(folder: Path):
    status, out, err = run("compare", "nosuch.csv")
    assert (status, out) == (2, "")
    assert err.startswith("headway: 'nosuch.csv' is neither a file nor a workload")
    assert err.count("\n") == 1


def test_a_terminal_without_the_characters_gets_others(folder: Path):
    status, out, err = run("compare", "qba-paper", "--limit", "50", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (status, err) == (0, "")
    assert out.isascii()


def test_a_trace_from_a_pipe(folder: Path):
    rows = "arrival,prompt_tokens,output_tokens\n0,10,5\n1,10,5\n"
    _, out, _ = run("trace", "/dev/stdin", "--json", "-", given=rows)
    assert json.loads(out)["rows"] == 2


def test_a_reader_that_has_seen_enough_ends_it_quietly(folder: Path):
    with start("policies") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("options", [[], ["--json", "-"]])
def test_a_full_disk_behind_stdout(folder: Path, options: list[str]):
    with Path("/dev/full").open("w") as full:
        status, _, err = run("policies", *options, stdout=full)
    assert (status, err) == (2, "headway: standard output: No space left on device\n")


ENTRY = "from headway_command import main; main()"


def shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the entry point under sh, with its streams redirected."""
    command = f'exec "$0" -c "{ENTRY}" "$@" {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("arguments", [("--help",), ("policies",), ("simulate", "qba-paper", "--limit", "50")])
def test_a_closed_stdout_loses_what_is_printed_and_nothing_else(folder: Path, arguments: tuple[str, ...]):
    ended = shell(">&-", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_closed_stdout_is_no_place_for_json(folder: Path):
    ended = shell(">&-", "policies", "--json", "-")
    assert (ended.returncode, ended.stderr) == (2, "headway: --json -: standard output is closed; give a file\n")


def test_a_closed_stderr_loses_the_line_and_not_the_status(folder: Path):
    assert shell("2>&-", "nosuch").returncode == 2


PRESSED = f"""
import os, signal, sys

class Press:
    def find_spec(self, name, *_):
        if name == "polars":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
{ENTRY}
"""


def test_ctrl_c_while_it_loads(folder: Path):
    ended = subprocess.run([sys.executable, "-c", PRESSED, "policies"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "headway: interrupted\n")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_out_of_memory_is_one_line(folder: Path):
    limit = "ulimit -v 1000000;"  # a workload of 100 million arrivals takes 800 MB for these alone
    command = f'{limit} exec "$0" -c "{ENTRY}" simulate qba-paper --limit 100000000'
    ended = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1].startswith("headway: out of memory; take fewer requests")
    assert "Traceback" not in ended.stderr


MARKER = """
from pathlib import Path
from headway import Order

class Marking(Order):
    made = 0
    def __init__(self):
        super().__init__()
        Marking.made += 1
        if Marking.made == 6:  # four runs at least are over
            Path("reached").touch()
    def key(self, seq):
        return seq.arrival
"""


def test_ctrl_c_leaves_what_there_is_and_says_that_it_is_partial(folder: Path):
    (folder / "mark.py").write_text(MARKER)
    asked = ["compare", "qba-paper", "--limit", "200", "--seeds", "100000", "--policy", "mark:Marking"]
    with start(*asked, "--json", "out.json") as process:
        deadline = time.monotonic() + 60
        while not (folder / "reached").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    # The signal may come while a result is being put together: then there is none, and that is said.
    written = (folder / "out.json").exists()
    said = "these results are partial" if written else "nothing was written"
    assert err.splitlines()[-1] in (f"headway: interrupted: {said}", f"headway: interrupted; {said}")
    if written:
        data = json.loads((folder / "out.json").read_text())
        assert data["partial"] is True
        assert 1 <= len(data["policies"][0]["seeds"]) < 100000
