"""The runs that the evaluation of Past-Future asks for: parts, and the distinct cells of each.

Source: Past-Future Scheduler for LLM Serving under SLA Guarantees (ASPLOS 2025), evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.core.spec import Spec
from headway.measure.sla import Sla

ENGINE = "past-future-table1"
EVERY_STEP = "past-future-table1, a round every step"

D1, D2, D3, O1 = "d1(n=3000)", "d2(n=3000)", "d3(n=3000)", "o1-like(n=3000)"
WORKLOADS = (D1, D2, D3, O1)
CONCAT = "concat(a=d1(n=750), b=d2(n=750), c=d3(n=750), d=o1-like(n=750))"
SHORT, SHORT_START = "d1(n=600)", 300
TURNS = (("d3", "d1"), ("d1", "d3"))
"""Workloads that turn into each other: answers get longer, and shorter."""

_USUAL = {"lists": 5, "aggregate": "max", "window": 1000}


def named(workload: str) -> str:
    """Return a workload as figures call it."""
    name = workload.partition("(")[0]
    return name.upper() if name.startswith("d") else name


def past_future(reserve: float, length: int | None = 512, count: int = 500, **others: int | str) -> str:
    """Return the spec of Past-Future with a window that begins with `count` times `length`.

    None begins as in the text: full of the most that a request may generate. The same rule has the same spec.
    """
    seeded = {} if length is None else {"seed_length": length, "seed_count": count}
    changed = {name: value for name, value in others.items() if _USUAL[name] != value}
    return str(Spec("past-future", {"reserve": reserve, **changed, **seeded}))


def shifting(before: str, after: str, within: int) -> str:
    """Return the workload that turns into another, the change taking so many requests."""
    return f"shift(before={before}, after={after}, within={within}, n=3000)"


def windowed(window: int) -> str:
    """Return the spec of Past-Future with another window, seeded as far as it goes."""
    return past_future(0.05, 512, min(500, window), window=window)


def watermark(level: float) -> str:
    """Return the spec of a watermark that charges who returns what it really brings back."""
    return str(Spec("watermark", {"level": level}))


def overcommit(times: float) -> str:
    """Return the spec of conservative scheduling that promises more than there is."""
    return str(Spec("conservative", {"overcommit": times}))


BASE = past_future(0.05)
AS_IN_THE_TEXT = past_future(0.05, None)
NEAREST = past_future(0.05, 2048)
"""The seeding whose figures are nearest to the text's."""
ORACLE, CONSERVATIVE = "oracle", "conservative"
AGGRESSIVE = "watermark(level=0.99, charge=prompt)"
WATERMARKS = tuple(f"watermark(level={level}, charge=prompt)" for level in (0.9, 0.95, 0.99))
OVERCOMMITTED = overcommit(1.25)
TABLE = (
    ORACLE,
    CONSERVATIVE,
    OVERCOMMITTED,
    overcommit(1.5),
    *WATERMARKS,
    *(past_future(reserve) for reserve in (0.03, 0.05, 0.1)),
)
"""Rules of the controlled comparison."""

TABLE_D1 = (*(past_future(reserve, 2048) for reserve in (0.05, 0.1)), "ema(reserve=0.05)")
"""Further rules on D1: another seeding, and no drawing."""

LISTS = (1, 5, 20)
AGGREGATES = ("max", "mean")
SEEDINGS: tuple[tuple[int | None, int], ...] = ((None, 1000), (512, 500), (2048, 500))
SHIFT_RULES = (CONSERVATIVE, watermark(0.9), BASE)


@dataclass(frozen=True)
class Profile:
    """An engine under load from clients that each wait for their answer.

    Attributes:
        engine: a preset.
        sla: the agreement.
        clients: the loads.
    """

    engine: str
    sla: Sla
    clients: tuple[int, ...]

    def requests(self, clients: int, each: int) -> str:
        """Return the workload of so many clients that send so many requests each, 500 in all at the least."""
        return f"o1-like(n={max(clients * each, 500)})"


_SMALL, _LARGE = Sla(ttft=10.0, mtpot=1.5), Sla(ttft=15.0, mtpot=5.0)
PROFILES = {
    "7B": Profile("a100-llama2-7b", _SMALL, (10, 25, 40, 55, 65, 75, 100)),
    "13B": Profile("a100-llama2-13b", _SMALL, (10, 20, 28, 34, 40, 60, 100)),
    "70B": Profile("4xa100-llama2-70b", _LARGE, (100, 200, 250, 300, 350, 400, 500)),
}
SERVICE_RULES = (NEAREST, AS_IN_THE_TEXT, CONSERVATIVE, watermark(0.95), ORACLE)


@dataclass(frozen=True)
class Sweep:
    """A workload of the frontier.

    Attributes:
        workload: its name.
        reserves: of Past-Future.
        levels: of the watermark.
        overcommits: of conservative scheduling.
    """

    workload: str
    reserves: tuple[float, ...]
    levels: tuple[float, ...]
    overcommits: tuple[float, ...]


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        seeds: of the controlled comparison on D1, whose figures are calibrated.
        others: the same of rules that look ahead, on the other workloads.
        watched: workloads of the controlled comparison whose future is watched, in the first seed: that takes as long
            again.
        ablated: seeds of everything else that runs in its engine, but the frontier.
        reserves: of the ablation.
        windows: of the ablation, in requests.
        within: requests that a shift takes.
        frontier: seeds of the frontier.
        requests: of a run of the frontier.
        start_up: finishes after which the frontier counts.
        every: of the settings of Past-Future on the frontier, take every so manieth.
        service: seeds of the closed loop.
        loads: of the numbers of clients, take every so manieth.
        each: requests a client.
    """

    seeds: int
    others: int
    watched: tuple[str, ...]
    ablated: int
    reserves: tuple[float, ...]
    windows: tuple[int, ...]
    within: tuple[int, ...]
    frontier: int
    requests: int
    start_up: int
    every: int
    service: int
    loads: int
    each: int

    def sweep(self, name: str) -> str:
        """Return the workload of a sweep."""
        return f"{SWEEPS[name].workload}(n={self.requests})"


FULL = Size(
    seeds=10,
    others=4,
    watched=WORKLOADS,
    ablated=3,
    reserves=(0.0, 0.01, 0.03, 0.05, 0.07, 0.1),
    windows=(100, 200, 500, 1000, 2000, 5000),
    within=(0, 1000),
    frontier=4,
    requests=5000,
    start_up=2000,
    every=1,
    service=3,
    loads=1,
    each=12,
)
QUICK = Size(
    seeds=3,
    others=1,
    watched=(D1,),
    ablated=2,
    reserves=(0.0, 0.03, 0.05, 0.1),
    windows=(100, 1000, 5000),
    within=(1000,),
    frontier=2,
    requests=2000,
    start_up=1000,
    every=3,
    service=2,
    loads=3,
    each=4,
)

_LEVELS = (0.78, 0.82, 0.86, 0.88, 0.9, 0.92, 0.95)
_PROMISES = (1.0, 1.3, 1.4, 1.5, 1.6)
SWEEPS = {
    "D1": Sweep("d1", (0.12, 0.09, 0.07, 0.05, 0.04, 0.03, 0.0), _LEVELS, _PROMISES),
    "D2": Sweep("d2", (0.1, 0.07, 0.05, 0.04, 0.03, 0.015, 0.0), _LEVELS, (1.0, 1.15, 1.2, 1.25, 1.3)),
    "D3": Sweep("d3", (0.12, 0.1, 0.08, 0.06, 0.04, 0.02, 0.0), (0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.98), _PROMISES),
}
