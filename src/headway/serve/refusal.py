"""What a request is told that is not served: status, reason, and when to try again.

The one place where outcomes become HTTP. Contention, or a deadline that is out of reach now, is 429 with the time in
which the queue is predicted to drain; what could not be served on an empty server either is 400 and not worth another
attempt; a server that stops is 503. The headers are those that the OpenAI clients read.
"""

from __future__ import annotations

import math
from typing import Any

from headway.core.errors import HeadwayError
from headway.core.sequence import REJECTED, Sequence

SHORTLY = 1.0
"""Seconds to try again after, where nobody knows better."""

RESTART = 5.0
"""Seconds that another server, or this one once more, may take to be there."""

JITTER = 0.25
"""The largest share that is added to a time, so that those who were refused together do not come back together."""

_NEVER = {
    "unreachable": (
        "unreachable",
        "the promised times cannot be kept for a prompt of this size, not even on an idle server; ask for later ones",
    ),
    "kv_capacity": (
        "context_length_exceeded",
        "the prompt is larger than the memory of this server; send a shorter one",
    ),
}
_LATER = {
    "deadline": "the promised times cannot be kept behind the work that is ahead; try again later",
    "queue_full": "the queue is full; try again later",
}


class Refused(HeadwayError):  # noqa: N818 - what the client is told, not a fault
    """A request is not served, and this is what its client is told.

    Attributes:
        status: of HTTP.
        code: for programs; the API's own where it has one (`invalid_api_key`, `rate_limit_exceeded`).
        message: for people; it never holds a key or a prompt.
        param: the header or field of the body that is wrong.
        retry_after: seconds, above 0, after which to try again; None where there is nothing to wait for.
        should_retry: whether the same request may be served at another time.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: float | None = None,
        should_retry: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.should_retry = should_retry


def wrong_value(param: str, message: str) -> Refused:
    """Return the refusal of a header or field that has a wrong value."""
    return Refused(400, "invalid_value", f"{param}: {message}", param=param)


def refusal_of(seq: Sequence, draw: float) -> Refused:
    """Return what the client of a request is told that the scheduler did not let in, or had to give up.

    Args:
        seq: rejected by the policy, with its reason; or cancelled because the server stops.
        draw: a random number in [0, 1), for the jitter.
    """
    if seq.state != REJECTED:
        return unavailable("this server stops", draw)
    if seq.reason in _NEVER:
        code, message = _NEVER[seq.reason]
        return Refused(400, code, message)
    reason = seq.reason or "rejected"
    message = _LATER.get(reason, f"refused by the policy of this server ({reason}); try again later")
    return _later(429, reason, message, seq.retry_after or SHORTLY, draw)


def unavailable(why: str, draw: float) -> Refused:
    """Return what clients are told while nobody is served: 503, to be tried again.

    Args:
        why: for people, as in "this server stops".
        draw: a random number in [0, 1), for the jitter.
    """
    return _later(503, "unavailable", f"{why}; try again later", RESTART, draw)


def headers(refused: Refused) -> dict[str, str]:
    """Return the response headers: the wait in whole seconds for all, in milliseconds for those who read that."""
    given = {"x-should-retry": "true" if refused.should_retry else "false"}
    if refused.retry_after is not None:
        given["Retry-After"] = str(max(math.ceil(refused.retry_after), 1))
        given["retry-after-ms"] = str(max(math.ceil(1000 * refused.retry_after), 1))
    if refused.status == 401:
        given["WWW-Authenticate"] = "Bearer"
    return given


def body(refused: Refused) -> dict[str, Any]:
    """Return the error object of the API."""
    return {
        "error": {
            "message": refused.message,
            "type": _kind(refused.status),
            "param": refused.param,
            "code": refused.code,
        }
    }


def _later(status: int, code: str, message: str, seconds: float, draw: float) -> Refused:
    return Refused(status, code, message, retry_after=seconds * (1.0 + JITTER * draw), should_retry=True)


def _kind(status: int) -> str:
    if status >= 500:
        return "server_error"
    return "rate_limit_error" if status == 429 else "invalid_request_error"
