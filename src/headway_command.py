"""The command `headway`, from its first moment on.

Loading everything takes a third of a second, and Python would answer a Ctrl-C in that time with a traceback. So this
stands outside the package, whose import is what takes the time.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn


def main() -> None:
    """Load the command line and run it."""
    catches = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where the shell ignores it for us
    if catches:
        signal.signal(signal.SIGINT, _end)
    try:
        from headway.cli.main import main as run  # noqa: PLC0415 - this is what takes the time
    except MemoryError:
        sys.exit("headway: out of memory while loading")
    if catches:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _end(*_: object) -> NoReturn:
    """End at once: an exception could be lost in whatever is half imported."""
    os.write(2, b"headway: interrupted\n")
    os._exit(130)
