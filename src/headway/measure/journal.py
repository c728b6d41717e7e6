"""The journal of a run: what kept waiting requests out at every moment, as tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.core.errors import InvalidInput
from headway.core.journal import Journal

REQUEST_COLUMNS = ("id", "tenant", "arrival", "start", "finish", "prompt_tokens", "outcome", "reason")
"""What a journal keeps of each request, of `RunRecord.outcomes`."""

NOTE_SCHEMAS: dict[str, dict[str, type[pl.DataType]]] = {
    "barrier": {"time": pl.Float64, "what": pl.Int8, "request": pl.Int64},
    "chunk": {"time": pl.Float64, "request": pl.Int64, "tokens": pl.Int64},
    "refusal": {"time": pl.Float64, "request": pl.Int64, "tokens": pl.Int64},
    "event": {"time": pl.Float64, "request": pl.Int64, "what": pl.Int8},
}
"""Columns of the notes by kind, in order; see `headway.core.journal.Journal`."""

_TYPES = {pl.Float64: np.float64, pl.Int64: np.int64, pl.Int8: np.int8}


@dataclass(frozen=True)
class Rules:
    """By which rules a run decided.

    Attributes:
        order: spec of the order, with the reservation that goes before it; `memory`, `shedding` and `eviction`
            likewise.
        engine: its name.
        slots: requests that may hold KV at once.
        partial_prompts: prompts that may be partly filled at once.
        token_budget: positions that an iteration may take, and `prompt_positions` those that prompts may: fewer with
            pools.
        decode_slots: requests that may decode at once.
        admission_interval: decode iterations from one round of admission to the next.
        kv_tokens: KV tokens that fit.
    """

    order: str
    memory: str
    shedding: str
    eviction: str
    engine: str
    slots: int
    partial_prompts: int
    token_budget: int
    prompt_positions: int
    decode_slots: int
    admission_interval: int
    kv_tokens: int

    @property
    def prompt_limit(self) -> str:
        """What limits the positions that prompts take: the token budget, or their pool."""
        if self.prompt_positions == self.token_budget:
            return f"token_budget = {self.token_budget}"
        return f"{self.prompt_positions} of {self.token_budget} positions (pools)"


@dataclass(frozen=True)
class RunJournal:
    """What `why` needs to know of one run.

    Attributes:
        policy: the policy's name, unique in a file together with `seed`.
        seed: the seed of the run.
        rules: by which rules it decided.
        requests: a row a request of the trace (`REQUEST_COLUMNS`), in its order; `id` is text. `outcome` and the times
            after `arrival` are null where an interrupted run did not come to its end.
        notes: kind → notes in order of time (`NOTE_SCHEMAS`). `request` is a row of `requests`, or `NOBODY`.
    """

    policy: str
    seed: int
    rules: Rules
    requests: pl.DataFrame
    notes: dict[str, pl.DataFrame]

    @classmethod
    def of(cls, policy: str, seed: int, rules: Rules, outcomes: pl.DataFrame, journal: Journal) -> RunJournal:
        """Make it from the outcomes of all requests (`OUTCOME_SCHEMA`) and the notes that were taken."""
        taken = {
            "barrier": journal.barriers,
            "chunk": journal.chunks,
            "refusal": journal.refusals,
            "event": journal.events,
        }
        notes: dict[str, pl.DataFrame] = {}
        for kind, schema in NOTE_SCHEMAS.items():
            columns = np.frombuffer(taken[kind]).reshape(-1, len(schema)).T
            typed = zip(schema, columns, schema.values(), strict=True)
            notes[kind] = pl.DataFrame({name: column.astype(_TYPES[as_]) for name, column, as_ in typed})
        requests = outcomes.select(pl.col("id").cast(pl.String), *REQUEST_COLUMNS[1:])
        return cls(policy, seed, rules, requests, notes)

    def row_of(self, id_: str) -> int:
        """Return the row of a request.

        Raises:
            InvalidInput: no request has this id.
        """
        ids = self.requests["id"]
        found = ids.index_of(id_)
        if found is None:
            first = ", ".join(ids.head(3))
            raise InvalidInput(f"no request has the id '{id_}'; there are {len(ids):,}, the first are {first}")
        return found
