"""capacity: the answer is that of a fine grid, replicas are verified, and what is short is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from headway.core.cost import Linear, Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.measure.capacity import PRECISION
from headway.measure.promises import kept
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies import capacity as study
from headway.studies.capacity import capacity
from headway.studies.idle import check_idle
from headway.studies.limits import limit_of
from headway.studies.replicas import simulate_replicas
from headway.studies.samples import Sample
from headway.studies.source import Source
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace
from headway.workload.transform import rescale_rate, windows

ENGINE = EngineProfile("small", 64, 8, 4000, Piecewise(0.01, 1e-4, 16))
ASKED = {"engine": ENGINE, "windows": 2, "workers": 1}


def traffic(n: int = 400, seed: int = 0, prompt: int = 120, output: int = 20) -> Trace:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "arrival": np.cumsum(rng.exponential(0.1, n)),
            "prompt_tokens": rng.integers(1, prompt, n),
            "output_tokens": rng.integers(1, output, n),
        }
    )
    return Trace.from_frame("drawn", frame)


class Own(SeededTrace):
    """Every seed at a rate of its own."""

    def draw(self, seed: int) -> Trace:
        return rescale_rate(traffic(200, seed), 5.0 + 20 * seed)


def attained(trace: Trace, rate: float, sla: Sla, policy: str | Policy = "fcfs") -> float:
    """Return the mean over two windows of a trace at a rate, as a reader of the documentation would compute it."""
    halves = windows(rescale_rate(trace, rate), 2)
    met = [kept(simulate(half, policy, ENGINE), sla.promise) for half in halves]
    return float(np.mean([one.mean() for one in met]))


@pytest.mark.parametrize("policy", ["fcfs", "shortest-work"])
def test_the_capacity_is_that_of_a_fine_grid(policy: str):
    trace, sla = traffic(), Sla(ttft=1.0)
    (held,) = capacity(trace, sla, policy, attain=0.95, **ASKED).held
    assert held.rate is not None
    fine = held.rate * np.linspace(0.3, 1.5, 81)
    holds = [attained(trace, rate, sla, policy) >= 0.95 for rate in fine]
    first = holds.index(False)
    assert held.rate / fine[first - 1] == pytest.approx(1, abs=PRECISION + 0.016)
    assert attained(trace, held.rate, sla, policy) >= 0.95
    high = held.bracket.high
    assert high is not None
    assert attained(trace, high, sla, policy) < 0.95
    assert high <= held.rate * (1 + PRECISION)


def test_so_many_replicas_hold_and_one_less_does_not():
    trace, sla = rescale_rate(traffic(600), 150.0), Sla(ttft=1.0)
    (held,) = capacity(trace, sla, "fcfs", attain=0.95, **ASKED).held
    assert held.replicas is not None
    count = held.replicas.count
    assert count is not None
    assert count > 1
    halves = windows(trace, 2)

    def share(replicas: int) -> float:
        fleets = [simulate_replicas(half, replicas, "fcfs", ENGINE) for half in halves]
        return float(np.mean([fleet.service(sla.promise).attainment for fleet in fleets]))

    assert share(count) >= 0.95 > share(count - 1)
    assert held.replicas.attainment(count) == pytest.approx(share(count))
    assert held.replicas.attainment(count - 1) == pytest.approx(share(count - 1))


def test_policies_are_found_on_the_same_traffic():
    found = capacity(traffic(), "ttft=1", ["fcfs", "shortest-work", "psf"], attain=0.95, **ASKED)
    rates = [{point.rate for point in one.points} for one in found.held]
    assert len(set.intersection(*rates)) >= len(study.GRID)
    alone = capacity(traffic(), "ttft=1", "psf", attain=0.95, **ASKED)
    assert found.held[2].rate == alone.held[0].rate


def test_attainment_that_rises_again_does_not_fool_it(monkeypatch: pytest.MonkeyPatch):
    """As under a rule that sheds: broken at a middling rate, kept again above, and then never more."""
    search = study._Rates.run

    def run(self: study._Rates, wanted: list[tuple[Policy, float]]) -> None:
        for policy, rate in wanted:
            share = 1.0 if rate < 20 or 24 <= rate < 30 else 0.5
            self.kept[policy.name][rate] = (share, share)

    assert search is not run
    monkeypatch.setattr(study._Rates, "run", run)
    monkeypatch.setattr(study, "_computed", lambda *_: 20.0)
    found = capacity(traffic(), "ttft=5", "fcfs", **ASKED)
    assert found.held[0].rate == pytest.approx(20, rel=PRECISION)
    assert found.held[0].bracket.again is not None
    assert any("holds again" in note for note in found.notes)


@pytest.mark.parametrize("scale", [0.001, 1000.0])
def test_the_grid_goes_where_the_capacity_is(scale: float, monkeypatch: pytest.MonkeyPatch):
    expected = capacity(traffic(), "ttft=1", "fcfs", attain=0.95, **ASKED).held[0].rate
    computed = study._computed
    monkeypatch.setattr(study, "_computed", lambda *given: computed(*given) * (0.05 if scale < 1 else 20))
    moved = capacity(traffic(), "ttft=1", "fcfs", attain=0.95, **ASKED).held[0].rate
    assert moved == pytest.approx(expected, rel=2 * PRECISION)


def test_what_not_even_an_idle_engine_keeps_is_refused_with_the_request_that_shows_it():
    trace = traffic()
    slowest = trace.frame.filter(pl.col("prompt_tokens") == pl.col("prompt_tokens").max()).row(0, named=True)
    says = f"an idle small .* of 400 requests.*request .*{slowest['prompt_tokens']} prompt.*ttft allows 0.011 s"
    with pytest.raises(InvalidInput, match=says):
        capacity(trace, "ttft=0.011", "fcfs", **ASKED)
    with pytest.raises(InvalidInput, match="between two tokens, and mtpot allows"):
        capacity(trace, "mtpot=0.001", "fcfs", **ASKED)
    with pytest.raises(InvalidInput, match="prompt tokens\\) is rejected"):
        capacity(trace, "ttft=9", "fcfs", **{**ASKED, "engine": replace(ENGINE, kv_tokens=60)})
    check_idle([Sample(Source(trace), 0)], ENGINE, Sla(ttft=0.011), 0.001)


def one_limit(engine: EngineProfile, sla: str, trace: Trace, rate: float) -> str:
    limit = limit_of(Sample(Source(trace, rate=rate), 0), Policy.of("fcfs"), engine, Sla.parse(sla), rate)
    assert limit is not None
    assert sum(limit.causes.values()) == pytest.approx(1)
    assert 0 < limit.broken <= 1
    return limit.resource


@pytest.mark.parametrize(
    ("changed", "sla", "shape", "names"),
    [
        ({"kv_tokens": 160}, "ttft=1", (120, 20), "KV memory"),
        ({"max_sequences": 1}, "ttft=1", (40, 40), "slots"),
        ({"token_budget": 16}, "ttft=1", (200, 4), "prompt compute"),
        ({"partial_prompts": 1, "max_sequences": 60, "chunk_cap": 4}, "ttft=1", (120, 4), "one at a time"),
        ({"cost": Linear(0.001, 1e-3, 0.0)}, "mtpot=0.05", (200, 20), "iteration time"),
    ],
)
def test_what_is_planted_short_is_named(changed: dict[str, object], sla: str, shape: tuple[int, int], names: str):
    engine = replace(ENGINE, **changed)  # type: ignore[arg-type]
    assert names in one_limit(engine, sla, traffic(400, 1, *shape), 30.0)


@pytest.mark.parametrize(
    ("budget", "policy", "says"),
    [
        (1024, "fcfs", "a cap on chunks, as in combined(chunk=256), "),
        (64, "fcfs", "a cap on chunks, as in combined(chunk=32), "),
        (128, "combined(chunk=128)", "a cap on chunks, as in combined(chunk=64), "),  # which caps nothing
        (1024, "combined(chunk=128)", "a smaller cap on chunks (64 positions instead of 128), "),
        (1024, "combined(chunk=32)", ""),
    ],
)
def test_the_cap_that_is_advised_is_below_the_policys_own(budget: int, policy: str, says: str):
    engine = replace(ENGINE, cost=Linear(0.1, 1e-3, 0.0), token_budget=budget)
    stretch = Sample(Source(traffic(400, 1, 200, 20), rate=3.0), 0)
    limit = limit_of(stretch, Policy.of(policy), engine, Sla.parse("mtpot=0.001"), 3.0)
    assert limit is not None
    assert (limit.resource, limit.move) == (
        "iteration time",
        f"{says}a smaller token_budget, or fewer sequences at once",
    )


def test_a_larger_cap_is_advised_where_prompts_take_long_and_there_is_one():
    engine = replace(ENGINE, token_budget=1024)
    for policy, says in (
        ("fcfs", "a share"),
        ("combined(chunk=2)", "a larger cap on chunks (4 positions instead of 2)"),
    ):
        stretch = Sample(Source(traffic(200, 1, 600, 4), rate=0.1), 0)
        limit = limit_of(stretch, Policy.of(policy), engine, Sla.parse("ttft=0.01"), 0.1)
        assert limit is not None
        assert limit.resource == "prompt prefill"
        assert limit.move.startswith(says)


def test_where_all_is_kept_nothing_is_short():
    assert limit_of(Sample(Source(traffic(), rate=0.1), 0), Policy.of("fcfs"), ENGINE, Sla(ttft=9.0), 0.1) is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"attain": 0}, "attain must be in \\(0, 1\\]"),
        ({"windows": 1}, "windows must be >= 2"),
        ({"policies": "fcfss"}, "did you mean 'fcfs'"),
        ({"sla": "ttfs=1"}, "unknown limit 'ttfs'"),
    ],
)
def test_what_cannot_be_asked_gets_a_line(given: dict[str, object], says: str):
    asked = {"sla": "ttft=1", **ASKED, **given}
    with pytest.raises(InvalidInput, match=says):
        capacity(traffic(), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [None, 5.0])
def test_what_comes_all_at_once_is_refused_with_a_rate_and_without(rate: float | None):
    at_once = Trace.from_frame("burst", traffic().frame.with_columns(arrival=pl.lit(0.0)))
    with pytest.raises(InvalidInput, match=r"all 400 requests arrive at once, and capacity needs .*; no --rate can"):
        capacity(Source(at_once, rate=rate), "ttft=1", "fcfs", **ASKED)


@pytest.mark.parametrize(
    ("origin", "rate", "shown"), [("qba-paper(n=150)", None, 32.0), ("qba-paper(n=150, rate=20)", None, 20.0)]
)
def test_replicas_get_the_rate_that_is_shown_drawn_as_for_one_engine(origin: str, rate: float | None, shown: float):
    """Seed 0 of so few requests comes at another rate than the workload has."""
    source, sla = Source(origin, rate=rate), Sla(ttft=2.0)
    assert source.requests(0).rate != pytest.approx(shown, rel=0.01)
    found = capacity(source, sla, "fcfs", attain=0.9, windows=3, workers=1)
    (held,) = found.held
    assert held.replicas is not None
    assert found.settings["rate_per_s"] == held.replicas.rate == shown
    asked = [Source("qba-paper(n=150)", rate=shown).requests(seed) for seed in range(3)]
    for count, kept_shares in held.replicas.tried.items():
        fleets = [simulate_replicas(trace, count, "fcfs", "qba-paper", seed=seed) for seed, trace in enumerate(asked)]
        assert kept_shares == tuple(fleet.service(sla.promise).attainment for fleet in fleets)


def test_replicas_of_seeds_that_have_their_own_rates_get_the_one_that_is_shown():
    drawn = Own("own")
    found = capacity(drawn, "ttft=1", "fcfs", attain=0.9, **ASKED)
    (held,) = found.held
    assert held.replicas is not None
    traces = [rescale_rate(drawn.draw(seed), found.settings["rate_per_s"]) for seed in (0, 1)]
    for count, kept_shares in held.replicas.tried.items():
        fleets = [simulate_replicas(trace, count, "fcfs", ENGINE, seed=seed) for seed, trace in enumerate(traces)]
        assert kept_shares == tuple(fleet.service(Sla(ttft=1.0).promise).attainment for fleet in fleets)


def test_interrupted_after_the_first_rates_it_tells_what_there_is(monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "fewest_replicas", interrupted)
    found = capacity(traffic(), "ttft=1", ["fcfs", "psf"], attain=0.95, **ASKED)
    assert found.partial
    assert all(one.rate is not None and one.replicas is None for one in found.held)
    monkeypatch.setattr(study._Rates, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        capacity(traffic(), "ttft=1", "fcfs", **ASKED)
