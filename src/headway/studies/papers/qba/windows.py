"""Windows of a production trace (IV-E, Table II): what they give under each policy, and the claims about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from headway.core.counted import counted
from headway.core.engine import preset
from headway.core.errors import InvalidTrace
from headway.measure.findings import Claim, Judged
from headway.policies.policy import Policy
from headway.studies.cells import Cell, Row
from headway.studies.papers.qba.grid import ENGINE, POLICIES, REFERENCE
from headway.studies.papers.qba.measures import FIGURES, Name, waits
from headway.studies.papers.qba.runs import (
    PAPER_SEEDS,
    ROUNDED,
    Estimate,
    Floats,
    agrees,
    in_parts,
    mean_of,
    percent,
    ratio_of,
)
from headway.studies.source import Source
from headway.workload.trace import Trace

WINDOWS, LENGTHS = 100, 0.44
LEAST = 20
"""Requests that a window must have at least: three of them are long."""

_NO_LONG = Judged(
    "no long request",
    "",
    "does not hold here",
    "No window has a request that is longer than the others: there is no tail of long ones.",
)

_EQUAL = 0.01
"""Throughputs are called identical within this share of each other."""


@dataclass(frozen=True)
class Windows:
    """What the windows gave.

    Attributes:
        values: policy → figure → its values, float64 [windows]; NaN where nobody of the class was in the window.
        requests: in each window.
        scv: of the times between arrivals, mean over the windows.
        tokens: a request, scaled, mean.
        long_share: of all tokens, those of the requests with the longest 15 % of the outputs.
    """

    values: Mapping[str, Mapping[Name, Floats]]
    requests: int
    scv: float
    tokens: float
    long_share: float

    def of(self, policy: str, figure: Name) -> Floats:
        """Return a figure's values, float64 [windows]."""
        return self.values[policy][figure]

    def known(self, policy: str, figure: Name) -> Floats:
        """Return the values that there are."""
        values = self.of(policy, figure)
        return values[~np.isnan(values)]

    def median(self, policy: str, figure: Name) -> float:
        """Return the median over the windows; NaN where none has the figure."""
        known = self.known(policy, figure)
        return float(np.median(known)) if known.size else math.nan

    def mean(self, policy: str, figure: Name) -> float:
        """Return the mean over the windows; NaN where none has the figure.

        Of waits that is the one pooled over requests: windows are of a size.
        """
        return mean_of(self.known(policy, figure)).value

    def against_fcfs(self, policy: str) -> float | None:
        """Return by which share the mean wait differs from FCFS's; None where nobody waits under FCFS."""
        ratio = ratio_of(self.of(policy, "mean"), self.of("fcfs", "mean")).value
        return ratio - 1 if math.isfinite(ratio) else None

    def ordered(self, policies: Sequence[str], figure: Name) -> tuple[int, int]:
        """Return in how many windows the figure rises from policy to policy, and in how many more it does with ties."""
        steps = np.diff(np.stack([self.of(policy, figure) for policy in policies]), axis=0)
        rises = int((steps > 0).all(axis=0).sum())
        return rises, int((steps >= 0).all(axis=0).sum()) - rises

    @property
    def count(self) -> int:
        """Number of windows."""
        return len(self.of(POLICIES[0], "mean"))


def window_sources(trace: Trace) -> list[Source]:
    """Return the windows of a trace: as many requests in each, in order, scaled as the paper does.

    Raises:
        InvalidTrace: the trace has too few requests.
    """
    size = len(trace) // WINDOWS
    if size < LEAST:
        raise InvalidTrace(
            f"{trace.name}: {counted(len(trace), 'request')}; expected at least {WINDOWS * LEAST:,}, {LEAST} in each "
            f"of {WINDOWS} windows"
        )
    return [
        Source(
            Trace(f"{trace.name} {place}", trace.frame.slice(place * size, size)),
            rate=REFERENCE,
            length_factor=LENGTHS,
        )
        for place in range(WINDOWS)
    ]


def window_cells(sources: Sequence[Source]) -> list[Cell]:
    """Return a cell for every window and policy."""
    engine = preset(ENGINE)
    policies = [Policy.of(policy) for policy in POLICIES]
    return [Cell(source, 0, policy, engine, measure=waits) for source in sources for policy in policies]


def windows_of(sources: Sequence[Source], rows: Mapping[int, Row]) -> Windows:
    """Return what the cells of `window_cells` gave."""

    def column(place: int, path: str) -> Floats:
        found = [rows[window * len(POLICIES) + place].get(path) for window in range(len(sources))]
        return np.array([np.nan if value is None else value for value in found])

    scaled = [source.requests(0) for source in sources]
    frames = pl.concat([trace.frame.select("prompt_tokens", "output_tokens") for trace in scaled])
    tokens = frames.sum_horizontal().to_numpy()
    longest = np.argsort(frames["output_tokens"].to_numpy(), kind="stable")[-round(0.15 * frames.height) :]
    return Windows(
        {
            policy: {name: column(place, path) for name, path in FIGURES.items()}
            for place, policy in enumerate(POLICIES)
        },
        requests=len(scaled[0]),
        scv=float(np.mean([trace.interarrival_scv for trace in scaled])),
        tokens=float(tokens.mean()),
        long_share=float(tokens[longest].sum() / tokens.sum()),
    )


