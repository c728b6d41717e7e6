"""Whose requests are in a trace."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workload.shares import shares
from headway.workload.trace import Trace


def trace(**columns: list[object]) -> Trace:
    n = len(next(iter(columns.values())))
    base: dict[str, list[object]] = {
        "arrival": [2.0 * i for i in range(n)],
        "prompt_tokens": [100] * n,
        "output_tokens": [10 * i for i in range(n)],
    }
    return Trace.from_frame("t", pl.DataFrame(base | columns, strict=False))


def test_a_trace_that_knows_neither_tenants_nor_promises_has_no_shares():
    assert shares(trace(predicted=["short", "long"])) == []


def test_a_share_for_each_tenant_and_class_most_tokens_first():
    found = shares(
        trace(
            tenant=["a", "b", "a", None, "a"],
            **{"class": ["x", None, "y", "x", "x"]},
            ttft_slo=[1.0, None, None, None, 4.0],
            priority=[2, 2, None, None, 2],
        )
    )
    assert [(one.tenant, one.label, one.requests, one.tokens) for one in found] == [
        ("a", "x", 2, 240),
        ("default", "x", 1, 130),
        ("a", "y", 1, 120),
        ("b", None, 1, 110),
    ]
    assert [one.share for one in found] == pytest.approx([0.4, 130 / 600, 0.2, 110 / 600])
    assert [one.rate for one in found] == pytest.approx([0.2, 0.1, 0.1, 0.1])
    assert [one.bounds for one in found] == [{"ttft_slo": (1.0, 4.0), "priority": (2, 2)}, {}, {}, {"priority": (2, 2)}]
    assert found[0].promised == {"ttft_slo": 2, "priority": 2}


def test_promises_alone_are_those_of_nobody():
    (one,) = shares(trace(completion_slo=[None, 60.0, 30.0]))
    assert (one.tenant, one.label, one.requests) == ("default", None, 3)
    assert (one.bounds, one.promised) == ({"completion_slo": (30.0, 60.0)}, {"completion_slo": 2})


def test_all_at_once_have_no_rate():
    (one,) = shares(trace(tenant=["a", "a"], arrival=[3.0, 3.0]))
    assert one.rate == math.inf


@given(names=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=30))
def test_shares_add_up_to_the_trace(names: list[str | None]):
    whole = trace(tenant=names)
    found = shares(whole)
    assert sum(one.requests for one in found) == len(names)
    assert sum(one.rate for one in found) == pytest.approx(whole.rate)
    assert sum(one.share for one in found) == pytest.approx(1.0)
