"""The HTTP routes: bodies in, answers or OpenAI's error objects out."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from headway.serve.api.answers import CHAT, TEXT, Answer
from headway.serve.api.as_json import AsJson
from headway.serve.api.body_limit import BodyLimit, TooLarge
from headway.serve.api.schema import Body, ChatBody, CompletionBody
from headway.serve.metrics import Metrics
from headway.serve.refusal import Refused, body, headers
from headway.serve.service import Asked, Reply, Service

_log = logging.getLogger(__name__)
_ABOUT = "One model behind OpenAI's API, scheduled by a policy of your choice."
_GONE = 499  # the client has left; nobody reads the answer
_EITHER = {
    "prompt": "Input should be a text, a list of one text, or a list of tokens",
    "stop": "Input should be a text or a list of texts",
}
"""What is expected where a parameter may be of several types; the first one alone would be named."""

Result = TypeVar("Result")


def create_app(service: Service, metrics: Metrics, *, version: str, most_bytes: int) -> FastAPI:
    """Return the API over a service.

    Args:
        service: that answers.
        metrics: of it, for `/metrics`.
        version: of Headway.
        most_bytes: of a body.
    """
    app = FastAPI(title="Headway", version=version, description=_ABOUT, redoc_url=None)
    app.add_middleware(BodyLimit, most=most_bytes)
    app.add_middleware(AsJson)
    _answer_errors(app)
    model = service.loop.backend.name
    started = int(time.time())

    @app.post("/v1/chat/completions", tags=["completions"])
    async def chat(asked: ChatBody, request: Request) -> Response:
        """Answer a conversation."""
        _check_model(asked.model, model)
        vocabulary, turns = service.loop.backend.vocabulary, asked.turns
        characters = sum(len(turn["content"]) + 16 for turn in turns)
        question = _question(asked, lambda: vocabulary.chat(turns), characters, special=True)
        return await _answer(service, question, asked, CHAT, request)

    @app.post("/v1/completions", tags=["completions"])
    async def complete(asked: CompletionBody, request: Request) -> Response:
        """Go on with a text."""
        _check_model(asked.model, model)
        text = asked.text
        characters = len(text) if isinstance(text, str) else 4 * len(text)
        return await _answer(service, _question(asked, text, characters, special=False), asked, TEXT, request)

    @app.get("/v1/models", tags=["models"])
    async def models(request: Request) -> dict[str, Any]:
        """List the model."""
        service.access.caller(request.headers.get("authorization"), None)
        return {"object": "list", "data": [_card(model, started)]}

    @app.get("/v1/models/{name:path}", tags=["models"])
    async def one_model(name: str, request: Request) -> dict[str, Any]:
        """Tell of the model."""
        service.access.caller(request.headers.get("authorization"), None)
        _check_model(name, model)
        return _card(model, started)

    @app.get("/health", tags=["operation"])
    async def health() -> JSONResponse:
        """Say whether requests are served."""
        loop = service.loop
        status = "ok" if loop.open else "stopping" if loop.alive else "failed"
        return JSONResponse({"status": status, "unfinished": loop.unfinished}, 200 if status == "ok" else 503)

    @app.get("/metrics", tags=["operation"])
    async def prometheus() -> Response:
        """Return the metrics, as Prometheus reads them."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    app.head("/health", include_in_schema=False)(health)  # as load balancers ask

    return app


def _question(asked: Body, prompt: Any, characters: int, *, special: bool) -> Asked:
    return Asked(
        prompt=prompt,
        characters=characters,
        special=special,
        limit=asked.limit,
        sampling=asked.sampling,
        stops=asked.stops,
        endless=bool(asked.ignore_eos),
        priority=asked.priority,
        service_tier=asked.service_tier,
        stream=bool(asked.stream),
    )


async def _answer(service: Service, question: Asked, asked: Body, kind: str, request: Request) -> Response:
    """Answer in one piece or as a stream; nothing is computed any more once the client has left."""
    reply = await service.ask(question, request.headers)
    answer = Answer(kind, service.loop.backend.name, asked.service_tier)
    if asked.stream:
        return await _streamed(reply, answer, asked, request)
    try:
        text = await _unless_gone(_all(reply), request)
    finally:
        reply.leave()
    if text is None:
        return Response(status_code=_GONE)
    return JSONResponse(answer.whole(text, reply.why or "", reply.counts()))


