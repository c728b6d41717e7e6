"""An engine whose iterations are split in two: one part for prompts, one for decodes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headway.core.engine import EngineProfile


@dataclass(frozen=True)
class PooledEngine(EngineProfile):
    """An engine with a fixed split of its token budget between prompts and decodes.

    Prompts never take more than their part, and decodes never more than theirs, whether the other part is used or not.
    So whoever has its prompt filled may have to wait for a decode slot, and holds its KV meanwhile.
    Source: Deadline-Aware Batching and Tenant Fairness, on phase-separated pools.

    Attributes:
        prompt_share: share of the token budget that belongs to prompts, in (0, 1).
    """

    prompt_share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode == "prefill-first":
            raise self._wrong(
                "pools", float(self.prompt_share), "none in mode prefill-first, where prompts and decodes take turns"
            )
        if self.decode_slots < 1:
            raise self._wrong(
                "pools",
                float(self.prompt_share),
                f"a smaller share: {self.token_budget - self._prompt_positions} of {self.token_budget} positions are "
                f"left to decodes, and one takes {self.decode_block}",
            )

    @property
    def slots(self) -> int:
        """Requests that may hold KV at once; they need not all decode."""
        return self.max_sequences

    @property
    def decode_slots(self) -> int:
        """Requests that may decode at once: as many as fit the decodes' part."""
        return (self.token_budget - self._prompt_positions) // self.decode_block

    def prompt_space(self, decodes: int) -> int:
        """Positions of an iteration that prompts may take: their part, whoever decodes."""
        return self._prompt_positions

    @property
    def _prompt_positions(self) -> int:
        return max(int(self.prompt_share * self.token_budget), 1)
