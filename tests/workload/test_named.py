from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

from headway.core.errors import InvalidWorkload
from headway.core.spec import Spec
from headway.workload.labels import mislabel
from headway.workload.named import workload, workloads
from headway.workload.seeds import stream


def pooled(seeds: int = 40) -> pl.DataFrame:
    return pl.concat([workload("qba-paper", seed).frame for seed in range(seeds)])


def test_qba_paper_has_the_calibrated_lengths():
    frame = pooled()
    prompts, outputs = frame["prompt_tokens"].to_numpy(), frame["output_tokens"].to_numpy()
    assert len(frame) == 40 * 5000
    assert prompts.mean() == pytest.approx(525, abs=5)
    assert outputs.mean() == pytest.approx(223, abs=2)
    assert np.quantile(outputs, 0.85) == pytest.approx(384, abs=4)
    assert np.median(prompts) == pytest.approx(np.exp(5.60), rel=0.01)
    assert np.median(outputs) == pytest.approx(np.exp(4.81), rel=0.01)
    assert (prompts.min(), prompts.max(), outputs.min(), outputs.max()) == (1, 4096, 1, 4096)
    correlation = np.corrcoef(np.log(prompts), np.log(outputs))[0, 1]
    assert correlation == pytest.approx(0.15, abs=0.01)


def test_qba_paper_has_poisson_arrivals_at_its_rate():
    traces = [workload("qba-paper", seed) for seed in range(40)]
    assert np.mean([trace.rate for trace in traces]) == pytest.approx(32.0, rel=0.01)
    assert np.mean([trace.interarrival_scv for trace in traces]) == pytest.approx(1.0, abs=0.03)
    assert all(trace.notes == () for trace in traces)


def test_qba_paper_is_labelled_by_the_quantile_of_its_own_seed():
    trace = workload("qba-paper", 3).frame
    threshold = trace["output_tokens"].sort()[4249]  # ceil(0.85 · 5000) = 4250
    expected = ["long" if tokens > threshold else "short" for tokens in trace["output_tokens"]]
    assert trace["true_class"].to_list() == trace["predicted"].to_list() == expected
    assert 0.145 < expected.count("long") / 5000 <= 0.15


def test_the_same_seed_gives_the_same_trace_and_another_seed_another():
    assert workload("qba-paper", 1).frame.equals(workload("qba-paper", 1).frame)
    first, second = workload("qba-paper", 1).frame, workload("qba-paper", 2).frame
    assert not np.any(first["arrival"].to_numpy() == second["arrival"].to_numpy())


@pytest.mark.parametrize("name", ["qba-paper", "lognormal", "uniform"])
def test_fewer_requests_are_the_first_ones_and_a_rate_only_scales_time(name: str):
    columns = ["id", "arrival", "prompt_tokens", "output_tokens"]
    many, few = workload(name, 5, requests=500).frame, workload(name, 5, requests=200).frame
    assert few.select(columns).equals(many.head(200).select(columns))
    slow, fast = (
        workload(name, 5, requests=50, rate=1.0).frame,
        workload(name, 5, requests=50, rate=4.0).frame,
    )
    np.testing.assert_allclose(slow["arrival"].to_numpy(), 4.0 * fast["arrival"].to_numpy(), rtol=1e-12)
    assert slow.drop("arrival").equals(fast.drop("arrival"))


def test_prediction_errors_keep_arrivals_and_lengths():
    traces = [mislabel(workload("qba-paper", 1), error, 0.0, stream(1, "labels")) for error in (0.0, 0.1, 0.3)]
    kept = [trace.frame.drop("predicted") for trace in traces]
    assert kept[0].equals(kept[1])
    assert kept[0].equals(kept[2])
    assert len({tuple(trace.frame["predicted"]) for trace in traces}) == 3


def test_options_come_from_the_spec_and_arguments_override_them():
    trace = workload("qba-paper(n=30, rate=2)", 1)
    assert (len(trace), trace.name) == (30, "qba-paper(n=30, rate=2)")
    assert trace.frame.equals(workload(Spec("qba-paper", {"n": 30, "rate": 2}), 1).frame)
    overridden = workload("qba-paper(n=30, rate=2)", 1, requests=10, rate=4.0)
    assert (len(overridden), overridden.name) == (10, "qba-paper(n=10, rate=4)")
    assert workload("qba-paper").name == "qba-paper"


