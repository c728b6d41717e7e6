"""Which cells each part of the study needs; a cell that several parts need is run once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache
from itertools import product

from headway.core.engine import EngineProfile, preset
from headway.policies.policy import Policy
from headway.studies.cells import Cell
from headway.studies.papers.past_future.grid import (
    AGGREGATES,
    BASE,
    CONCAT,
    CONSERVATIVE,
    D1,
    ENGINE,
    EVERY_STEP,
    LISTS,
    PROFILES,
    SEEDINGS,
    SERVICE_RULES,
    SHIFT_RULES,
    SHORT,
    SHORT_START,
    SWEEPS,
    TABLE,
    TABLE_D1,
    TURNS,
    WORKLOADS,
    Size,
    overcommit,
    past_future,
    shifting,
    watermark,
    windowed,
)
from headway.studies.papers.past_future.rows import labels
from headway.studies.source import Source

_FORECASTS = ("past-future", "ema", "oracle")


def cells(size: Size, parts: Collection[str]) -> list[Cell]:
    """Return the distinct cells of some parts, those that take longest first, so that no process is left alone."""
    distinct: dict[tuple[object, ...], Cell] = {}
    for part in parts:
        for cell in PARTS[part](size):
            known = distinct.get(labels(cell))
            if known is None or cell.watch_future:
                distinct[labels(cell)] = cell
    return sorted(distinct.values(), key=_effort, reverse=True)


def _effort(cell: Cell) -> float:
    """Return about how long a cell takes, in no unit: rules that look ahead do so in most rounds."""
    looks_ahead = str(cell.policy.memory).startswith(_FORECASTS)
    return (5.0 if looks_ahead else 1.0) * (10.0 if cell.engine.name == EVERY_STEP else 1.0) + cell.watch_future


@cache
def _policy(memory: str) -> Policy:
    return Policy.of("fcfs", memory)


def _cell(workload: str, memory: str, seed: int, engine: EngineProfile | None = None, **others: object) -> Cell:
    return Cell(Source(workload), seed, _policy(memory), engine or preset(ENGINE), **others)  # type: ignore[arg-type]


def _table(size: Size) -> Iterator[Cell]:
    for workload in WORKLOADS:
        for memory in (*TABLE, *TABLE_D1) if workload == D1 else TABLE:
            few = workload != D1 and memory.startswith(_FORECASTS)
            for seed in range(size.others if few else size.seeds):
                yield _cell(workload, memory, seed, watch_future=seed == 0 and workload in size.watched)


def _frontier(size: Size) -> Iterator[Cell]:
    for name, sweep in SWEEPS.items():
        rules = [
            *(f"past-future(reserve={reserve})" for reserve in sweep.reserves[:: -size.every]),
            *map(watermark, sweep.levels),
            *map(overcommit, sweep.overcommits),
        ]
        for memory, seed in product(rules, range(size.frontier)):
            yield _cell(size.sweep(name), memory, seed, steady_after=size.start_up)


def _ablations(size: Size) -> Iterator[Cell]:
    for seed in range(size.ablated):
        for lists, aggregate in product(LISTS, AGGREGATES):
            yield _cell(D1, past_future(0.05, lists=lists, aggregate=aggregate), seed)
        for reserve in size.reserves:
            yield _cell(D1, past_future(reserve), seed)
        for window, workload in product(size.windows, (D1, CONCAT)):
            yield _cell(workload, windowed(window), seed)
        every = replace(preset(ENGINE), name=EVERY_STEP, admission_interval=1)
        for engine in (preset(ENGINE), every):
            yield _cell(SHORT, BASE, seed, engine, steady_after=SHORT_START)


def _start(size: Size) -> Iterator[Cell]:
    rules = [past_future(0.05, length, count) for length, count in SEEDINGS]
    for memory, seed in product([*rules, CONSERVATIVE], range(size.ablated)):
        yield _cell(D1, memory, seed)


def _shift(size: Size) -> Iterator[Cell]:
    for seed in range(size.ablated):
        shifts = [shifting(before, after, within) for before, after in TURNS for within in size.within]
        for workload, memory in product((CONCAT, *shifts), SHIFT_RULES):
            yield _cell(workload, memory, seed)
        for within in size.within:
            yield _cell(shifting(*TURNS[0], within), windowed(200), seed)
        for workload in WORKLOADS:
            yield _cell(workload, BASE, seed)


def _goodput(size: Size) -> Iterator[Cell]:
    for profile in PROFILES.values():
        engine = preset(profile.engine)
        for clients in profile.clients[:: -size.loads]:
            for memory, seed in product(SERVICE_RULES, range(size.service)):
                workload = profile.requests(clients, size.each)
                yield _cell(workload, memory, seed, engine, sla=profile.sla, clients=clients)


def _nothing(_: Size) -> Iterator[Cell]:
    """Return no cells: what is computed without a run."""
    return iter(())


PARTS: dict[str, Callable[[Size], Iterator[Cell]]] = {
    "table": _table,
    "frontier": _frontier,
    "ablations": _ablations,
    "start-up": _start,
    "shift": _shift,
    "goodput": _goodput,
    "forecast": _nothing,
    "stability": _nothing,
}
"""The parts of the study, as `--only` calls them."""
