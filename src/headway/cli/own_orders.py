"""Own orders by import path: found in the current folder, and what they raise told in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headway.core.errors import InvalidInput
from headway.studies.own_code import told_in_a_line


@contextmanager
def own_orders(policies: Sequence[str], *folders: Path) -> Iterator[None]:
    """While the block runs, modules of own orders are also looked for in `folders` and in the current folder.

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
    sys.path[:0] = [str(folder.resolve()) for folder in (*folders, Path.cwd())]
    with told_in_a_line(own):
        yield


def own_files(policies: Sequence[str]) -> list[str]:
    """Return where the modules of own orders would lie in the current folder: they are inputs of the run."""
    return [f"{text.partition(':')[0].replace('.', '/')}.py" for text in policies if ":" in text]
