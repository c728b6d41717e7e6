"""Own orders are the user's code: what they raise is told in one line, and what they are can be told by their file."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headway.core.errors import HeadwayError, InvalidInput


@contextmanager
def told_in_a_line(own: Sequence[str]) -> Iterator[None]:
    """Turn what own orders raise while the block runs into one line.

    Args:
        own: their import paths, as in `my_module:MyOrder`; with none, everything comes out as it was raised.

    Raises:
        InvalidInput: an own order (or importing it) raised something: what, and in which line of whose file.
    """
    try:
        yield
    except HeadwayError:
        raise
    except (Exception, SystemExit) as error:  # an own module that exits must not end the run in silence
        place = _place(error, {text.partition(":")[0] for text in own}) if own else None
        if place is None:
            raise
        raise InvalidInput(f"own order {', '.join(own)}: {type(error).__name__}: {error}{place}") from error


def source_file(module: str) -> Path | None:
    """Return the file of a module that is imported; None where it has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else Path(file)


def _place(error: BaseException, modules: set[str]) -> str | None:
    """Return where in the user's code it happened, as text to add to a message; None if it was not there."""
    if isinstance(error, NotImplementedError):
        return "it has no method key(seq), which says its order"
    if isinstance(error, SyntaxError):
        return ""  # its text names file and line
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_globals.get("__name__") in modules:
            return f" ({Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name})"
    return None
