import dataclasses

import numpy as np
import pytest

from headway.measure.cache import CacheUse
from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.sla import Sla
from headway.report.tables import (
    Column,
    Table,
    differences_table,
    engine_table,
    memory_table,
    refusals_table,
    tokens_table,
    waiting_table,
)
from tests.measure.fake_runs import LEFT, REJECTED, TOTALS, outcome, record
from tests.report.comparisons import of_waits, typical


def column(table: Table, group: str, name: str) -> Column:
    return next(c for c in table.columns if (c.group, c.name) == (group, name))


def test_waits_in_seconds_with_the_lowest_marked():
    table = waiting_table(of_waits({"a": [1.0, 2.0], "b": [3.0, 0.0]}))
    assert table.rows == ("a", "b")
    mean, longest = column(table, "Wait", "Mean"), column(table, "Wait", "Max")
    assert (mean.unit, mean.cells, mean.best) == ("s", ("1.50", "1.50"), frozenset())
    assert (longest.cells, longest.best) == (("2.00", "3.00"), {0})
    assert mean.spread == ("", "")


def test_short_times_are_in_milliseconds():
    mean = column(waiting_table(of_waits({"a": [0.0125], "b": [0.5]})), "Wait", "Mean")
    assert (mean.unit, mean.cells) == ("ms", ("12.5", "500.0"))


def test_a_measure_has_one_unit_so_that_its_columns_can_be_compared():
    table = waiting_table(of_waits({"a": [0.25, 0.25, 5.0]}))
    assert {c.unit for c in table.columns} == {"s"}
    assert column(table, "Wait", "P50").cells == ("0.25",)


@pytest.mark.parametrize(
    ("waits", "cells"),
    [((1234.5, 1.0), ("1,234", "1")), ((123.4, 1.0), ("123.4", "1.0")), ((12.3, 0.01), ("12.300", "0.010"))],
)
def test_decimals_follow_the_largest_and_the_smallest_value(waits: tuple[float, float], cells: tuple[str, str]):
    table = waiting_table(of_waits({"a": [waits[0]], "b": [waits[1]]}))
    assert column(table, "Wait", "Mean").cells == cells


def test_classes_are_columns_where_there_are_any():
    names = [c.name for c in waiting_table(of_waits({"a": [1.0] * 5})).columns]
    assert names[-2:] == ["Short", "Long"]
    names = [c.name for c in waiting_table(of_waits({"a": [1.0]})).columns]
    assert "Long" not in names


def test_over_seeds_half_the_interval_is_shown():
    comparison = typical(seeds=3)
    stats = comparison.summary("fcfs").latency.wait
    assert stats.ci95 is not None
    interval = stats.ci95["mean"]
    assert interval is not None
    shown = column(waiting_table(comparison), "Wait", "Mean").spread[0]
    assert shown == f"± {(interval.high - interval.low) / 2:.2f}"


def test_what_has_no_value_is_a_dash():
    table = tokens_table(of_waits({}))
    assert all(c.cells == () for c in table.columns)
    rates = column(engine_table(typical()), "Throughput", "All tokens")
    assert rates.cells == ("300", "300", "300")
    assert rates.unit == "tokens/s"


def test_use_is_in_per_cent_and_counts_are_whole():
    table = engine_table(typical())
    assert column(table, "Use", "KV peak").cells == ("90.0",) * 3
    assert column(table, "Requests", "Finished").cells == ("200",) * 3
    assert not [c for c in table.columns if c.name in ("Cancelled", "Expired")]


def test_hits_are_a_column_where_there_is_a_cache():
    policies = typical().policies
    assert all(column.group != "Prefix cache" for column in engine_table(typical()).columns)
    some = tuple(
        dataclasses.replace(one, cache=CacheUse(10.0, rate))
        for one, rate in zip(policies, (0.5, 0.125, None), strict=True)
    )
    hits = column(engine_table(dataclasses.replace(typical(), policies=some)), "Prefix cache", "Hit")
    assert (hits.unit, hits.cells) == ("%", ("50.0", "12.5", "\N{EN DASH}"))


def test_differences_say_whether_they_are_significant():
    rows = differences_table(typical(seeds=3))
    assert [row[0] for row in rows] == ["fcfs against psf", "fcfs against qba", "psf against qba"]
    _, difference, share, interval, verdict = rows[2]
    assert difference.startswith("\N{MINUS SIGN}")
    assert share.endswith(" %")
    assert " to " in interval
    assert verdict == "significant"


