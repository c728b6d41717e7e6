"""Reading a file whole, and nothing that has no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_bytes(path: Path) -> bytes:
    """Return what is in a regular file, or what comes out of a pipe (a shell's `<(...)`, `/dev/stdin`) up to its end.

    Raises:
        OSError: it cannot be read, nobody writes to the pipe, or it is something else: a device, a terminal.
    """
    with open(path, "rb", opener=_at_once) as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISFIFO(mode):
            os.set_blocking(file.fileno(), True)
            data = file.read()
            if not data:
                raise OSError(errno.EPIPE, "nobody writes to this pipe; start the writer first")
            return data
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "neither a file nor a pipe")
        return file.read()


def exists(text: str) -> bool:
    """Whether a text is the name of something on disk; a long spec is no possible name."""
    try:
        return text != "" and Path(text).exists()
    except (OSError, ValueError):
        return False


def _at_once(name: str, flags: int) -> int:
    """Open without waiting: a pipe without a writer would wait for one."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
