"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path | str, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the whole new one, never half of it.

    A link is followed, and what is not a plain file (a pipe, `/dev/stdout`) is written to directly.

    Raises:
        OSError: the path cannot be written.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
