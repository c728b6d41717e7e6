"""Which prompts begin with blocks that are cached?"""

from __future__ import annotations

from collections import OrderedDict

from headway.core.request import Request


class PrefixCache:
    """Blocks of prompts by hash, least recently used out first: a pool of its own beside the running KV.

    A request copies what it hits into its own KV, so that running requests share nothing and the cache never takes
    memory from them. A block's hash stands for the block and all that lies before it; a request hits the blocks that
    are cached from its first one on without a gap. Of one prompt the last blocks go out first: without those before
    them they are worth nothing. Cost: O(blocks of the prompt) a question.

    Source: Mooncake (FAST 2025), the trace and its cache of blocks; the order within a prompt is that of most engines.

    Attributes:
        capacity: tokens that it may hold.
        used: tokens that it holds.
        hit_tokens: tokens that were copied from it so far.
    """

    __slots__ = ("_blocks", "capacity", "hit_tokens", "used")

    def __init__(self, capacity: int) -> None:
        self.capacity: int = capacity
        self.used: int = 0
        self.hit_tokens: int = 0
        self._blocks: OrderedDict[int, int] = OrderedDict()  # hash to tokens, the least recently used first

    def cached(self, request: Request, most: int) -> int:
        """Return how many tokens at the start of a prompt are cached, in whole blocks and `most` at the most.

        Asking is no use: the order in which blocks go out stays.
        """
        hashes = request.blocks
        if hashes is None:
            return 0
        size, blocks = request.block_tokens, self._blocks
        most = min(most, request.prompt_tokens)
        tokens = 0
        for name in hashes:
            if tokens + size > most or blocks.get(name) != size:
                break
            tokens += size
        return tokens

    def use(self, request: Request, tokens: int) -> None:
        """The first so many tokens of a prompt, as `cached` has just said, are copied."""
        self.hit_tokens += tokens
        move = self._blocks.move_to_end
        for name in reversed((request.blocks or ())[: tokens // request.block_tokens]):
            move(name)

    def store(self, request: Request) -> None:
        """A prompt is filled: keep its whole blocks, as many as the cache can hold."""
        hashes = request.blocks
        if hashes is None:
            return
        size, blocks = request.block_tokens, self._blocks
        whole = min(request.prompt_tokens, self.capacity) // size
        for name in reversed(hashes[:whole]):
            self.used += size - blocks.pop(name, 0)
            blocks[name] = size
        while self.used > self.capacity:
            self.used -= blocks.popitem(last=False)[1]
