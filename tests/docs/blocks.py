"""The fenced blocks of the documentation, and what its commands print.

A `console` block shows commands after `$ ` and what they print; it is run, and must be true. A last line `…` stands for
the rest of an output. A `sh` block holds commands that are only parsed, a `python` block is run, `text` is just text.
"""

from __future__ import annotations

import io
import math
import re
import shlex
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import headway as package
from headway.cli import sweep_progress
from headway.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
)
REST = "…"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where the text stands in its page."""

    language: str
    text: str
    start: int
    end: int

    @property
    def commands(self) -> list[str]:
        """The command lines of a `console` or `sh` block."""
        if self.language == "console":
            return [line.removeprefix("$ ") for line in self.text.splitlines() if line.startswith("$ ")]
        return [line for line in self.text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the fenced blocks of a page, in order; of the given languages if any are named."""
    found = [Block(m[1], m[2], m.start(2), m.end(2)) for m in _BLOCK.finditer(page.read_text(encoding="utf-8"))]
    return [block for block in found if not languages or block.language in languages]


def arguments(command: str) -> list[str] | None:
    """Return the arguments that a line gives to `headway`, None for another program."""
    words = shlex.split(re.split(r" [|>] ", command)[0], comments=True)
    return words[1:] if words and words[0] in ("headway", "./scripts/run") else None


def furnish(folder: Path) -> None:
    """Put into a folder what the documentation takes for granted: the trace of docs/traces.md and the examples."""
    package.write_trace(package.workload("lognormal(n=3000, rate=7, cv=2)"), folder / "trace.csv")
    (folder / "renamed.csv").write_text("time,prompt_tokens,output_tokens\n0,10,5\n")
    for name in ("engine.toml", "own_order.py"):
        shutil.copy(ROOT / "examples" / name, folder / name)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))


def printed(command: str) -> str:
    """Run a command line in this process and folder; return what it prints, lines for people on stderr last."""
    words = arguments(command)
    if words is None:
        raise ValueError(f"console blocks run headway only, not {command!r}")
    out, err = io.StringIO(), io.StringIO()
    argv, path, every = sys.argv, sys.path[:], sweep_progress.EVERY
    sweep_progress.EVERY = math.inf  # a slow machine prints what a fast one does
    sys.argv = ["headway", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit:
        pass
    finally:
        sys.argv, sys.path[:], sweep_progress.EVERY = argv, path, every
    return "".join(f"{line.rstrip()}\n" for line in (out.getvalue() + err.getvalue()).splitlines())


def refreshed(block: Block) -> str:
    """Return the text of a `console` block as its commands print it now; as much of each output as is there."""
    parts: list[str] = []
    for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
        if not part:
            continue
        command, *shown = part.splitlines()
        lines = printed(command.removeprefix("$ ")).splitlines()
        while shown and not shown[-1]:
            shown.pop()
        if shown and shown[-1] == REST:
            lines = [*lines[: len(shown) - 1], REST]
        parts.append("\n".join([command, *lines]).rstrip() + "\n")
    return "\n".join(parts)
