"""tune: it finds what is planted, says where nothing is to be found, and never looks at what it is judged by."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.serve.config import config_of
from headway.studies import tune as study
from headway.studies.samples import Sample, samples, split
from headway.studies.search import Trials, search
from headway.studies.source import Source
from headway.studies.space import Setting, Space
from headway.studies.tune import tune
from headway.workload.trace import Trace
from headway.workload.transform import windows

SLOW = EngineProfile("slow", 64, 8, 4000, Piecewise(0.01, 1e-4, 16))
"""Computes 64 positions in 15 ms."""


def traffic(n: int = 1600, rate: float = 12.0, seed: int = 0) -> Trace:
    """Return requests of which one in five has a prompt that fills many iterations; labels are its own."""
    rng = np.random.default_rng(seed)
    long = rng.random(n) < 0.2
    frame = pl.DataFrame(
        {
            "arrival": np.cumsum(rng.exponential(1 / rate, n)),
            "prompt_tokens": np.where(long, 800, 40),
            "output_tokens": np.where(long, 60, 6),
        }
    )
    return Trace.from_frame("planted", frame)


def test_short_work_first_is_found_where_long_prompts_stand_before_short_ones():
    found = tune(traffic(), objective="mean", engine=SLOW, windows=16, budget=150, workers=1)
    assert found.judgement == "better"
    assert found.recommended is found.chosen
    assert found.chosen.name != "fcfs"
    assert found.chosen.gain.ci95 is not None
    assert found.chosen.gain.ci95.low > 0
    assert (found.chosen.gain.relative or 0) > 0.1
    assert found.baseline.gain.mean == 0
    assert found.settings["held_out"] == found.settings["training"] == 8


def test_at_light_load_it_says_keep_what_you_have():
    found = tune(traffic(rate=0.3), objective="mean", engine=SLOW, windows=8, budget=100, workers=1)
    assert found.judgement != "better"
    assert found.recommended is found.baseline
    assert any("nothing waits" in text for text in found.warnings)
    assert "fcfs" in (found.paste["compare"] or "")
    assert tomllib.loads(found.paste["serve"] or "")["policy"]["order"] == "fcfs"


def test_where_nothing_waits_and_the_agreement_is_broken_it_says_what_breaks_it():
    """Equal requests, one by one: their whole prompts make iterations longer than a token may take."""
    alike = pl.DataFrame({"arrival": [i / 30 for i in range(800)], "prompt_tokens": 100, "output_tokens": 6})
    given = {"windows": 8, "budget": 100, "workers": 1, "engine": SLOW}
    broken = tune(Trace.from_frame("alike", alike), "ttft=1,mtpot=0.012", **given)
    (told,) = [text for text in broken.warnings if "nothing waits" in text]
    assert "every order is alike" not in told
    assert "What breaks it is the time between tokens" in told
    assert "mtpot allows 0.012 s" in told
    assert "a cap on chunks" in told
    kept = tune(Trace.from_frame("alike", alike), "ttft=1,mtpot=9", **given)
    assert any("every order is alike" in text for text in kept.warnings)


def test_overload_is_named():
    found = tune(traffic(800, 100.0), objective="p99", engine=SLOW, windows=8, budget=100, workers=1)
    assert any(text.startswith("Overload") for text in found.warnings)
    assert any(text.startswith("Short stretches") for text in found.warnings)


def test_where_not_all_can_be_served_turning_some_away_is_found():
    found = tune(traffic(800, 60.0), "ttft=1", engine=SLOW, windows=8, budget=100, workers=1)
    assert found.judgement == "better"
    assert found.recommended.parts["shed"] != "keep"
    assert any(change.words == "requests turned away" for change in found.worse)


class PoisonError(Exception):
    """Somebody drank."""


@dataclass(frozen=True)
class Poisoned(Source):
    def requests(self, seed: int) -> Trace:
        raise PoisonError


def test_the_search_never_reads_what_it_is_judged_by(monkeypatch: pytest.MonkeyPatch):
    ranked: list[list[Setting]] = []

    def watched(trials: Trials, space: Space, seed: int) -> list[Setting]:
        ranked.append(search(trials, space, seed))
        return ranked[-1]

    def poisoned(stretches: list[Sample]) -> tuple[list[Sample], list[Sample]]:
        training, held = split(stretches)
        return training, [replace(one, source=Poisoned(one.source.origin)) for one in held]

    monkeypatch.setattr(study, "search", watched)
    asked = {"objective": "mean", "engine": SLOW, "windows": 8, "budget": 100, "workers": 1}
    tune(traffic(), **asked)
    monkeypatch.setattr(study, "split", poisoned)
    with pytest.raises(PoisonError):
        tune(traffic(), **asked)
    assert len(ranked) == 2  # it was over before the poison was touched
    assert ranked[0] == ranked[1]


def test_other_held_out_windows_change_the_judgement_and_not_the_choice():
    clean = traffic()
    parts = [window.frame for window in windows(clean, 8)]
    spans = np.cumsum([0.0, *(part["arrival"][-1] + 0.1 for part in parts[:-1])])
    one_token = pl.lit(1, dtype=pl.Int64)
    poison = {"prompt_tokens": one_token, "output_tokens": one_token}
    poisoned = [part.with_columns(**poison) if i % 2 else part for i, part in enumerate(parts)]

    def joined(frames: list[pl.DataFrame]) -> Trace:
        moved = [frame.with_columns(pl.col("arrival") + at).drop("id") for frame, at in zip(frames, spans, strict=True)]
        return Trace.from_frame("joined", pl.concat(moved))

    asked = {"objective": "mean", "engine": SLOW, "windows": 8, "budget": 100, "workers": 1}
    one, other = tune(joined(parts), **asked), tune(joined(poisoned), **asked)
    assert [c.name for c in one.candidates] == [c.name for c in other.candidates]
    assert [c.training for c in one.candidates] == [c.training for c in other.candidates]
    assert one.chosen.held_out != other.chosen.held_out
    assert other.judgement != "better"


def test_the_same_seed_gives_the_same_answer():
    asked = {"objective": "p99", "engine": SLOW, "windows": 8, "budget": 100, "workers": 1}
    a, b = tune("uniform(n=100, rate=5)", **asked).to_dict(), tune("uniform(n=100, rate=5)", **asked).to_dict()
    assert a == b
    assert a["settings"]["traffic"] == "seeds"


def test_the_search_keeps_to_its_budget():
    stretches = samples(Source(traffic()), 16, 0, least=8)
    base = Setting("fcfs", "prompt-fit(safety=0.9)")
    trials = Trials(stretches[::2], SLOW, None, study.OBJECTIVES["mean"], budget=100, requests=100, workers=1)
    room = Space.of(
        base,
        SLOW,
        memory_matters=True,
        promised=False,
        shed=False,
        classes=True,
        tenants=False,
        patience=1.0,
        length=20,
    )
    ranked = search(trials, room, 0)
    assert trials.runs <= 100
    every = range(len(trials.stretches))
    assert all((one, place) in trials.rows for one in ranked for place in every)
    means = [sum(trials.scores(one, list(every))) for one in ranked]
    assert means == sorted(means, reverse=True)


def test_windows_alternate_and_none_is_in_both():
    training, held = split(samples(Source(traffic()), 9, 0, least=8))
    assert len(training) == len(held) == 4
    ids = [set(one.trace().frame["id"]) for one in (*training, *held)]
    assert sum(map(len, ids)) == len(set.union(*ids))
    firsts = [min(one) for pair in zip(ids[:4], ids[4:], strict=True) for one in pair]
    assert firsts == sorted(firsts)


def test_what_it_advises_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A setting that goes by promises: the tenants file has them, a server takes all of it, and compare does too."""
    monkeypatch.chdir(tmp_path)
    found = tune(traffic(800, 60.0), "ttft=1,e2e=9", engine=SLOW, windows=8, budget=120, workers=1)
    assert found.judgement == "better"
    assert found.chosen.promised
    (tmp_path / "serve.toml").write_text(found.paste["serve"] or "")
    (tmp_path / "promises.toml").write_text(found.paste["promises"] or "")
    assert tomllib.loads((tmp_path / "promises.toml").read_text()) == {"default": {"ttft_slo": 1, "completion_slo": 9}}
    config = config_of(Path("serve.toml"), {})
    config.check()
    assert config.policy == found.chosen.parts["order"]
    assert (config.shed, config.memory) == (found.chosen.parts["shed"], found.chosen.parts["memory"])
    assert "--tenants promises.toml" in (found.paste["compare"] or "")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"objective": "goodput"}, "needs a service agreement"),
        ({"objective": "speed"}, "objective 'speed'"),
        ({"objective": "mean", "windows": 4}, "windows must be >= 8"),
        ({"objective": "mean", "budget": 5}, "budget must be >= 100"),
        ({"objective": "mean", "baseline": "fcfss"}, "did you mean 'fcfs'"),
    ],
)
def test_what_cannot_be_asked_gets_a_line(given: dict[str, object], says: str):
    with pytest.raises(InvalidInput, match="(?s)" + says.replace("(", "\\(")):
        tune(traffic(), engine=SLOW, **given)  # type: ignore[arg-type]