async def _streamed(reply: Reply, answer: Answer, asked: Body, request: Request) -> Response:
    """Begin the stream with its first piece: whoever is refused while it waits learns of it by the status."""
    pieces = reply.pieces()
    try:
        first = await _unless_gone(anext(pieces), request)
    except BaseException:
        reply.leave()
        raise
    if first is None:
        reply.leave()
        return Response(status_code=_GONE)
    return Stream(_events(reply, first, pieces, answer, asked), reply)


class Stream(StreamingResponse):
    """Server-sent events of one reply, which is left when they end, were it before the first one is sent."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], reply: Reply) -> None:
        super().__init__(events, headers={"Cache-Control": "no-cache"})
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._reply.leave()


async def _all(reply: Reply) -> str:
    return "".join([text async for text in reply.pieces()])


async def _unless_gone(work: Awaitable[Result], request: Request) -> Result | None:
    """Wait for some work; None where the client leaves before it is done."""
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        for task in (doing, leaving):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(
    reply: Reply, first: str, pieces: AsyncIterator[str], answer: Answer, asked: Body
) -> AsyncIterator[str]:
    """Yield a stream's events."""
    try:
        counts = asked.wants_counting
        yield _event(answer.chunk(first, reply.why, reply.counts() if counts else None))
        async for text in pieces:
            yield _event(answer.chunk(text, reply.why, reply.counts() if counts else None))
        if asked.wants_usage:
            yield _event(answer.counts(reply.counts()))
        yield "data: [DONE]\n\n"
    except Refused as refused:
        yield _event(body(refused))


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _check_model(name: str | None, model: str) -> None:
    if name is not None and name != model:
        raise Refused(
            404,
            "model_not_found",
            f"The model '{name[:200]}' is not served here; '{model}' is.",
            param="model",
        )


def _card(model: str, started: int) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": started, "owned_by": "headway"}


def _answer_errors(app: FastAPI) -> None:
    """Answer every error by OpenAI's error object."""

    def answered(refused: Refused) -> JSONResponse:
        return JSONResponse(body(refused), refused.status, headers=headers(refused))

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        return answered(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return answered(_invalid(error))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error.__cause__, TooLarge):
            return answered(error.__cause__.refused)
        code = {400: "invalid_json", 404: "not_found", 405: "method_not_allowed"}
        return answered(Refused(error.status_code, code.get(error.status_code, "invalid_request"), str(error.detail)))

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> JSONResponse:
        # Where it failed, and not with which words: they may be the client's.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        _log.error("request_failed", extra={"error": type(error).__name__, "where": where})
        return answered(Refused(500, "internal_error", "The server failed on this request."))


def _invalid(error: RequestValidationError) -> Refused:
    """Name the first parameter that is wrong, and what was expected of it."""
    found = error.errors()[0]
    place = [str(part) for part in found["loc"] if part != "body"]
    if found["type"] == "json_invalid":
        return Refused(
            400,
            "invalid_json",
            f"The body is not JSON: {found.get('ctx', {}).get('error', found['msg'])}.",
            should_retry=False,
        )
    name = place[0] if place else None
    if found["type"] == "extra_forbidden":
        where = ".".join(place)
        return Refused(400, "unknown_parameter", f"Unknown parameter: '{where}'.", param=where)
    if found["type"] == "missing":
        message = f"Missing required parameter: '{'.'.join(place)}'." if place else "The body is missing."
        return Refused(400, "missing_required_parameter", message, param=name)
    about = f"'{name}': " if name else ""
    if found["type"] == "too_long" and found["ctx"]["max_length"] == 0:
        return Refused(400, "unsupported_value", f"{about}It is not supported here; leave it out.", param=name)
    code = "unsupported_value" if found["type"] == "literal_error" else "invalid_value"
    expected = None if found["type"] == "value_error" else _EITHER.get(name or "")
    return Refused(400, code, f"{about}{expected or found['msg']}.", param=name)
