"""The command line in process: what a user types, what comes back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.cli import main as cli

HEAD = "arrival,prompt_tokens,output_tokens\n"


@dataclass(frozen=True)
class Result:
    """Exit status and what was printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def words(self) -> str:
        """What was printed on stdout, without the line breaks that its width makes."""
        return " ".join(self.out.split())

    def refusal(self) -> str:
        """The one line of a refused command: status 2, nothing on stdout, no traceback."""
        assert self.status == 2, self.err
        assert self.out == ""
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        assert self.err.startswith("headway: ")
        return self.err.removeprefix("headway: ").strip()


Headway = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def headway(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Headway]:
    """Runs `headway ARGS` in this process."""

    def run(*arguments: object) -> Result:
        texts = [str(argument) for argument in arguments]
        monkeypatch.setattr(sys, "argv", ["headway", *texts])
        monkeypatch.setattr(sys, "path", sys.path[:])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Result(end.value.code, printed.out, printed.err)

    before = set(sys.modules)
    yield run
    for name in set(sys.modules) - before:  # own orders of one test are not those of the next
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def trace(folder: Path) -> Path:
    """Sixty requests, a burst every second, every eighth answer long."""
    rows = [f"{i // 10},{20 + 7 * (i % 5)},{200 if i % 8 == 0 else 12 + i % 4}" for i in range(60)]
    path = folder / "trace.csv"
    path.write_text(HEAD + "\n".join(rows) + "\n")
    return path
