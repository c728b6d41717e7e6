"""The naive engine's prefix cache: a list of blocks, searched from the start for each."""

from __future__ import annotations

from headway.core.sequence import Sequence


class NaiveCache:
    """Blocks of complete prompts as (hash, tokens), least recently used first; by the letter of what a cache does.

    Args:
        capacity: tokens that it may hold.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.kept: list[tuple[int, int]] = []

    def blocks(self, seq: Sequence) -> list[tuple[int, int]]:
        """Return the whole blocks of a request's prompt."""
        request = seq.request
        hashes = request.blocks or ()
        return [
            (name, request.block_tokens)
            for place, name in enumerate(hashes, start=1)
            if place * request.block_tokens <= request.prompt_tokens
        ]

    def cached(self, seq: Sequence, room: float) -> list[tuple[int, int]]:
        """Return the blocks that a prompt begins with and that are kept; a position is left to compute."""
        hit: list[tuple[int, int]] = []
        for block in self.blocks(seq):
            tokens = sum(size for _, size in [*hit, block])
            if block not in self.kept or tokens >= seq.prompt or tokens > room:
                break
            hit.append(block)
        return hit

    def touch(self, blocks: list[tuple[int, int]]) -> None:
        """Make these blocks the last ones to go, the first of them the very last; enter those that are new."""
        for name, size in reversed(blocks):
            self.kept = [kept for kept in self.kept if kept[0] != name]
            self.kept.append((name, size))
        while sum(size for _, size in self.kept) > self.capacity:
            self.kept.pop(0)

    def store(self, seq: Sequence) -> None:
        """A prompt is complete: keep the blocks that fit, from the first one on."""
        blocks = self.blocks(seq)
        while sum(size for _, size in blocks) > self.capacity:
            blocks.pop()
        self.touch(blocks)
