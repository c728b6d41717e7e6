"""Successive halving: many settings on few stretches of traffic, the good ones on more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from headway.core.engine import EngineProfile
from headway.measure.sla import Sla
from headway.measure.tuning import Objective
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.samples import Sample, processes
from headway.studies.space import Setting, Space

FIRST, SECOND = 3, 6
"""Stretches of the first rung and of the second one; the third takes all that there are."""

KEPT = 10
"""Settings that come to the second rung."""

FINALISTS = 6
"""Settings that come to the last one."""

ROUNDS = 4
"""Rounds of refinement at the most."""

OOM = "kv.oom_events"
LIKE_BASELINE = 1.5
"""Times as many of these as the baseline has that may be chance; where it has none, none may be."""


class Trials:
    """Runs of settings on stretches of traffic, each made once, and no more of them than were allowed.

    Args:
        stretches: that may be run: those that are held out are none of them.
        engine: of the runs.
        sla: the agreement that they are judged by.
        objective: what is to be improved.
        budget: runs at the most.
        workers: processes; None for one a core.
        requests: of a stretch, about.
        progress: told the share of the budget that is used.
    """

    def __init__(
        self,
        stretches: Sequence[Sample],
        engine: EngineProfile,
        sla: Sla | None,
        objective: Objective,
        *,
        budget: int,
        requests: int,
        workers: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.stretches = list(stretches)
        self.left = budget
        self.rows: dict[tuple[Setting, int], Row] = {}
        self._engine, self._sla, self._objective = engine, sla, objective
        self._workers, self._progress = workers, progress
        self._budget, self._requests = budget, requests

    @property
    def runs(self) -> int:
        """How many were made."""
        return len(self.rows)

    @property
    def settings(self) -> list[Setting]:
        """What was tried."""
        return list(dict.fromkeys(setting for setting, _ in self.rows))

    def run(self, settings: Sequence[Setting], stretches: Sequence[int]) -> list[Setting]:
        """Make the runs that are missing; return the settings that now have them all: the first that the budget holds.

        Args:
            settings: what to run, the most important first.
            stretches: places in `self.stretches`.
        """
        served: list[Setting] = []
        wanted: list[tuple[Setting, int]] = []

        def take(number: int, row: Row) -> None:
            self.rows[wanted[number]] = row
            if self._progress is not None:
                self._progress(min(self.runs / self._budget, 1.0))

        for setting in dict.fromkeys(settings):
            missing = [(setting, place) for place in stretches if (setting, place) not in self.rows]
            if len(missing) <= self.left:
                self.left -= len(missing)
                wanted += missing
                served.append(setting)
        wanted.sort(key=lambda pair: pair[1])  # neighbours share their requests
        cells = [
            Cell(self.stretches[place].source, self.stretches[place].seed, setting.policy(), self._engine, self._sla)
            for setting, place in wanted
        ]
        if cells:
            run_cells(cells, workers=processes(len(cells), self._requests, self._workers), each=take)
        return served

    def scores(self, setting: Setting, stretches: Sequence[int]) -> list[float]:
        """Return the objective of a setting in each stretch, higher is better."""
        return [self._objective.score(self.rows[setting, place]) for place in stretches]

    def figure(self, setting: Setting, path: str, stretches: Sequence[int]) -> list[float]:
        """Return a figure of a setting in each stretch; NaN where it has none."""
        found = [self.rows[setting, place].get(path) for place in stretches]
        return [math.nan if value is None else value for value in found]

    def ranked(self, settings: Sequence[Setting], stretches: Sequence[int], baseline: Setting) -> list[Setting]:
        """Return settings by their mean score, the best first, without those that run out of memory more often.

        Of settings that score the same everywhere only the simplest is there. An engine that cannot evict must not run
        out of memory: what does so more than the baseline is no setting that could be run there.
        """
        limits = self.figure(baseline, OOM, stretches)

        def fits(setting: Setting) -> bool:
            return not overruns(self.figure(setting, OOM, stretches), limits)

        usable = sorted((one for one in dict.fromkeys(settings) if fits(one)), key=lambda one: one.complexity(baseline))
        distinct = {tuple(self.scores(one, stretches)): one for one in reversed(usable)}
        return sorted(distinct.values(), key=lambda one: -math.fsum(self.scores(one, stretches)))


def overruns(events: Sequence[float], usual: Sequence[float]) -> bool:
    """Whether a setting runs out of memory more often than the baseline, beyond what may be chance."""
    return math.fsum(events) > LIKE_BASELINE * math.fsum(usual)


def search(trials: Trials, space: Space, seed: int) -> list[Setting]:
    """Return the settings that did best on all stretches of the trials, the best first; the baseline may be among them.

    One stretch after the other is taken in, in an order that the seed draws: all that changes one part of the baseline
    on three; the best on six, crossed with each other, then refined knob by knob as long as that helps; and the best
    of these on all.
    """
    order = np.random.default_rng(seed).permutation(len(trials.stretches)).tolist()
    first, second = sorted(order[:FIRST]), sorted(order[:SECOND])
    every, base = sorted(order), space.baseline
    trials.left -= FINALISTS * (len(every) - len(second))  # the last rung is paid for beforehand
    begun = trials.ranked(trials.run(space.start(), first), first, base)
    kept = trials.run([base, *begun[:KEPT]], second)
    good = trials.ranked(kept, second, base)
    orders = [one for one in good if one.order != base.order or one == base][:2]
    others = [one for one in good if one.order == base.order and one != base and _beats(trials, one, base, second)][:3]
    known = [*kept, *trials.run(space.crossed(orders, others), second)]
    for _ in range(ROUNDS):
        good = trials.ranked(known, second, base)
        near = [one for lead in good[:2] for one in space.near(lead) if one not in known]
        tried = trials.run(near, second)
        known += tried
        if not tried or trials.ranked(known, second, base)[:2] == good[:2]:
            break
    trials.left += FINALISTS * (len(every) - len(second))
    good = trials.ranked(known, second, base)
    finalists = good[:FINALISTS]
    if all(one.predicts for one in finalists):  # what to run where nobody predicts anything
        finalists[-1:] = [one for one in good if not one.predicts and one != base][:1] or finalists[-1:]
    return trials.ranked(trials.run([base, *finalists], every), every, base)


def _beats(trials: Trials, setting: Setting, base: Setting, stretches: Sequence[int]) -> bool:
    return math.fsum(trials.scores(setting, stretches)) > math.fsum(trials.scores(base, stretches))
