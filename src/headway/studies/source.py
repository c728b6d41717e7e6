"""What is compared: a trace or a workload, with what is done to it before it runs."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from headway.core.errors import expect
from headway.workload.labels import label, mislabel
from headway.workload.limits import whole
from headway.workload.named import workload
from headway.workload.seeds import LABELS, stream
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace
from headway.workload.transform import head, rescale_rate, scale_lengths


@dataclass(frozen=True)
class Source:
    """Where requests come from.

    Attributes:
        origin: a trace; or what is drawn anew for every seed: a seeded trace, a tenants file, or the spec of a named
            workload.
        limit: keep only the first so many requests.
        rate: requests per second to scale the time to.
        length_factor: what to multiply prompts and outputs by.
        epsilon_sl: probability that a short request is predicted long.
        epsilon_ls: probability that a long request is predicted short.
        tenants: a tenants file whose promises and weights are those of the origin's tenants.
    """

    origin: Trace | SeededTrace | TenantsFile | str
    limit: int | None = None
    rate: float | None = None
    length_factor: float | None = None
    epsilon_sl: float = 0.0
    epsilon_ls: float = 0.0
    tenants: TenantsFile | None = None

    def __post_init__(self) -> None:
        expected = "a trace (headway.read_trace), a workload such as 'qba-paper', a SeededTrace or a Source"
        expect("source", self.origin, (Trace, SeededTrace, TenantsFile, str), expected)

    def requests(self, seed: int) -> Trace:
        """Return the labelled requests of one seed.

        Raises:
            InvalidInput: an unknown workload, or a parameter out of range.
        """
        trace = self._drawn(seed)
        if self.tenants is not None:
            trace = self.tenants.promise(trace)
        if self.length_factor is not None:
            trace = scale_lengths(trace, self.length_factor)
        return mislabel(label(trace), self.epsilon_sl, self.epsilon_ls, stream(seed, LABELS))

    @property
    def seeded(self) -> bool:
        """Whether another seed gives other requests."""
        return not isinstance(self.origin, Trace) or self.epsilon_sl > 0 or self.epsilon_ls > 0

    @property
    def labels(self) -> str:
        """Where the predicted classes come from, in a sentence."""
        if isinstance(self.origin, Trace) and "predicted" in self.origin.frame.columns:
            if self.origin.frame.schema["predicted"] != pl.String:
                return "Predictions are the trace's own numbers of tokens."
            return "Predicted classes are the trace's own."
        if self.epsilon_sl or self.epsilon_ls:
            return (
                "Predicted classes are made from the true output lengths (long: above the 0.85-quantile), with errors: "
                f"{self.epsilon_sl:g} of the short ones are called long, {self.epsilon_ls:g} of the long ones short."
            )
        return "Predicted classes are made from the true output lengths (long: above the 0.85-quantile), without error."

    def _drawn(self, seed: int) -> Trace:
        if isinstance(self.origin, str):
            return workload(self.origin, seed, requests=self.limit, rate=self.rate)
        trace = self.origin.draw(seed) if isinstance(self.origin, SeededTrace | TenantsFile) else self.origin
        if self.limit is not None:
            trace = head(trace, whole("limit", self.limit, 1))
        return trace if self.rate is None else rescale_rate(trace, self.rate)
