"""headway policies, engines, workloads: all there is, a line each."""

from __future__ import annotations

import dataclasses

import pytest

from headway.core.engine import PRESETS
from headway.policies.eviction import EVICTION_RULES
from headway.policies.memory import MEMORY_RULES
from headway.policies.order import ORDERS
from headway.policies.policy import Policy
from headway.policies.shedding import SHEDDING_RULES
from headway.workload import workload, workloads
from tests.cli.conftest import Headway


def test_policies(headway: Headway):
    printed = headway("policies").out
    rows = headway("policies", "--json", "-").json["policies"]
    assert [row["name"] for row in rows] == [*ORDERS, *MEMORY_RULES, *SHEDDING_RULES, *EVICTION_RULES]
    for row in rows:
        assert f" {row['name']} " in printed
        assert row["question"].endswith("?")
        assert row["question"] in printed


def test_specs_of_policies_can_be_typed_as_they_are_listed(headway: Headway):
    for row in headway("policies", "--json", "-").json["policies"]:
        if row["kind"] == "order":
            Policy.of(row["spec"])
        else:
            spec = row["spec"].replace("queue-cap(requests=none", "queue-cap(requests=100")  # one of its two is needed
            Policy.of("fcfs", **{row["kind"]: spec})


def test_engines(headway: Headway):
    printed = headway("engines").out
    rows = headway("engines", "--json", "-").json["engines"]
    assert [row["name"] for row in rows] == list(PRESETS)
    for row in rows:
        assert f" {row['name']} " in printed
        assert row["source"]
        assert set(row) == {field.name for field in dataclasses.fields(PRESETS[row["name"]])}
        assert row["cost"]["kind"] in ("piecewise", "linear", "roofline", "steps")


def test_workloads(headway: Headway):
    printed = headway("workloads").out
    rows = headway("workloads", "--json", "-").json["workloads"]
    assert [row["name"] for row in rows] == list(workloads())
    for row in rows:
        assert row["description"] in printed
        assert len(workload(row["spec"], requests=10)) == 10


@pytest.mark.parametrize("command", ["policies", "engines", "workloads"])
def test_a_json_file(headway: Headway, command: str, folder):
    result = headway(command, "--json", "list.json")
    assert (result.status, result.out) == (0, "")
    assert (folder / "list.json").read_text() == headway(command, "--json", "-").out


def test_no_two_rules_of_a_kind_are_told_by_the_same_question(headway: Headway):
    rows = headway("policies", "--json", "-").json["policies"]
    told = [(row["kind"], row["question"]) for row in rows]
    assert len(set(told)) == len(told)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["workloads", "d1"], "options are told by 'headway workloads --json -', and 'headway compare d1' runs it"),
        (["policies", "qba"], "options are told by 'headway policies --json -'"),
        (["engines", "qba-paper"], "'headway engines --json -'"),
    ],
)
def test_who_asks_a_list_for_one_entry_is_told_where_it_is(headway: Headway, asked: list[str], says: str):
    assert says in headway(*asked).refusal()


def test_other_extra_arguments_have_no_such_hint(headway: Headway):
    assert headway("compare", "a.csv", "b.csv").refusal().endswith("(b.csv)")
