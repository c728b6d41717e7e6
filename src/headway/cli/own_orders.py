"""Own orders by import path: found in the current folder, and what they raise told in one line."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headway.core.errors import HeadwayError, InvalidInput


@contextmanager
def own_orders(policies: Sequence[str]) -> Iterator[None]:
    """While the block runs, modules of own orders are also looked for in the current folder.

    Raises:
        InvalidInput: an own order (or importing it) raised something: what, and in which line of whose file.
    """
    own = [text for text in policies if ":" in text]
    if not own:
        yield
        return
    for text in own:
        file, _, name = text.partition(".py:")
        if name:
            raise InvalidInput(f"policy '{text}': give the module and not its file: {Path(file).name}:{name}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    except HeadwayError:
        raise
    except (Exception, SystemExit) as error:  # an own module that exits must not end the run in silence
        place = _place(error, {text.partition(":")[0] for text in own})
        if place is None:
            raise
        raise InvalidInput(f"own order {', '.join(own)}: {type(error).__name__}: {error}{place}") from error


def own_files(policies: Sequence[str]) -> list[str]:
    """Return where the modules of own orders would lie in the current folder: they are inputs of the run."""
    return [f"{text.partition(':')[0].replace('.', '/')}.py" for text in policies if ":" in text]


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
