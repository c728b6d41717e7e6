"""Engine profiles: validated once, as presets and as TOML."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from headway.core.cost import Concurrency, Jitter, Linear, Piecewise, Roofline
from headway.core.engine import (
    GPUS,
    MODELS,
    PRESETS,
    EngineProfile,
    engine_from_toml,
    preset,
    roofline,
)
from headway.core.errors import InvalidEngine
from headway.policies.policy import Policy

COST = Piecewise(0.003, 2e-5, 64)


def engine(**changes: Any) -> EngineProfile:
    sizes: dict[str, Any] = {"name": "x", "token_budget": 64, "max_sequences": 8, "kv_tokens": 100, "cost": COST}
    return EngineProfile(**{**sizes, **changes})


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        *((field, 0, "a whole number") for field in ("token_budget", "max_sequences", "kv_tokens", "block_size")),
        ("block_size", 101, "at most kv_tokens (100)"),
        ("token_budget", 2.0, "a whole number"),
        ("kv_tokens", "8192", "a whole number"),
        ("max_sequences", True, "a whole number"),
        ("decode_block", 0, "a whole number"),
        ("decode_block", 65, "at most token_budget (64)"),
        ("admission_interval", -1, "a whole number"),
        ("chunk_cap", 0, "a whole number"),
        ("prefix_cache", 0, "a whole number"),
        ("prefix_cache", 2.5, "a whole number"),
        ("partial_prompts", 0, "a whole number"),
        ("mode", "prefil-first", "did you mean 'prefill-first'? Known: mixed, prefill-first"),
        ("first_token", 1, "Known: decode, prefill"),
        ("eviction", 1, "true or false"),
        ("cut_off", "no", "true or false"),
        ("max_new_tokens", 0, "a whole number"),
        ("concurrency", -0.1, "a number from 0 to 100"),
        ("concurrency", True, "a number from 0 to 100"),
        ("jitter", math.inf, "a number from 0 to 100"),
        ("jitter", math.nan, "a number from 0 to 100"),
        ("jitter", "0.1", "a number from 0 to 100"),
    ],
)
def test_a_value_out_of_range_is_named_with_what_was_expected(field: str, value: Any, expected: str) -> None:
    with pytest.raises(InvalidEngine) as caught:
        engine(**{field: value})
    said = expected if "Known: " in expected else f"expected {expected}"
    assert str(caught.value).startswith(f"engine 'x': {field} = {value!r}; {said}")


def test_slots_are_as_many_as_can_all_decode_within_the_budget() -> None:
    assert engine().slots == 8
    assert engine(decode_block=8).slots == 8
    assert engine(decode_block=9).slots == 7
    assert engine(decode_block=64).slots == 1
    assert preset("qba-paper").slots == 16


def test_iteration_cost_wraps_what_is_switched_on() -> None:
    rng = np.random.default_rng(0)
    assert engine().iteration_cost(rng) is COST
    slower = engine(concurrency=0.5, decode_block=4).iteration_cost(rng)
    assert isinstance(slower, Concurrency)
    assert slower.seconds(0, 8, 0) == pytest.approx(0.003 + 0.5 * 2)
    both = engine(concurrency=0.5, jitter=0.1).iteration_cost(rng)
    assert isinstance(both, Jitter)
    assert isinstance(both.inner, Concurrency)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_found_by_their_name_and_say_where_they_come_from(name: str) -> None:
    found = preset(name)
    assert found.name == name
    assert found.source
    assert found.cost.seconds(100, 10, 1000) > 0
    Policy.of("fcfs").build(found)  # its memory rule is known


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qba-paper", (128, 16, 8192, 8, 1, False)),
        ("a100-llama3-8b", (2048, 256, 450_000, 1, None, True)),
        ("h100-llama3-8b", (2048, 256, 450_000, 1, None, True)),
        ("a100-llama2-7b", (2048, 256, 120_000, 1, None, True)),
        ("a100-llama2-13b", (2048, 256, 64_000, 1, None, True)),
        ("4xa100-llama2-70b", (2048, 512, 550_000, 1, None, True)),
    ],
)
def test_sizes_of_the_presets(name: str, expected: tuple[object, ...]) -> None:
    found = preset(name)
    sizes = (found.token_budget, found.max_sequences, found.kv_tokens)
    assert (*sizes, found.decode_block, found.partial_prompts, found.eviction) == expected


def test_the_engine_of_the_paper_takes_3_ms_up_to_64_positions() -> None:
    paper = preset("qba-paper")
    assert paper.cost == Piecewise(c0=0.003, a=2e-5, b0=64)
    assert paper.memory == "prompt-fit(safety=0.7)"


def test_an_8b_model_on_an_a100_pays_6e_8_s_for_a_live_token() -> None:
    cost = preset("a100-llama3-8b").cost
    slope = (cost.seconds(0, 1, 200_000) - cost.seconds(0, 1, 100_000)) / 100_000
    assert slope == pytest.approx(6.4e-8, rel=0.01)


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        InvalidEngine, match=r"unknown engine 'a100-llama3'; did you mean 'a100-llama3-8b'\?.*TOML file"
    ):
        preset("a100-llama3")


def test_rooflines_scale_with_the_number_of_accelerators() -> None:
    one, four = roofline("a100", "llama2-70b"), roofline("a100", "llama2-70b", count=4)
    for name in ("memory", "prefill_flops", "decode_flops"):
        assert getattr(four, name) == 4 * getattr(one, name)
    assert one.weights == four.weights == 2 * MODELS["llama2-70b"].parameters
    assert one.memory == GPUS["a100"].memory


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a10", "llama3-8b"), "roofline: unknown gpu 'a10'; did you mean 'a100'"),
        (("a100", "llama3"), "roofline: unknown model 'llama3'; did you mean 'llama3-8b'"),
        (("a100", "llama3-8b", 0), "roofline: count = 0; expected a whole number"),
        (("a100", "llama3-8b", True), "roofline: count = True; expected a whole number"),
        (("a100", "llama3-8b", 1.5), "roofline: count = 1.5; expected a whole number"),
        (("a100", "llama3-8b", 1, -1), "-1; expected a finite number >= 0"),
    ],
)
def test_a_roofline_that_cannot_be_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidEngine) as caught:
        roofline(*arguments)
    assert message in str(caught.value)


SIZES = "token_budget = 64\nmax_sequences = 8\nkv_tokens = 100\n"
FLAT = '[cost]\nkind = "piecewise"\nc0 = 0.01\na = 0\n'


def test_every_key_of_the_toml() -> None:
    text = """
        name = "mine"
        token_budget = 512
        max_sequences = 32
        kv_tokens = 10_000
        decode_block = 4
        block_size = 16
        prefix_cache = 50_000
        chunk_cap = 128
        partial_prompts = 2
        mode = "prefill-first"
        admission_interval = 3
        eviction = false
        first_token = "decode"
        memory = "prompt-fit(safety=0.5)"
        concurrency = 1e-5
        jitter = 0.05
        max_new_tokens = 300
        cut_off = false
        source = "measured"
        [cost]
        kind = "linear"
        c0 = 0.01
        prefill = 1e-4
        decode = 2e-4
        context = 1e-6
    """
    assert engine_from_toml(text, "file") == EngineProfile(
        name="mine",
        token_budget=512,
        max_sequences=32,
        kv_tokens=10_000,
        cost=Linear(0.01, 1e-4, 2e-4, 1e-6),
        decode_block=4,
        block_size=16,
        prefix_cache=50_000,
        chunk_cap=128,
        partial_prompts=2,
        mode="prefill-first",
        admission_interval=3,
        eviction=False,
        first_token="decode",
        memory="prompt-fit(safety=0.5)",
        concurrency=1e-5,
        jitter=0.05,
        max_new_tokens=300,
        cut_off=False,
        source="measured",
    )
    named = {line.split("=")[0].strip() for line in text.splitlines() if "=" in line}
    assert {field.name for field in dataclasses.fields(EngineProfile)} - {"cost"} <= named


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        ('kind = "piecewise"\nc0 = 1\na = 2e-5', Piecewise(1, 2e-5)),
        ('kind = "piecewise"\nc0 = 0.003\na = 2e-5\nb0 = 64', COST),
        ('kind = "linear"\nc0 = 1\nprefill = 0.5\ndecode = 0.25', Linear(1, 0.5, 0.25)),
        ('kind = "roofline"\ngpu = "h100"\nmodel = "llama3-8b"', roofline("h100", "llama3-8b")),
        (
            'kind = "roofline"\ngpu = "a100"\nmodel = "llama2-70b"\ncount = 4\nc0 = 0.008',
            roofline("a100", "llama2-70b", 4, 0.008),
        ),
    ],
)
def test_costs_of_the_toml(cost: str, expected: Piecewise | Linear | Roofline) -> None:
    read = engine_from_toml(f"{SIZES}[cost]\n{cost}\n", "file")
    assert read.cost == expected
    assert read.name == "file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("token_budget = ", "engine 'file': not TOML"),
        ("token_budget = " + "9" * 5000, "engine 'file'"),
        ("a = " + "[" * 5000 + "]" * 5000, "engine 'file'"),
        (SIZES, "engine 'file': a [cost] table is missing; expected kind and its parameters"),
        (SIZES + "cost = 5", "engine 'file': a [cost] table is missing"),
        (FLAT, "engine 'file': missing kv_tokens, max_sequences, token_budget"),
        ("name = 'own'\n" + FLAT, "engine 'own': missing kv_tokens"),
        (SIZES + "chunk_kap = 3\n" + FLAT, "engine 'file': unknown key 'chunk_kap'; did you mean 'chunk_cap'?"),
        (SIZES + "cost_ = 3\n" + FLAT, "engine 'file': unknown key 'cost_'"),
        (SIZES + "eviction = 'yes'\n" + FLAT, "engine 'file': eviction = 'yes'; expected true or false"),
        (SIZES + "chunk_cap = 1.5\n" + FLAT, "engine 'file': chunk_cap = 1.5; expected a whole number"),
        (SIZES + "mode = ['mixed']\n" + FLAT, "engine 'file': mode = ['mixed']; did you mean 'mixed'?"),
        (SIZES + "memory = 3\n" + FLAT, "engine 'file': memory = 3; expected a text"),
        (SIZES + "source = [1]\n" + FLAT, "engine 'file': source = [1]; expected a text"),
        (SIZES + "[cost]\nc0 = 1", "engine 'file': cost kind is missing; known: "),
        (SIZES + "[cost]\nkind = 'linar'", "engine 'file': cost kind = 'linar'; did you mean 'linear'?"),
        (SIZES + "[cost]\nkind = ['linear']", "engine 'file': cost kind = ['linear']"),
        (SIZES + FLAT + "b = 5", "engine 'file', cost 'piecewise': unknown key 'b'; "),
        (SIZES + "[cost]\nkind = 'linear'\nc0 = 1", "engine 'file', cost 'linear': missing decode, prefill"),
        (SIZES + "[cost]\nkind = 'piecewise'\nc0 = 'x'\na = 0", "c0 = 'x'; expected a finite number >= 0"),
        (SIZES + "[cost]\nkind = 'piecewise'\nc0 = nan\na = 0", "c0 = nan; expected a finite number >= 0"),
        (SIZES + f"[cost]\nkind = 'piecewise'\nc0 = 1{'0' * 400}\na = 0", "expected a finite number >= 0"),
        (SIZES + "[cost]\nkind = 'roofline'\ngpu = 'a10'\nmodel = 'llama3-8b'", "roofline: unknown gpu 'a10'"),
        (SIZES + "[cost]\nkind = 'roofline'\ngpu = ['a100']\nmodel = 'llama3-8b'", "unknown gpu ['a100']"),
        (SIZES + "[cost]\nkind = 'roofline'\ngpu = 'a100'\nmodel = {}", "unknown model {}"),
    ],
)
def test_a_toml_that_is_no_engine_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidEngine) as caught:
        engine_from_toml(text, "file")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
