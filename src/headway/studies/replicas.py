"""Several engines side by side: what does a trace get from so many independent replicas?

Every request goes at its arrival to the replica with the least outstanding work, and stays there. The router sees
arrivals and prompts, and estimates the rest: it knows neither how long answers will be nor how far a replica has come.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.core.engine import EngineProfile, preset
from headway.core.spec import whole
from headway.measure.outstanding import Rates
from headway.measure.promises import Promise, Service, kept, own_promises
from headway.measure.record import RunRecord
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.workload.trace import Trace

MOST_REPLICAS = 100_000


@dataclass(frozen=True)
class Fleet:
    """A trace on several replicas.

    Attributes:
        sent: the replica of each request, from 0 on, int64 [requests].
        records: the run of each replica that got a request.
    """

    sent: np.ndarray
    records: tuple[RunRecord, ...]

    def service(self, promise: Promise | None = None) -> Service:
        """Return how promises were kept over all replicas: the requests' own, or a promise to all of them.

        Goodput is over the time from the first arrival anywhere to the last finish anywhere.
        """
        met = requests = tokens = 0
        for record in self.records:
            outcomes = record.outcomes
            limits = own_promises(outcomes) or Promise() if promise is None else promise
            good = outcomes.filter(kept(record, limits))
            met, requests = met + good.height, requests + outcomes.height
            tokens += int(good["prompt_tokens"].sum()) + int(good["output_tokens"].sum())
        outcomes = pl.concat([record.outcomes.select("arrival", "finish") for record in self.records])
        makespan = float(outcomes["finish"].max()) - float(outcomes["arrival"].min())  # type: ignore[arg-type]
        return Service(met / requests, tokens / makespan if makespan > 0 else None)


def expected_outputs(trace: Trace) -> np.ndarray:
    """Return how many tokens a router expects each answer to have [requests].

    That is the predicted number where the trace has one, and the mean of all answers elsewhere, which stands for what
    an operator has seen before.
    """
    frame = trace.frame
    mean = float(frame["output_tokens"].mean())  # type: ignore[arg-type]
    if "predicted" not in frame.columns or not frame["predicted"].dtype.is_numeric():
        return np.full(len(trace), mean)
    return frame["predicted"].cast(pl.Float64).fill_null(mean).to_numpy()


def route(trace: Trace, replicas: int, rates: Rates) -> np.ndarray:
    """Return the replica, from 0 on, to which each request goes: the one with the least outstanding work [requests].

    Work is estimated in seconds, from the prompt and the expected answer, and a replica is taken to work it off as time
    goes by. Of replicas without work the one goes first that has been idle longest. Cost: O(log replicas) a request.
    """
    frame = trace.frame
    work = np.asarray(rates.seconds(frame["prompt_tokens"].to_numpy(), expected_outputs(trace)), dtype=np.float64)
    free = [(0.0, replica) for replica in range(replicas)]  # when each will have nothing left to do
    sent = np.empty(len(trace), dtype=np.int64)
    for row, (arrival, seconds) in enumerate(zip(frame["arrival"].to_list(), work.tolist(), strict=True)):
        at, replica = free[0]
        heapq.heapreplace(free, (max(at, arrival) + seconds, replica))
        sent[row] = replica
    return sent


def simulate_replicas(
    trace: Trace,
    replicas: int,
    policy: str | Policy = "fcfs",
    engine: str | EngineProfile = "a100-llama3-8b",
    *,
    rates: Rates | None = None,
    seed: int = 0,
) -> Fleet:
    """Run a trace on several independent replicas of one engine.

    Args:
        trace: requests with their true output lengths.
        replicas: how many, from 1.
        policy: what each of them runs.
        engine: what each of them is.
        rates: what the router thinks a position costs; by default from the engine and the trace's mean lengths.
        seed: of the engines' randomness, which is another one for each replica.

    Raises:
        InvalidInput: not at least one replica, or the policy or the engine cannot be what it says.
    """
    whole("replicas", replicas, 1, MOST_REPLICAS)
    engine = preset(engine) if isinstance(engine, str) else engine
    sent = route(trace, replicas, rates or rates_for(trace, engine))
    records: list[RunRecord] = []
    for replica in np.unique(sent).tolist():
        mine = Trace.from_frame(trace.name, trace.frame.filter(sent == replica), trace.notes)
        records.append(simulate(mine, policy, engine, seed=seed * replicas + replica, timeline=False))
    return Fleet(sent, tuple(records))


def rates_for(trace: Trace, engine: EngineProfile) -> Rates:
    """Return what a position costs on an engine that is busy with requests like these."""
    prompt, output = (float(trace.frame[name].mean()) for name in ("prompt_tokens", "output_tokens"))  # type: ignore[arg-type]
    return Rates.of(engine, prompt, output)
