"""frontier: how full may the KV cache be run, at how many evictions, under which memory rule?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.rules import Order
from headway.core.spec import Spec, build, parse_spec, whole
from headway.measure.frontier import Frontier
from headway.measure.memory import MemoryUse
from headway.measure.memory_curve import Curve, Point
from headway.measure.record import RunRecord
from headway.policies.memory import MEMORY_RULES
from headway.policies.policy import Policy
from headway.simulate.engine import STEADY_AFTER
from headway.simulate.run import simulate
from headway.studies.compare import engine_for
from headway.studies.runs import Run, run_all, useful_seeds
from headway.studies.source import Source
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

DEFAULT_RULES = ("past-future", "ema", "watermark", "conservative", "oracle")

RESERVES = (0.2, 0.1, 0.07, 0.05, 0.03, 0.01, 0.0)
LEVELS = (0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99, 1.0)
OVERCOMMITS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 10.0)
KNOBS: dict[str, tuple[str, tuple[float, ...]]] = {
    "past-future": ("reserve", RESERVES),
    "ema": ("reserve", RESERVES),
    "watermark": ("level", LEVELS),
    "prompt-fit": ("safety", LEVELS),
    "conservative": ("overcommit", OVERCOMMITS),
}
"""The option of each rule that trades use for evictions, and its values from the careful end to the bold one."""

TOO_MANY = 100.0
"""Evictions per 100 requests above which no bolder value is tried: each request is then thrown out once."""


@dataclass
class _Setting:
    """One value of a rule's knob, and what its runs left: seed → use of the whole run and of its steady part."""

    memory: Spec
    value: float | None
    uses: dict[int, tuple[MemoryUse, MemoryUse | None]] = field(default_factory=dict)

    def evictions_per_100(self, seed: int, requests: int, start_up: int) -> float:
        """Return the rate in one seed; 0 where it was not run."""
        if seed not in self.uses:
            return 0.0
        run, steady = self.uses[seed]
        if steady is None or start_up >= requests:
            return run.eviction_events * 100 / requests
        return steady.eviction_events * 100 / (requests - start_up)


@dataclass
class _Rule:
    """A rule without its knob, and the settings to be tried, from the careful end on."""

    spec: Spec
    knob: str | None
    settings: list[_Setting] = field(default_factory=list)

    def add(self, value: float | None) -> None:
        """Enter a setting, in its place; once."""
        arguments = {} if self.knob is None else {self.knob: value}
        memory = Spec(self.spec.name, arguments | self.spec.arguments)
        if any(setting.memory == memory for setting in self.settings):
            return
        self.settings.append(_Setting(memory, value))
        sign = -1.0 if self.knob == "reserve" else 1.0
        self.settings.sort(key=lambda setting: sign * (setting.value or 0.0))


