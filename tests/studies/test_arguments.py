"""What a user of the Python API may pass by mistake, and what is taken as it is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headway

SMALL = "qba-paper(n=20)"


class Latest(headway.Order):
    def key(self, seq: headway.Sequence) -> float:
        return -seq.arrival


def names(**given: Any) -> list[str]:
    return [summary.policy for summary in headway.compare(SMALL, **given).policies]


@pytest.mark.parametrize(
    ("policies", "name"), [("fcfs", "fcfs"), (Latest, "Latest"), (headway.Policy.of("qba(k=3)"), "qba(k=3)")]
)
def test_one_policy_needs_no_list(policies: object, name: str):
    assert names(policies=policies) == [name]


def test_one_memory_rule_needs_no_list():
    assert headway.compare(SMALL, "fcfs", memory="oracle").policies[0].memory_rule == "oracle"


def test_an_agreement_may_be_a_text():
    summary = headway.compare(SMALL, "fcfs", sla="ttft=1000").policies[0]
    assert summary.sla is not None
    assert summary.sla.attainment == 1


def test_policies_and_seeds_may_be_any_iterable():
    comparison = headway.compare(SMALL, iter(["fcfs", "psf"]), seeds=iter([2, 5]))  # type: ignore[arg-type]
    assert [summary.seeds for summary in comparison.policies] == [(2, 5), (2, 5)]


def test_simulate_takes_the_class_of_an_order():
    assert headway.simulate(headway.workload(SMALL), Latest, "qba-paper").policy == "Latest"


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no source": (lambda: headway.compare(None), "source = None; expected a trace (headway.read_trace)"),  # type: ignore[arg-type]
    "path": (lambda: headway.compare(Path("t.csv")), "expected a trace (headway.read_trace)"),  # type: ignore[arg-type]
    "no policies": (lambda: names(policies=None), "policies = None; expected a policy or several"),
    "number": (lambda: names(policies=[3]), "policy = 3; expected a spec such as 'qba(k=3)'"),
    "class": (lambda: names(policies=[int]), "policy = <class 'int'>; expected a spec"),
    "seeds": (lambda: names(seeds=3), "seeds = 3; expected several seeds: range(3) for three of them, [3] for seed 3"),
    "seed": (lambda: names(seeds=[-1]), "seed must be >= 0, got -1"),
    "memory": (lambda: names(memory=[3]), "spec = 3; expected a text"),
    "no memory": (lambda: names(memory=None), "memory = None; expected a memory rule or several"),
    "engine": (lambda: names(engine=3), "unknown engine '3'"),
    "sla": (lambda: names(sla=3), "sla = 3; expected a text such as 'ttft=10,mtpot=1.5'"),
    "limit": (
        lambda: headway.compare(headway.Source(headway.workload(SMALL), limit="x")),  # type: ignore[arg-type]
        "limit must be a whole number >= 1, got x",
    ),
    "simulate": (
        lambda: headway.simulate("qba-paper"),  # type: ignore[arg-type]
        "trace = 'qba-paper'; expected a Trace, as of headway.workload('qba-paper')",
    ),
    "policy": (lambda: headway.simulate(headway.workload(SMALL), None), "policy = None; expected a spec"),  # type: ignore[arg-type]
    "workload": (lambda: headway.workload(None), "spec = None; expected a text"),  # type: ignore[arg-type]
    "file": (lambda: headway.read_trace(3), "path = 3; expected the path of a trace file"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_anything_else_is_refused_in_one_line(case: str):
    make, says = WRONG[case]
    with pytest.raises(headway.InvalidInput) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
