"""What the paper says of service under load: goodput, first tokens, and the largest gap between two tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.measure.findings import Claim, Judged, all_of
from headway.studies.papers.past_future.grid import CONSERVATIVE, NEAREST, ORACLE, PROFILES, watermark
from headway.studies.papers.past_future.judging import apart
from headway.studies.papers.past_future.rows import Figure, Runs

NEEDS = frozenset({"goodput"})
WHERE = "Evaluation, goodput under load"
AGGRESSIVE = watermark(0.95)
OTHERS = (CONSERVATIVE, AGGRESSIVE)
FAR_MORE = 6.0
"""Times the goodput that are far more than the two to three which are claimed."""


@dataclass(frozen=True)
class Load:
    """One profile under some number of clients.

    Attributes:
        runs: all runs.
        name: of the profile.
        clients: how many there are.
    """

    runs: Runs
    name: str
    clients: int

    def get(self, figure: str, memory: str) -> Figure:
        """Return a figure under a rule."""
        return self.runs.service(figure, self.name, self.clients, memory)

    @property
    def is_heavy(self) -> bool:
        """Whether reserving the longest answer keeps the agreement for less than three quarters of the requests."""
        return self.get("attainment", CONSERVATIVE).mean < 0.75

    @property
    def tells(self) -> bool:
        """Whether it is heavy, and true lengths would still serve many in time."""
        return self.is_heavy and self.get("attainment", ORACLE).mean > 0.25


def loads(runs: Runs) -> list[Load]:
    """Return every profile under every number of clients."""
    return [Load(runs, name, clients) for name in PROFILES for clients in runs.clients(name)]


def heaviest(runs: Runs) -> list[Load]:
    """Return every profile under the most clients."""
    return [Load(runs, name, runs.clients(name)[-1]) for name in PROFILES]


def _highest(runs: Runs) -> Judged:
    """Whether it has more at every heavy load, beyond chance, against each of the others."""
    heavy = [load for load in loads(runs) if load.is_heavy]
    everywhere = {load.name for load in heavy} == set(PROFILES)
    parts: list[bool] = []
    counts: list[str] = []
    for memory in OTHERS:
        pairs = [(load.get("goodput", NEAREST), load.get("goodput", memory)) for load in heavy]
        more = [apart(ours, theirs) for ours, theirs in pairs]
        less = sum(apart(theirs, ours) for ours, theirs in pairs)
        parts += [everywhere and came_out for came_out in more]
        counts.append(f"than {memory.partition('(')[0]} more at {sum(more)} of {len(more)} loads, less at {less}")
    shown = "; ".join(
        f"{load.name}, {load.clients} clients: "
        + ", ".join(f"{load.get('goodput', memory).mean:,.0f}" for memory in (NEAREST, *OTHERS, ORACLE))
        for load in heavy
    )
    return Judged(
        f"tokens/s of Past-Future, conservative, watermark, oracle: {shown or 'no load is heavy'}",
        "",
        all_of(parts or [False]),
        f"Beyond chance: {'; '.join(counts)}. Where the queue is long, first tokens are late under every rule, and "
        "evictions hit few requests: the watermark's stalls cost less goodput than the text has."
        if not parts or not all(parts)
        else "",
    )


def _two_to_three(runs: Runs) -> Judged:
    """Whether the largest gain over each alternative is twice or more, with every profile."""
    most = {(name, memory): 0.0 for name in PROFILES for memory in OTHERS}
    for load in loads(runs):
        if load.tells:
            for memory in OTHERS:
                ours, theirs = load.get("goodput", NEAREST).mean, load.get("goodput", memory).mean
                most[load.name, memory] = max(most[load.name, memory], ours / theirs if theirs > 0 else math.inf)
    shown = ", ".join(f"{name} {memory.partition('(')[0]} {gain:.1f}" for (name, memory), gain in most.items())
    why = (
        "Over conservative scheduling it is far more, since that serves hardly anybody in time here; over a watermark "
        "it is nothing."
        if any(gain > FAR_MORE for gain in most.values()) and any(gain < 2 for gain in most.values())
        else ""
    )
    return Judged(f"times, at most: {shown}", "", all_of([gain >= 2 for gain in most.values()]), why)


def _queues(runs: Runs) -> Judged:
    parts: dict[str, bool] = {}
    shown: list[str] = []
    for load in heaviest(runs):
        first, gap = (load.get(name, CONSERVATIVE) for name in ("ttft_p99", "mtpot_p99"))
        sla = PROFILES[load.name].sla
        ours = load.get("ttft_p99", NEAREST)
        late, whole = first.mean > (sla.ttft or 0), gap.mean <= (sla.mtpot or 0)
        parts[load.name] = late and whole and apart(first, ours)
        shown.append(f"{load.name} first token {first.mean:.0f} s, gap {gap.mean:.2f} s")
    return Judged(f"P99 at the heaviest load: {'; '.join(shown)}", "", all_of(list(parts.values())))


def _stalls(runs: Runs) -> Judged:
    parts: dict[str, bool] = {}
    shown: list[str] = []
    for load in heaviest(runs):
        theirs, ours = (load.get("mtpot_p99", memory) for memory in (AGGRESSIVE, NEAREST))
        parts[load.name] = theirs.mean > (PROFILES[load.name].sla.mtpot or 0)
        shown.append(f"{load.name} {theirs.mean:.1f} s (Past-Future {ours.mean:.1f} s)")
    return Judged(f"P99 of the largest gap: {'; '.join(shown)}", "", all_of(list(parts.values())))


def _throughput(runs: Runs) -> Judged:
    """Whether a rule keeps most of the throughput and loses most of the goodput, where memory first is short."""
    parts: dict[str, bool] = {}
    shown: list[str] = []
    for name in PROFILES:
        load = next((load for load in loads(runs) if load.name == name and load.tells), None)
        if load is None:
            parts[name] = False
            continue
        total, good = (
            load.get(figure, CONSERVATIVE).mean / load.get(figure, ORACLE).mean for figure in ("throughput", "goodput")
        )
        parts[name] = total > 0.5 and good < 0.25
        shown.append(f"{name}, {load.clients} clients: {total:.0%} and {good:.0%}")
    return Judged(
        f"throughput and goodput of conservative, of the optimum's: {'; '.join(shown)}", "", all_of([*parts.values()])
    )


def _largest_gap(runs: Runs) -> Judged:
    """Whether evictions show in the largest gap and not in the mean or the P99 of all gaps."""
    parts: dict[str, bool] = {}
    shown: list[str] = []
    for load in heaviest(runs):
        times = {
            name: load.get(name, AGGRESSIVE).mean / load.get(name, ORACLE).mean
            for name in ("gap_mean", "gap_p99", "mtpot_p99")
        }
        parts[load.name] = times["mtpot_p99"] > 3 * max(times["gap_mean"], times["gap_p99"])
        shown.append(f"{load.name} {', '.join(f'{value:.1f}' for value in times.values())}")
    return Judged(
        f"mean gap, P99 gap, P99 of the largest, times those without evictions: {'; '.join(shown)}",
        "",
        all_of(list(parts.values())),
    )


CLAIMS: tuple[Claim[Runs], ...] = (
    Claim(
        "highest-goodput",
        "Under heavy load Past-Future has more goodput than conservative and than aggressive scheduling",
        WHERE,
        _highest,
        "",
        NEEDS,
    ),
    Claim(
        "two-to-three-times",
        "Up to two or three times the goodput of the others under heavy load",
        "Abstract",
        _two_to_three,
        "2-3 times",
        NEEDS,
    ),
    Claim(
        "conservative-queues",
        "Conservative scheduling misses first tokens, without a stall: a breach that looks like a slow service",
        WHERE,
        _queues,
        "",
        NEEDS,
    ),
    Claim(
        "aggressive-stalls",
        "Evictions are stalls that users see: the largest gap breaks the agreement",
        WHERE,
        _stalls,
        "",
        NEEDS,
    ),
    Claim(
        "throughput-is-not-goodput",
        "Throughput is not the measure: what counts is what was in time",
        "Background, service agreements",
        _throughput,
        "",
        NEEDS,
    ),
    Claim(
        "largest-gap",
        "The largest gap shows evictions, a mean or P99 over all gaps smooths them away",
        "Background, service agreements",
        _largest_gap,
        "",
        NEEDS,
    ),
)
