"""One request in the server, from its arrival to its last piece of text."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import dataclass

from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence
from headway.serve.backend import Sampling
from headway.serve.text import TextStream

# Why an answer ended.
STOP = "stop"  # the model, or a stop string
LENGTH = "length"  # the limit of tokens
REJECTED = "rejected"  # by the policy; `Job.seq.reason` says which rule
CANCELLED = "cancelled"  # its client left
INVALID = "invalid"  # its prompt cannot be answered
FAILED = "failed"  # the backend
CLOSED = "closed"  # the server stops


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be answered, once its prompt is counted.

    Attributes:
        prompt: its tokens.
        limit: tokens that the answer may have, at least 1.
        asked: what the client set as that limit, which memory rules reckon with; None where it set none.
        sampling: how tokens are chosen.
        stops: texts that end the answer.
        endless: go on to the limit, whatever the model says.
    """

    prompt: Items[int]
    limit: int
    asked: int | None = None
    sampling: Sampling = Sampling()  # noqa: RUF009 - it is immutable
    stops: Items[str] = ()
    endless: bool = False


class Job:
    """What the loop keeps of a request. The loop writes it; who asked reads what it is handed.

    Args:
        seq: the request in its scheduler.
        home: that scheduler.
        deliver: called in the loop's thread with the text that may be sent now, the tokens generated since it was last
            called, and why the answer ended or None; it must not block.
        arrived: when, in seconds of the loop's clock.

    Attributes:
        question: what is to be answered; None until its prompt is counted.
        prompt: tokens to be in KV before the next one is generated; after an eviction the answer so far is part of it.
        text: what its tokens say.
        slot: its place in the backend; -1 while it holds nothing.
        generated: its tokens so far.
        computed: tokens of prompt and answer that the backend holds.
        last_token: when the latest one came, in seconds; -1 before.
        ended: why it ended; None before.
    """

    __slots__ = (
        "arrived",
        "computed",
        "deliver",
        "ended",
        "generated",
        "home",
        "last_token",
        "prompt",
        "question",
        "seq",
        "slot",
        "text",
    )

    def __init__(
        self, seq: Sequence, home: Scheduler, deliver: Callable[[str, int, str | None], None], arrived: float
    ) -> None:
        self.seq = seq
        self.home = home
        self.deliver = deliver
        self.arrived = arrived
        self.question: Question | None = None
        self.prompt: Items[int] = ()
        self.text: TextStream | None = None
        self.slot: int = -1
        self.generated: list[int] = []
        self.computed: int = 0
        self.last_token: float = -1.0
        self.ended: str | None = None
