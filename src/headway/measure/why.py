"""Why did this request wait? Its wait, second by second, put down to what kept it out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from headway.core.errors import InvalidInput
from headway.core.journal import DEMOTED
from headway.measure.blame import Blame
from headway.measure.journal import Rules, RunJournal
from headway.measure.stays import absences, holds

CAUSES = (
    "demoted",
    "refused",
    "memory",
    "budget",
    "fit",
    "partials",
    "slots",
    "decode_slots",
    "eviction",
    "order",
    "interval",
    "boundary",
)
"""What a second of waiting can be put down to.

demoted: it stood behind all others; refused: memory refused it; memory: memory refused a request that went before it;
budget: prompts of others took the positions that they may; fit: no prompt fitted those that were left, for an order
that looks for such; partials: as many prompts as may be were partly filled; slots: as many requests as may hold memory
did; decode_slots: as many as may decode did; eviction: the iteration evicted; order: the order named nobody; interval:
no round of admission was due, and the last one had refused nobody; boundary: nothing but the iteration that was
running. Between two rounds of admission that counts with which the last one ended.
"""


@dataclass(frozen=True)
class Part:
    """Seconds of a wait for one cause.

    Attributes:
        cause: one of `CAUSES`.
        rule: what decided so: the spec of a rule, or an engine key with its value; None for the running iteration.
        tenant: whose requests were in the way: that memory refused, whose prompts were filled, or that held the slots
            (a second is divided by requests, or by prompt positions); None where nobody was.
        seconds: how long.
    """

    cause: str
    rule: str | None
    tenant: str | None
    seconds: float


@dataclass(frozen=True)
class Ahead:
    """Requests of one tenant that started while it waited.

    Attributes:
        tenant: whose they were.
        requests: how many.
        came_later: how many of them had arrived after it.
        prompt_tokens: of their prompts, together.
    """

    tenant: str
    requests: int
    came_later: int
    prompt_tokens: int


@dataclass(frozen=True)
class Refused:
    """A request that memory refused before it, or that it was itself.

    Attributes:
        id: of the refused request.
        tenant: whose it was.
        prompt_tokens: of its prompt.
        seconds: how long that kept the explained request waiting.
        free_tokens: KV tokens that were neither taken nor promised when that began.
    """

    id: str
    tenant: str
    prompt_tokens: int
    seconds: float
    free_tokens: int


@dataclass(frozen=True)
class Wait:
    """One of a request's waits.

    Attributes:
        kind: "start", from its arrival to when it was first scheduled, or to its end if it never was; "evicted", from
            an eviction to when it was admitted again, or to its end; "held", with its prompt filled, for a decode slot.
        since: when it began, in seconds after the arrival.
        seconds: how long it took.
        parts: the wait by cause and tenant, longest first; they add up to `seconds` exactly.
        ahead: who started meanwhile, by tenant, most requests first.
        refused: whom memory refused meanwhile, longest first.
    """

    kind: str
    since: float
    seconds: float
    parts: tuple[Part, ...]
    ahead: tuple[Ahead, ...]
    refused: tuple[Refused, ...]

    def behind(self) -> dict[str, float]:
        """Return the seconds in which requests of each tenant were in its way, longest first."""
        seconds: dict[str, float] = defaultdict(float)
        for part in self.parts:
            if part.tenant is not None:
                seconds[part.tenant] += part.seconds
        return dict(sorted(seconds.items(), key=lambda item: -item[1]))


@dataclass(frozen=True)
class Why:
    """One request's waits under one policy.

    Attributes:
        id: of the request; `tenant` whose it was, `prompt_tokens` of its prompt.
        policy: the run's policy; `seed` its seed, `rules` by which it decided.
        arrival: seconds.
        start: when it was first scheduled, in seconds; None if never.
        outcome: how it ended, and `reason` why, where that is not plain.
        demoted_after: seconds from arrival until it was demoted; None if it was not.
        waits: that for its start, and then those after it, in order of time.
    """

    id: str
    tenant: str
    prompt_tokens: int
    policy: str
    seed: int
    rules: Rules
    arrival: float
    start: float | None
    outcome: str
    reason: str | None
    demoted_after: float | None
    waits: tuple[Wait, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def why(journal: RunJournal, id_: str) -> Why:
    """Explain the waits of one request. Cost: one look at all requests of the run, and at the notes of its waits.

    Raises:
        InvalidInput: there is no such request, or the run was interrupted before it ended.
    """
    row = journal.row_of(id_)
    request = journal.requests.row(row, named=True)
    if request["outcome"] is None:
        raise InvalidInput(f"request '{id_}' had not ended when the run was interrupted; nothing is known of its wait")
    arrival, start = request["arrival"], request["start"]
    demotions = journal.notes["event"].filter((pl.col("request") == row) & (pl.col("what") == DEMOTED))["time"]
    demoted = None if demotions.is_empty() else demotions[0]
    waits = [_wait(journal, row, "start", arrival, request["finish"] if start is None else start, demoted)]
    later = [("evicted", absences(journal)), ("held", holds(journal))]
    for kind, stretches in later:
        for _, since, until in stretches.filter(pl.col("request") == row).iter_rows():
            waits.append(_wait(journal, row, kind, since, until))
    return Why(
        id=id_,
        tenant=request["tenant"],
        prompt_tokens=request["prompt_tokens"],
        policy=journal.policy,
        seed=journal.seed,
        rules=journal.rules,
        arrival=arrival,
        start=start,
        outcome=request["outcome"],
        reason=request["reason"],
        demoted_after=None if demoted is None else demoted - arrival,
        waits=(waits[0], *sorted((wait for wait in waits[1:] if wait.seconds > 0), key=lambda wait: wait.since)),
    )


def _wait(journal: RunJournal, row: int, kind: str, begin: float, end: float, demoted: float | None = None) -> Wait:
    """Explain one wait, from `begin` to `end`; from `demoted` on the request stood behind all others."""
    blame = Blame(journal, row)
    if kind == "held":
        blame.hold(begin, end)
    else:
        blame.look(begin, end if demoted is None else demoted)
        if demoted is not None:
            blame.look(demoted, end, demoted=True)
    return Wait(
        kind=kind,
        since=begin - journal.requests["arrival"][row],
        seconds=end - begin,
        parts=tuple(
            Part(cause, _rule(cause, journal.rules), tenant, seconds)
            for (cause, tenant), seconds in blame.parts(end - begin).items()
        ),
        ahead=() if kind == "held" else _ahead(journal.requests, row, begin, end),
        refused=_refused(journal.requests, blame),
    )


def _rule(cause: str, rules: Rules) -> str | None:
    """Return what decides where this is the cause."""
    return {
        "demoted": rules.shedding,
        "refused": rules.memory,
        "memory": rules.memory,
        "budget": rules.prompt_limit,
        "fit": rules.order,
        "partials": f"partial_prompts = {rules.partial_prompts}",
        "slots": f"max_sequences = {rules.slots}",
        "decode_slots": f"decode slots: {rules.decode_slots} (pools)",
        "eviction": rules.eviction,
        "order": rules.order,
        "interval": f"admission_interval = {rules.admission_interval}",
    }.get(cause)


def _ahead(requests: pl.DataFrame, row: int, arrival: float, end: float) -> tuple[Ahead, ...]:
    """Return who started from `arrival` on and before `end`, by tenant."""
    others = requests.with_row_index("row").filter(
        (pl.col("row") != row) & (pl.col("start") >= arrival) & (pl.col("start") < end)
    )
    by_tenant = others.group_by("tenant", maintain_order=True).agg(
        pl.len().alias("requests"),
        (pl.col("row") > row).sum().alias("came_later"),  # rows are in order of arrival
        pl.col("prompt_tokens").sum(),
    )
    return tuple(Ahead(*tenant) for tenant in by_tenant.sort("requests", descending=True, maintain_order=True).rows())


def _refused(requests: pl.DataFrame, blame: Blame) -> tuple[Refused, ...]:
    told: list[Refused] = []
    for row, seconds in blame.refused.items():
        request = requests.row(row, named=True)
        told.append(Refused(request["id"], request["tenant"], request["prompt_tokens"], seconds, blame.free[row]))
    return tuple(told)
