"""Paths on the command line: outputs that can be written, found out before any work is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from headway.cli.console import STANDARD_OUTPUT
from headway.core.errors import InvalidInput
from headway.workload.files import exists


def json_output(text: str | None) -> Path | None:
    """Return where `--json` is to be written; `-` is standard output."""
    if text == "-" and sys.__stdout__ is None:
        raise InvalidInput("--json -: standard output is closed; give a file")
    return STANDARD_OUTPUT if text == "-" else output("--json", text)


def output(option: str, text: str | None, suffixes: tuple[str, ...] = ()) -> Path | None:
    """Return the file that an output option names, None where it is not given.

    Raises:
        InvalidInput: it names no file, one that cannot be written, or one with another suffix than `suffixes`.
    """
    if text is None:
        return None
    if text == "-":
        raise InvalidInput(f"{option} -: only --json can go to standard output; give a file")
    if not text or text.startswith("-"):
        hint = f"; write ./{text} for a file of that name" if text else ""
        raise InvalidInput(f"{option} needs a file to write, got {text!r}{hint}")
    path = Path(text)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidInput(f"{option} {path}: expected a file that ends in {' or '.join(suffixes)}")
    if path.is_dir():
        raise InvalidInput(f"{option} {path}: is a folder; expected a file to write")
    try:
        folder = path.resolve().parent
    except (OSError, RuntimeError):  # RuntimeError: symlinks in a circle, before Python 3.13
        raise InvalidInput(f"{option} {path}: its links go in a circle; expected a file to write") from None
    if not folder.is_dir():
        raise InvalidInput(f"{option} {path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidInput(f"{option} {path}: cannot be written; permission denied")
    return path


def check_apart(inputs: Iterable[str | None], outputs: Mapping[str, Path | None]) -> None:
    """Refuse to write over what is read, or two results into one file.

    Args:
        inputs: what is read, where it is a file.
        outputs: option → path.

    Raises:
        InvalidInput: two of them are the same file.
    """
    read = [Path(text).resolve() for text in inputs if text and exists(text)]
    written: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        target = path.resolve()
        if target in read:
            raise InvalidInput(f"{option} {path}: is an input of this run and would be lost; choose another file")
        if target in written:
            raise InvalidInput(f"{option} {path}: {written[target]} is written there too; choose another file")
        written[target] = option
