"""What a client asked for."""

from __future__ import annotations

from typing import NamedTuple

BLOCK_TOKENS = 512  # of a block that has a hash, where nobody says otherwise: Mooncake's


class Slo(NamedTuple):
    """What was promised to a request; each in seconds, None where nothing is promised.

    `ttft` counts from arrival to the first token, `itl` between two tokens, `completion` from arrival to the last.
    """

    ttft: float | None = None
    itl: float | None = None
    completion: float | None = None


class Request(NamedTuple):
    """One request as it arrives; immutable. Its true output length is not here: nobody knows it yet.

    Attributes:
        id: the host's number for it, unique within a run.
        arrival: when it arrived, in seconds of the host's clock.
        prompt_tokens: positions to prefill, at least 1.
        max_new_tokens: the most tokens that it may generate; None when the client set no limit.
        predicted: "short" or "long", or a predicted number of output tokens; None without a prediction.
        tenant: who pays for it.
        label: the client's own class name.
        priority: higher is more urgent.
        slo: what was promised.
        weight: its tenant's share of the service beside the others', above 0.
        blocks: hashes of its prompt's blocks, in order, for the prefix cache; a hash stands for the block and all that
            lies before it. None where nobody knows them.
        block_tokens: tokens in each of these blocks, at least 1; the last one may be shorter.
    """

    id: int
    arrival: float
    prompt_tokens: int
    max_new_tokens: int | None = None
    predicted: str | float | None = None
    tenant: str = "default"
    label: str | None = None
    priority: int = 0
    slo: Slo | None = None
    weight: float = 1.0
    blocks: tuple[int, ...] | None = None
    block_tokens: int = BLOCK_TOKENS
