"""Headers and body fields to a request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.request import Request, Slo
from headway.serve.access import Caller
from headway.serve.refusal import Refused
from headway.serve.wire import request_of, tenant_of
from headway.workload.tenants import Terms

TERMS = Terms({"weight": 3.0, "class": "chat", "priority": 5, "ttft_slo": 2.0, "itl_slo": 0.05, "completion_slo": 60.0})
PLAIN = Caller("a", Terms())
PROMISED = Caller("a", TERMS)


def made(caller: Caller = PLAIN, headers: dict[str, str] | None = None, **body: Any) -> Request:
    return request_of(caller, headers or {}, 10, 20, **body)


def test_a_bare_request_promises_nothing():
    assert made() == Request(0, 0.0, 10, 20, tenant="a")
    assert request_of(PLAIN, {}, 10, None).max_new_tokens is None


def test_the_terms_hold_where_the_wire_says_nothing():
    assert made(PROMISED) == Request(
        0, 0.0, 10, 20, None, "a", label="chat", priority=5, slo=Slo(2.0, 0.05, 60.0), weight=3.0
    )


def test_the_wire_goes_before_the_terms_key_by_key():
    headers = {"x-llm-d-inference-objective": "batch", "x-llm-d-slo-ttft-ms": "250.5"}
    request = made(PROMISED, headers, priority=-7)
    assert (request.label, request.priority, request.slo) == ("batch", 7, Slo(0.2505, 0.05, 60.0))
    assert request.weight == 3.0


@pytest.mark.parametrize(
    ("header", "slo"),
    [
        ("x-llm-d-slo-ttft-ms", Slo(ttft=1.5)),
        ("x-slo-ttft-ms", Slo(ttft=1.5)),
        ("x-llm-d-slo-tpot-ms", Slo(itl=1.5)),
        ("x-slo-tpot-ms", Slo(itl=1.5)),
        ("x-headway-slo-completion-ms", Slo(completion=1.5)),
    ],
)
def test_promises_come_in_milliseconds(header: str, slo: Slo):
    assert made(headers={header: " 1500 "}).slo == slo
    for wrong in ("-1", "0", "nan", "inf", "1e999", "soon", "1_000", "0x10", "1,5", "5 ms", "1e13", "٣"):
        with pytest.raises(Refused) as caught:
            made(PROMISED, {header: wrong})
        assert (caught.value.status, caught.value.param, caught.value.should_retry) == (400, header, False)


def test_newer_names_go_before_older_ones():
    both = {"x-slo-ttft-ms": "bad", "x-llm-d-slo-ttft-ms": "100"}
    assert made(headers=both).slo == Slo(ttft=0.1)
    assert made(headers={"x-slo-ttft-ms": "100", "x-llm-d-slo-ttft-ms": " "}).slo == Slo(ttft=0.1)
    old, new = "x-gateway-inference-fairness-id", "x-llm-d-inference-fairness-id"
    assert tenant_of({old: "o", new: "n"}) == "n"
    assert tenant_of({old: "o"}) == "o"
    assert tenant_of({}) is tenant_of({new: ""}) is None


def test_names_are_what_their_clients_wrote():
    as_servers_read_it = "büro".encode().decode("latin-1")
    assert tenant_of({"x-llm-d-inference-fairness-id": as_servers_read_it}) == "büro"
    assert made(headers={"x-llm-d-inference-objective": as_servers_read_it}).label == "büro"
    assert tenant_of({"x-llm-d-inference-fairness-id": "b\xfcro"}) == "büro"


@pytest.mark.parametrize(
    ("text", "predicted"), [("short", "short"), ("long", "long"), ("120", 120.0), ("12.5", 12.5), ("0", 0.0)]
)
def test_predictions_are_a_class_or_tokens(text: str, predicted: str | float):
    assert made(headers={"x-headway-predicted": text}).predicted == predicted


@pytest.mark.parametrize("text", ["Long", "medium", "-3", "nan", "inf", "2e9", "x" * 500])
def test_other_predictions_are_refused(text: str):
    with pytest.raises(Refused) as caught:
        made(headers={"x-headway-predicted": text})
    assert (caught.value.status, caught.value.param) == (400, "x-headway-predicted")
    assert len(caught.value.message) < 200


@given(low=st.integers(-(10**9), 10**9), high=st.integers(-(10**9), 10**9), own=st.integers(-100, 100))
def test_lower_is_more_urgent_on_the_wire_and_less_in_the_scheduler(low: int, high: int, own: int):
    caller = Caller("a", Terms({"priority": own}))
    first, second = made(caller, priority=low).priority, made(caller, priority=high).priority
    assert (low < high) == (first > second)
    assert made(caller, priority=0, service_tier="priority").priority == 0


@pytest.mark.parametrize(("tier", "priority"), [(None, 5), ("auto", 5), ("default", 5), ("flex", 4), ("priority", 6)])
def test_tiers_are_beside_the_tenants_own_priority(tier: str | None, priority: int):
    assert made(PROMISED, service_tier=tier).priority == priority


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"service_tier": "gold"}, "service_tier"),
        ({"service_tier": ""}, "service_tier"),
        ({"priority": 10**10}, "priority"),
    ],
)
def test_other_fields_are_refused(body: dict[str, Any], param: str):
    with pytest.raises(Refused) as caught:
        made(**body)
    assert (caught.value.status, caught.value.code, caught.value.param) == (400, "invalid_value", param)


@pytest.mark.parametrize("label", ["x" * 129, "a\x07b"])
def test_a_class_is_a_name(label: str):
    with pytest.raises(Refused) as caught:
        made(headers={"x-llm-d-inference-objective": label})
    assert caught.value.param == "x-llm-d-inference-objective"


@given(
    headers=st.dictionaries(
        st.sampled_from(["x-slo-ttft-ms", "x-headway-predicted", "x-llm-d-inference-objective"]), st.text()
    )
)
def test_any_text_is_a_request_or_a_refusal(headers: dict[str, str]):
    try:
        slo = made(PROMISED, headers).slo
    except Refused as error:
        refused = error
    else:
        assert slo is not None
        assert slo.ttft is not None
        assert slo.ttft > 0
        return
    assert refused.status == 400
    assert refused.param in headers
