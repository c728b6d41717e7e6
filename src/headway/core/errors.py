"""Every error that Headway raises on purpose.

```
HeadwayError
└── InvalidInput          a value from outside is wrong: one line, exit status 2 on the command line
    ├── InvalidEngine     an engine profile or its TOML
    ├── InvalidSpec       a policy, memory or shedding spec
    ├── InvalidTrace      a trace file or its values
    └── InvalidWorkload   a workload's name or parameters
```

A message names the value, what was expected and, where it helps, what to do.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable


class HeadwayError(Exception):
    """Base of every error that Headway raises on purpose."""


class InvalidInput(HeadwayError, ValueError):  # noqa: N818 - the name says what it is; "Error" adds nothing
    """A value that came from outside is wrong; its text is one clear line."""


class InvalidEngine(InvalidInput):
    """An engine profile cannot be what it says."""


class InvalidSpec(InvalidInput):
    """A policy, memory or shedding spec cannot be read."""


class InvalidTrace(InvalidInput):
    """A trace cannot be read, or holds a value that no request can have."""


class InvalidWorkload(InvalidInput):
    """A workload's name or parameter is unknown or out of range."""


def expect(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Refuse an argument of another kind.

    Raises:
        InvalidInput: `value` is no instance of `kinds`; the message says what was `expected`.
    """
    if not isinstance(value, kinds):
        raise InvalidInput(f"{name} = {reprlib.repr(value)}; expected {expected}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'? ` when a known name is near, and the list of known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}Known: {', '.join(names)}"
