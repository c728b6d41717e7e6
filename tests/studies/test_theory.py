from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from headway.core.engine import preset
from headway.core.errors import InvalidInput
from headway.measure.modelled import POLICIES, Modelled
from headway.measure.residence import residence_figures
from headway.simulate.run import simulate
from headway.studies.source import Source
from headway.studies.theory import CALIBRATED, Calibration, calibrate, explain, own_rate
from headway.theory import Queue, Service, TwoClasses
from headway.workload import Trace, workload

SMALL = "qba-paper(n=500)"


@cache
def small() -> Modelled:
    return explain(SMALL, seeds=range(2), workers=1)


def rows(policy: str, rate: float, seeds: int = 2) -> list[dict[str, float | None]]:
    source = Source(SMALL, rate=rate)
    return [residence_figures(simulate(source.requests(seed), policy, "qba-paper", seed=seed)) for seed in range(seeds)]


def test_the_model_is_told_what_the_runs_say() -> None:
    found = small().calibration
    fcfs = rows("fcfs", 30.0)
    shorts = [row["short.requests"] for row in fcfs]
    mean = np.average([row["short.service"] for row in fcfs], weights=shorts)
    second = np.average([row["short.second"] for row in fcfs], weights=shorts)
    assert found["rate"] == 30.0
    assert found["service"]["short"]["mean"] == pytest.approx(mean)
    assert found["service"]["short"]["scv"] == pytest.approx(second / mean**2 - 1)
    assert found["short_share"] == pytest.approx(sum(shorts) / 1000)
    assert found["decode_slots"] == 16
    assert found["kv_tokens"] == pytest.approx(0.7 * 8192)
    assert found["parallelism"] == pytest.approx(0.7 * 8192 / found["tokens_per_request"])
    assert found["servers"]["literal"] == int(found["parallelism"])
    aged = rows("aa", 29.0)
    fraction = sum(row["promoted"] for row in aged) / sum(row["long.requests"] for row in aged)
    assert {"rate": 29.0, "fraction": pytest.approx(fraction)} in found["promoted"]["aa"]
    assert [point["rate"] for point in found["promoted"]["qba"]] == [25, 27, 29, 31, 33]


def test_the_fitted_number_of_servers_explains_the_wait_it_was_fitted_to() -> None:
    found = small().calibration
    service = found["service"]["all"]
    queue = Queue(30.0, Service.of_scv(service["mean"], service["scv"]), found["servers"]["fitted"])
    assert queue.wait == pytest.approx(found["wait"], rel=1e-6)
    assert found["wait"] == pytest.approx(np.mean([row["wait"] for row in rows("fcfs", 30.0)]))
    low, high = found["fitted_ci95"]
    assert low < found["servers"]["fitted"] < high


def test_points_are_the_models_and_the_simulators() -> None:
    found = small()
    assert found.points.height == 2 * 13 * len(POLICIES)
    assert found.rates == (*range(25, 35), 36, 38, 40)
    point = found.points.filter(servers="fitted", rate=27.0, policy="psf").row(0, named=True)
    of = found.calibration["service"]
    short, long = (Service.of_scv(of[name]["mean"], of[name]["scv"]) for name in ("short", "long"))
    traffic = TwoClasses(27.0, found.calibration["short_share"], short, long, found.calibration["servers"]["fitted"])
    assert point["model"] == pytest.approx(traffic.psf().mean)
    assert point["model_long"] == pytest.approx(traffic.psf().long)
    assert point["rho"] == pytest.approx(traffic.together.rho)
    waits = [row["wait"] for row in rows("psf", 27.0)]
    assert point["simulated"] == pytest.approx(np.mean(waits))
    assert point["low"] < point["simulated"] < point["high"]
    qba = found.points.filter(servers="fitted", rate=28.0, policy="qba").row(0, named=True)
    ends = [point["fraction"] for point in found.calibration["promoted"]["qba"] if point["rate"] in (27, 29)]
    at_28 = TwoClasses(28.0, traffic.short_share, short, long, traffic.servers)
    assert qba["model"] == pytest.approx(at_28.promoted(np.mean(ends)).mean, rel=1e-9)


def test_excess_is_paired() -> None:
    excess = next(one for one in small().aa_over_fcfs if one.rate == 31)
    pairs = zip(rows("aa", 31.0), rows("fcfs", 31.0), strict=True)
    assert excess.seconds == pytest.approx(np.mean([aa["wait"] - fcfs["wait"] for aa, fcfs in pairs]))


def test_a_shuffled_simulator_is_not_explained() -> None:
    """With policies permuted among the simulator's rows no order holds, whatever the permutation."""
    found = small()
    for turn in range(1, 4):
        names = dict(zip(POLICIES, POLICIES[turn:] + POLICIES[:turn], strict=True))
        mixed = found.points.select("servers", "rate", pl.col("policy").replace(names), "simulated")
        points = found.points.drop("simulated").join(mixed, on=["servers", "rate", "policy"], maintain_order="left")
        shuffled = Modelled(found.settings, found.calibration, points, found.aa_over_fcfs, partial=False, notes=())
        assert all(one.simulated_ordered != one.stable for one in shuffled.agreements)


