"""What refused clients are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.request import Request
from headway.core.sequence import CANCELLED, REJECTED, Sequence
from headway.serve.refusal import JITTER, Refused, body, headers, refusal_of, unavailable


def rejected(reason: str | None, retry_after: float | None = None) -> Sequence:
    seq = Sequence(Request(1, 0.0, 10), 0)
    seq.state, seq.reason, seq.retry_after = REJECTED, reason, retry_after
    return seq


@pytest.mark.parametrize(
    ("reason", "status", "code", "retry"),
    [
        ("deadline", 429, "deadline", True),
        ("queue_full", 429, "queue_full", True),
        ("own_reason", 429, "own_reason", True),
        (None, 429, "rejected", True),
        ("unreachable", 400, "unreachable", False),
        ("kv_capacity", 400, "context_length_exceeded", False),
    ],
)
def test_a_rejection_has_its_status_and_says_whether_to_come_back(reason: str, status: int, code: str, retry: bool):
    refused = refusal_of(rejected(reason, 7.0), 0.0)
    assert (refused.status, refused.code, refused.should_retry) == (status, code, retry)
    assert refused.retry_after == (7.0 if retry else None)
    given_headers = headers(refused)
    assert given_headers["x-should-retry"] == str(retry).lower()
    assert ("Retry-After" in given_headers) == ("retry-after-ms" in given_headers) == retry
    assert set(body(refused)["error"]) == {"message", "type", "param", "code"}


def test_a_server_that_stops_answers_503():
    seq = Sequence(Request(1, 0.0, 10), 0)
    seq.state = CANCELLED
    for refused in (refusal_of(seq, 0.5), unavailable("the model restarts", 0.5)):
        assert (refused.status, refused.should_retry) == (503, True)
        assert int(headers(refused)["Retry-After"]) >= 1
        assert body(refused)["error"]["type"] == "server_error"


@given(wait=st.floats(1e-6, 1e6), draw=st.floats(0, 1, exclude_max=True))
def test_the_wait_is_the_predicted_one_and_up_to_a_quarter_more(wait: float, draw: float):
    refused = refusal_of(rejected("deadline", wait), draw)
    assert refused.retry_after is not None
    assert wait <= refused.retry_after <= wait * (1 + JITTER) * (1 + 1e-12)
    sent = headers(refused)
    seconds, milliseconds = int(sent["Retry-After"]), int(sent["retry-after-ms"])
    assert seconds >= 1
    assert refused.retry_after <= seconds < max(refused.retry_after, 1) + 1
    assert refused.retry_after <= milliseconds / 1000 <= refused.retry_after + 0.001 + 1e-9


def test_those_who_are_refused_together_do_not_come_back_together():
    waits = {refusal_of(rejected("queue_full", 10.0), draw / 10).retry_after for draw in range(10)}
    assert len(waits) == 10


def test_a_wait_that_nobody_knows_is_short():
    assert refusal_of(rejected("deadline"), 0.0).retry_after == 1.0


def test_the_error_object_is_that_of_the_api():
    refused = Refused(401, "invalid_api_key", "no such key")
    assert body(refused) == {
        "error": {"message": "no such key", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}
    }
    assert headers(refused) == {"x-should-retry": "false", "WWW-Authenticate": "Bearer"}
    limited = Refused(429, "rate_limit_exceeded", "slow down", param="x", retry_after=0.2, should_retry=True)
    assert body(limited)["error"]["type"] == "rate_limit_error"
    assert headers(limited) == {"x-should-retry": "true", "Retry-After": "1", "retry-after-ms": "200"}
