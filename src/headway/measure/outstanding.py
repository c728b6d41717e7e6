"""How much work is in the system: beside the number of requests, the positions and seconds that they still need.

A count of requests says nothing of how long they are; an autoscaler that goes by it asks for as many replicas whether
prompts have a hundred tokens or a hundred thousand. Source: Deadline-Aware Batching and Tenant Fairness,
observables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.core.engine import EngineProfile
from headway.measure.latency import seconds
from headway.measure.record import RunRecord

Amount = float | np.ndarray


@dataclass(frozen=True)
class Rates:
    """How long an engine that is busy takes for a position: an estimate, as a router or an autoscaler has it.

    Attributes:
        prefill: seconds a prompt position.
        decode: seconds a decode position.
    """

    prefill: float
    decode: float

    @classmethod
    def of(cls, engine: EngineProfile, prompt: float, output: float) -> Rates:
        """Take the times of an iteration full of prompt, and of one in which as many decode as fit.

        Args:
            engine: whose iterations.
            prompt: mean prompt length, tokens.
            output: mean output length, tokens.
        """
        held = prompt + output / 2  # tokens that a decoding request holds on average
        decodes = max(1, min(engine.slots, int(engine.kv_capacity / max(held, 1.0))))
        positions = decodes * engine.decode_block
        budget = engine.token_budget
        return cls(
            prefill=engine.cost.seconds(budget, 0, budget) / budget,
            decode=engine.cost.seconds(0, positions, int(decodes * held)) / positions,
        )

    def seconds(self, prompt: Amount, output: Amount) -> Amount:
        """Return the seconds of so many prompt and output positions."""
        return self.prefill * prompt + self.decode * output


def outstanding(record: RunRecord, rates: Rates, points: int = 600) -> pl.DataFrame:
    """Return what was in the system over time: `time` and `seconds` in seconds, `requests`, `positions`.

    A request counts from its arrival until it ends. Of its prompt it needs less and less from its start to its first
    token, of its answer from there to its end, both taken to fall evenly; an answer is as long as it came to be.

    Args:
        record: the run.
        rates: what a position costs.
        points: rows, evenly spaced between the first arrival and the end of the run.
    """
    outcomes = record.outcomes
    if outcomes.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(("time", "requests", "positions", "seconds"), pl.Float64))
    arrival, finish = seconds(outcomes, "arrival"), seconds(outcomes, "finish")
    start, first = seconds(outcomes, "start"), seconds(outcomes, "first_token")
    first = np.where(np.isnan(first), finish, first)
    start = np.where(np.isnan(start), first, start)
    prompt, output = (outcomes[name].to_numpy().astype(np.float64) for name in ("prompt_tokens", "output_tokens"))
    times = np.linspace(arrival.min(), finish.max(), points)
    one = np.ones(arrival.size)
    waiting = _until(times, arrival, one) - _until(times, finish, one)
    prompts = _until(times, arrival, prompt) - _done(times, start, first, prompt)
    answers = _until(times, arrival, output) - _done(times, first, finish, output)
    return pl.DataFrame(
        {
            "time": times,
            "requests": waiting,
            "positions": np.maximum(prompts + answers, 0.0),
            "seconds": np.maximum(rates.seconds(prompts, answers), 0.0),
        }
    )


def _until(times: np.ndarray, at: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Return the sum of the amounts that fall at or before each of `times`."""
    order = np.argsort(at, kind="stable")
    return np.append(0.0, np.cumsum(amount[order]))[np.searchsorted(at[order], times, side="right")]


def _done(times: np.ndarray, begin: np.ndarray, end: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Return how much is done by each of `times`, of amounts that are done evenly from `begin` to `end`."""
    lasts = end > begin
    at_once = _until(times, end[~lasts], amount[~lasts])
    begin, end = begin[lasts], end[lasts]
    pace = amount[lasts] / (end - begin)
    origin = times[0]  # small numbers: the sums below nearly cancel
    begun = _until(times, begin, pace) * (times - origin) - _until(times, begin, pace * (begin - origin))
    ended = _until(times, end, pace) * (times - origin) - _until(times, end, pace * (end - origin))
    return at_once + begun - ended
