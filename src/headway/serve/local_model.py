"""Does a name mean a file of this machine, and is that a model?"""

from __future__ import annotations

import re
from pathlib import Path

from headway.core.errors import InvalidInput

FORMS = "expected PATH.gguf, OWNER/REPO, OWNER/REPO:FILE.gguf or OWNER/REPO:Q4_0"
_MAGIC = b"GGUF"
_PART = r"[A-Za-z0-9][\w.-]*"
_HUB_ID = re.compile(rf"({_PART}/{_PART})(?::(.+))?")


def hub_id(spec: str) -> tuple[str, str | None] | None:
    """Return the repository of the hub that is named, and the file or quantisation in it; None for a file."""
    named = _HUB_ID.fullmatch(spec)
    path = Path(spec).expanduser()
    if named is None or path.exists() or (named[2] is None and path.suffix.lower() == ".gguf"):
        return None
    return named[1], named[2]


def local_model(spec: str) -> Path:
    """Return the GGUF file that is named.

    Raises:
        InvalidInput: there is no such file, or it is no model.
    """
    path = Path(spec).expanduser()
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise InvalidInput(f"--model {spec} is a folder or a device; {FORMS}")
        if is_gguf(path):
            return path
    except FileNotFoundError:
        raise InvalidInput(f"--model {spec}: there is no such file; {FORMS}") from None
    except OSError as error:
        raise InvalidInput(f"--model {spec}: {error.strerror or error}; {FORMS}") from None
    raise InvalidInput(f"--model {spec} is no GGUF file: it does not begin with 'GGUF'; {FORMS}")


def is_gguf(path: Path) -> bool:
    """Whether a file begins as every GGUF file does.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
