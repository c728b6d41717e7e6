"""Everything that an engine is, validated once: sizes, modes, cost model."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.core.cost import Concurrency, CostModel, Jitter, Linear, Piecewise, Roofline, Steps
from headway.core.errors import InvalidEngine, nearest

MOST = 10**12  # tokens, positions, iterations: more than any engine has
_WILDEST = 100.0  # seconds for a request in an iteration, or a coefficient of variation
LONGEST_ANSWER = 4096  # tokens, where nobody sets a limit
MODES = ("mixed", "prefill-first")
FIRST_TOKENS = ("prefill", "decode")


@dataclass(frozen=True)
class EngineProfile:
    """One engine: a model on its hardware, as the scheduler sees it.

    Attributes:
        name: how reports call it.
        token_budget: the most positions in one iteration.
        max_sequences: the most requests that hold KV at once.
        kv_tokens: KV capacity, in tokens.
        cost: how long an iteration takes.
        decode_block: positions that a decoding request takes in each iteration (q).
        block_size: KV tokens in a block; a request takes whole blocks, and shares none.
        prefix_cache: tokens of finished prompts that the engine keeps beside `kv_tokens`, for requests whose prompts
            begin alike; None for no such cache.
        chunk_cap: the most prompt positions of one request in an iteration; None for no cap.
        partial_prompts: the most partly filled prompts at once; None for no limit.
        mode: "mixed" puts decodes and prompt chunks into one iteration; "prefill-first" pauses decodes while there
            are prompts to fill.
        admission_interval: decode iterations from one admission round to the next; with nothing to decode, every
            iteration is one.
        eviction: whether a request may lose its KV when memory runs out; without it an excess counts as an
            out-of-memory event.
        max_new_tokens: the most tokens that a request may generate where the client sets no limit; None assumes 4096.
        cut_off: whether the engine ends an answer at that limit; memory rules reckon with it in any case.
        first_token: which iteration emits the first token: the one that completes the "prefill" (real engines), or
            the first "decode" (the engine of Quota-Based Aging).
        memory: spec of the memory rule that this engine runs by default.
        concurrency: extra seconds of an iteration for every decoding request; see `Concurrency`.
        jitter: coefficient of variation of the iteration time; see `Jitter`.
        source: where the figures come from, and how far to trust them.
    """

    name: str
    token_budget: int
    max_sequences: int
    kv_tokens: int
    cost: CostModel
    decode_block: int = 1
    block_size: int = 1
    prefix_cache: int | None = None
    chunk_cap: int | None = None
    partial_prompts: int | None = None
    mode: str = "mixed"
    admission_interval: int = 1
    eviction: bool = True
    max_new_tokens: int | None = None
    cut_off: bool = True
    first_token: str = "prefill"
    memory: str = "prompt-fit(safety=0.9)"
    concurrency: float = 0.0
    jitter: float = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        for field in (
            "token_budget",
            "max_sequences",
            "kv_tokens",
            "decode_block",
            "block_size",
            "admission_interval",
        ):
            self._whole(field, getattr(self, field))
        for field in ("prefix_cache", "chunk_cap", "partial_prompts", "max_new_tokens"):
            if getattr(self, field) is not None:
                self._whole(field, getattr(self, field))
        self._one_of("mode", MODES)
        self._one_of("first_token", FIRST_TOKENS)
        for field in ("eviction", "cut_off"):
            if not isinstance(getattr(self, field), bool):  # TOML brings anything
                raise self._wrong(field, getattr(self, field), "true or false")
        for field in ("concurrency", "jitter"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _WILDEST:
                raise self._wrong(field, value, f"a number from 0 to {_WILDEST:g}")
        if self.decode_block > self.token_budget:
            raise self._wrong("decode_block", self.decode_block, f"at most token_budget ({self.token_budget})")
        if self.block_size > self.kv_tokens:
            raise self._wrong("block_size", self.block_size, f"at most kv_tokens ({self.kv_tokens})")

    @property
    def kv_capacity(self) -> int:
        """KV tokens that fit, in whole blocks."""
        return self.kv_tokens - self.kv_tokens % self.block_size

    @property
    def slots(self) -> int:
        """Requests that may hold KV at once: as many as can all decode within the token budget."""
        return min(self.max_sequences, self.token_budget // self.decode_block)

    @property
    def decode_slots(self) -> int:
        """Requests that may decode at once."""
        return self.slots

    def prompt_space(self, decodes: int) -> int:
        """Positions of an iteration that prompts may take while so many requests decode."""
        return self.token_budget - decodes * self.decode_block

    @property
    def longest_answer(self) -> int:
        """Tokens that memory rules reckon a request may generate at most."""
        return self.max_new_tokens or LONGEST_ANSWER

    def iteration_cost(self, rng: np.random.Generator) -> CostModel:
        """Return the cost model with the engine's concurrency correction and jitter, which draws from `rng`."""
        cost = self.cost
        if self.concurrency > 0:
            cost = Concurrency(cost, self.concurrency, self.decode_block)
        return Jitter(cost, self.jitter, rng) if self.jitter > 0 else cost

    def _whole(self, field: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise self._wrong(field, value, f"a whole number from 1 to {MOST:,}")

    def _one_of(self, field: str, known: tuple[str, ...]) -> None:
        value = getattr(self, field)
        if value not in known:
            raise InvalidEngine(f"engine '{self.name}': {field} = {value!r}; {nearest(str(value), known)}")

    def _wrong(self, field: str, value: object, expected: str) -> InvalidEngine:
        return InvalidEngine(f"engine '{self.name}': {field} = {value!r}; expected {expected}")


@dataclass(frozen=True)
class Gpu:
    """Rates of one accelerator: peak FLOP/s (dense, 16 bit), bytes/s, and the shares that kernels reach."""

    flops: float
    memory: float
    prefill_share: float
    decode_share: float


@dataclass(frozen=True)
class Model:
    """Sizes of one language model in 16 bit: parameters, and KV bytes a token."""

    parameters: float
    kv_bytes: float


GPUS = {
    "h100": Gpu(989.5e12, 3.35e12, 0.45, 0.30),
    "a100": Gpu(312e12, 2.039e12, 0.38, 0.18),
    "l40s": Gpu(362e12, 0.864e12, 0.32, 0.08),
}
MODELS = {
    "llama3-8b": Model(8.03e9, 131_072),
    "llama2-7b": Model(6.74e9, 524_288),
    "llama2-13b": Model(13.02e9, 819_200),
    "llama2-70b": Model(68.98e9, 327_680),
}
OVERHEAD = 0.003


def roofline(gpu: str, model: str, count: int = 1, c0: float = OVERHEAD) -> Roofline:
    """Build the roofline of a model on `count` accelerators of one kind (tensor parallel); c0 in seconds.

    Rates are the data sheets'; the shares that kernels reach are those that BLIS inference-sim calibrated against
    vLLM. Known error: the overhead `c0` is a round figure, and communication between accelerators is only in it.

    Raises:
        InvalidEngine: an unknown accelerator or model, or a count below 1.
    """
    if not isinstance(gpu, str) or gpu not in GPUS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidEngine(f"roofline: unknown gpu {gpu!r}; {nearest(str(gpu), GPUS)}")
    if not isinstance(model, str) or model not in MODELS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidEngine(f"roofline: unknown model {model!r}; {nearest(str(model), MODELS)}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidEngine(f"roofline: count = {count!r}; expected a whole number >= 1")
    rates, sizes = GPUS[gpu], MODELS[model]
    return Roofline(
        weights=2 * sizes.parameters,
        kv_bytes=sizes.kv_bytes,
        memory=rates.memory * count,
        flop=2 * sizes.parameters,
        prefill_flops=rates.flops * rates.prefill_share * count,
        decode_flops=rates.flops * rates.decode_share * count,
        c0=c0,
    )


LOCAL_TOKEN_BUDGET = 128
"""Positions of an iteration on a machine of one's own, where nothing else is said: a processor is no accelerator."""

_ROOFLINE = "Roofline of public data sheets with BLIS's calibrated efficiencies; not measured here."

PRESETS = {
    engine.name: engine
    for engine in (
        EngineProfile(
            name="qba-paper",
            token_budget=128,
            max_sequences=16,
            kv_tokens=8192,
            cost=Piecewise(c0=0.003, a=2e-5, b0=64),
            decode_block=8,
            partial_prompts=1,
            eviction=False,
            first_token="decode",
            memory="prompt-fit(safety=0.7)",
            source="Quota-Based Aging, IV-A3: the profiled engine of the paper.",
        ),
        EngineProfile(
            name="a100-llama3-8b",
            token_budget=2048,
            max_sequences=256,
            kv_tokens=450_000,
            cost=roofline("a100", "llama3-8b"),
            source=f"Llama-3-8B on one A100 SXM 80 GB. {_ROOFLINE}",
        ),
        EngineProfile(
            name="h100-llama3-8b",
            token_budget=2048,
            max_sequences=256,
            kv_tokens=450_000,
            cost=roofline("h100", "llama3-8b"),
            source=f"Llama-3-8B on one H100 SXM 80 GB. {_ROOFLINE}",
        ),
        EngineProfile(
            name="a100-llama2-7b",
            token_budget=2048,
            max_sequences=256,
            kv_tokens=120_000,
            cost=roofline("a100", "llama2-7b"),
            source=f"Llama-2-7B on one A100 SXM 80 GB; KV capacity as in Past-Future. {_ROOFLINE}",
        ),
        EngineProfile(
            name="a100-llama2-13b",
            token_budget=2048,
            max_sequences=256,
            kv_tokens=64_000,
            cost=roofline("a100", "llama2-13b"),
            source=f"Llama-2-13B on one A100 SXM 80 GB; KV capacity as in Past-Future. {_ROOFLINE}",
        ),
        EngineProfile(
            name="4xa100-llama2-70b",
            token_budget=2048,
            max_sequences=512,
            kv_tokens=550_000,
            cost=roofline("a100", "llama2-70b", count=4, c0=0.008),
            source=f"Llama-2-70B on four A100 SXM 80 GB, tensor parallel; KV capacity as in Past-Future. {_ROOFLINE}",
        ),
        EngineProfile(
            name="past-future-table1",
            token_budget=32_768,
            max_sequences=10_000,
            kv_tokens=120_000,
            cost=Steps(1.0),
            mode="prefill-first",
            admission_interval=10,
            max_new_tokens=4096,
            cut_off=False,
            first_token="decode",
            memory="past-future(seed_length=512, seed_count=500)",
            source=(
                "The controlled comparison of Past-Future (ASPLOS 2025): time counts decode steps, prefill is free; "
                "rules reckon with 4096 new tokens, the engine does not cut; figures until the last request leaves the "
                "queue."
            ),
        ),
    )
}


def preset(name: str) -> EngineProfile:
    """Return a preset engine.

    Raises:
        InvalidEngine: there is none of that name; the message names the nearest.
    """
    if name not in PRESETS:
        raise InvalidEngine(f"unknown engine '{name}'; {nearest(str(name), PRESETS)} (or a TOML file)")
    return PRESETS[name]


def engine_from_toml(text: str, name: str) -> EngineProfile:
    """Read an engine from TOML text; `name` is used where the text gives none.

    Keys are the attributes of `EngineProfile`; `[cost]` has `kind` and its parameters: "piecewise" (c0, a, b0),
    "linear" (c0, prefill, decode, context), "roofline" (gpu, model, count, c0) or "steps" (decode).

    Raises:
        InvalidEngine: not TOML, a missing or unknown key, or a value out of range.
    """
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise InvalidEngine(f"engine '{name}': not TOML: {error}") from None
    name = str(table.pop("name", name))
    if not isinstance(table.get("cost"), dict):
        raise InvalidEngine(f"engine '{name}': a [cost] table is missing; expected kind and its parameters")
    cost = _cost(name, dict(table.pop("cost")))
    known = {field.name: field for field in dataclasses.fields(EngineProfile) if field.name not in ("name", "cost")}
    _check_keys(name, table, set(known), {"token_budget", "max_sequences", "kv_tokens"})
    for key in ("memory", "source"):
        if not isinstance(table.get(key, ""), str):
            raise InvalidEngine(f"engine '{name}': {key} = {table[key]!r}; expected a text")
    return EngineProfile(name=name, cost=cost, **table)


_COSTS: dict[str, tuple[Callable[..., CostModel], set[str], set[str]]] = {
    "steps": (Steps, {"decode"}, set()),
    "piecewise": (Piecewise, {"c0", "a", "b0"}, {"c0", "a"}),
    "linear": (Linear, {"c0", "prefill", "decode", "context"}, {"c0", "prefill", "decode"}),
    "roofline": (roofline, {"gpu", "model", "count", "c0"}, {"gpu", "model"}),
}


def _cost(name: str, table: dict[str, Any]) -> CostModel:
    if "kind" not in table:
        raise InvalidEngine(f"engine '{name}': cost kind is missing; known: {', '.join(sorted(_COSTS))}")
    kind = table.pop("kind")
    if not isinstance(kind, str) or kind not in _COSTS:
        raise InvalidEngine(f"engine '{name}': cost kind = {kind!r}; {nearest(str(kind), _COSTS)}")
    make, known, required = _COSTS[kind]
    _check_keys(f"{name}', cost '{kind}", table, known, required)
    return make(**table)


def _check_keys(name: str, table: dict[str, Any], known: set[str], required: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidEngine(f"engine '{name}': unknown key '{key}'; {nearest(key, known)}")
    missing = sorted(required - set(table))
    if missing:
        raise InvalidEngine(f"engine '{name}': missing {', '.join(missing)}")