def test_a_short_trace_gets_a_line():
    with pytest.raises(InvalidInput, match="700 requests are too few for 8 windows of 100"):
        tune(traffic(700), objective="mean", engine=SLOW)


def test_interrupted_while_judging_it_tells_what_there_is(monkeypatch: pytest.MonkeyPatch):
    real = Trials.run

    def run(self: Trials, settings: list[Setting], stretches: list[int]) -> list[Setting]:
        if len(stretches) == 4 and self._budget != 100:
            real(self, settings, stretches[:3])
            raise KeyboardInterrupt
        return real(self, settings, stretches)

    monkeypatch.setattr(Trials, "run", run)
    found = tune(traffic(), objective="mean", engine=SLOW, windows=8, budget=100, workers=1)
    assert found.partial
    assert found.settings["held_out"] == 3


def test_what_runs_out_of_memory_more_than_the_baseline_is_left_out():
    """Without eviction, a bolder memory rule looks better the more it lets in, and cannot be run."""
    engine = replace(SLOW, kv_tokens=1200, eviction=False, memory="prompt-fit(safety=0.6)")
    found = tune(traffic(800, 14.0), objective="mean", engine=engine, windows=8, budget=150, workers=1)
    events = {change.path: change for change in found.changes}.get("kv.oom_events")
    assert found.unsafe == 0
    assert events is None or events.after <= 1.5 * events.before
