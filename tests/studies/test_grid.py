"""Sweep files: which cells they make, and what is said of a wrong one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from headway.core.engine import preset
from headway.core.errors import InvalidInput
from headway.studies.grid import AXES, COLUMNS, Plan, plan_of, policies_of, read_plan
from headway.workload import read_trace
from tests.studies.orders import Backwards

SMALL = {"workload": "qba-paper(n=20)", "policy": "fcfs"}
ROWS = "arrival,prompt_tokens,output_tokens\n0,10,5\n1,20,5\n2,30,5\n"


def varied(plan: Plan, *names: str) -> list[tuple[object, ...]]:
    return [tuple(planned.settings[name] for name in names) for planned in plan.cells]


def test_two_engines_of_one_name_are_refused():
    """Results show the name; the runs of one would stand for seeds of the other."""
    engine = preset("qba-paper")
    other = replace(engine, token_budget=engine.token_budget - 1)
    with pytest.raises(InvalidInput, match=r"two different cells are both called workload 'qba-paper\(n=20\)', engine"):
        plan_of(SMALL | {"engine": [engine, other]})
    assert len(plan_of(SMALL | {"engine": [engine, replace(other, name="smaller")]}).cells) == 2


def test_every_combination_is_there_once_seed_by_seed():
    plan = plan_of(SMALL | {"policy": ["fcfs", "psf"], "rate": [28, 30.5], "seeds": 3})
    expected = [(seed, rate, policy) for seed, rate, policy in product(range(3), (28.0, 30.5), ("fcfs", "psf"))]
    assert varied(plan, "seed", "rate", "policy") == expected
    assert len({planned.key for planned in plan.cells}) == 12
    assert not plan.notes


def test_cells_of_one_source_share_it():
    plan = plan_of(SMALL | {"policy": ["fcfs", "psf"], "seeds": 2, "engine": ["qba-paper", "a100-llama3-8b"]})
    assert len({id(planned.cell.source) for planned in plan.cells}) == 1


@pytest.mark.parametrize(
    ("given", "seeds"),
    [({}, [0]), ({"seeds": 2}, [0, 1]), ({"seed": 7, "seeds": 2}, [7, 8]), ({"seeds": [5, 3]}, [5, 3])],
)
def test_seeds(given: dict[str, object], seeds: list[int]):
    assert [planned.cell.seed for planned in plan_of(SMALL | given).cells] == seeds


def test_every_key_reaches_its_cell(tmp_path: Path):
    (tmp_path / "trace.csv").write_text(ROWS)
    (tmp_path / "tenants.toml").write_text('[[tenant]]\nname = "default"\nweight = 2\n')
    given = {
        "workload": "trace.csv",
        "tenants": "tenants.toml",
        "tokens_per_image": 3,
        "limit": 2,
        "rate": 4,
        "scale_lengths": 2,
        "epsilon_sl": 0.1,
        "epsilon_ls": 0.2,
        "engine": "h100-llama3-8b",
        "patience": 9,
        "sla": "ttft=3",
        "steady_after": 5,
        "watch_future": True,
        "policy": "qba(k=3)",
        "memory": "watermark",
        "evict": "least-computed",
        "shed": "reject",
        "prefill_share": 0.25,
        "reserve": "share=0.1,after=5,window=200",
    }
    (planned,) = plan_of(given, folder=tmp_path).cells
    cell = planned.cell
    assert (cell.source.limit, cell.source.rate, cell.source.length_factor) == (2, 4, 2)
    assert (cell.source.epsilon_sl, cell.source.epsilon_ls) == (0.1, 0.2)
    assert cell.source.tenants is not None
    assert cell.engine is preset("h100-llama3-8b")
    assert (cell.patience, str(cell.sla), cell.steady_after, cell.watch_future) == (9, "ttft=3", 5, True)
    assert str(cell.policy.shares.reserve) == given["reserve"]
    assert {name: planned.settings[name] for name in given} == given
    assert set(planned.settings) == set(COLUMNS)
    looped = plan_of(SMALL | {"clients": 4, "pools": 0.5, "engine": "a100-llama3-8b"}).cells[0].cell
    assert (looped.clients, looped.policy.shares.pools) == (4, 0.5)
    assert {*given, "clients", "pools"} == set(AXES)


def test_without_a_memory_rule_the_engines_is_shown():
    (planned,) = plan_of(SMALL).cells
    assert planned.settings["engine"] == "qba-paper"
    assert planned.settings["memory"] == "prompt-fit(safety=0.7)"


def test_paths_count_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "trace.csv").write_text(ROWS)
    (folder / "mine.toml").write_text((Path(__file__).parents[2] / "examples" / "engine.toml").read_text())
    (folder / "sweep.toml").write_text('workload = "trace.csv"\npolicy = "fcfs"\nengine = "mine.toml"\n')
    monkeypatch.chdir(tmp_path)
    (planned,) = read_plan("study/sweep.toml").cells
    assert len(planned.cell.source.requests(0)) == 3
    assert (planned.settings["workload"], planned.settings["engine"]) == ("trace.csv", "my-engine")


def test_grids_take_what_stands_above_them():
    plan = plan_of(SMALL | {"rate": 28, "grid": [{"policy": ["psf", "aa"]}, {"rate": [30, 32]}]})
    assert varied(plan, "policy", "rate") == [("psf", 28), ("aa", 28), ("fcfs", 30), ("fcfs", 32)]


def test_what_is_there_twice_is_run_once():
    plan = plan_of(SMALL | {"policy": ["qba(k=3, gamma=0.5)", "qba(gamma=0.5, k=3.0)"], "grid": [{}, {}]})
    assert len(plan.cells) == 1
    assert plan.notes == ("3 cells are there twice and run once.",)


@pytest.mark.parametrize("given", [{"policy": ["fcfs", "fcfs"]}, {"rate": [30, 30.0]}, {"seeds": [3, 3]}])
def test_a_value_that_is_listed_twice_is_run_once_and_noted(given: dict[str, object]):
    plan = plan_of(SMALL | given)
    assert len(plan.cells) == 1
    assert plan.notes == ("1 cell is there twice and run once.",)


def test_where_nothing_is_drawn_one_seed_is_enough(tmp_path: Path):
    (tmp_path / "trace.csv").write_text(ROWS)
    given = {"workload": "trace.csv", "policy": "fcfs", "memory": ["watermark", "past-future"], "seeds": 3}
    plan = plan_of(given, folder=tmp_path)
    assert varied(plan, "memory", "seed") == [
        ("watermark", 0),
        ("past-future", 0),
        ("past-future", 1),
        ("past-future", 2),
    ]
    assert "Where nothing is drawn" in plan.notes[0]


def test_objects_of_python(tmp_path: Path):
    (tmp_path / "trace.csv").write_text(ROWS)
    trace = read_trace(tmp_path / "trace.csv")
    plan = plan_of({"workload": trace, "policy": ["fcfs", Backwards], "engine": preset("qba-paper")})
    assert varied(plan, "workload", "policy") == [("trace.csv", "fcfs"), ("trace.csv", "Backwards")]


def test_policies_are_known_before_anything_is_judged():
    given = {"policy": ["fcfs", 3], "nosuch": 1, "grid": [{"policy": "own:Order"}, 4]}
    assert policies_of(given) == ["fcfs", "own:Order"]
    assert policies_of({"grid": 5}) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"polcy": "fcfs"}, "unknown key 'polcy'; did you mean 'policy'?"),
        ({"grid": [{"rates": 3}]}, "[[grid]] number 1: unknown key 'rates'; did you mean 'rate'?"),
        ({"grid": [{}, {"rate": -3}]}, "[[grid]] number 2: rate must be in (0, inf), got -3"),
        ({"grid": {"rate": 3}}, "grids are tables of their own; head each with [[grid]]"),
        ({"grid": []}, "grids are tables of their own"),
        ({"rate": "fast"}, "rate must be a number in (0, inf), got fast"),
        ({"rate": []}, "rate is an empty list; give a value, or leave it out"),
        ({"policy": ["fcfs", "qba(j=3)"]}, "policy 'qba' has no parameter 'j'"),
        ({"policy": 3}, "policy must be a text that is not empty, got 3"),
        ({"memory": "nosuch"}, "unknown memory rule 'nosuch'"),
        ({"workload": "nosuch"}, "'nosuch' is neither a file nor a workload"),
        ({"workload": "qba-paper(m=3)"}, "has no parameter 'm'"),
        ({"workload": ""}, "workload must be a text that is not empty"),
        ({"engine": "h200"}, "unknown engine 'h200'"),
        ({"engine": "nosuch.toml"}, "there is no such file"),
        ({"tenants": "nosuch.toml"}, "cannot read nosuch.toml"),
        ({"watch_future": 1}, "watch_future must be true or false, got 1"),
        ({"sla": "ttft"}, "'ttft' is not of the form ttft=10"),
        ({"seeds": 0}, "seeds must be in [1, 1000000], got 0"),
        ({"seeds": []}, "seeds is an empty list"),
        ({"seeds": [1, -1]}, "seeds must be in [0, 4611686018427387904], got -1"),
        ({"seed": 2**63}, "seed must be in [0, 4611686018427387904], got 9.22337e+18"),
        ({"seed": False}, "seed must be a whole number in [0, 4611686018427387904], got false"),
        ({"clients": 2**63}, "clients must be in [1, "),
        ({"steady_after": 2**63}, "steady_after must be in [1, "),
        ({"seeds": [1], "seed": 2}, "seed = 2 is of no use beside a list of seeds"),
        ({"clients": 3, "rate": [2]}, "clients = 3 and rate = 2 exclude each other"),
        ({"prefill_share": 0.1, "pools": 0.5}, "exclude each other"),
        ({"limit": [1, 2.5]}, "limit must be a whole number in [1, 100000000], got 2.5"),
        ({"seeds": 1_000_000, "rate": [1, 2]}, "2,000,000 cells; expected at most 1,000,000"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], told: str):
    with pytest.raises(InvalidInput, match=re.escape(told)) as error:
        plan_of(SMALL | given, "my.toml")
    assert str(error.value).startswith("my.toml")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("missing", ["workload", "policy"])
def test_what_is_missing_is_named(missing: str):
    with pytest.raises(InvalidInput, match=f"there is no {missing}; name one or several"):
        plan_of({key: value for key, value in SMALL.items() if key != missing})


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"a = ", "not TOML"), (b"\xff", "not UTF-8"), (None, "cannot read"), (b"a = 1", "unknown key")],
)
def test_files_that_are_none(tmp_path: Path, content: bytes | None, told: str):
    file = tmp_path / "sweep.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput, match=told):
        read_plan(file)
