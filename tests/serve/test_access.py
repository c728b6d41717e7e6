"""Keys to tenants, and the limits of tenants."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.serve import access
from headway.serve.access import Access, Caller, Limits, digest
from headway.serve.refusal import Refused
from headway.workload.tenants import Tenant, TenantsFile, Terms

GOLD = Terms({"weight": 4.0})
SILVER = Terms({"ttft_slo": 2.0})
OTHERS = Terms({"priority": -1})
TENANTS = (
    Tenant("gold", GOLD, keys=(digest("hw-one"), digest("hw-two"))),
    Tenant("silver", SILVER, keys=(digest("hw-three"),)),
    Tenant("keyless"),
)
FILE = TenantsFile("f.toml", TENANTS, OTHERS)
STRICT = TenantsFile("f.toml", TENANTS, strict=True)


def refusal(guard: Access, authorization: str | None, named: str | None = None) -> Refused:
    with pytest.raises(Refused) as caught:
        guard.caller(authorization, named)
    return caught.value


@pytest.mark.parametrize(
    ("authorization", "who"),
    [("Bearer hw-one", "gold"), ("Bearer hw-two", "gold"), ("bearer  hw-three ", "silver"), ("BEARER hw-one", "gold")],
)
def test_a_key_is_its_tenants(authorization: str, who: str):
    guard = Access(FILE, keys_required=True)
    expected = Caller(who, GOLD if who == "gold" else SILVER)
    assert guard.caller(authorization, None) == guard.caller(authorization, who) == expected
    assert guard.caller(authorization, "") == expected


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "hw-one", "Basic hw-one", "Bearer hw-four", "Bearer HW-ONE", "Bearer \udcff", "é"],
)
def test_without_a_known_key_nobody_is_let_in(authorization: str | None):
    for named in (None, "gold"):
        refused = refusal(Access(FILE, keys_required=True), authorization, named)
        assert (refused.status, refused.code, refused.should_retry) == (401, "invalid_api_key", False)
        assert "hw-" not in refused.message
    assert refusal(Access(None, keys_required=True), authorization).status == 401


def test_the_hash_is_no_key():
    assert refusal(Access(FILE, keys_required=True), f"Bearer {digest('hw-one').hex()}").status == 401


def test_a_key_does_not_open_for_another_tenant():
    for named in ("silver", "gold ", "keyless", "nobody"):
        refused = refusal(Access(FILE, keys_required=True), "Bearer hw-one", named)
        assert (refused.status, refused.param) == (403, "x-llm-d-inference-fairness-id")


@pytest.mark.parametrize("token", ["hw-one", "hw-three", "hw-nobody"])
def test_every_key_is_compared_whichever_fits(token: str, monkeypatch: pytest.MonkeyPatch):
    compared: list[bytes] = []

    def counting(known: bytes, given: bytes) -> bool:
        compared.append(known)
        return hmac.compare_digest(known, given)

    guard = Access(FILE, keys_required=True)
    monkeypatch.setattr(access, "hmac", type("Counting", (), {"compare_digest": staticmethod(counting)}))
    try:
        guard.caller(f"Bearer {token}", None)
    except Refused:
        assert token == "hw-nobody"
    assert compared == [key for tenant in TENANTS for key in tenant.keys]


def test_without_keys_the_client_says_who_it_is():
    guard = Access(FILE, keys_required=False)
    assert guard.caller(None, "gold") == Caller("gold", GOLD)
    assert guard.caller("Bearer whatever", "silver") == Caller("silver", SILVER)
    assert guard.caller(None, "stranger") == Caller("stranger", OTHERS)
    assert guard.caller(None, None) == guard.caller(None, "") == Caller("default", OTHERS)
    assert Access(None, keys_required=False).caller(None, None) == Caller("default", Terms())


def test_a_strict_file_serves_those_that_it_names():
    guard = Access(STRICT, keys_required=False)
    assert guard.caller(None, "gold").tenant == "gold"
    for named in ("stranger", None):
        refused = refusal(guard, None, named)
        assert (refused.status, refused.code) == (403, "unknown_tenant")


@pytest.mark.parametrize("named", ["x" * 129, "a\nb", "a\x00"])
def test_a_name_that_nobody_could_print_is_refused(named: str):
    refused = refusal(Access(None, keys_required=False), None, named)
    assert (refused.status, refused.param) == (400, "x-llm-d-inference-fairness-id")


def limits(unfinished: int | None = None, rate: float | None = None) -> Limits:
    return Limits(TenantsFile("f", (Tenant("a", max_unfinished=unfinished, requests_per_minute=rate),)))


def limited(of: Limits, now: float) -> float | None:
    """When to try again, in seconds; None where the request is taken."""
    try:
        of.take("a", now)
    except Refused as error:
        refused = error
    else:
        return None
    assert (refused.status, refused.code, refused.should_retry) == (429, "rate_limit_exceeded", True)
    return refused.retry_after


@given(events=st.lists(st.booleans()), most=st.integers(1, 4))
def test_never_more_are_unfinished_than_may_be(events: list[bool], most: int):
    of, inside = limits(most), 0
    for comes in events:
        if comes:
            taken = limited(of, 0.0) is None
            assert taken == (inside < most)
            inside += taken
        elif inside:
            of.release("a")
            inside -= 1
        assert of.unfinished("a") == inside


@given(
    rate=st.one_of(st.integers(1, 300), st.floats(0.01, 300)),
    gaps=st.lists(st.one_of(st.just(0.0), st.floats(0, 90)), max_size=60),
    start=st.floats(0, 1e6),
)
def test_the_rate_holds_over_every_span_and_the_wait_is_the_shortest_that_helps(
    rate: float, gaps: list[float], start: float
):
    of, now, taken = limits(rate=rate), start, []
    burst = max(rate, 1.0)
    for gap in gaps:
        now += gap
        wait = limited(of, now)
        if wait is None:
            taken.append(now)
            continue
        assert 0 < wait <= max(60 / rate, 60.0) + 1e-3
        assert limited(of, now + 0.9 * wait - 1e-3) is not None
        now += wait
        assert limited(of, now) is None
        taken.append(now)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            span = taken[last] - taken[first]
            assert last - first + 1 <= burst + span * rate / 60 + 1e-3


@pytest.mark.parametrize("rate", [1, 3, 7, 60, 61, 299])
def test_a_minutes_worth_may_come_at_once_and_no_more(rate: int):
    for now in (0.0, 12_345.678, 1e7 / 3):
        of = limits(rate=rate)
        assert [limited(of, now) for _ in range(rate)] == [None] * rate
        assert limited(of, now) == pytest.approx(60 / rate, abs=1e-5)


def test_a_refused_request_counts_for_nothing():
    of = limits(unfinished=1, rate=2)
    of.take("a", 0.0)
    for _ in range(5):
        assert limited(of, 0.0) is not None
    of.release("a")
    of.take("a", 0.0)
    of.release("a")
    assert limited(of, 0.0) is not None
    assert of.unfinished("a") == 0


def test_others_are_not_limited_and_are_forgotten_when_they_are_gone():
    of = limits(unfinished=1, rate=1)
    for index in range(100):
        of.take("b", 0.0)
        of.take(f"tenant {index}", 0.0)
        of.release(f"tenant {index}")
    assert of.unfinished("b") == 100
    assert len(of._unfinished) == 1


def test_new_limits_count_those_who_are_there():
    of = limits()
    of.take("a", 0.0)
    of.take("a", 0.0)
    of.use(TenantsFile("f", (Tenant("a", max_unfinished=2),)))
    assert limited(of, 0.0) is not None
    of.release("a")
    assert limited(of, 0.0) is None
    of.use(None)
    assert limited(of, 0.0) is None
    for _ in range(3):
        of.release("a")
    assert of.unfinished("a") == 0
