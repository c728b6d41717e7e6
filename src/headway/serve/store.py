"""Where are fetched models kept? In one folder, whole and verified, whoever else fetches at the same time."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from headway.core.errors import InvalidInput
from headway.serve.local_model import is_gguf

_log = logging.getLogger(__name__)


class SourceFailed(InvalidInput):
    """A source has no model to give; its text says why."""


def folder() -> Path:
    """Return the folder of fetched models: in `HEADWAY_CACHE` if that is set, else in the user's cache."""
    given = os.environ.get("HEADWAY_CACHE")
    return (Path(given).expanduser() if given else platformdirs.user_cache_path("headway")) / "models"


def verify(path: Path, sha256: str, source: str) -> None:
    """Refuse a file with another content.

    Raises:
        SourceFailed: its checksum is not `sha256`.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise SourceFailed(f"{source} gave {path.name} with the SHA-256 {found}, expected {sha256}")


def kept(target: Path, fetch: Callable[[Path], Path]) -> Path:
    """Return `target`, fetched first if it is not there.

    One process fetches, others wait for it. An end at any moment leaves no half file: what is fetched has a folder of
    its own until it is whole, and whoever fetches next clears what a killed process left there.

    Args:
        target: the file in the store.
        fetch: puts it into the empty folder that it is given, verifies it, and returns its path there.

    Raises:
        InvalidInput: `fetch` did, or the store cannot be written.
    """
    if _there(target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target):
            if not _there(target):
                _fetch_into_place(target, fetch)
    except OSError as error:
        raise InvalidInput(
            f"cannot keep a model in {target.parent}: {error.strerror or error}; "
            "expected a folder that can be written, name another with HEADWAY_CACHE"
        ) from None
    return target


def _there(target: Path) -> bool:
    return target.is_file() and is_gguf(target)


def _lock(target: Path) -> FileLock:
    """Return the lock of a file, taken already; `with` gives it back."""
    lock = FileLock(f"{target}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _log.info("another process is fetching %s; waiting for it", target.name)
        lock.acquire()
    return lock


def _fetch_into_place(target: Path, fetch: Callable[[Path], Path]) -> None:
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        fetch(partial).replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
