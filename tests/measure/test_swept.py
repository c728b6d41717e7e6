"""Rows of a sweep over their seeds: the statistics of everything else."""

from __future__ import annotations

import polars as pl

from headway.measure.intervals import Interval, mean_interval
from headway.measure.quantiles import STATISTICS, Stats
from headway.measure.swept import Overview, groups

SETTINGS = ("workload", "rate", "policy")


def rows() -> pl.DataFrame:
    """Two rates, two policies, three seeds; the seeds change slowest, as in a sweep."""
    return pl.DataFrame(
        [
            {"workload": "w", "rate": rate, "policy": policy, "seed": seed, "sla.attainment": seed / 4}
            | {f"wait.{name}": rate + seed + place for place, name in enumerate(STATISTICS)}
            | {"sla.goodput_tokens_per_s": 100.0 * seed if policy == "psf" else None}
            for seed in range(3)
            for rate in (28.0, 32.0)
            for policy in ("fcfs", "psf")
        ]
    )


def test_groups_are_over_seeds_and_stand_by_what_they_are_compared_on():
    found = groups(rows(), SETTINGS)
    assert [(one.settings["rate"], one.settings["policy"]) for one in found] == [
        (28, "fcfs"),
        (28, "psf"),
        (32, "fcfs"),
        (32, "psf"),
    ]
    assert all(one.seeds == (0, 1, 2) for one in found)
    waits = [Stats(*(28.0 + seed + place for place in range(5))) for seed in range(3)]
    assert found[0].wait == Stats.over_seeds(waits)
    assert found[0].attainment.value == 0.25
    plain = mean_interval([0, 0.25, 0.5])
    assert plain is not None
    assert plain.low < 0
    assert found[0].attainment.ci95 == Interval(0.0, plain.high)  # a share is never below 0
    assert (found[0].goodput.value, found[1].goodput.value) == (None, 100)


def test_the_same_block_of_two_grids_stands_together():
    frame = rows()
    later = frame.filter(rate=28).with_columns(policy=pl.lit("aa"))
    found = groups(pl.concat([frame, later]), SETTINGS)
    assert [one.settings["policy"] for one in found] == ["fcfs", "psf", "aa", "fcfs", "psf"]


def test_one_seed_has_no_interval():
    (one, *_) = groups(rows().filter(seed=1), SETTINGS)
    assert one.wait.ci95 is None
    assert one.attainment.ci95 is None


def test_figures_that_nobody_has_are_none():
    (one, *_) = groups(rows().select(*SETTINGS, "seed"), SETTINGS)
    assert one.wait.mean is None
    assert one.attainment.value is None


def test_plain_data():
    told = Overview({"headway": "1", "cells": 12}, groups(rows(), SETTINGS), notes=("a",)).to_dict()
    assert (told["headway"], told["settings"], told["partial"], told["notes"]) == ("1", {"cells": 12}, False, ["a"])
    assert told["groups"][1]["settings"] == {"workload": "w", "rate": 28.0, "policy": "psf"}
    assert told["groups"][1]["goodput_ci95"] is not None
