"""The table of a sweep: what varies is named, what does not is in the title."""

from __future__ import annotations

from typing import Any

from headway.measure.quantiles import STATISTICS, Stats
from headway.measure.swept import Group, Mean, Overview
from headway.report import sweep_tables
from headway.report.columns import NO_VALUE
from headway.report.sweep_tables import left_out, sweep_table

BASE = {"workload": "w", "rate": 3.0, "engine": "e", "clients": None, "policy": "fcfs"}
BASE |= {"memory": "watermark", "evict": "last-admitted", "shed": "keep"}


def group(wait: float, met: float | None = None, **change: Any) -> Group:
    stats = Stats.over_seeds([Stats(*[wait] * len(STATISTICS)), Stats(*[wait + 2] * len(STATISTICS))])
    return Group({**BASE, **change}, (0, 1), stats, Mean.of([met, met]), Mean.of([None if met is None else 1e4] * 2))


def overview(*groups: Group) -> Overview:
    return Overview({}, groups)


def test_only_policies_vary():
    table = sweep_table(overview(group(2), group(1, policy="psf")))
    assert table is not None
    assert (table.title, table.rows, table.blocks) == ("Sweep of w on e", ("fcfs", "psf"), ())
    assert [(column.group, column.name) for column in table.columns] == [
        ("Wait", "Mean"),
        ("Wait", "P99"),
        ("Runs", "Seeds"),
    ]
    assert table.columns[0].cells == ("3.00", "2.00")
    assert table.columns[0].spread[0].startswith("± 12.7")
    assert table.columns[0].best == {1}


def test_blocks_hold_what_is_compared_on_the_same():
    made = [group(wait, rate=rate, policy=name) for rate, wait in ((3.0, 5), (4.0, 1)) for name in ("fcfs", "psf")]
    table = sweep_table(overview(*made))
    assert table is not None
    assert table.blocks == ("rate 3", "rate 3", "rate 4", "rate 4")
    several = sweep_table(overview(group(1), group(1, workload="v", engine="f", clients=3)))
    assert several is not None
    assert several.title == "Sweep"
    assert several.blocks == ("w, e, clients none", "v, f, clients 3")


def test_rules_that_vary_are_named():
    table = sweep_table(overview(group(1), group(1, memory="oracle"), group(1, memory="oracle", shed="reject")))
    assert table is not None
    assert table.rows == ("fcfs + watermark + keep", "fcfs + oracle + keep", "fcfs + oracle + reject")


def test_an_agreement_brings_its_columns():
    table = sweep_table(overview(group(1, 0.5), group(1, None, policy="psf")))
    assert table is not None
    met, goodput = table.columns[2:4]
    assert (met.cells, met.spread) == (("50.0", NO_VALUE), ("± 0.0", ""))
    assert (goodput.cells[0], goodput.unit) == ("10,000", "tokens/s")


def test_nothing_finished_is_no_table():
    assert sweep_table(overview()) is None


def test_a_long_table_is_cut(monkeypatch: Any):
    monkeypatch.setattr(sweep_tables, "MOST_ROWS", 2)
    many = overview(*(group(n, rate=float(n)) for n in range(5)))
    table = sweep_table(many)
    assert table is not None
    assert len(table.rows) == len(table.columns[0].cells) == 2
    assert left_out(many) == 3
