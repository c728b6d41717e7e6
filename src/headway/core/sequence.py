"""One request's progress inside an engine."""

from __future__ import annotations

from headway.core.engine import LONGEST_ANSWER
from headway.core.request import Request

# Plain integers: an enumeration costs a tenth of a run.
WAITING = 0  # in the order, not started or evicted
FILLING = 1  # holds KV, prompt partly filled
DECODING = 2  # advances in every decode iteration
FINISHED = 3
REJECTED = 4  # refused, or ended because it alone outgrew the memory
CANCELLED = 5
EXPIRED = 6  # its deadline passed while it waited
DEMOTED = 7  # waits behind all others, out of the order's hands
RESERVED = 9  # judged and counted on an estimate of its prompt, not yet in the order
READY = 8  # holds KV, prompt filled, waits for a decode slot (only where those are fewer than residents)

OUTCOMES = {FINISHED: "finished", REJECTED: "rejected", CANCELLED: "cancelled", EXPIRED: "expired"}


class Sequence:
    """A request with its progress. The scheduler owns every field; hosts and policies read them.

    Nothing here changes while the sequence decodes: its progress is the number of decode iterations since `joined`.

    Attributes:
        request: what the client asked for.
        id: the request's, the host's number for it.
        arrival: the request's arrival, in seconds.
        limit: the most tokens that it may generate, as far as memory rules assume.
        ticket: its place in the order of submission; ties are broken by it.
        state: one of the integers above.
        prompt: positions to prefill before it decodes: the prompt, and after an eviction what it had generated.
        filled: positions of `prompt` in KV.
        ready_at: end of the iteration that filled its prompt, in seconds, where it then had to wait for a decode slot;
            -1 before.
        joined: number of decode iterations that the engine had run when this one began to decode.
        generated: tokens generated up to `joined`; see `generated_at`.
        ending: positions of its last decode block that stay empty, once the host knows them.
        start: boundary at which it was first scheduled, in seconds; -1 before.
        evictions: how often it was evicted.
        computed: positions that had been computed when it was last evicted; filling them again is nobody's gain.
        demoted: whether the shedding rule has put it behind all others.
        reason: why it ended, where it did not finish, or why it was demoted.
        retry_after: seconds after which a client that was refused may try again; None where nobody knows.
        mark: the order's own; 0 at first.
    """

    __slots__ = (
        "arrival",
        "computed",
        "demoted",
        "ending",
        "evictions",
        "filled",
        "generated",
        "id",
        "joined",
        "limit",
        "mark",
        "prompt",
        "ready_at",
        "reason",
        "request",
        "retry_after",
        "start",
        "state",
        "ticket",
    )

    def __init__(self, request: Request, ticket: int, longest: int = LONGEST_ANSWER) -> None:
        self.request: Request = request
        self.id: int = request.id
        self.arrival: float = request.arrival
        self.ticket: int = ticket
        self.limit: int = request.max_new_tokens or longest
        self.state: int = WAITING
        self.prompt: int = request.prompt_tokens
        self.filled: int = 0
        self.ready_at: float = -1.0
        self.joined: int = -1
        self.generated: int = 0
        self.ending: int = 0
        self.start: float = -1.0
        self.evictions: int = 0
        self.computed: int = 0
        self.mark: int = 0
        self.demoted: bool = False
        self.reason: str | None = None
        self.retry_after: float | None = None

    def generated_at(self, clock: int, block: int) -> int:
        """Tokens generated after `clock` decode iterations of `block` tokens each."""
        if self.state == DECODING:
            return self.generated + (clock - self.joined) * block
        return self.generated

    def held_at(self, clock: int, block: int) -> int:
        """KV tokens held after `clock` decode iterations of `block` tokens each."""
        if self.state == DECODING:
            return self.filled + (clock - self.joined) * block
        return self.filled if self.state in (FILLING, READY) else 0

    def __repr__(self) -> str:
        return f"<Sequence {self.id} state={self.state} filled={self.filled}/{self.prompt}>"
