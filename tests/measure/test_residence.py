from __future__ import annotations

import numpy as np
import pytest

from headway.measure.residence import residence_figures
from headway.simulate.run import simulate
from headway.workload import workload


def test_moments_are_those_of_the_finished_requests() -> None:
    record = simulate(workload("qba-paper(n=300, rate=30)", 1), "qba(k=2)", "qba-paper", timeline=False)
    found = residence_figures(record)
    rows = record.outcomes.to_dicts()
    for name in ("short", "long"):
        of = [row for row in rows if row["predicted"] == name]
        stay = np.array([row["finish"] - row["start"] for row in of])
        assert found[f"{name}.requests"] == len(of) > 0
        assert found[f"{name}.service"] == pytest.approx(stay.mean())
        assert found[f"{name}.second"] == pytest.approx((stay**2).mean())
        assert found[f"{name}.wait"] == pytest.approx(np.mean([row["start"] - row["arrival"] for row in of]))
    assert found["requests"] == 300
    assert found["tokens"] == pytest.approx(np.mean([row["prompt_tokens"] + row["output_tokens"] for row in rows]))
    assert found["promoted"] == record.totals.promoted


def test_a_class_that_nobody_is_of_has_no_times() -> None:
    trace = workload("uniform(n=20)", 0)
    record = simulate(trace, "fcfs", timeline=False)
    outcomes = record.outcomes.with_columns(predicted=record.outcomes["outcome"].replace("finished", "short"))
    found = residence_figures(type(record)(**{**vars(record), "outcomes": outcomes}))
    assert found["long.requests"] == 0
    assert found["long.service"] is found["long.wait"] is None