def test_a_difference_in_one_run_is_called_no_more_than_that():
    waits = list(np.random.default_rng(0).exponential(1.0, size=400))
    rows = differences_table(of_waits({"a": waits, "b": [wait + 1 for wait in waits], "c": waits[::-1]}))
    assert [row[-1] for row in rows] == ["one run", "may be chance", "one run"]


def test_a_difference_without_interval_is_unknown():
    assert differences_table(of_waits({"a": [2.0], "b": [3.0]}))[0] == (
        "a against b", "\N{MINUS SIGN}1.00 s", "\N{MINUS SIGN}33 %", "\N{EN DASH}", "too few: 1"
    )  # fmt: skip


def test_policies_that_do_the_same_differ_by_nothing_rather_than_by_chance():
    waits = np.random.default_rng(2).exponential(1.0, size=60)
    (row,) = differences_table(of_waits({"a": waits, "b": waits}))
    assert row == ("a against b", "0 s", "0 %", "\N{EN DASH}", "none: the same outcomes")


def test_cancelled_requests_and_wasted_tokens_are_shown_where_clients_may_leave_or_left():
    def shown(comparison: Comparison) -> list[tuple[str, tuple[str, ...]]]:
        names = {"Cancelled", "Expired", "Tokens"}
        return [(c.name, c.cells) for c in engine_table(comparison).columns if c.name in names]

    assert shown(of_waits({"a": [1.0]})) == []
    assert shown(of_waits({"a": [1.0]}, patience=60.0)) == [("Cancelled", ("0",)), ("Tokens", ("0",))]
    totals = dataclasses.replace(TOTALS, wasted_tokens=12_345)
    left = Comparison.of({}, {"fcfs": [record([outcome(0), outcome(1, **LEFT)], totals=totals)]})
    assert shown(left) == [("Cancelled", ("1",)), ("Tokens", ("12,345",))]


def shedding(sla: Sla | None = None) -> Comparison:
    """Admit anyway, reject one of three for its deadline, demote one."""
    builder = ComparisonBuilder({}, sla=sla)
    refused = outcome(2, **REJECTED | {"reason": "deadline", "finish": 2.25})
    late = outcome(2, first_token=90.0, finish=91.0)
    demoted = dataclasses.replace(TOTALS, demoted=1)
    builder.add(record([outcome(0), outcome(1), late], policy="keep"))
    builder.add(record([outcome(0), outcome(1), refused], policy="reject"))
    builder.add(record([outcome(0), outcome(1), late], policy="demote", totals=demoted))
    return builder.build()


def test_rejections_by_reason_beside_demotions():
    table = refusals_table(shedding())
    assert table is not None
    assert [(c.group, c.name, c.unit) for c in table.columns] == [
        ("Rejected", "Deadline", ""),
        ("Told after", "P50", "ms"),
        ("Told after", "P99", "ms"),
        ("Told after", "Max", "ms"),
        ("Demoted", "Requests", ""),
    ]
    assert column(table, "Rejected", "Deadline").cells == ("0", "1", "0")
    assert column(table, "Told after", "Max").cells == ("\N{EN DASH}", "250.0", "\N{EN DASH}")
    assert column(table, "Demoted", "Requests").cells == ("0", "0", "1")


def test_an_agreement_stands_beside_the_refusals_and_only_there():
    table = refusals_table(shedding(Sla(ttft=10.0)))
    assert table is not None
    assert column(table, "Agreement", "Met").cells == ("66.7", "66.7", "66.7")
    assert column(table, "Agreement", "Of finished").cells == ("66.7", "100.0", "66.7")
    assert column(table, "Goodput", "All tokens").cells == ("3", "3", "3")
    assert memory_table(shedding(Sla(ttft=10.0))) is None
    assert refusals_table(typical()) is None


def test_a_reason_of_an_own_rule_is_called_by_its_name():
    builder = ComparisonBuilder({})
    builder.add(record([outcome(0, **REJECTED | {"reason": "too_late"}), outcome(1, **REJECTED)]))
    table = refusals_table(builder.build())
    assert table is not None
    assert [c.name for c in table.columns if c.group == "Rejected"] == ["Memory", "too_late"]