def test_lognormal_takes_means_and_variations():
    spec = (
        "lognormal(n=100000, rate=5, cv=2, prompt-mean=900, prompt-cv=0.5, "
        "output_mean=300, output_cv=0.8, correlation=0.6)"
    )
    trace = workload(spec, 1)
    prompts, outputs = trace.frame["prompt_tokens"].to_numpy(), trace.frame["output_tokens"].to_numpy()
    assert trace.rate == pytest.approx(5.0, rel=0.03)
    assert trace.interarrival_scv == pytest.approx(4.0, rel=0.06)
    assert prompts.mean() == pytest.approx(900, rel=0.01)
    assert prompts.std() / prompts.mean() == pytest.approx(0.5, rel=0.02)
    assert outputs.mean() == pytest.approx(300, rel=0.01)
    assert outputs.std() / outputs.mean() == pytest.approx(0.8, rel=0.03)
    assert np.corrcoef(np.log(prompts), np.log(outputs))[0, 1] == pytest.approx(0.6, abs=0.02)


def test_uniform_takes_bounds():
    spec = "uniform(n=5000, prompt-low=3, prompt-high=9, output-low=0, output-high=4)"
    frame = workload(spec, 1).frame
    assert sorted(frame["prompt_tokens"].unique()) == list(range(3, 10))
    assert sorted(frame["output_tokens"].unique()) == list(range(5))
    assert np.corrcoef(frame["prompt_tokens"], frame["output_tokens"])[0, 1] == pytest.approx(0.0, abs=0.05)


def test_every_workload_is_described_in_one_line_and_can_be_made():
    assert list(workloads()) == [
        *("qba-paper", "lognormal", "uniform", "d1", "d2", "d3", "o1-like", "concat", "shift"),
    ]
    for name, description in workloads().items():
        assert description.endswith(".")
        assert len(description) < 100
        assert len(workload(name, requests=3)) == 3


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("qba-papr", "unknown workload 'qba-papr'; did you mean 'qba-paper'?"),
        ("qba-paper(rat=3)", "no parameter 'rat'; did you mean 'rate'?"),
        ("qba-paper(seed=3)", "no parameter 'seed'"),
        ("qba-paper(n=0)", "n must be in [1, 100000000], got 0"),
        ("qba-paper(n=2.5)", "n must be a whole number"),
        ("qba-paper(n=1e12)", "n must be in"),
        ("qba-paper(rate=-1)", "rate must be in (0, inf), got -1"),
        ("qba-paper(rate=inf)", "rate must be in"),
        ("qba-paper(rate=fast)", "rate must be a number"),
        ("qba-paper(rate=1e-300)", "column 'arrival', row 1"),
        ("qba-paper(5)", "cannot read the spec"),
        ("__import__('os').system('true')", "cannot read the spec"),
        ("", "cannot read the spec"),
        ("lognormal(cv=0)", "cv must be in"),
        ("lognormal(prompt_mean=0)", "prompt_mean must be in"),
        ("lognormal(output_cv=-1)", "output_cv must be in"),
        ("lognormal(correlation=2)", "correlation must be in"),
        ("uniform(prompt_low=0)", "prompt_low must be in [1,"),
        ("uniform(output_low=9, output_high=5)", "output_high must be in [9,"),
    ],
)
def test_a_wrong_workload_gets_one_line(spec: str, says: str):
    with pytest.raises(InvalidWorkload) as caught:
        workload(spec)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_argument_gets_one_line():
    with pytest.raises(InvalidWorkload, match="seed must be"):
        workload("qba-paper", -1)
    with pytest.raises(InvalidWorkload, match="n must be"):
        workload("qba-paper", requests=0)
    with pytest.raises(InvalidWorkload, match="rate must be"):
        workload("qba-paper", rate=0.0)


@pytest.mark.slow
def test_a_million_requests_take_under_two_seconds():
    began = time.perf_counter()
    assert len(workload("qba-paper", 1, requests=1_000_000)) == 1_000_000
    assert time.perf_counter() - began < 2.0