def _gain(policy: str, reported: float) -> Claim[Windows]:
    def judge(found: Windows) -> Judged:
        if found.against_fcfs(policy) is None:
            return Judged(
                "no wait", "", "does not hold here", "Nobody waits under FCFS here: there is nothing to save."
            )
        ratio = ratio_of(found.of(policy, "mean"), found.of("fcfs", "mean"))
        less = Estimate(ratio.value - 1, ratio.interval)
        parts = {
            f"{reported * 100:+.0f} % within 1.5 times the combined interval": agrees(less, reported, PAPER_SEEDS),
            "a lower mean than FCFS's, beyond chance": ratio.value + ratio.half < 1,
        }
        low, high = (percent(less.value + side * ratio.half, 1).removesuffix(" %") for side in (-1, 1))
        return in_parts(parts, percent(less.value, 1), f"{low} to {high} %")

    return Claim(
        f"trace-{policy}-mean",
        f"Mean wait of {policy.upper()} against FCFS, pooled over all requests.",
        _WHERE,
        judge,
        f"{reported * 100:.0f} %",
        _NEEDS,
    )


def _tails(found: Windows) -> Judged:
    if not found.known("fcfs", "long").size:
        return _NO_LONG
    fcfs, psf, qba = (found.median(policy, "long") for policy in ("fcfs", "psf", "qba"))
    reported = {"FCFS": (fcfs, 0.77), "PSF": (psf, 2.10), "QBA": (qba, 1.45)}
    parts = {
        f"{policy}'s within a tenth of {theirs:.2f} s": abs(ours - theirs) <= 0.1 * theirs
        for policy, (ours, theirs) in reported.items()
    }
    parts |= {"PSF's above FCFS's": psf > fcfs, "QBA's between": fcfs < qba < psf}
    return in_parts(parts, f"FCFS {fcfs:.3g} s, PSF {psf:.3g} s, QBA {qba:.3g} s")


def _order_of_means(found: Windows) -> Judged:
    return _ordered(found, ("psf", "qba", "aa"), "mean")


def _order_of_tails(found: Windows) -> Judged:
    return _ordered(found, ("aa", "qba", "psf"), "long")


def _ordered(found: Windows, policies: tuple[str, ...], figure: Name) -> Judged:
    """The paper's "consistently": in every window; in part where it is so in the mean over windows, beyond chance."""
    if not found.known(policies[0], figure).size:
        return _NO_LONG
    (inside, tied), count = found.ordered(policies, figure), len(found.known(policies[0], figure))
    steps: list[Estimate] = [
        mean_of(found.known(later, figure) - found.known(earlier, figure)) for earlier, later in pairwise(policies)
    ]
    parts = {
        f"in each of {count} windows": inside == count,
        "on average over windows, beyond chance": all(
            step.interval is not None and step.interval.low > 0 for step in steps
        ),
    }
    averages = ", ".join(f"{policy.upper()} {found.mean(policy, figure):.3g}" for policy in policies)
    ties = f", with ties in {tied} more" if tied else ""
    return in_parts(parts, f"in {inside} of {count} windows{ties}; on average {averages} s")


def _throughput(found: Windows) -> Judged:
    rates = [found.mean(policy, "throughput") for policy in POLICIES]
    parts = {
        "identical within 1 %": max(rates) <= (1 + _EQUAL) * min(rates),
        "within 5 % of 24,700 tokens/s": all(abs(rate / 24_700 - 1) <= 0.05 for rate in rates),
    }
    return in_parts(parts, f"{min(rates):,.0f} to {max(rates):,.0f} tokens/s")


def _batch_use(found: Windows) -> Judged:
    shares = [found.mean(policy, "batch") for policy in POLICIES]
    low, high = 0.89, 0.91
    parts = {
        "as near to each other as the reported ones": max(shares) <= high / low * min(shares),
        "0.89 to 0.91": all(low - ROUNDED <= share <= high + ROUNDED for share in shares),
    }
    return in_parts(parts, f"{min(shares):.3f} to {max(shares):.3f}")


def _no_oom(found: Windows) -> Judged:
    events = int(sum(found.of(policy, "oom").sum() for policy in POLICIES))
    return in_parts({"no event in any window": events == 0}, f"{events} events")


def _bursty(found: Windows) -> Judged:
    parts = {
        "within a tenth of 2.9": abs(found.scv / 2.9 - 1) <= 0.1,
        "above Poisson's 1 by a quarter": found.scv > 1.25,
    }
    return in_parts(parts, f"{found.scv:.2f}")


_WHERE, _NEEDS = "IV-E, Table II", frozenset({"table2"})

CLAIMS: tuple[Claim[Windows], ...] = (
    _gain("psf", -0.31),
    _gain("qba", -0.18),
    Claim(
        "trace-long-tails",
        "True-long P99, median over windows: PSF's is the highest, QBA's between it and FCFS's.",
        _WHERE,
        _tails,
        "FCFS 0.77 s, PSF 2.10 s, QBA 1.45 s",
        _NEEDS,
    ),
    Claim(
        "trace-mean-order",
        "In every window PSF, QBA and AA have mean waits in that order.",
        _WHERE,
        _order_of_means,
        "100 of 100",
        _NEEDS,
    ),
    Claim(
        "trace-tail-order",
        "In every window their order in true-long P99 is the reverse.",
        _WHERE,
        _order_of_tails,
        "100 of 100",
        _NEEDS,
    ),
    Claim(
        "trace-throughput",
        "Throughput is the same under all four policies.",
        _WHERE,
        _throughput,
        "about 24,700 tokens/s",
        _NEEDS,
    ),
    Claim(
        "trace-batch-use",
        "Use of the batch is nearly the same under all four policies.",
        _WHERE,
        _batch_use,
        "0.89 to 0.91",
        _NEEDS,
    ),
    Claim("trace-no-oom", "No iteration runs out of KV memory, in any window.", _WHERE, _no_oom, "0", _NEEDS),
    Claim(
        "trace-bursty",
        "Arrivals are strongly non-Poisson: squared coefficient of variation of the gaps.",
        _WHERE,
        _bursty,
        "about 2.9",
        _NEEDS,
    ),
)
