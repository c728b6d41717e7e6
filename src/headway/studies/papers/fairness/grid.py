"""The set-ups: what is run in each part, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile, preset
from headway.measure.outstanding import Rates
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.studies.cells import Cell, Row
from headway.studies.papers.fairness import traffic
from headway.studies.papers.fairness.measures import classes, promises, service, signals
from headway.studies.source import Source
from headway.workload.trace import Trace

PARTS = ("charges", "shares", "deadlines", "nesting", "mix", "starvation", "tokens", "signals")

_POOL = 10_000  # KV tokens
STEPS = EngineProfile("steps", 512, 64, _POOL, Piecewise(1.0, 0.0, 0), memory="conservative")
"""An engine whose iterations take a second: of the published set-ups in steps."""
SERVER = EngineProfile("server", 512, 64, _POOL, Piecewise(0.037, 0.0, 0), memory="conservative")
A100 = preset("a100-llama3-8b")
SHORT_STEPS = dataclasses.replace(A100, name="a100-256", token_budget=256)
"""Full iterations take 38 ms, which keeps 50 ms between tokens."""
MIXED = dataclasses.replace(A100, name="a100-512", token_budget=512)

RATES = (2.5, 3.0, 3.5, 4.5, 5.2, 5.6, 6.0, 6.5, 7.0, 8.0)
QUICK_RATES = (2.5, 3.5, 5.2, 6.0, 7.0, 8.0)
"""Requests a second of the three classes together."""

ORDERS = {
    "fcfs": ("fcfs", "keep"),
    "edf": ("least-slack(alpha=0)", "keep"),
    "edf-capped": ("combined(alpha=0, band=0, chunk=64)", "keep"),
    "edf-demote": ("least-slack(alpha=0)", "demote"),
    "edf-reject": ("least-slack(alpha=0)", "reject"),
    "slack": ("least-slack", "keep"),
    "slack-demote": ("least-slack", "demote"),
    "hybrid-demote": ("least-slack(alpha=100)", "demote"),
}
"""Order and shedding rule of the load sweep, by what they are called."""

WRONG_MODEL = "least-slack(model=linear(c0=0.03, prefill=0.0004, decode=0.0003))"
"""Three times slower than the engine, and it never learns."""


@dataclass(frozen=True)
class Setup:
    """One run, but for its seed.

    Attributes:
        part: of the reproduction.
        name: unique.
        make: seed → requests.
        policy: what schedules them.
        engine: what runs them.
        measure: what is kept.
        seeded: whether another seed gives other requests.
        limited: requests say how long their answers become.
    """

    part: str
    name: str
    make: Callable[[int], Trace]
    policy: Policy
    engine: EngineProfile
    measure: Callable[[RunRecord, Sla | None], Row]
    seeded: bool = True
    limited: bool = False


def load_name(policy: str, rate: float) -> str:
    """Return what a run of the load sweep is called."""
    return f"{policy}@{rate:g}"


def setups(parts: Sequence[str], rates: Sequence[float], seconds: int) -> list[Setup]:
    """Return the set-ups of some parts; those with the same requests follow each other."""
    makers: dict[str, Callable[[], list[Setup]]] = {
        "charges": _charges,
        "shares": _shares,
        "deadlines": lambda: _deadlines(rates, seconds),
        "nesting": _nesting,
        "mix": _mix,
        "starvation": _starvation,
        "tokens": _tokens,
        "signals": _signals,
    }
    return [setup for part in PARTS if part in parts for setup in makers[part]()]


def cells_of(chosen: Sequence[Setup], seeds: Sequence[int]) -> list[tuple[Setup, Cell]]:
    """Return a cell for each set-up and seed; one seed where nothing is drawn. Requests are drawn once."""
    drawn: dict[tuple[Callable[[int], Trace], int], Source] = {}
    found: list[tuple[Setup, Cell]] = []
    for seed in seeds:
        for setup in chosen:
            if not setup.seeded and seed != seeds[0]:
                continue
            key = setup.make, seed
            if key not in drawn:
                drawn[key] = Source(setup.make(seed))
            cell = Cell(drawn[key], seed, setup.policy, setup.engine, limited=setup.limited, measure=setup.measure)
            found.append((setup, cell))
    return found


def _charges() -> list[Setup]:
    fixed = {"seeded": False, "limited": True}
    until = partial(service, until=4000.0)
    back = partial(service, since=traffic.RETURN + 1, until=traffic.RETURN + 3001)
    return [
        *(
            Setup(
                "charges",
                f"charge-{charge}",
                traffic.long_and_short,
                _policy(f"fair-share(charge={charge})"),
                STEPS,
                until,
                **fixed,
            )
            for charge in ("iteration", "admission")
        ),
        *(
            Setup(
                "charges",
                f"lift-{lift}",
                traffic.idle_return,
                _policy(f"fair-share(lift={lift})"),
                STEPS,
                back,
                **fixed,
            )
            for lift in ("active", "waiting")
        ),
    ]


def _shares() -> list[Setup]:
    measure = partial(service, until=float(traffic.OVERLOADED), settled=60.0)
    # 512 positions: eleven are left for decodes, fewer than the requests that fit into memory, so that slots are short.
    pools = Policy.of("fair-share", shares=Shares.of(pools=0.98))

    def setup(name: str, make: Callable[[int], Trace], policy: Policy, engine: EngineProfile = SERVER) -> Setup:
        return Setup("shares", name, make, policy, engine, measure, limited=True)

    return [
        setup("gap-fcfs", traffic.two_rates, _policy("fcfs")),
        setup("gap-fair", traffic.two_rates, _policy("fair-share")),
        setup("gap-pools", traffic.two_rates, pools),
        setup("gap-weighted", traffic.weighted, _policy("fair-share")),
    ]


def _deadlines(rates: Sequence[float], seconds: int) -> list[Setup]:
    found: list[Setup] = []
    for rate in rates:
        make = partial(traffic.three_classes, rate=rate, seconds=seconds)
        found += [
            Setup("deadlines", load_name(name, rate), make, Policy.of(order, shedding=shed), SHORT_STEPS, promises)
            for name, (order, shed) in ORDERS.items()
        ]
        if rate == MODEL_AT:
            found.append(
                Setup("deadlines", load_name("slack-wrong", rate), make, Policy.of(WRONG_MODEL), SHORT_STEPS, promises)
            )
    return found


MODEL_AT = 5.2
"""Requests/s at which a wrong iteration model is tried."""


def _nesting() -> list[Setup]:
    orders = {
        "slack-first-0": "fair-share(inner=least-slack(alpha=0, band=0), nesting=slack-first)",
        "slack-first-2": "fair-share(inner=least-slack(alpha=0, band=2), nesting=slack-first)",
        "slack-first-inf": "fair-share(inner=least-slack(alpha=0, band=inf), nesting=slack-first)",
        "tenant-first": "fair-share(inner=least-slack(alpha=0))",
        "pure-slack": "least-slack(alpha=0)",
    }
    return [
        Setup("nesting", name, traffic.two_tenants_in_a_hurry, _policy(order), NESTED, promises)
        for name, order in orders.items()
    ]


NESTED = EngineProfile("nested", 512, 32, 40_000, Piecewise(0.02, 4e-5, 64))


def _mix() -> list[Setup]:
    orders = {
        "mix-fcfs": "fcfs",
        "mix-fair": "fair-share",
        "mix-slack": "least-slack",
        "mix-combined": "combined(chunk=256, band=0.5)",
        "mix-shortest": "shortest-work(aging=0)",
    }
    return [Setup("mix", name, traffic.mix, _policy(order), MIXED, classes) for name, order in orders.items()]


BUDGETS = (512, 2048, 8192)
HORIZONS = (60, 120)


def _starvation() -> list[Setup]:
    found = [
        Setup(
            "starvation",
            f"burst-{order}-{budget}",
            traffic.burst,
            _policy(order),
            dataclasses.replace(A100, token_budget=budget),
            classes,
            seeded=False,
        )
        for budget in BUDGETS
        for order in ("fcfs", "shortest-work")
    ]
    for horizon in HORIZONS:
        make = partial(traffic.starving, seconds=float(horizon))
        policies = {
            "fcfs": _policy("fcfs"),
            "shortest": _policy("shortest-work(aging=0)"),
            "aged": _policy("shortest-work(aging=500)"),
            "reserved": Policy.of("shortest-work(aging=0)", shares=Shares.of(reserve="share=0.1,after=5,window=200")),
        }
        found += [
            Setup("starvation", f"starve-{name}-{horizon}", make, policy, MIXED, classes)
            for name, policy in policies.items()
        ]
    return found


def _tokens() -> list[Setup]:
    book = {"seeded": False}
    capped = {
        f"cap-{chunk}": _policy("fcfs" if chunk == "none" else f"combined(chunk={chunk})")
        for chunk in ("none", "512", "128")
    }
    found = [
        Setup("tokens", name, traffic.beside_streams, policy, A100, classes, **book) for name, policy in capped.items()
    ]
    found += [
        Setup(
            "tokens",
            f"share-{share:g}",
            traffic.beside_streams,
            Policy.of("fcfs", shares=Shares.of(share)),
            SHORT_STEPS,
            classes,
            **book,
        )
        for share in (0.0, 0.25, 0.5)
    ]
    found += [
        Setup(
            "tokens",
            f"slots-{slots}-{name}",
            traffic.steady,
            _policy(order),
            dataclasses.replace(A100, max_sequences=slots),
            classes,
        )
        for slots in (16, 64)
        for name, order in (("fcfs", "fcfs"), ("slack", "least-slack"), ("shortest", "shortest-work(aging=0)"))
    ]
    return found


def _signals() -> list[Setup]:
    measure = partial(signals, rates=Rates.of(A100, 200, 50))
    return [
        Setup("signals", name, make, _policy("fcfs"), A100, measure, seeded=False)
        for name, make in (("small-burst", traffic.small_burst), ("large-burst", traffic.large_burst))
    ]


def _policy(order: str) -> Policy:
    return Policy.of(order)
