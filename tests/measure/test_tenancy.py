"""Tenants and classes: each figure against the requests of the group alone."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.measure.comparison import Comparison
from headway.measure.frames import policy_frame
from headway.measure.latency import latencies
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.measure.tenancy import Tenancy, tenancy
from headway.simulate.run import simulate
from headway.workload.trace import Trace

ENGINE = EngineProfile("one", 64, 4, 400, Piecewise(0.01, 1e-4), memory="watermark(level=1)")


def run(seed: int = 0, **columns: object) -> RunRecord:
    rng = np.random.default_rng(seed)
    n = 120
    frame = pl.DataFrame(
        {
            "arrival": np.sort(rng.uniform(0, 8, n)),
            "prompt_tokens": rng.integers(1, 90, n),
            "output_tokens": rng.integers(0, 60, n),
            "tenant": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
            "class": [["chat", "batch", None][k % 3] for k in range(n)],
            "ttft_slo": [0.5 if k % 2 else None for k in range(n)],
            "itl_slo": [0.02 if k % 3 == 0 else None for k in range(n)],
            **columns,
        }
    )
    return simulate(Trace.from_frame("drawn", frame.select(pl.all().exclude(pl.Null))), "fcfs", ENGINE, seed=seed)


def of(record: RunRecord, sla: Sla | None = None) -> Tenancy:
    found = tenancy(record, sla)
    assert found is not None
    return found


def only(record: RunRecord, column: str, name: str) -> RunRecord:
    """The same run as if these had been its only requests; others took their time all the same."""
    keep = (record.outcomes[column] == name).fill_null(value=False)
    place = keep.cast(pl.Int64).cum_sum() - 1

    def rows(table: pl.DataFrame) -> pl.DataFrame:
        kept = table.filter(keep.gather(table["row"]))
        return kept.with_columns(place.gather(kept["row"]).alias("row"))

    return dataclasses.replace(
        record, outcomes=record.outcomes.filter(keep), residence=rows(record.residence), stray=rows(record.stray)
    )


@pytest.mark.parametrize("column", ["tenant", "class"])
def test_a_groups_latencies_are_those_of_its_requests(column: str):
    record = run()
    groups = of(record).tenants if column == "tenant" else of(record).labels
    assert list(groups) == (["a", "b", "c"] if column == "tenant" else ["batch", "chat"])
    for name, group in groups.items():
        assert group.latency == latencies(only(record, column, name))[0]
        assert group.latency.itl.max is not None


def test_services_and_counts_add_up_to_the_whole():
    record = run()
    assert record.outcomes["evictions"].sum() > 0
    groups = of(record).tenants.values()
    assert sum(group.latency.requests for group in groups) == record.outcomes.height
    done = record.outcomes.filter(pl.col("outcome") == "finished")
    prompts = sum(done["prompt_tokens"])
    decodes = sum(max(tokens - 1, 0) for tokens in done["output_tokens"])  # the first one comes with the prompt
    evictions = record.outcomes["evictions"].sum()
    served = sum(group.served for group in groups)
    # A token that came with a prompt had not been decoded; after an eviction its position is filled with the prompt.
    assert prompts + 2 * decodes - evictions <= served <= prompts + 2 * decodes


def test_promises_by_tenant_and_over_all():
    record = run()
    found = of(record)
    rows = record.outcomes.with_columns(ttft=pl.col("first_token") - pl.col("arrival"))
    assert found.promises is not None
    parts = [(group.promises.attainment or 0) * group.latency.requests for group in found.tenants.values()]
    assert found.promises.attainment == pytest.approx(sum(parts) / record.outcomes.height)
    goodput = sum(group.promises.goodput_tokens_per_s or 0 for group in found.tenants.values())
    assert found.promises.goodput_tokens_per_s == pytest.approx(goodput)
    for name, group in found.tenants.items():
        asked = rows.filter((pl.col("tenant") == name) & pl.col("ttft_slo").is_not_null())
        assert group.kept["ttft"] == pytest.approx((asked["ttft"] <= asked["ttft_slo"]).fill_null(value=True).mean())
        assert set(group.kept) == {"ttft", "itl"}


def test_an_agreement_is_promised_to_every_tenant_beside_their_own():
    record = run()
    own, both = of(record), of(record, Sla(e2e=0.6))
    assert both.promises == own.promises
    rows = record.outcomes.with_columns(slow=pl.col("finish") - pl.col("arrival") > 0.6)
    assert rows["slow"].any()
    for name, group in both.tenants.items():
        assert (group.promises.attainment or 0) < (own.tenants[name].promises.attainment or 0)
        slow = rows.filter(pl.col("tenant") == name)["slow"].mean()
        assert (group.promises.attainment or 0) <= 1 - slow  # type: ignore[operator]


def test_a_class_that_a_whole_tenant_has_is_its_label():
    one = of(run(**{"class": ["chat"] * 120}))
    assert [group.label for group in one.tenants.values()] == ["chat"] * 3
    assert [group.label for group in of(run()).tenants.values()] == [None] * 3


def test_nothing_is_told_where_nobody_is_named_and_nothing_promised():
    bare = run(tenant=None, ttft_slo=None, itl_slo=None)
    assert bare.work is None
    assert tenancy(bare) is None
    promised = run(tenant=None)
    assert list(of(promised).tenants) == ["default"]
    named = of(run(ttft_slo=None, itl_slo=None))
    assert named.promises is None
    assert [group.promises.attainment for group in named.tenants.values()] == [1.0] * 3
    assert [dict(group.kept) for group in named.tenants.values()] == [{}] * 3


def test_over_seeds_figures_are_means_and_the_json_has_them():
    records = [run(seed, tenant=["a"] * 60 + [("b", "d")[seed]] * 60) for seed in (0, 1)]
    comparison = Comparison.of({}, {"fcfs": records})
    (entry,) = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))["policies"]
    assert list(entry["tenants"]) == ["a", "b", "d"]  # b and d are in one seed each
    one, two = (of(record) for record in records)
    mean = ((one.tenants["a"].promises.attainment or 0) + (two.tenants["a"].promises.attainment or 0)) / 2
    assert entry["tenants"]["a"]["attainment"] == pytest.approx(mean)
    assert entry["tenants"]["b"]["requests"] == 60
    assert entry["tenants"]["d"]["service"] == two.tenants["d"].served
    assert entry["tenants"]["a"]["wait"]["ci95"]["mean"] is not None
    assert entry["tenants"]["a"]["kept"].keys() == {"ttft", "itl", "completion"}
    assert entry["tenants"]["a"]["kept"]["completion"] is None
    assert entry["fairness"].keys() == {"jain", "max_gap", "bound", "longest_without_service"}
    assert entry["promises"].keys() == {"attainment", "goodput_tokens_per_s"}
    assert one.fairness is not None
    assert two.fairness is not None
    assert entry["fairness"]["max_gap"] == pytest.approx(
        ((one.fairness.max_gap or 0) + (two.fairness.max_gap or 0)) / 2
    )
    frame = policy_frame(comparison)
    assert frame["tenants.a.attainment"].item() == pytest.approx(mean)


def test_an_interrupted_run_tells_of_those_who_had_ended():
    def press(arrived: int) -> None:
        raise KeyboardInterrupt

    n = 3000
    frame = pl.DataFrame(
        {
            "arrival": np.arange(n) * 0.05,
            "prompt_tokens": [10] * n,
            "output_tokens": [9] * n,
            "tenant": ["a", "b"] * (n // 2),
        }
    )
    record = simulate(Trace.from_frame("long", frame), "fcfs", ENGINE, progress=press)
    assert record.partial
    found = of(record)
    for name, group in found.tenants.items():
        mine = (record.outcomes["tenant"] == name).sum()
        assert group.latency.requests == mine
        assert group.served == mine * (10 + 2 * 8)


def test_an_empty_record_has_no_tenants():
    def press(arrived: int) -> None:
        raise KeyboardInterrupt

    frame = pl.DataFrame(
        {
            "arrival": [0.0] * 2000,
            "prompt_tokens": [10] * 2000,
            "output_tokens": [5] * 2000,
            "tenant": ["a", "b"] * 1000,
        }
    )
    record = simulate(Trace.from_frame("burst", frame), "fcfs", ENGINE, progress=press)
    assert record.outcomes.is_empty()
    found = of(record)
    assert (found.tenants, found.fairness) == ({}, None)
