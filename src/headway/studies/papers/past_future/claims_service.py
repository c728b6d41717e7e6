"""What the paper says of service under load: goodput, first tokens, and the largest gap between two tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.measure.findings import Claim, Judged, all_of
from headway.studies.papers.past_future.grid import CONSERVATIVE, NEAREST, ORACLE, PROFILES, watermark
from headway.studies.papers.past_future.judging import apart, listed
from headway.studies.papers.past_future.rows import Figure, Runs

NEEDS = frozenset({"goodput"})
WHERE = "Evaluation, goodput under load"
AGGRESSIVE = watermark(0.95)
OTHERS = (CONSERVATIVE, AGGRESSIVE)


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
    def tells(self) -> bool:
        """Whether memory is short, and true lengths would still serve many in time."""
        best, idle = (self.get("attainment", memory).mean for memory in (ORACLE, CONSERVATIVE))
        return idle < 0.75 and best > 0.25


def loads(runs: Runs) -> list[Load]:
    """Return every profile under every number of clients."""
    return [Load(runs, name, clients) for name in PROFILES for clients in runs.clients(name)]


def heaviest(runs: Runs) -> list[Load]:
    """Return every profile under the most clients."""
    return [Load(runs, name, runs.clients(name)[-1]) for name in PROFILES]


def _highest(runs: Runs) -> Judged:
    """Whether it has more at every load that tells, against each of the others."""
    telling = [load for load in loads(runs) if load.tells]
    everywhere = {load.name for load in telling} == set(PROFILES)
    parts: list[bool] = []
    level: dict[str, bool] = {}
    for memory in OTHERS:
        more = [apart(load.get("goodput", NEAREST), load.get("goodput", memory)) for load in telling]
        parts.append(everywhere and all(more))
        level[memory.partition("(")[0]] = parts[-1]
    shown = "; ".join(
        f"{load.name}, {load.clients} clients: "
        + ", ".join(f"{load.get('goodput', memory).mean:,.0f}" for memory in (NEAREST, *OTHERS, ORACLE))
        for load in telling
    )
    return Judged(
        f"tokens/s of Past-Future, conservative, watermark, oracle: {shown or 'no load tells'}",
        "",
        all_of(parts),
        f"Not more than: {listed(level)}. Where the queue is long, first tokens are late under every rule, and "
        "evictions hit few requests: the watermark's stalls cost less goodput than the text has."
        if not all(parts)
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
    return Judged(f"times, at most: {shown}", "", all_of([gain >= 2 for gain in most.values()]))


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
        parts[load.name] = theirs.mean > (PROFILES[load.name].sla.mtpot or 0) and apart(theirs, ours)
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
