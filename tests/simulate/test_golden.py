"""The golden example: 240 requests on the engine of the paper, against waits and finishes of an independent engine."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from headway.simulate.run import simulate
from headway.workload.trace import Trace

GOLDEN = Path(__file__).parent.parent / "data" / "golden_qba.csv"


@pytest.fixture(scope="module")
def golden() -> pl.DataFrame:
    return pl.read_csv(GOLDEN)


@pytest.mark.parametrize("fast_forward", [True, False])
@pytest.mark.parametrize("policy", ["fcfs", "psf", "aa", "qba"])
def test_waits_and_finishes_of_every_request(golden: pl.DataFrame, policy: str, fast_forward: bool) -> None:
    frame = golden.select("id", "arrival", "prompt_tokens", "output_tokens", "predicted")
    record = simulate(Trace.from_frame("golden", frame), policy, "qba-paper", fast_forward=fast_forward)
    seen = record.outcomes
    assert seen["id"].to_list() == golden["id"].to_list()
    assert set(seen["outcome"]) == {"finished"}
    wait = seen["start"] - seen["arrival"]
    assert wait.to_list() == pytest.approx(golden[f"wait_{policy}"].to_list(), abs=1e-6)
    assert seen["finish"].to_list() == pytest.approx(golden[f"finish_{policy}"].to_list(), abs=1e-6)


def test_the_four_policies_differ_in_the_example(golden: pl.DataFrame) -> None:
    means = [golden[f"wait_{policy}"].mean() for policy in ("psf", "qba", "aa", "fcfs")]
    assert len(set(means)) == 4
