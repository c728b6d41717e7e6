"""A number of things in words."""

from __future__ import annotations

IS = ("is", "are")


def counted(count: int, thing: str, verb: tuple[str, str] | None = None) -> str:
    """Return `1 cell`, `2,000 cells`; with a verb (`("is", "are")`) `1 cell is`, `2,000 cells are`."""
    words = f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
    return words if verb is None else f"{words} {verb[count != 1]}"
