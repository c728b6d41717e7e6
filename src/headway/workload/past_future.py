"""The workloads of the Past-Future experiments: all requests are queued at time 0, or arrive at a rate.

Source: Past-Future Scheduler for LLM Serving under SLA Guarantees (Gong et al., ASPLOS 2025), evaluation.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from headway.workload.arrivals import poisson_or_at_once
from headway.workload.lengths import Lognormal, Tokens, lognormal, uniform
from headway.workload.limits import count
from headway.workload.seeds import ARRIVALS, LENGTHS, stream

_LEFT_TO_RIGHT = 0.72 / 0.52  # spread of o1-like outputs below the median, by that above it


def d1(seed: int, /, n: int = 3000, rate: float = math.inf) -> pl.DataFrame:
    """Decode-heavy: prompts of 32 to 4,096 tokens, outputs of 2,048 to 4,096, equally likely."""
    return _uniform(seed, n, rate, (32, 4096), (2048, 4096))


def d2(seed: int, /, n: int = 3000, rate: float = math.inf) -> pl.DataFrame:
    """Balanced: prompts and outputs of 3,000 to 5,000 tokens, equally likely."""
    return _uniform(seed, n, rate, (3000, 5000), (3000, 5000))


def d3(seed: int, /, n: int = 3000, rate: float = math.inf) -> pl.DataFrame:
    """Prefill-heavy: prompts of 2,048 to 4,096 tokens, outputs of 32 to 4,096, equally likely."""
    return _uniform(seed, n, rate, (2048, 4096), (32, 4096))


def o1_like(seed: int, /, n: int = 3000, rate: float = math.inf) -> pl.DataFrame:
    """Reasoning answers: prompts of 380 tokens in the mean, outputs of 2,160, a long tail to 11,000.

    Fitted to what is known of ShareGPT-o1: prompts with mean 381, median 209, P99 2594 and maximum 10,798; outputs
    with mean 2160, median 1954, P90 3872, P99 6451 and maximum 10,935. Prompts are lognormal; outputs are lognormal
    with a wider spread below the median than above it, which one lognormal cannot match. Both are drawn
    independently: how they go together is not known.
    """
    requests = count(n)
    prompts, outputs = stream(seed, LENGTHS).spawn(2)
    z = outputs.standard_normal(requests)
    answer = Lognormal(math.log(1954), 0.52, 1, 10_935)
    return _frame(
        seed,
        rate,
        lognormal(Lognormal(math.log(209), 1.09, 1, 10_798), requests, prompts),
        answer.tokens(np.where(z < 0, _LEFT_TO_RIGHT * z, z)),
    )


def _uniform(seed: int, n: int, rate: float, prompt: tuple[int, int], output: tuple[int, int]) -> pl.DataFrame:
    requests = count(n)
    prompts, outputs = stream(seed, LENGTHS).spawn(2)
    return _frame(seed, rate, uniform(*prompt, requests, prompts), uniform(*output, requests, outputs))


def _frame(seed: int, rate: float, prompts: Tokens, outputs: Tokens) -> pl.DataFrame:
    arrivals = poisson_or_at_once(rate, len(prompts), stream(seed, ARRIVALS))
    return pl.DataFrame({"arrival": arrivals, "prompt_tokens": prompts, "output_tokens": outputs})
