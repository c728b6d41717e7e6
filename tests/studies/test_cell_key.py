"""Keys: different wherever something that decides figures is, equal wherever nothing is."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.cost import CostModel
from headway.core.engine import EngineProfile, preset
from headway.core.errors import InvalidInput
from headway.policies.policy import Policy
from headway.studies import cell_key
from headway.studies.cell_key import Keys, content, plain
from headway.studies.grid import plan_of
from headway.workload import Trace, read_tenants, read_trace, workload, write_trace

VALUES = {
    "rate": st.floats(0.5, 100, allow_nan=False),
    "scale_lengths": st.floats(0.5, 2, allow_nan=False),
    "limit": st.integers(1, 10**6),
    "epsilon_sl": st.floats(0, 1),
    "epsilon_ls": st.floats(0, 1),
    "patience": st.floats(0.1, 100),
    "steady_after": st.integers(1, 5000),
    "watch_future": st.booleans(),
    "seed": st.integers(0, 2**40),
    "pools": st.floats(0.1, 0.9),
    "workload": st.builds("qba-paper(n={}, rate={:g})".format, st.integers(1, 9), st.integers(1, 9))
    | st.sampled_from(["uniform", "qba-paper", "lognormal(n=5)"]),
    "policy": st.builds("qba(k={}, gamma={:g})".format, st.integers(1, 9), st.sampled_from([0.5, 0.9]))
    | st.sampled_from(["fcfs", "psf", "qba", "fair-share(inner=qba(k=3))", "fair-share(inner=fcfs)"]),
    "memory": st.sampled_from(["watermark", "watermark(level=0.8)", "oracle", "past-future", "ema(reserve=0.1)"]),
    "evict": st.sampled_from(["last-admitted", "least-computed"]),
    "shed": st.sampled_from(["keep", "reject", "queue-cap(requests=10)", "queue-cap(requests=11)"]),
    "sla": st.sampled_from(["ttft=1", "ttft=2", "ttft=1,mtpot=2", "e2e=1"]),
    "engine": st.sampled_from(["a100-llama3-8b", "h100-llama3-8b", "qba-paper"]),
    "reserve": st.sampled_from(["share=0.1,after=5,window=200", "share=0.2,after=5,window=200"]),
}
REQUIRED = ("workload", "policy")
SETTINGS = st.fixed_dictionaries(
    {name: VALUES[name] for name in REQUIRED},
    optional={name: values for name, values in VALUES.items() if name not in REQUIRED},
)


def key(chosen: dict[str, Any], folder: Path = Path()) -> tuple[str, dict[str, Any]]:
    (planned,) = plan_of(chosen, folder=folder).cells
    return planned.key, dict(planned.settings)


@given(SETTINGS, SETTINGS)
@settings(max_examples=100, deadline=None)
def test_keys_are_equal_where_settings_are_and_nowhere_else(a: dict[str, Any], b: dict[str, Any]):
    (one, shown), (other, again) = key(a), key(b)
    assert (one == other) == (shown == again)


@given(SETTINGS, st.sampled_from(sorted(VALUES)), st.data())
@settings(max_examples=100, deadline=None)
def test_one_changed_setting_changes_the_key(chosen: dict[str, Any], name: str, data: st.DataObject):
    """The pairs that are hardest to tell apart."""
    changed = chosen | {name: data.draw(VALUES[name])}
    (one, shown), (other, again) = key(chosen), key(changed)
    assert (one == other) == (shown == again)


@given(SETTINGS)
@settings(max_examples=50, deadline=None)
def test_a_key_depends_on_nothing_but_the_settings(chosen: dict[str, Any]):
    assert key(chosen) == key(dict(reversed(chosen.items())))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"policy": "qba(k=3, gamma=0.5)"}, {"policy": "qba(gamma=0.50, k=3.0)"}),
        ({"workload": "qba-paper(n=5, rate=30)"}, {"workload": "qba-paper(rate=30.0, n=5)"}),
        ({"rate": 30}, {"rate": 30.0}),
        ({"memory": "prompt-fit(safety=0.7)"}, {}),  # what the engine has anyway
        ({"evict": "last-admitted", "shed": "keep", "prefill_share": 0}, {}),
        ({"policy": "fair-share(inner=qba(k=3, gamma=0.5))"}, {"policy": "fair-share(inner=qba(gamma=0.5, k=3))"}),
    ],
)
def test_other_ways_to_write_the_same_share_a_key(a: dict[str, Any], b: dict[str, Any]):
    base = {"workload": "qba-paper", "policy": "fcfs"}
    assert key(base | a)[0] == key(base | b)[0]


ROWS = pl.DataFrame(
    {
        "id": ["a", "b", "c"],
        "arrival": [0.0, 1.0, 2.0],
        "prompt_tokens": [5, 6, 7],
        "output_tokens": [1, 2, 3],
        "tenant": ["x", None, "yz"],
        "blocks": [[1, 2], None, [3]],
    }
)


def test_a_trace_is_known_by_its_rows_whatever_its_file_is_called(tmp_path: Path):
    trace = Trace.from_frame("trace", ROWS)
    write_trace(trace, tmp_path / "a.csv")
    write_trace(trace, tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    digests = {content(read_trace(tmp_path / name)) for name in ("a.csv", "b.parquet", "c.csv")}
    assert digests == {content(trace)}


CHANGES = [
    ROWS.with_columns(arrival=pl.Series([0.0, 1.0, 2.0000001])),
    ROWS.with_columns(prompt_tokens=pl.Series([5, 6, 8])),
    ROWS.with_columns(tenant=pl.Series(["xy", None, "z"])),
    ROWS.with_columns(blocks=pl.Series([[1], None, [2, 3]])),
    ROWS.with_columns(blocks=pl.Series([[1, 2], [3], None])),
    ROWS.drop("tenant"),
    ROWS.head(2),
    ROWS.with_columns(id=pl.Series(["a", "b", "d"])),
]


def test_every_changed_row_is_noticed():
    traces = [Trace.from_frame("t", frame) for frame in (ROWS, *CHANGES)]
    assert not any(a.frame.equals(b.frame) for a, b in combinations(traces, 2))
    assert len({content(trace) for trace in traces}) == len(traces)


def test_a_changed_file_changes_the_keys_of_its_own_cells_only(tmp_path: Path):
    for seed, name in enumerate(("one.csv", "two.csv")):
        write_trace(workload("qba-paper(n=5)", seed=seed), tmp_path / name)
    (tmp_path / "tenants.toml").write_text(
        '[[tenant]]\nname="a"\narrivals="poisson(rate=5)"\nlengths="qba-paper"\nrequests=9\n'
    )
    given = {"workload": ["one.csv", "two.csv", "tenants.toml"], "policy": ["fcfs", "psf"]}

    def keys() -> dict[object, set[str]]:
        found: dict[object, set[str]] = {}
        for planned in plan_of(given, folder=tmp_path).cells:
            found.setdefault(planned.settings["workload"], set()).add(planned.key)
        return found

    before = keys()
    write_trace(workload("qba-paper(n=5)", seed=99), tmp_path / "two.csv")
    after = keys()
    assert before["one.csv"] == after["one.csv"]
    assert not before["two.csv"] & after["two.csv"]
    text = (tmp_path / "tenants.toml").read_text()
    (tmp_path / "tenants.toml").write_text(text.replace("rate=5", "rate=6"))
    changed = keys()
    assert changed["one.csv"] | changed["two.csv"] == after["one.csv"] | after["two.csv"]
    assert not changed["tenants.toml"] & after["tenants.toml"]


def test_engines_are_known_by_what_they_do():
    base = preset("qba-paper")
    assert plain(base) == plain(replace(base, name="other", source="elsewhere"))
    for change in ({"kv_tokens": 8191}, {"eviction": True}, {"cost": preset("h100-llama3-8b").cost}, {"jitter": 0.1}):
        assert plain(base) != plain(replace(base, **change)), change


def test_a_changed_line_of_an_own_order_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = "from headway import Order\nclass Mine(Order):\n    def key(self, seq):\n        return {}\n"
    file = tmp_path / "own_keyed.py"
    file.write_text(source.format("seq.arrival"))
    monkeypatch.syspath_prepend(str(tmp_path))
    chosen = {"workload": "qba-paper(n=5)", "policy": "own_keyed:Mine"}
    before, same = key(chosen)[0], key(chosen)[0]
    file.write_text(source.format("-seq.arrival"))
    assert before == same != key(chosen)[0]


def test_a_folder_that_is_drawn_from_is_known_by_its_files(tmp_path: Path):
    csv = "0,5,1,Gamma,1,1\n600,5,1,Gamma,1,1\n"
    histograms = '{"0": {"input_tokens": "{5: 1.0}", "output_tokens": "{7: 1.0}"}}'
    for client in (0, 1):
        (tmp_path / f"chunk-{client}-trace.csv").write_text(csv)
        (tmp_path / f"chunk-{client}-dataset.json").write_text(histograms)
    names = [str(tmp_path), str(tmp_path / "chunk-0-trace.csv")]
    before = [key({"workload": name, "policy": "fcfs", "limit": 5})[0] for name in names]
    assert len(set(before)) == 2
    (tmp_path / "chunk-1-trace.csv").write_text(csv.replace("0,5,", "0,6,"))
    after = [key({"workload": name, "policy": "fcfs", "limit": 5})[0] for name in names]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_promises_of_a_tenants_file_count(tmp_path: Path):
    write_trace(workload("qba-paper(n=5)"), tmp_path / "trace.csv")
    file = tmp_path / "tenants.toml"
    chosen = {"workload": "trace.csv", "tenants": "tenants.toml", "policy": "fcfs"}
    keys: list[str] = []
    for weight in (1, 2):
        file.write_text(f'[[tenant]]\nname = "default"\nweight = {weight}\n')
        keys.append(key(chosen, tmp_path)[0])
    assert keys[0] != keys[1]
    assert plain(read_tenants(file)) == plain(replace(read_tenants(file), name="other"))


class Flat(CostModel):
    def __init__(self, span: float) -> None:
        self.span = span

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        return self.span


def test_own_cost_models_count_with_their_values():
    engines = [replace(preset("qba-paper"), cost=Flat(span)) for span in (0.1, 0.2)]
    one, other = (plain(engine) for engine in engines)
    assert one != other
    assert one == plain(replace(engines[1], cost=Flat(0.1)))


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(InvalidInput, match="cannot be part of a sweep"):
        plain(EngineProfile("x", 1, 1, 1, cost=object()))  # type: ignore[arg-type]


def test_another_version_has_other_keys(monkeypatch: pytest.MonkeyPatch):
    (planned,) = plan_of({"workload": "qba-paper", "policy": "fcfs"}).cells
    monkeypatch.setattr(cell_key, "code", lambda: "9.9")
    assert Keys().of(planned.cell) != planned.key


def test_a_release_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cell_key, "version", lambda _: "1.2.3")
    assert cell_key.code.__wrapped__() == "1.2.3"
    monkeypatch.setattr(cell_key, "version", lambda _: "1.2.3.dev0")
    assert cell_key.code.__wrapped__().startswith("1.2.3.dev0+")


def test_the_name_of_a_policy_is_no_part_of_its_key():
    (planned,) = plan_of({"workload": "qba-paper", "policy": "fcfs"}).cells
    renamed = replace(planned.cell, policy=replace(Policy.of("fcfs"), name="mine"))
    assert Keys().of(renamed) == planned.key


def served(until: float, *, since: float = 0.0) -> float:
    return until - since


def test_a_measure_with_arguments_counts_with_them():
    known = [plain(partial(served, 1.0)), plain(partial(served, 2.0)), plain(partial(served, 1.0, since=0.5))]
    assert all(one != other for one, other in combinations(known, 2))
    assert known[0] == plain(partial(served, 1.0))
    assert known[0] != plain(served)
