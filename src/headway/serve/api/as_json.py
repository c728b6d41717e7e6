"""Every body is JSON, whatever its content type says: `curl -d` calls it a form."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

_TYPE = b"content-type"


class AsJson:
    """Lets the application behind it read all bodies as JSON.

    Args:
        app: what comes behind.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with another content type."""
        if scope["type"] == "http":
            headers = [(name, value) for name, value in scope["headers"] if name != _TYPE]
            scope = {**scope, "headers": [*headers, (_TYPE, b"application/json")]}
        await self._app(scope, receive, send)
