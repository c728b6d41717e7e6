"""Tenants: who sends what, what was promised to them, and what their requests weigh.

A tenants file is used in three ways. It is a source of requests, where every tenant says what it sends (`draw`); it
gives promises to the requests of a trace, by the name in the column `tenant` (`promise`); or it names the clients of a
server, with their API keys and limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import polars as pl

from headway.core.errors import InvalidInput, InvalidWorkload
from headway.core.request import Request
from headway.workload.seeds import child
from headway.workload.trace import Trace
from headway.workload.traffic import Traffic

NOBODY = str(Request._field_defaults["tenant"])
"""Whom a request without a tenant belongs to."""

_SHOWN = 5  # names in a message

PROMISED: dict[str, type[pl.DataType]] = {
    "weight": pl.Float64,
    "class": pl.String,
    "priority": pl.Int64,
    "ttft_slo": pl.Float64,
    "itl_slo": pl.Float64,
    "completion_slo": pl.Float64,
}
"""Columns of a trace that a tenants file can fill."""


@dataclass(frozen=True)
class Terms:
    """What holds for all requests of a tenant.

    Attributes:
        promised: values of the columns `PROMISED` that are given; seconds for SLOs.
    """

    promised: dict[str, str | int | float] = field(default_factory=dict[str, str | int | float])

    @property
    def weight(self) -> float:
        """Its share of the service beside the others'."""
        return float(self.promised.get("weight", 1.0))


@dataclass(frozen=True)
class Tenant:
    """One tenant.

    Attributes:
        name: as in the column `tenant`.
        terms: what holds for its requests.
        traffic: what it sends; None where the file only gives promises to the requests of a trace.
        keys: SHA-256 of its API keys, 32 bytes each; only `headway serve` asks for them, and for the limits.
        max_unfinished: requests that it may have in a server at once; None for no limit.
        requests_per_minute: requests that it may send to a server, in the long run; None for no limit.
    """

    name: str
    terms: Terms = Terms()
    traffic: Traffic | None = None
    keys: tuple[bytes, ...] = field(default=(), repr=False)
    max_unfinished: int | None = None
    requests_per_minute: float | None = None


@dataclass(frozen=True)
class TenantsFile:
    """What a tenants file says; read by `read_tenants`.

    Attributes:
        name: the file's name.
        tenants: in the order of the file; no name is there twice.
        default: what holds for tenants of a trace that the file does not name, and for requests without a tenant.
        strict: whether such a tenant is an error instead.
        requests: keep the first so many requests of all tenants together; None keeps all.
        duration: seconds; no tenant sends at it or later.
    """

    name: str
    tenants: tuple[Tenant, ...]
    default: Terms = Terms()
    strict: bool = False
    requests: int | None = None
    duration: float = math.inf

    @property
    def weights(self) -> dict[str, float]:
        """The weight of every tenant that the file names."""
        return {tenant.name: tenant.terms.weight for tenant in self.tenants}

    def draw(self, seed: int = 0) -> Trace:
        """Draw the requests of all tenants, in order of arrival.

        A tenant's requests depend on its own table, its name and the seed: another tenant does not change them.

        Raises:
            InvalidWorkload: a tenant does not say what it sends, or how much; or nobody sends anything.
        """
        frames = [self._drawn(tenant, seed) for tenant in self.tenants]
        merged = pl.concat(frames).sort("arrival", maintain_order=True) if frames else pl.DataFrame()
        if merged.is_empty():
            raise InvalidWorkload(f"{self.name}: no tenant sends a request; give one a rate, and a later end")
        if self.requests is not None:
            merged = merged.head(self.requests)
        empty = [column for column in PROMISED if merged[column].null_count() == len(merged)]
        return Trace.from_frame(self.name, merged.drop(empty))

    def promise(self, trace: Trace) -> Trace:
        """Return the trace with the file's promises: what is given replaces the trace's own, the rest stays.

        Raises:
            InvalidWorkload: the trace has a tenant that the file does not name, and the file is strict.
        """
        whose = owners(trace)
        named, present = self.weights, dict.fromkeys(whose)
        notes = list(trace.notes)
        if strangers := [name for name in present if name not in named]:
            if self.strict:
                raise InvalidWorkload(
                    f"{self.name}: tenant '{strangers[0]}' of {trace.name} has no [[tenant]] table, and strict = true "
                    "wants one for each; add it, or set strict = false"
                )
            notes.append(f"{self.name} does not name {_listed(strangers)}: [default] holds there.")
        if idle := [name for name in named if name not in present]:
            notes.append(f"{self.name} names {_listed(idle)}: not in {trace.name}.")
        columns: list[pl.Series] = []
        for column, dtype in PROMISED.items():
            values = [tenant.terms.promised.get(column) for tenant in self.tenants]
            promised = whose.replace_strict(
                pl.Series(list(named), dtype=pl.String),
                pl.Series(column, values, dtype),
                default=self.default.promised.get(column),
                return_dtype=dtype,
            )
            if column in trace.frame.columns:
                promised = promised.zip_with(promised.is_not_null(), trace.frame[column])
            if promised.null_count() < len(promised):
                columns.append(promised.alias(column))
        return Trace.from_frame(trace.name, trace.frame.with_columns(columns), tuple(notes))

    def _drawn(self, tenant: Tenant, seed: int) -> pl.DataFrame:
        if tenant.traffic is None:
            raise InvalidWorkload(
                f"{self.name}: tenant '{tenant.name}' sends nothing; give it arrivals, prompt and output, or give a "
                "trace to which the file applies"
            )
        try:
            drawn = tenant.traffic.draw(child(seed, f"tenant {tenant.name}"), self.requests, self.duration)
        except InvalidInput as error:
            raise InvalidWorkload(f"{self.name}: tenant '{tenant.name}': {error}") from None
        promised = tenant.terms.promised
        return drawn.with_columns(
            pl.lit(tenant.name).alias("tenant"),
            *(pl.lit(promised.get(column), dtype=dtype).alias(column) for column, dtype in PROMISED.items()),
        )


def owners(trace: Trace) -> pl.Series:
    """Return whose each request is."""
    if "tenant" not in trace.frame.columns:
        return pl.Series("tenant", [NOBODY]).extend_constant(NOBODY, len(trace) - 1)
    return trace.frame["tenant"].fill_null(NOBODY)


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
