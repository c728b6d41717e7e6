"""From what a client sent to an answer: who it is, whether it may, and what the loop makes of it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass

from headway.core.errors import InvalidInput
from headway.serve.access import Access, Limits
from headway.serve.backend import Sampling
from headway.serve.job import CANCELLED, CLOSED, FAILED, INVALID, REJECTED, Job, Question
from headway.serve.loop import EngineLoop
from headway.serve.mailbox import Mailbox
from headway.serve.refusal import Refused, refusal_of, unavailable
from headway.serve.wire import request_of, tenant_of

_LONG = 20_000  # characters from which on tokens are counted in another thread
_LEARNS = 1 / 32  # weight of the newest prompt in the mean of characters a token


@dataclass(frozen=True)
class Asked:
    """What a client wants.

    Attributes:
        prompt: a text, tokens, or what makes the text (a chat template, which may refuse).
        characters: about how long the prompt is.
        special: names of control tokens in the text are these tokens.
        limit: the most tokens of the answer; None for as many as fit.
        sampling: how tokens are chosen.
        stops: texts that end the answer.
        endless: go on to the limit.
        priority: as the client gave it, lower is more urgent.
        service_tier: as the client gave it.
        stream: hand out pieces as they come.
    """

    prompt: Callable[[], str] | str | list[int]
    characters: int
    special: bool
    limit: int | None
    sampling: Sampling
    stops: Items[str]
    endless: bool
    priority: int | None
    service_tier: str | None
    stream: bool


class Service:
    """Answers clients by one engine loop.

    Args:
        loop: that computes.
        access: who is who.
        limits: how much each may ask at once.
    """

    def __init__(self, loop: EngineLoop, access: Access, limits: Limits) -> None:
        self.loop = loop
        self.access = access
        self.limits = limits
        self._characters = 4.0  # a token, on average

    async def ask(self, asked: Asked, headers: Mapping[str, str]) -> Reply:
        """Let a question in; return where its answer comes from.

        Whether it is let in is decided before its prompt is counted, from an estimate, in microseconds.

        Raises:
            Refused: no access, too much at once, refused by the policy, or a prompt that cannot be answered.
        """
        caller = self.access.caller(headers.get("authorization"), tenant_of(headers))
        estimate = max(int(asked.characters / self._characters), 1)
        wanted = request_of(caller, headers, estimate, asked.limit, asked.priority, asked.service_tier)
        try:
            self.limits.take(caller.tenant, time.monotonic())
        except Refused as refused:
            self.loop.turned_away(wanted, refused.code)
            raise
        mailbox = Mailbox(piecewise=asked.stream)
        try:
            job = self.loop.reserve(wanted, mailbox.deliver)
        except BaseException:
            self.limits.release(caller.tenant)
            raise
        reply = Reply(self, job, mailbox, caller.tenant)
        try:
            self._raise_if_ended(job)
            tokens = await self._counted(asked)
            room = self._room(tokens)
            limit = room if asked.limit is None else min(asked.limit, room)
            self.loop.enter(
                job,
                Question(tokens, limit, asked.limit and limit, asked.sampling, asked.stops, endless=asked.endless),
            )
            self._raise_if_ended(job)
        except Refused:
            reply.leave(INVALID)
            raise
        except BaseException:
            reply.leave()
            raise
        reply.prompt_tokens = len(tokens)
        return reply

    def _room(self, tokens: list[int]) -> int:
        """Return how many tokens the answer to a prompt may have, at least 1."""
        context = self.loop.backend.context
        if len(tokens) >= context:
            wrong = f"the prompt has {len(tokens)} tokens; the model takes {context} with the answer"
            raise Refused(400, "context_length_exceeded", wrong, param="prompt")
        return context - len(tokens)

    def _raise_if_ended(self, job: Job) -> None:
        if job.ended is not None:
            raise _refusal(job, job.ended)

    async def _counted(self, asked: Asked) -> list[int]:
        """Return the tokens of a prompt; there is at least one."""
        prompt = asked.prompt
        if isinstance(prompt, list):
            tokens = self._known(prompt)
        else:
            try:
                text = prompt if isinstance(prompt, str) else prompt()
            except InvalidInput as error:
                raise Refused(400, "invalid_messages", str(error), param="messages") from None
            vocabulary = self.loop.backend.vocabulary
            if len(text) > _LONG:
                tokens = await asyncio.to_thread(vocabulary.tokens, text, special=asked.special)
            else:
                tokens = vocabulary.tokens(text, special=asked.special)
            if tokens:
                self._characters += _LEARNS * (len(text) / len(tokens) - self._characters)
        if not tokens:
            raise Refused(400, "empty_prompt", "the prompt has no tokens", param="prompt")
        return tokens

    def _known(self, tokens: list[int]) -> list[int]:
        size = self.loop.backend.vocabulary.size
        wrong = next((token for token in tokens if not 0 <= token < size), None)
        if wrong is not None:
            raise Refused(400, "invalid_token", f"{wrong} is no token of the model", param="prompt")
        return tokens


class Reply:
    """The answer to one question, as it comes.

    Attributes:
        prompt_tokens: tokens of the prompt.
        tokens: tokens of the answer so far.
        why: why it ended: `stop` or `length`; None before.
    """

    def __init__(self, service: Service, job: Job, mailbox: Mailbox, tenant: str) -> None:
        self.prompt_tokens = 0
        self.tokens = 0
        self.why: str | None = None
        self._service = service
        self._job = job
        self._mailbox = mailbox
        self._tenant: str | None = tenant

    async def pieces(self) -> AsyncIterator[str]:
        """Yield text as it comes; with the last piece, which may be empty, `why` is set.

        Raises:
            Refused: it ended in another way than by an answer.
        """
        while self.why is None:
            text, tokens, why = await self._mailbox.next()
            self.tokens += tokens
            if why in (REJECTED, CANCELLED, CLOSED, FAILED):
                raise _refusal(self._job, why)
            self.why = why
            if text or why:
                yield text

    def counts(self) -> tuple[int, int]:
        """Return the tokens of the prompt, and of the answer so far."""
        return self.prompt_tokens, self.tokens

    def leave(self, why: str = CANCELLED) -> None:
        """Its client has what it wanted, or has left, or is refused: nothing is computed for it any more."""
        if self._tenant is not None:
            self._service.limits.release(self._tenant)
            self._tenant = None
        self._service.loop.cancel(self._job, why)


def _refusal(job: Job, why: str) -> Refused:
    """Return what a client is told whose request ended without an answer."""
    if why == REJECTED:
        return refusal_of(job.seq, random.random())  # noqa: S311 - jitter
    if why == FAILED:
        failed = "the model failed while it computed this answer; try again"
        return Refused(500, "backend_failed", failed, should_retry=True)
    return unavailable("this server stops", random.random())  # noqa: S311
