"""Tenants together: their streams, their promises, their weights."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidWorkload
from headway.core.spec import parse_spec
from headway.workload.tenants import PROMISED, Tenant, TenantsFile, Terms
from headway.workload.trace import Trace
from headway.workload.traffic import Traffic

SIZES = (parse_spec("uniform(low=1, high=999)"), parse_spec("uniform(low=0, high=99)"))
REQUEST = ["arrival", "prompt_tokens", "output_tokens"]


def tenant(name: str, rate: float = 2.0, weight: float = 1.0, **promised: str | float) -> Tenant:
    return Tenant(name, Terms({"weight": weight, **promised}), Traffic(parse_spec(f"poisson(rate={rate})"), SIZES))


def trace(*rows: tuple[str | None, float | None]) -> Trace:
    """A request a second, with its tenant and its promised first token."""
    return Trace.from_frame(
        "trace.csv",
        pl.DataFrame(
            {
                "arrival": range(len(rows)),
                "prompt_tokens": [10] * len(rows),
                "output_tokens": [5] * len(rows),
                "tenant": pl.Series([row[0] for row in rows], dtype=pl.String),
                "ttft_slo": pl.Series([row[1] for row in rows], dtype=pl.Float64),
            }
        ),
    )


@given(
    rates=st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 20), min_size=1),
    seed=st.integers(0, 3),
    data=st.data(),
)
def test_a_tenant_draws_the_same_whoever_is_beside_it(rates: dict[str, float], seed: int, data: st.DataObject):
    everyone = [tenant(name, rate) for name, rate in rates.items()]
    everyone.append(tenant("always", 5.0))
    together = TenantsFile("all", tuple(data.draw(st.permutations(everyone))), duration=20.0).draw(seed).frame
    assert together["arrival"].is_sorted()
    assert together["id"].to_list() == list(range(len(together)))
    for one in everyone:
        theirs = together.filter(pl.col("tenant") == one.name).select(REQUEST)
        try:
            alone = TenantsFile("one", (one,), duration=20.0).draw(seed).frame.select(REQUEST)
        except InvalidWorkload:
            assert theirs.is_empty()
        else:
            assert theirs.equals(alone)


def test_tenants_of_the_same_traffic_are_independent():
    frame = TenantsFile("f", (tenant("a"), tenant("b")), duration=2000.0).draw(1).frame
    a, b = (frame.filter(pl.col("tenant") == name)["prompt_tokens"].head(3500) for name in "ab")
    assert abs(pl.DataFrame({"a": a, "b": b}).select(pl.corr("a", "b")).item()) < 0.05


def test_the_first_requests_of_all_are_kept():
    file = TenantsFile("f", (tenant("a", 9.0), tenant("b", 1.0)), duration=50.0)
    few = TenantsFile("f", file.tenants, requests=100).draw(3).frame
    assert few.equals(file.draw(3).frame.head(100))
    assert few["tenant"].n_unique() == 2


def test_every_request_carries_its_promises_and_columns_without_any_are_left_out():
    chat = tenant("chat", weight=2.0, **{"class": "fast"}, ttft_slo=2.0, priority=3)
    file = TenantsFile("f.toml", (chat, tenant("batch", completion_slo=600.0)), requests=50)
    drawn = file.draw()
    assert (drawn.name, drawn.notes) == ("f.toml", ())
    assert drawn.frame.columns == [
        "id",
        *REQUEST,
        "tenant",
        "class",
        "ttft_slo",
        "completion_slo",
        "priority",
        "weight",
    ]
    promised = {
        row[0]: row[1:]
        for row in drawn.frame.select("tenant", "class", "ttft_slo", "completion_slo", "priority", "weight")
        .unique()
        .iter_rows()
    }
    assert promised == {"chat": ("fast", 2.0, None, 3, 2.0), "batch": (None, None, 600.0, None, 1.0)}
    assert file.weights == {"chat": 2.0, "batch": 1.0}


def test_weights_travel_with_the_requests():
    file = TenantsFile("f", (tenant("a", weight=3.0), tenant("z", weight=9.0)), Terms({"weight": 0.5}))
    assert file.promise(trace(("a", None), ("b", None), (None, None))).frame["weight"].to_list() == [3.0, 0.5, 0.5]


def test_a_given_promise_replaces_that_of_the_trace_and_the_rest_stays():
    file = TenantsFile("f", (tenant("a", ttft_slo=1.0), tenant("b", itl_slo=0.1)))
    kept = file.promise(trace(("a", None), ("a", 9.0), ("b", 9.0), ("b", None)))
    assert kept.frame["ttft_slo"].to_list() == [1.0, 1.0, 9.0, None]
    assert kept.frame["itl_slo"].to_list() == [None, None, 0.1, 0.1]
    assert "completion_slo" not in kept.frame.columns
    assert kept.notes == ()


def test_default_holds_for_tenants_without_a_table_and_requests_without_a_tenant():
    file = TenantsFile("f", (tenant("a", ttft_slo=1.0),), Terms({"completion_slo": 60.0, "class": "other"}))
    kept = file.promise(trace(("a", None), ("b", 9.0), (None, None)))
    assert kept.frame["ttft_slo"].to_list() == [1.0, 9.0, None]
    assert kept.frame["completion_slo"].to_list() == [None, 60.0, 60.0]
    assert kept.frame["class"].to_list() == [None, "other", "other"]
    assert kept.notes == ("f does not name 'b', 'default': [default] holds there.",)


def test_a_trace_without_tenants_is_the_defaults():
    plain = trace((None, None), (None, None))
    plain = Trace.from_frame("plain", plain.frame.drop("tenant", "ttft_slo"))
    kept = TenantsFile("f", (), Terms({"weight": 2.0, "ttft_slo": 3.0})).promise(plain)
    assert kept.frame["ttft_slo"].to_list() == [3.0, 3.0]
    named = TenantsFile("f", (tenant("default", ttft_slo=4.0),)).promise(plain)
    assert named.frame["ttft_slo"].to_list() == [4.0, 4.0]
    assert named.notes == ()


def test_names_that_do_not_meet_are_noted():
    file = TenantsFile("f", tuple(tenant(f"t{i}") for i in range(7)))
    notes = file.promise(trace(("t0", None), ("x", None))).notes
    assert notes == (
        "f does not name 'x': [default] holds there.",
        "f names 't1', 't2', 't3', 't4', 't5' and 1 more: not in trace.csv.",
    )


def test_a_strict_file_refuses_whom_it_does_not_name():
    strict = TenantsFile("f.toml", (tenant("a", ttft_slo=1.0),), strict=True)
    assert strict.promise(trace(("a", None))).frame["ttft_slo"].to_list() == [1.0]
    for stranger, name in (("b", "b"), (None, "default")):
        with pytest.raises(InvalidWorkload) as caught:
            strict.promise(trace(("a", None), (stranger, None)))
        assert str(caught.value) == (
            f"f.toml: tenant '{name}' of trace.csv has no [[tenant]] table, and strict = true wants one for each; "
            "add it, or set strict = false"
        )


NAMES = st.sampled_from(["a", "b", "c", None])
VALUES: dict[str, st.SearchStrategy[str | float]] = {
    "weight": st.floats(0.1, 9),
    "class": st.sampled_from(["x", "y"]),
    "priority": st.integers(-3, 3),
    "ttft_slo": st.floats(0.1, 9),
    "itl_slo": st.floats(0.1, 9),
    "completion_slo": st.floats(0.1, 9),
}
TERMS = st.builds(Terms, st.fixed_dictionaries({}, optional=VALUES))
ROWS = st.lists(
    st.fixed_dictionaries({"tenant": NAMES, **{key: st.none() | values for key, values in VALUES.items()}}),
    min_size=1,
    max_size=8,
)


@given(rows=ROWS, terms=st.dictionaries(st.sampled_from(["a", "b", "default"]), TERMS), default=TERMS)
def test_promises_are_those_of_a_loop(rows: list[dict[str, object]], terms: dict[str, Terms], default: Terms):
    schema = {"tenant": pl.String, **PROMISED}
    frame = pl.DataFrame(rows, schema=schema).with_columns(
        pl.int_range(pl.len()).cast(pl.Float64).alias("arrival"),
        pl.lit(1).alias("prompt_tokens"),
        pl.lit(1).alias("output_tokens"),
    )
    file = TenantsFile("f", tuple(Tenant(name, one) for name, one in terms.items()), default)
    kept = file.promise(Trace.from_frame("t", frame)).frame
    for row, seen in zip(rows, kept.iter_rows(named=True), strict=True):
        promised = terms.get(str(row["tenant"] or "default"), default).promised
        for column in PROMISED:
            assert seen[column] == promised.get(column, row[column]), column


def test_somebody_must_send_something():
    silent = Tenant("b", Terms({"ttft_slo": 1.0}))
    with pytest.raises(InvalidWorkload, match="f: tenant 'b' sends nothing; give it arrivals"):
        TenantsFile("f", (tenant("a"), silent), duration=5.0).draw()
    with pytest.raises(InvalidWorkload, match="f: no tenant sends a request"):
        TenantsFile("f", (tenant("a", 0.001),), duration=0.1).draw()
    with pytest.raises(InvalidWorkload, match="f: no tenant sends a request"):
        TenantsFile("f", ()).draw()
    with pytest.raises(InvalidWorkload, match="f: tenant 'a': nothing says how many requests there are"):
        TenantsFile("f", (tenant("a"),)).draw()
