"""Random engines, policies and requests for the property tests."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from headway.core.cost import CostModel, Linear, Piecewise, Roofline
from headway.core.engine import EngineProfile
from headway.core.request import Request

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


TENANTS = [("a", 1.0), ("a", 1.0), ("b", 1.0), ("c", 2.5), ("c", 0.5)]  # one of them changes its weight


@dataclass(frozen=True)
class Scenario:
    """An engine, what it is asked to do, and who leaves when."""

    engine: EngineProfile
    requests: list[Request]
    outputs: list[int]
    cancels: list[tuple[float, int]]
    eviction: str = "last-admitted"


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
    draw: st.DrawFn, *, cancels: bool = False, eviction: bool | None = None, memory: list[str] = PROMPT_FIT
) -> Scenario:
    engine = draw(engines(eviction=eviction, memory=memory))
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
        requests.append(Request(row, arrival, prompt, limit, predicted, tenant, None, 0, None, weight))
    outputs = draw(st.lists(st.integers(0, 120), min_size=count, max_size=count))
    leaving: list[tuple[float, int]] = []
    if cancels:
        rows = draw(st.lists(st.integers(0, count - 1), unique=True, max_size=5))
        delays = [draw(st.sampled_from([0.0, 0.01, 0.3, 2.0])) for _ in rows]
        leaving = sorted((requests[row].arrival + delay, row) for row, delay in zip(rows, delays, strict=True))
    return Scenario(engine, requests, outputs, leaving, draw(EVICTION))


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
