"""Who holds how many KV tokens, as running totals."""

from __future__ import annotations

from math import gcd


class KvLedger:
    """KV memory of one engine, in tokens. The scheduler books, memory rules read.

    Attributes:
        capacity: tokens that fit.
        used: live tokens, growth of the planned iteration included.
        spare: tokens more that fit into the KV blocks that are taken; 0 where a block is one token.
        unfilled: prompt positions that admitted sequences have yet to fill; they are promised, not yet used.
        residents: sequences that hold or were promised KV.
        clock: decode iterations run so far.
        block: tokens that a decoding sequence gains in each.
        block_size: tokens in a KV block, the smallest part that a sequence can take.
    """

    __slots__ = ("block", "block_size", "capacity", "clock", "residents", "spare", "unfilled", "unfilled_spare", "used")

    def __init__(self, capacity: int, block: int) -> None:
        self.capacity: int = capacity
        self.block: int = block
        self.block_size: int = 1
        self.used: int = 0
        self.spare: int = 0
        self.unfilled: int = 0
        self.unfilled_spare: int = 0  # by how much more `spare` will have grown once all prompts are filled
        self.residents: int = 0
        self.clock: int = 0

    def reserved(self, more: int = 0) -> int:
        """Tokens of the KV blocks that are taken or promised, if a prompt of so many tokens more was promised too."""
        return self.used + self.unfilled + more

    def rounded(self, tokens: int) -> int:
        """Tokens of the KV blocks that so many tokens take."""
        return tokens


class PagedLedger(KvLedger):
    """KV memory in blocks: a sequence takes whole ones, and its last one is rarely full.

    Decoding sequences all grow at one pace, so those that cross into a new block in the same iteration do so for
    ever; they are counted by phase, and an iteration costs O(decode block), whatever the size of the batch.
    """

    __slots__ = ("_crossing", "_period", "_phases", "_whole")

    def __init__(self, capacity: int, block: int, block_size: int) -> None:
        super().__init__(capacity, block)
        self.block_size = block_size
        self._phases: list[int] = [0] * block_size  # decoding sequences by (tokens held - clock * block) mod block_size
        self._period: int = block_size // gcd(
            block_size, block
        )  # iterations after which everybody's last block is as full
        rest = block % block_size
        self._whole: int = block - rest  # tokens of the blocks that everybody takes in each iteration
        # Fillings of the last block from which `rest` more tokens reach into a new one.
        self._crossing: list[int] = [0, *range(block_size - rest + 1, block_size)] if rest else []

    def reserved(self, more: int = 0) -> int:
        """Tokens of the KV blocks that are taken or promised, if a prompt of so many tokens more was promised too."""
        return self.used + self.spare + self.unfilled + self.unfilled_spare + self.rounded(more)

    def rounded(self, tokens: int) -> int:
        """Tokens of the KV blocks that so many tokens take."""
        return tokens + -tokens % self.block_size

    def admit(self, prompt: int) -> None:
        """A sequence is promised room for its prompt."""
        self.unfilled_spare += -prompt % self.block_size

    def fill(self, before: int, after: int) -> None:
        """A sequence that held `before` tokens of its prompt holds `after`."""
        change = -after % self.block_size - -before % self.block_size
        self.spare += change
        self.unfilled_spare -= change

    def join(self, held: int) -> None:
        """A sequence that holds so many tokens decodes from the next decode iteration on."""
        self._phases[(held - self.clock * self.block) % self.block_size] += 1

    def leave(self, prompt: int, filled: int) -> None:
        """A sequence whose prompt is partly filled gives back what it holds and was promised."""
        self.spare -= -filled % self.block_size
        self.unfilled_spare -= -prompt % self.block_size - -filled % self.block_size

    def stop(self, held: int, missing: int = 0) -> None:
        """A decoding sequence gives back what it holds; `missing` positions of its last decode block stayed empty."""
        self._phases[(held + missing - self.clock * self.block) % self.block_size] -= 1
        self.spare -= -held % self.block_size

    def step(self, decodes: int) -> int:
        """Tokens of the blocks that `decodes` sequences take in the next decode iteration."""
        shift = self.clock * self.block
        crossing = 0
        for filling in self._crossing:
            crossing += self._phases[(filling - shift) % self.block_size]
        return decodes * self._whole + crossing * self.block_size

    def unneeded(self, held: int, missing: int) -> int:
        """Tokens of the blocks that a sequence does not take, since its decode block lacks `missing` positions."""
        return self.rounded(held + self.block) - self.rounded(held + self.block - missing)

    def advance(self, decodes: int, steps: int) -> None:
        """Book what is spare after so many decode iterations of everybody; the clock is still that of before."""
        shift, size, phases = self.clock * self.block, self.block_size, self._phases
        for _ in range(steps % self._period):
            crossing = 0
            for filling in self._crossing:
                crossing += phases[(filling - shift) % size]
            self.spare += decodes * (self._whole - self.block) + crossing * size
            shift += self.block


def new_ledger(capacity: int, block: int, block_size: int) -> KvLedger:
    """Return an empty ledger; only one with blocks of several tokens pays for them."""
    return PagedLedger(capacity, block, block_size) if block_size > 1 else KvLedger(capacity, block)
