"""tune: what should I run on this traffic, and how sure is that?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import polars as pl

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput, nearest
from headway.core.spec import parse_spec, whole
from headway.measure.gain import Gain, choose, gain
from headway.measure.sla import Sla
from headway.measure.tuning import OBJECTIVES, Candidate, Change, Objective, Tuning
from headway.policies.policy import Policy
from headway.studies.compare import engine_for
from headway.studies.paste import (
    baseline_command,
    caps_nothing,
    compare_command,
    for_engine,
    promises_toml,
    serve_toml,
)
from headway.studies.samples import samples, split
from headway.studies.search import FINALISTS, FIRST, OOM, Trials, overruns, search
from headway.studies.source import Source
from headway.studies.space import BY_PROMISE, Setting, Space
from headway.studies.without_queue import without_queue
from headway.workload.tenants import TenantsFile, Terms, owners
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

WINDOWS, LEAST_WINDOWS = 24, 8
BUDGET, LEAST_BUDGET = 500, 100
FULL = 0.6
"""Share of the KV cache in use, at its peak, from which on memory rules are searched."""

CHANGES = (
    ("sla.attainment", "agreement kept", "%", False),
    ("sla.goodput_tokens_per_s", "goodput", "tokens/s", False),
    ("ttft.mean", "TTFT mean", "s", True),
    ("ttft.p99", "TTFT P99", "s", True),
    ("wait.max", "longest wait", "s", True),
    ("itl.p99", "ITL P99", "s", True),
    ("mtpot.p99", "MTPOT P99", "s", True),
    ("e2e.mean", "E2E mean", "s", True),
    ("e2e.p99", "E2E P99", "s", True),
    ("classes.short.ttft.p99", "short: TTFT P99", "s", True),
    ("classes.long.ttft.mean", "long: TTFT mean", "s", True),
    ("classes.long.ttft.p99", "long: TTFT P99", "s", True),
    ("classes.long.e2e.p99", "long: E2E P99", "s", True),
    ("rejected", "requests turned away", "", True),
    ("memory.evictions.events", "evictions", "", True),
    (OOM, "times out of memory", "", True),
)
"""Figures that are looked at beside the objective: path, name, unit, whether lower is better."""

OF_REQUESTS = ("rejected",)
"""Those of them that count requests."""


def tune(
    source: Source | Trace | SeededTrace | TenantsFile | str,
    sla: str | Sla | None = None,
    *,
    objective: str = "goodput",
    engine: str | EngineProfile | None = None,
    baseline: str = "fcfs",
    windows: int = WINDOWS,
    budget: int = BUDGET,
    seed: int = 0,
    words: Sequence[str] = (),
    promises: str = "promises.toml",
    command: str | None = None,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Tuning:
    """Search settings on half of the traffic, and judge them on the other half, which the search never saw.

    Args:
        source: as in `compare`. A trace is cut into contiguous windows, of which every other one is searched on; a
            workload is drawn under seeds, likewise.
        sla: the agreement; the objective "goodput" needs one. Where requests have no promises of their own, it is
            their promise too.
        objective: "goodput", or "p99" or "mean" of the time to first token.
        engine: as in `compare`.
        baseline: the order that runs now, with the engine's rules.
        windows: stretches of traffic, half of them to search on; fewer where a trace is short.
        budget: runs of the search at the most; judging comes on top.
        seed: of the first stretch of a workload, and of the order in which stretches are taken in.
        words: the source and its options as they were typed, for the command line that is advised.
        promises: where the tenants file will lie that has the agreement as a promise, where one is needed.
        command: what repeats this study, for the report.
        workers: processes; None for one a core.
        progress: told now and then the share that is done, in 0..1.

    Returns:
        The answer. After Ctrl-C in the judging it is marked as partial, and of fewer stretches.

    Raises:
        InvalidInput: something cannot be what it says, or the trace is too short.
        KeyboardInterrupt: interrupted before anything could be judged.
    """
    source = source if isinstance(source, Source) else Source(source)
    if objective not in OBJECTIVES:
        raise InvalidInput(f"objective '{objective}': {nearest(objective, OBJECTIVES)}")
    aim = OBJECTIVES[objective]
    agreement = sla if sla is None or isinstance(sla, Sla) else Sla.parse(sla)
    if agreement is None and aim.name == "goodput":
        raise InvalidInput("objective goodput needs a service agreement, as in sla ttft=2,mtpot=0.2")
    profile = engine_for(source, engine)
    base = Setting(Policy.of(baseline).order_spec, str(parse_spec(profile.memory)))
    stretches = samples(source, windows, seed, least=LEAST_WINDOWS)
    first = stretches[0].trace()
    promised = _promises(first, agreement)
    if promised:
        file = TenantsFile("the agreement", (), Terms(dict(promised)))
        stretches = [replace(one, source=replace(one.source, tenants=file)) for one in stretches]
    training, held = split(stretches)
    searched = whole("budget", budget, LEAST_BUDGET)
    about = searched + len(held) * (FINALISTS + 1)

    def watched(begin: int, size: int) -> Callable[[float], None]:
        return lambda share: None if progress is None else progress((begin + share * size) / about)

    trials = Trials(
        training,
        profile,
        agreement,
        aim,
        budget=searched,
        requests=len(first),
        workers=workers,
        progress=watched(0, searched),
    )
    pilot = list(range(min(FIRST, len(training))))
    trials.run([base], pilot)
    if all(math.isnan(value) for value in trials.figure(base, aim.path, pilot)):
        raise InvalidInput(
            f"{first.name}: {aim.words} is not defined here, since no answer has a token; choose another --objective"
        )
    space = _space(base, profile, first, trials, pilot, agreement, aim, promised=bool(promised) or _promised(first))
    ranked = [one for one in search(trials, space, seed) if one != base]
    every = list(range(len(training)))
    scores = {one.name(base): trials.scores(one, every) for one in ranked}
    named = {one.name(base): one for one in sorted(ranked, key=lambda one: one.complexity(base))}
    chosen = named[choose(scores, list(named))] if named else base
    judged = list(dict.fromkeys((chosen, *ranked, base)))
    verdicts = Trials(
        held,
        profile,
        agreement,
        aim,
        budget=len(judged) * len(held),
        requests=len(first),
        workers=workers,
        progress=watched(searched, about - searched),
    )
    complete = _judge(verdicts, judged)
    seen = _Seen(base, chosen, aim, trials, every, verdicts, complete)
    candidates = tuple(seen.candidate(one) for one in judged if one != base or one == chosen)
    changes = tuple(change for row in CHANGES if (change := seen.change(*row)) is not None)
    settings = {
        "headway": version("headway"),
        "command": command,
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "engine": profile.name,
        "sla": None if agreement is None else str(agreement),
        "objective": aim.name,
        "baseline": base.order,
        "requests": len(first),
        "rate_per_s": first.rate if math.isfinite(first.rate) else None,
        "training": len(training),
        "held_out": len(complete),
        "traffic": "windows" if isinstance(source.origin, Trace) else "seeds",
        "budget": searched,
        "seed": seed,
    }
    made = Tuning(
        settings=settings,
        objective=aim,
        baseline=seen.candidate(base),
        candidates=candidates,
        changes=changes,
        searched=len(trials.settings),
        runs=trials.runs + verdicts.runs,
        warnings=tuple(_warnings(seen, first, agreement)),
        notes=tuple(_notes(source, first, chosen, promised, len(training), len(complete))),
        paste={},
        partial=len(complete) < len(held),
        unsafe=seen.unsafe(),
    )
    told = chosen if made.recommended == made.chosen else base
    needed = promised if told.promised else {}
    file_name = promises if needed else None
    typed = words or (str(settings["workload"]),)
    paste = {
        "compare": compare_command(typed, told, base, agreement, file_name),
        "baseline": baseline_command(typed, told, base, agreement, file_name),
        "serve": serve_toml(told, profile, file_name),
        "promises": promises_toml(needed) if needed else None,
    }
    uncapped = caps_nothing(told)
    warnings = made.warnings if uncapped is None else (*made.warnings, uncapped)
    return replace(made, paste=paste, warnings=warnings, notes=(for_engine(profile), *made.notes))


class _Seen:
    """What runs showed, set side by side."""

    def __init__(
        self,
        base: Setting,
        chosen: Setting,
        objective: Objective,
        trials: Trials,
        training: list[int],
        verdicts: Trials,
        held: list[int],
    ) -> None:
        self.base, self.chosen, self.objective = base, chosen, objective
        self.trials, self.training = trials, training
        self.verdicts, self.held = verdicts, held

    def candidate(self, setting: Setting) -> Candidate:
        """Return a setting with what it did on the held-out stretches."""
        path = self.objective.path
        if all((setting, place) in self.trials.rows for place in self.training):
            training = _mean(self.trials.figure(setting, path, self.training))
        else:
            training = None
        return Candidate(
            name=setting.name(self.base),
            parts={
                "order": setting.order,
                "memory": setting.memory,
                "shed": setting.shed,
                "prefill_share": f"{setting.prefill_share:g}",
                "reserve": setting.reserve,
            },
            changed=setting.changed(self.base),
            predicts=setting.predicts,
            promised=setting.promised,
            training=training,
            held_out=_mean(self.figure(setting, path)),
            gain=self._gain(setting, self.base),
            behind=self._gain(setting, self.chosen),
        )

    def change(self, path: str, words: str, unit: str, lower_is_better: bool) -> Change | None:
        """Return what the chosen setting does to a figure; None where there is too little to say."""
        before, after = self.figure(self.base, path), self.figure(self.chosen, path)
        known = [(a, b) for a, b in zip(after, before, strict=True) if not math.isnan(a) and not math.isnan(b)]
        if len(known) < 2 or not any(a or b for a, b in known):
            return None
        one, other = [a for a, _ in known], [b for _, b in known]
        found = gain(one, other, lower_is_better=lower_is_better)
        of = _mean(self.figure(self.base, "requests")) if path in OF_REQUESTS else None
        return Change(path, words, unit, math.fsum(other) / len(other), math.fsum(one) / len(one), found, of)

    def unsafe(self) -> int:
        """Return in how many held-out stretches the chosen setting runs out of memory more often than the baseline."""
        chosen, base = self.figure(self.chosen, OOM), self.figure(self.base, OOM)
        return sum(a > b for a, b in zip(chosen, base, strict=True)) if overruns(chosen, base) else 0

    def figure(self, setting: Setting, path: str) -> list[float]:
        """Return a figure in each held-out stretch; NaN where it has none."""
        return self.verdicts.figure(setting, path, self.held)

    def _gain(self, setting: Setting, reference: Setting) -> Gain:
        path = self.objective.path
        one, other = self.figure(setting, path), self.figure(reference, path)
        return gain(one, other, lower_is_better=self.objective.lower_is_better)


def _judge(verdicts: Trials, judged: Sequence[Setting]) -> list[int]:
    """Run what is to be judged on every held-out stretch; return the places of those that all were run on.

    Raises:
        KeyboardInterrupt: there are fewer than two of them.
    """
    every = list(range(len(verdicts.stretches)))
    try:
        verdicts.run(judged, every)
    except KeyboardInterrupt:
        complete = [place for place in every if all((one, place) in verdicts.rows for one in judged)]
        if len(complete) < 2:
            raise
        return complete
    return every


def _space(
    base: Setting,
    engine: EngineProfile,
    first: Trace,
    trials: Trials,
    pilot: list[int],
    sla: Sla | None,
    objective: Objective,
    *,
    promised: bool,
) -> Space:
    """Return what is worth a try, by what the baseline does on some training stretches."""
    peaks, evictions = (trials.figure(base, path, pilot) for path in ("kv.peak", "memory.evictions.events"))
    waits = [wait for wait in trials.figure(base, "wait.p90", pilot) if not math.isnan(wait)]
    patience = sla.ttft / 2 if sla is not None and sla.ttft is not None else max([0.1, *waits])
    return Space.of(
        base,
        engine,
        memory_matters=max(peaks) > FULL or max(evictions) > 0,
        promised=promised,
        shed=objective.name == "goodput",
        classes=first.frame["predicted"].dtype == pl.String,
        tenants=owners(first).n_unique() > 1,
        patience=float(f"{patience:.2g}"),
        length=max(1, round(float(first.frame["output_tokens"].mean() or 1))),  # type: ignore[arg-type]
    )


def _promises(first: Trace, sla: Sla | None) -> dict[str, float]:
    """Return what the agreement promises to requests that have no promises of their own, seconds by column."""
    if sla is None or _promised(first):
        return {}
    limits = {"ttft_slo": sla.ttft, "completion_slo": sla.e2e}
    return {column: limit for column, limit in limits.items() if limit is not None}


def _promised(trace: Trace) -> bool:
    columns = [trace.frame[name] for name in ("ttft_slo", "completion_slo") if name in trace.frame.columns]
    return any(column.is_not_null().any() for column in columns)


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else None


def _warnings(seen: _Seen, first: Trace, agreement: Sla | None) -> list[str]:
    """Say why the answer may be worth less than it looks."""
    told: list[str] = []
    waits, gaps = (seen.figure(seen.base, path) for path in ("wait.p99", "mtpot.p99"))
    idle = [wait <= gap or math.isnan(gap) for wait, gap in zip(waits, gaps, strict=True)]
    if sum(idle) * 2 > len(idle):
        told.append(
            f"In {sum(idle)} of {len(idle)} stretches nothing waits: 99 % of the requests start within the time of "
            f"a long iteration. {_without_queue(seen, agreement)}"
        )
    late = [_backlog(seen, one) for one in (seen.base, seen.chosen)]
    if min(late) >= 0.05:
        told.append(
            f"Overload: {min(late) * 100:.0f} % of the requests or more still wait when the last one of a stretch "
            "comes, under every setting. Waits then grow as long as requests come: a policy only decides who is served "
            "in time; fewer requests or more engines help all (headway capacity)."
        )
    ends = [end for end in seen.figure(seen.base, "e2e.p99") if not math.isnan(end)]
    if ends and first.span < 5 * max(ends):
        told.append(
            f"Short stretches: each takes {first.span:,.0f} s, and requests take up to {max(ends):,.0f} s (P99 under "
            f"{seen.base.order}). Every stretch begins with an idle engine, so queues that build up over longer are "
            "not seen; a longer trace, or fewer windows, would show them."
        )
    if len(seen.held) < 6:
        told.append(f"Only {len(seen.held)} held-out stretches: intervals are wide, and small gains cannot be seen.")
    return told


def _without_queue(seen: _Seen, agreement: Sla | None) -> str:
    limits = ("ttft", "mtpot", "e2e")
    late = {name: _mean(seen.figure(seen.base, f"{name}.p99")) for name in limits}
    return without_queue(seen.base.order, agreement, late, _mean(seen.figure(seen.base, "sla.attainment")) or 0.0)


def _backlog(seen: _Seen, setting: Setting) -> float:
    """Return the share of requests that still wait at the last arrival, in the mean over held-out stretches."""
    waiting, requests = (seen.figure(setting, path) for path in ("backlog", "requests"))
    shares = [late / of if late >= 20 else 0.0 for late, of in zip(waiting, requests, strict=True)]
    return math.fsum(shares) / len(shares)


def _notes(
    source: Source, first: Trace, chosen: Setting, promised: dict[str, Any], training: int, held: int
) -> list[str]:
    kind = "windows" if isinstance(source.origin, Trace) else "seeds"
    how = (
        f"Searched on {training} {kind} and judged on {held} others, which the search never read; on each, all "
        "settings got the same requests. Intervals are Student's t over the held-out ones."
    )
    told = [how, *first.notes]
    if chosen.predicts:
        told.append(source.labels)
    if promised:
        rules = " and ".join(BY_PROMISE[:2]) + " and rules that reject or demote"
        told.append(f"The agreement is every request's promise, which {rules} go by.")
    return told