def test_a_load_at_which_nobody_waits_has_no_fitted_number() -> None:
    found = explain("qba-paper(n=60, rate=0.0032)", workers=1)
    assert list(found.calibration["servers"]) == ["literal"]
    assert found.calibration["fitted_ci95"] is None
    assert any("Nobody waits at 0.003 requests/s" in note for note in found.notes)


def test_rates_are_those_of_the_source() -> None:
    trace = workload("qba-paper(n=200, rate=8)", 0)
    assert own_rate(Source("qba-paper"), trace) == 32
    assert own_rate(Source("qba-paper(rate=20)"), trace) == 20
    assert own_rate(Source("qba-paper", rate=10), trace) == 10
    assert own_rate(Source(trace), trace) == trace.rate
    found = explain(Source(trace), "qba-paper", workers=1)
    assert found.rates[0] == pytest.approx(trace.rate * 25 / 32)
    assert found.points["low"].null_count() == found.points.height
    assert CALIBRATED == 30


def test_arrivals_that_are_not_poisson_are_told() -> None:
    frame = workload("qba-paper(n=300)", 0).frame
    even = Trace.from_frame("even", frame.with_columns(arrival=pl.int_range(pl.len()) / 32.0))
    found = explain(Source(even), "qba-paper", workers=1)
    assert any("squared coefficient of variation of 0" in note and "too long" in note for note in found.notes)
    assert not any("coefficient" in note for note in small().notes)


@pytest.mark.parametrize(
    ("memory", "share"),
    [
        ("watermark(level=0.8)", 0.8),
        ("past-future(reserve=0.1)", 0.9),
        ("conservative", 1.0),
        ("prompt-fit(safety=0.5)", 0.5),
    ],
)
def test_the_memory_rule_says_how_much_of_the_cache_counts(memory: str, share: float) -> None:
    engine = preset("qba-paper")
    other = type(engine)(**{**vars(engine), "memory": memory})
    found = calibrate(rows("fcfs", 30.0), 30.0, {}, other)
    assert isinstance(found, Calibration)
    assert found.kv_tokens == pytest.approx(share * 8192)


def test_one_class_is_refused() -> None:
    alone = [{**row, "long.requests": 0.0} for row in rows("fcfs", 30.0, 1)]
    with pytest.raises(InvalidInput, match="both predicted classes"):
        calibrate(alone, 30.0, {}, preset("qba-paper"))


def test_requests_without_a_queue_are_refused_before_anything_runs() -> None:
    rows = {"id": range(9), "arrival": [0.0] * 9, "prompt_tokens": [5] * 9, "output_tokens": range(1, 10)}
    with pytest.raises(InvalidInput, match="all requests arrive at once"):
        explain(Trace.from_frame("once.csv", pl.DataFrame(rows)))
    alike = pl.DataFrame({**rows, "arrival": [float(row) for row in range(9)], "output_tokens": [5] * 9})
    with pytest.raises(InvalidInput, match=r"equal.csv: all requests are predicted short, and the model compares two"):
        explain(Trace.from_frame("equal.csv", alike))


def test_a_seed_counts_once() -> None:
    with pytest.raises(InvalidInput, match="one is there twice"):
        explain("qba-paper(n=50)", seeds=[1, 1])


def test_numbers_of_servers_and_waits_are_not_negative() -> None:
    found = explain("qba-paper(n=100)", seeds=[0, 1], workers=1)
    low, high = found.calibration["fitted_ci95"]
    assert 0 <= low < high
    assert (found.points["low"].drop_nulls() >= 0).all()


@pytest.mark.slow
def test_where_the_model_holds_and_where_not() -> None:
    """Order at every stable point; the literal n = 7 is 68 to 500 times too small; n = 4.1 within 3 up to 30/s."""
    found = explain("qba-paper", seeds=range(30))
    literal, fitted = found.agreements
    assert literal.n == 7
    assert fitted.n == pytest.approx(4.1, abs=0.15)
    assert fitted.unstable_from == 32
    assert literal.ordered == literal.stable
    assert fitted.ordered == fitted.stable
    assert literal.near[0] > 50
    assert literal.far[1] < 700
    assert max(fitted.near[1], 1 / fitted.near[0]) < 3.2
    for one in (literal, fitted):
        rates = found.points.filter(pl.col("servers") == one.servers, pl.col("rate").is_in(one.stable))
        aa, qba = (rates.filter(policy=name)["model"].to_numpy() for name in ("aa", "qba"))
        assert np.abs(aa / qba - 1).max() < 0.04
    assert any(one.significant for one in found.aa_over_fcfs if one.rate >= 33)
