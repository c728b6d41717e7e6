"""Pieces of one answer, from the loop's thread to the event loop's."""

from __future__ import annotations

import asyncio
from collections import deque


class Mailbox:
    """Takes pieces in one thread and hands them out in another; neither waits for the other.

    Whoever reads slowly finds several pieces as one: what lies here is never more than one answer.

    Args:
        piecewise: hand out every piece as it comes; False waits for the whole answer.
    """

    def __init__(self, *, piecewise: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._came = asyncio.Event()
        self._pieces: deque[tuple[str, int, str | None]] = deque()
        self._called = False
        self._piecewise = piecewise

    def deliver(self, text: str, tokens: int, why: str | None) -> None:
        """Put a piece in; from any thread."""
        self._pieces.append((text, tokens, why))
        if (self._piecewise or why is not None) and not self._called:
            self._called = True
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the server has stopped, and nobody reads any more
                self._pieces.clear()

    async def next(self) -> tuple[str, int, str | None]:
        """Wait for what comes next: text, how many tokens it is, and why the answer ended or None."""
        await self._came.wait()
        self._came.clear()
        texts: list[str] = []
        tokens, why = 0, None
        while self._pieces:
            text, count, why = self._pieces.popleft()
            texts.append(text)
            tokens += count
        return "".join(texts), tokens, why

    def _wake(self) -> None:
        self._called = False
        self._came.set()
