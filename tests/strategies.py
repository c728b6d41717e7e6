"""Random engines, policies and requests for the property tests."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hypothesis import strategies as st

from headway.core.cost import CostModel, Linear, Piecewise, Roofline
from headway.core.engine import EngineProfile
from headway.core.request import Request, Slo
from headway.policies.shares import Shares

COSTS: list[CostModel] = [
    Piecewise(0.003, 2e-5, 64),
    Piecewise(1.0, 0.0, 0),
    Linear(0.01, 1e-4, 2e-4, 1e-6),
    Linear(0.01, 1e-4, 2e-4, 0.0),
    Roofline(16e9, 131072 * 4000, 2e12, 16e9, 1e14, 4e13, 0.001),
]

ORDERS = st.sampled_from(
    [
        "fcfs",
        "psf",
        "aa(gamma=0.5)",
        "aa(gamma=0.3, window=3)",
        "aa(gamma=0.5, reference=queue)",
        "qba(k=1, gamma=0.3)",
        "qba(k=2, gamma=0.5, refused=stop)",
        "qba(k=2, gamma=0.2, refused=oldest-that-fits)",
        "qba(k=2, gamma=0.5, reference=queue)",
        "shortest-work(aging=3)",
        "fair-share",
        "fair-share(inner=psf, w_in=0)",
        "fair-share(inner=qba(k=1, gamma=0.3), charge=predicted)",
        "fair-share(charge=admission)",
        "fair-share(lift=waiting, w_out=0.5)",
    ]
)
BY_SLACK = st.sampled_from(
    [
        "least-slack",
        "least-slack(alpha=0, band=0.1)",
        "least-slack(alpha=2, model=linear(c0=0.01, prefill=0.001, decode=0.001))",
        "fair-share(inner=least-slack(band=0.1), nesting=slack-first)",
        "fair-share(inner=least-slack(band=inf), nesting=slack-first)",
        "fair-share(inner=least-slack)",
        "fair-share(inner=least-slack, charge=predicted)",
        "combined(chunk=9, band=0.05)",
        "combined(chunk=9, band=0.05, ties=cache)",
    ]
)
BY_CACHE = st.sampled_from(
    [
        "fcfs",
        "least-slack(ties=cache)",
        "least-slack(band=0.2, ties=cache)",
        "fair-share(inner=least-slack(band=inf, ties=cache))",
        "combined(chunk=9, band=0.3, ties=cache)",
        "combined(chunk=60, band=inf, ties=cache)",
    ]
)
COUNTING = st.sampled_from(
    ["fair-share", "fair-share(w_in=3, w_out=0.5)", "fair-share(charge=predicted)", "fair-share(inner=shortest-work())"]
)  # whose turn it is changes as requests decode
EVICTION = st.sampled_from(["last-admitted", "last-admitted", "least-computed", "longest-remaining"])
PROMPT_FIT = ["prompt-fit(safety=0.5)", "prompt-fit(safety=0.7)", "prompt-fit(safety=1)"]
MEMORY = [
    *PROMPT_FIT,
    "watermark(level=0.9)",
    "watermark(level=1, charge=prompt)",
    "conservative",
    "conservative(overcommit=1.5)",
    "past-future(window=4, seed_length=20)",
    "past-future(reserve=0.2, window=10, lists=3, aggregate=mean, seed_length=3, seed_count=2)",
    "ema(reserve=0)",
]
NOBODY = st.none()
CLIENTS = st.integers(1, 12)
PATIENCE = st.sampled_from([0.004, 0.01, 0.03, 0.1, 0.5, 1.0, 2.0, 7.0])


TENANTS = [("a", 1.0), ("a", 1.0), ("b", 1.0), ("c", 2.5), ("c", 0.5)]  # one of them changes its weight


PROMISES = [None, Slo(0.05), Slo(0.3, 0.01), Slo(completion=1.0), Slo(0.1, None, 2.0)]


def shares_for(engine: EngineProfile) -> st.SearchStrategy[Shares]:
    """A prefill share or pools where the engine allows them, a reservation, or, most often, nothing."""
    split: list[tuple[float, float | None]] = [(0.0, None)]
    if engine.mode == "mixed":
        split += [(0.0, None), (0.1, None), (0.6, None)]
        split += [(0.0, pools) for pools in pools_for(engine)]
    reserves = [None, None, "share=0.3,after=0.05", "share=0.01,after=0,window=150", "share=1,after=1.0,window=3"]
    return st.builds(
        lambda split, reserve: Shares.of(split[0], reserve, split[1]), st.sampled_from(split), st.sampled_from(reserves)
    )


@st.composite
def pooled(draw: st.DrawFn, of: st.SearchStrategy[Scenario]) -> Scenario:
    """Scenarios in which requests wait for decode slots: few of these, several residents, memory for more."""
    scenario = draw(of)
    engine = dataclasses.replace(
        scenario.engine,
        mode="mixed",
        token_budget=scenario.engine.token_budget + scenario.engine.decode_block,
        max_sequences=draw(st.integers(3, 12)),
        kv_tokens=draw(st.integers(40, 600)),
    )
    reserve = scenario.shares.reserve
    shares = Shares.of(0.0, None if reserve is None else str(reserve), draw(st.sampled_from(pools_for(engine))))
    return dataclasses.replace(scenario, engine=engine, shares=shares)


def pools_for(engine: EngineProfile) -> list[float]:
    """Splits that leave one, two, four and many decode slots, as far as the engine has so many."""
    budget, block = engine.token_budget, engine.decode_block
    prompts = [budget - slots * block for slots in (1, 2, 4)] + [1]
    return [positions / budget for positions in prompts if 1 <= positions <= budget - block]


CACHES = st.integers(5, 150)


def blocks_of(row: int, prompt: int, document: int, shared: int) -> tuple[int, ...]:
    """Hashes of a prompt that begins like others: some blocks of one document, then some of a part of it, its own."""
    alike = [document * 100 + place for place in range(shared)]
    alike += [10_000 + document * 1000 + shared * 20 + place for place in range(shared % 4)]
    own = [100_000 + row * 100 + place for place in range(prompt // 4)]
    return tuple([*alike, *own][: prompt // 4 + 1])


@dataclass(frozen=True)
class Scenario:
    """An engine, what it is asked to do, and who leaves when.

    With `clients` the requests are sent in a closed loop of so many; `patience` is theirs, in seconds.
    """

    engine: EngineProfile
    requests: list[Request]
    outputs: list[int]
    cancels: list[tuple[float, int]]
    eviction: str = "last-admitted"
    shares: Shares = Shares()  # noqa: RUF009 - immutable
    clients: int | None = None
    patience: float | None = None


@st.composite
def engines(draw: st.DrawFn, *, eviction: bool | None = None, memory: list[str] = PROMPT_FIT) -> EngineProfile:
    block = draw(st.integers(1, 8))
    budget = draw(st.integers(block, 64))
    return EngineProfile(
        name="random",
        token_budget=budget,
        max_sequences=draw(st.integers(1, 12)),
        kv_tokens=draw(st.integers(10, 300)),
        cost=draw(st.sampled_from(COSTS)),
        decode_block=block,
        block_size=draw(st.sampled_from([1, 1, 1, 2, 3, 4, 8, 10])),
        prefix_cache=draw(st.none() | CACHES),
        chunk_cap=draw(st.none() | st.integers(1, budget)),
        partial_prompts=draw(st.none() | st.integers(1, 3)),
        mode=draw(st.sampled_from(["mixed", "prefill-first"])),
        admission_interval=draw(st.sampled_from([1, 1, 1, 2, 5])),
        eviction=draw(st.booleans()) if eviction is None else eviction,
        first_token=draw(st.sampled_from(["prefill", "decode"])),
        memory=draw(st.sampled_from(memory)),
    )


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    cancels: bool = False,
    eviction: bool | None = None,
    memory: list[str] = PROMPT_FIT,
    clients: st.SearchStrategy[int | None] = NOBODY,
    patience: st.SearchStrategy[float | None] = NOBODY,
    cached: bool = False,
) -> Scenario:
    engine = draw(engines(eviction=eviction, memory=memory))
    if cached:
        engine = dataclasses.replace(engine, prefix_cache=draw(CACHES))
    count = draw(st.integers(1, 25))
    gaps = draw(st.lists(st.sampled_from([0.0, 0.0, 0.001, 0.01, 0.1, 1.5]), min_size=count, max_size=count))
    arrival = 0.0
    requests: list[Request] = []
    for row, gap in enumerate(gaps):
        arrival += gap
        predicted = draw(st.sampled_from(["short", "short", "long", None]))
        limit = draw(st.sampled_from([None, None, 30, 100]))
        tenant, weight = draw(st.sampled_from(TENANTS))
        prompt = draw(st.integers(1, 90))
        slo = draw(st.sampled_from(PROMISES))
        document, shared, size = draw(st.sampled_from([None, 0, 0, 1])), draw(st.integers(0, 12)), 4
        blocks = None
        if engine.prefix_cache is not None and document is not None:
            blocks, size = blocks_of(row, prompt, document, shared), draw(st.sampled_from([4, 4, 4, 4, 7]))
        request = Request(row, arrival, prompt, limit, predicted, tenant, None, 0, slo, weight, blocks, size)
        requests.append(request)
    outputs = draw(st.lists(st.integers(0, 120), min_size=count, max_size=count))
    leaving: list[tuple[float, int]] = []
    if cancels:
        rows = draw(st.lists(st.integers(0, count - 1), unique=True, max_size=5))
        delays = [draw(st.sampled_from([0.0, 0.01, 0.3, 2.0])) for _ in rows]
        leaving = sorted((requests[row].arrival + delay, row) for row, delay in zip(rows, delays, strict=True))
    return Scenario(
        engine, requests, outputs, leaving, draw(EVICTION), draw(shares_for(engine)), draw(clients), draw(patience)
    )


@st.composite
def crowds(draw: st.DrawFn) -> Scenario:
    """Tenants that wait for memory while others decode and long prompts grow by a few positions at a time."""
    engine = EngineProfile(
        name="crowded",
        token_budget=draw(st.integers(10, 60)),
        max_sequences=draw(st.integers(2, 10)),
        kv_tokens=draw(st.integers(100, 400)),
        cost=Piecewise(1.0, 0.0, 0),
        decode_block=draw(st.sampled_from([1, 1, 3])),
        chunk_cap=draw(st.sampled_from([1, 2, 5])),
        memory=draw(st.sampled_from(["conservative", "prompt-fit(safety=0.7)"])),
    )
    arrival = 0.0
    requests: list[Request] = []
    outputs: list[int] = []
    for row in range(draw(st.integers(15, 30))):
        arrival += draw(st.sampled_from([0.0, 0.0, 0.0, 3.0, 20.0]))
        tenant, weight = draw(st.sampled_from(TENANTS))
        prompt, output = draw(st.sampled_from([1, 3, 60, 90])), draw(st.sampled_from([1, 7, 25, 60]))
        predicted = draw(st.sampled_from([None, 5, 20.5]))
        requests.append(Request(row, arrival, prompt, output, predicted, tenant, None, 0, None, weight))
        outputs.append(output)
    return Scenario(engine, requests, outputs, [])