def frontier(
    source: Source | Trace | SeededTrace | TenantsFile | str,
    memory: str | Sequence[str] = DEFAULT_RULES,
    engine: str | EngineProfile | None = None,
    *,
    policy: str | type[Order] = "fcfs",
    steady_after: int = STEADY_AFTER,
    seeds: Sequence[int] = (0,),
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Frontier:
    """Run every memory rule over its knob on the same requests.

    A knob is turned from its careful end until a value causes more than one eviction a request.

    Args:
        source: as in `compare`.
        memory: one or several specs of memory rules. A spec that sets the knob is one setting; those that differ in
            nothing else are one curve.
        engine: an engine or the name of a preset; by default as in `compare`.
        policy: the order in which requests are admitted.
        steady_after: finishes after which a run counts. If some run has nothing after them, whole runs count.
        seeds: a workload is drawn once for each. On a trace, rules that draw nothing are run once.
        command: what repeats this study, for the report.
        progress: told now and then the share that is done, in 0..1; the end may come sooner.

    Returns:
        A curve for each rule. After Ctrl-C it is marked as partial and holds the seeds that all settings have.

    Raises:
        InvalidInput: a policy, rule, engine, workload or parameter cannot be what it says.
        KeyboardInterrupt: interrupted before any run was complete.
    """
    source = source if isinstance(source, Source) else Source(source)
    start_up = whole("steady_after", steady_after, 1)
    rules = _rules([memory] if isinstance(memory, str) else memory)
    order, profile = Policy.of(policy), engine_for(source, engine)
    varied = source.seeded or profile.jitter > 0
    repeated = [rule for rule in rules if varied or replace(order, memory=rule.spec).draws(profile)]
    runs, notes = useful_seeds(seeds, drawn=bool(repeated))
    first = source.requests(runs[0])
    known = {str(setting.memory): setting for rule in rules for setting in rule.settings}

    def prepared() -> Iterator[Run]:
        for seed in runs:
            trace = first if seed == runs[0] else source.requests(seed)
            for rule in rules if seed == runs[0] else repeated:
                for count, setting in enumerate(rule.settings, 1):
                    chosen = replace(order, memory=setting.memory)
                    yield partial(simulate, trace, chosen, profile, seed=seed, timeline=False, steady_after=start_up)
                    if setting.evictions_per_100(runs[0], len(first), start_up) > TOO_MANY:
                        del rule.settings[count:]

    def take(record: RunRecord) -> None:
        if record.memory is not None and not record.partial:
            known[record.memory_rule].uses[record.seed] = (record.memory, record.steady_memory)

    total = len(runs) * len(known)
    made = run_all(prepared(), take, total=total, requests=len(first), progress=progress)
    if not made.runs:
        raise KeyboardInterrupt
    curves, part = _curves(rules, repeated, len(first), start_up)
    if part == "whole":
        notes.append(
            f"Whole runs count, start-up included: in some the queue was empty before {start_up:,} requests had "
            "finished."
        )
    if made.interrupted:
        notes.append(f"Interrupted: {made.runs} runs were complete, of {total} at most.")
    return Frontier(
        settings=_settings(source, first, order, rules, profile, runs, start_up, command),
        part=part,
        curves=curves,
        partial=made.interrupted,
        notes=(*first.notes, *notes),
    )


def _rules(memory: Sequence[str]) -> list[_Rule]:
    """Read the specs: one curve for all that differ in the value of the knob only."""
    rules: dict[str, _Rule] = {}
    for text in memory:
        spec = parse_spec(text)
        build(spec, MEMORY_RULES, "memory rule")
        knob, values = KNOBS.get(spec.name, (None, (None,)))
        others = Spec(spec.name, {key: value for key, value in spec.arguments.items() if key != knob})
        rule = rules.setdefault(str(others), _Rule(others, knob))
        for value in (float(spec.arguments[knob]),) if knob in spec.arguments else values:
            rule.add(value)
    if not rules:
        raise InvalidInput("name at least one memory rule")
    return list(rules.values())


def _curves(
    rules: Sequence[_Rule], repeated: Sequence[_Rule], requests: int, start_up: int
) -> tuple[tuple[Curve, ...], Literal["steady", "whole"]]:
    """Return the curves of what was run, and which part of the runs counts.

    Of rules that were run under several seeds, only the seeds are kept that all their settings have.
    """
    ran = [(rule, [setting for setting in rule.settings if setting.uses]) for rule in rules]
    several = [set(setting.uses) for rule, settings in ran if rule in repeated for setting in settings]
    common = set.intersection(*several) if several else set[int]()

    def uses(rule: _Rule, setting: _Setting) -> dict[int, tuple[MemoryUse, MemoryUse | None]]:
        return {seed: use for seed, use in sorted(setting.uses.items()) if seed in common or rule not in repeated}

    kept = [(rule, [(setting, uses(rule, setting)) for setting in settings]) for rule, settings in ran if settings]
    # Where every request belongs to the start-up, nothing is left that could be steady.
    steady = start_up < requests and all(
        use[1] is not None for _, points in kept for _, found in points for use in found.values()
    )

    def point(setting: _Setting, found: dict[int, tuple[MemoryUse, MemoryUse | None]]) -> Point:
        return Point.of(
            str(setting.memory),
            setting.value,
            list(found),
            [run for run, _ in found.values()],
            [part for _, part in found.values() if part is not None] if steady else [],
            requests - start_up if steady else requests,
        )

    curves = tuple(Curve(str(rule.spec), rule.knob, tuple(point(*pair) for pair in points)) for rule, points in kept)
    return curves, "steady" if steady else "whole"


def _settings(
    source: Source,
    first: Trace,
    order: Policy,
    rules: Sequence[_Rule],
    engine: EngineProfile,
    seeds: Sequence[int],
    start_up: int,
    command: str | None,
) -> dict[str, Any]:
    return {
        "headway": version("headway"),
        "command": command,
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "engine": engine.name,
        "policy": order.name,
        "memory": [str(rule.spec) for rule in rules],
        "steady_after": start_up,
        "requests": len(first),
        "rate_per_s": first.rate,
        "length_factor": source.length_factor,
        "seeds": list(seeds),
    }
