"""Bodies of requests end somewhere."""

from __future__ import annotations

import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway.serve.refusal import Refused, body


class BodyLimit:
    """Answers 413 to a body of more bytes than it lets through, without reading all of it.

    Args:
        app: what comes behind.
        most: bytes.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless its body is too large."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if length.isdigit() and int(length) > self._most:
            await self._refuse(send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._most:
                raise TooLarge(_refusal(self._most))
            return message

        await self._app(scope, counted, send)

    async def _refuse(self, send: Send) -> None:
        answer = json.dumps(body(_refusal(self._most))).encode()
        await send(
            {
                "type": "http.response.start",
                "status": 413,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", str(len(answer)).encode()),
                    (b"connection", b"close"),
                ],
            }
        )
        await send({"type": "http.response.body", "body": answer})


class TooLarge(Exception):  # noqa: N818 - a signal, not a fault
    """Raised where the application reads a body that goes on for too long.

    Attributes:
        refused: what its client is told.
    """

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def _refusal(most: int) -> Refused:
    return Refused(413, "body_too_large", f"the body is larger than {most:,} bytes")
