"""Policies from specs, classes and import paths."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile, preset
from headway.core.errors import InvalidSpec
from headway.core.request import Request
from headway.core.rules import Order
from headway.core.spec import Spec
from headway.policies.memory import MEMORY_RULES
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.order import ORDERS
from headway.policies.order.quota_aging import QuotaAging
from headway.policies.policy import Policy
from headway.policies.shedding import SHEDDING_RULES
from headway.policies.shedding.keep import Keep
from tests.policies.own_orders import SmallestPrompt, Urgent

OWN = "tests.policies.own_orders"


def engine(**changes: Any) -> EngineProfile:
    sizes: dict[str, Any] = {"name": "x", "token_budget": 4, "max_sequences": 1, "kv_tokens": 100}
    return EngineProfile(**{**sizes, "cost": Piecewise(1.0, 0.0), **changes})


def test_a_spec_sets_the_order_and_the_engine_the_memory_rule() -> None:
    order, memory, shedding, _ = Policy.of("qba(k=3, gamma=0.9, refused=stop)").rules(preset("qba-paper"))
    assert isinstance(order, QuotaAging)
    assert (order.k, order.gamma, order.when_refused) == (3, 0.9, "stop")
    assert isinstance(memory, PromptFit)
    assert float(memory.safety) == 0.7
    assert isinstance(shedding, Keep)


def test_a_policy_may_name_its_own_memory_rule() -> None:
    policy = Policy.of("fcfs", memory="prompt-fit(safety=0.4)")
    assert policy.memory == Spec("prompt-fit", {"safety": 0.4})
    memory = policy.rules(preset("qba-paper"))[1]
    assert isinstance(memory, PromptFit)
    assert float(memory.safety) == 0.4


def test_every_build_starts_afresh() -> None:
    policy = Policy.of("aa")
    first, second = policy.build(engine()), policy.build(engine())
    assert first.order is not second.order
    first.submit(Request(0, 0.0, 3), 0.0)
    assert (first.waiting, second.waiting) == (1, 0)


@pytest.mark.parametrize("known", [ORDERS, MEMORY_RULES, SHEDDING_RULES])
def test_every_name_builds_without_options_and_has_a_docstring_that_asks(known: dict[str, Any]) -> None:
    for name, make in known.items():
        make(**{"queue-cap": {"requests": 1}}.get(name, {}))  # a cap of nothing is refused
        assert "?" in make.__doc__, name


@pytest.mark.parametrize("text", [*ORDERS, " psf ", "shortest-work(aging=3)"])
def test_a_policy_is_called_by_its_spec(text: str) -> None:
    assert Policy.of(text).name == text.strip()


def test_however_a_spec_is_spelled_its_policy_has_one_name() -> None:
    assert Policy.of("qba( k=3,gamma=0.90, refused='stop')").name == "qba(k=3, gamma=0.9, refused=stop)"


def test_a_class_is_an_order_too() -> None:
    policy = Policy.of(SmallestPrompt)
    assert policy.name == "SmallestPrompt"
    assert isinstance(policy.order(), SmallestPrompt)


def test_an_import_path_is_an_order_too() -> None:
    policy = Policy.of(f"{OWN}:Urgent(boost=-0.5, name='a-b')")
    assert policy.name == f"{OWN}:Urgent(boost=-0.5, name=a-b)"
    order = policy.order()
    assert isinstance(order, Urgent)
    assert (order.boost, order.name) == (-0.5, "a-b")
    assert isinstance(Policy.of(f"{OWN}:SmallestPrompt").order(), SmallestPrompt)


def test_an_own_order_of_one_method_decides_who_is_next() -> None:
    scheduler = Policy.of(SmallestPrompt).build(engine())
    seqs = [scheduler.submit(Request(row, 0.0, prompt), 0.0) for row, prompt in enumerate([3, 2, 2, 4])]
    started = []
    for now in range(4):
        batch = scheduler.plan(float(now))
        scheduler.complete(batch, now + 1.0, batch.joined)
        started += [seq.request.id for seq in batch.admitted]
    assert started == [1, 2, 0, 3]  # ties by arrival
    assert all(seq.start >= 0 for seq in seqs)


@pytest.mark.parametrize(
    ("order", "memory", "shedding", "message"),
    [
        ("fcsf", None, "keep", "unknown policy 'fcsf'; did you mean 'fcfs'?"),
        ("qba(q=3)", None, "keep", "policy 'qba' has no parameter 'q'; "),
        ("qba(k=0)", None, "keep", "policy 'qba': k must be >= 1, got 0"),
        ("qba(3)", None, "keep", "arguments need names"),
        ("qba(k=1" + "0" * 400 + ")", None, "keep", "cannot read the spec"),
        ("fcfs", "prompt-fitt", "keep", "unknown memory rule 'prompt-fitt'; did you mean 'prompt-fit'?"),
        ("fcfs", "prompt-fit(safety=1.2)", "keep", "memory rule 'prompt-fit': safety must be in (0, 1], got 1.2"),
        ("fcfs", "prompt-fit(safety=0)", "keep", "got 0"),
        ("fcfs", None, "keeep", "unknown shedding rule 'keeep'; did you mean 'keep'?"),
        ("fcfs", None, "keep(", "cannot read the spec 'keep('"),
        ("no_such_module_1:Order", None, "keep", "cannot import it: No module named 'no_such_module_1'"),
        (f"{OWN}:Missing", None, "keep", f"module '{OWN}' has no 'Missing'"),
        (f"{OWN}:NotAnOrder", None, "keep", "expected a subclass of headway.Order"),
        (f"{OWN}:NOT_A_CLASS", None, "keep", "expected a subclass of headway.Order"),
        (f"{OWN}:Urgent(loud=1)", None, "keep", "has no parameter 'loud'; "),
        (f"{OWN}:Urgent(boost=)", None, "keep", "cannot read the spec"),
        (f"{OWN}:Demanding", None, "keep", "level"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(order: str, memory: str | None, shedding: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        Policy.of(order, memory, shedding)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_path_is_imported_and_never_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fresh_orders.py").write_text(
        "from headway.core.rules import Order\n"
        "class Last(Order):\n"
        "    def key(self, seq):\n"
        "        return -seq.arrival\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        order = Policy.of("fresh_orders:Last").order()
        assert isinstance(order, Order)
    finally:
        sys.modules.pop("fresh_orders", None)
    for text in ("fresh_orders:Last.key", "fresh_orders:Last()()", "os:abort()", "os:system(command='true')"):
        with pytest.raises(InvalidSpec):
            Policy.of(text)


def test_the_memory_rule_of_an_engine_is_checked_when_it_is_built() -> None:
    with pytest.raises(InvalidSpec, match="unknown memory rule 'fit'"):
        Policy.of("fcfs").build(engine(memory="fit"))


@pytest.mark.parametrize(
    ("order", "memory", "wrong"),
    [
        ("least-slack(model=nope)", None, "unknown value nope"),
        ("least-slack(model=3)", None, "unknown value 3"),
        ("least-slack(model=linear)", None, "unknown value linear"),
        ("fair-share(inner=3)", None, "unknown inner order '3'"),
        ("fair-share(inner=none)", None, "unknown inner order 'None'"),
        ("fcfs", "past-future(window=1e30)", "window must be in"),
        ("fcfs", "past-future(seed_length=1e30)", "seed_length must be in"),
    ],
)
def test_values_of_another_kind_or_size_are_named(order: str, memory: str | None, wrong: str):
    with pytest.raises(InvalidSpec, match=re.escape(wrong)):
        Policy.of(order, memory).build(preset("qba-paper"))


class Forgetful(Order):
    def __init__(self) -> None:
        self.mine = 1


def test_an_own_order_that_forgets_its_base_is_told_so() -> None:
    with pytest.raises(InvalidSpec, match=r"policy 'Forgetful': its __init__ must call super\(\).__init__\(\)"):
        Policy.of(Forgetful)
