"""What each tenant and each class got: promises kept, service, waits; and how evenly tenants were served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway.measure.charges import units
from headway.measure.fairness import Fairness, fairness
from headway.measure.latency import Latency, known_mean, latencies_of, mean_count
from headway.measure.promises import Promise, Service, kept, own_promises
from headway.measure.record import RunRecord
from headway.measure.sla import Sla


@dataclass(frozen=True)
class Group:
    """The requests of one tenant, or of one class.

    Attributes:
        finished: requests that got all their tokens.
        rejected: requests turned away.
        demoted: requests that the shedding rule put behind all others.
        served: what the engine did for them, in charged units.
        latency: waits and latencies, and how many requests there are.
        promises: how everything was kept that was promised to them: by their own promises, and by the agreement.
        kept: share of the requests with a promise that finished and kept it, by "ttft", "itl" and "completion"; without
            an entry where nobody was promised that.
        label: the class of all of them, where they have one in common.
    """

    finished: float
    rejected: float
    demoted: float
    served: float
    latency: Latency
    promises: Service
    kept: Mapping[str, float]
    label: str | None

    @classmethod
    def over_seeds(cls, seeds: Sequence[Group]) -> Group:
        """Average over seeds."""
        shares = {name: known_mean([one.kept.get(name) for one in seeds]) for one in seeds for name in one.kept}
        labels = {one.label for one in seeds}
        return cls(
            finished=mean_count([one.finished for one in seeds]),
            rejected=mean_count([one.rejected for one in seeds]),
            demoted=mean_count([one.demoted for one in seeds]),
            served=mean_count([one.served for one in seeds]),
            latency=Latency.over_seeds([one.latency for one in seeds]),
            promises=Service.over_seeds([one.promises for one in seeds]) or Service(None, None),
            kept={name: share for name, share in shares.items() if share is not None},
            label=labels.pop() if len(labels) == 1 else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the group's entry in `--json`."""
        latency = self.latency.to_dict()
        return {
            "requests": latency.pop("requests"),
            "finished": self.finished,
            "rejected": self.rejected,
            "demoted": self.demoted,
            "service": self.served,
            **self.promises.to_dict(),
            "kept": {name: self.kept.get(name) for name in _OWN},
            **latency,
        }


@dataclass(frozen=True)
class Tenancy:
    """Tenants, classes, and shares among tenants.

    Attributes:
        tenants: by the tenants' names.
        labels: by the users' own classes (column `class`); empty where requests have none.
        promises: how the requests' own promises were kept, over all requests; None where nothing was promised.
        fairness: how evenly the tenants were served; None if nothing ran.
    """

    tenants: Mapping[str, Group]
    labels: Mapping[str, Group]
    promises: Service | None
    fairness: Fairness | None

    @classmethod
    def over_seeds(cls, seeds: Sequence[Tenancy | None]) -> Tenancy | None:
        """Average each figure over the seeds that have it."""
        known = [one for one in seeds if one is not None]
        if not known:
            return None
        shares = [one.fairness for one in known if one.fairness is not None]
        return cls(
            tenants=_over_seeds([one.tenants for one in known]),
            labels=_over_seeds([one.labels for one in known]),
            promises=Service.over_seeds([one.promises for one in known]),
            fairness=Fairness.over_seeds(shares) if shares else None,
        )


NOTHING: dict[str, Any] = dict.fromkeys(("tenants", "labels", "promises", "fairness"))


def to_dict(tenancy: Tenancy | None) -> dict[str, Any]:
    """Return the part of `--json`; None throughout where no tenants were named and nothing was promised."""
    if tenancy is None:
        return NOTHING
    return {
        "tenants": {name: group.to_dict() for name, group in tenancy.tenants.items()},
        "labels": {name: group.to_dict() for name, group in tenancy.labels.items()},
        "promises": tenancy.promises and tenancy.promises.to_dict(),
        "fairness": tenancy.fairness and tenancy.fairness.to_dict(),
    }


def tenancy(record: RunRecord, sla: Sla | None = None) -> Tenancy | None:
    """Return what a run did to its tenants; None where the record has no log of its work.

    Args:
        record: the run.
        sla: an agreement that was promised to everybody, beside their own promises.
    """
    if record.work is None:
        return None
    outcomes = record.outcomes
    own = own_promises(outcomes)
    met = kept(record, own or Promise())
    groups = _Groups(record, met if sla is None else met & kept(record, sla.promise), _each_kept(record, own))
    return Tenancy(
        tenants=groups.by("tenant"),
        labels=groups.by("class"),
        promises=None if own is None else Service.of(record, met),
        fairness=fairness(record),
    )


_OWN = {"ttft": "ttft", "itl": "itl", "completion": "e2e"}
"""The promises that a request can have, and which limit of `Promise` each is."""


def _each_kept(record: RunRecord, own: Promise | None) -> dict[str, np.ndarray]:
    """Return for each promise whether it was kept: 1 or 0, and NaN where it was not given [requests]."""
    shares: dict[str, np.ndarray] = {}
    for name, limit in _OWN.items() if own is not None else ():
        given = ~np.isnan(np.broadcast_to(getattr(own, limit), record.outcomes.height))
        if given.any():
            met = kept(record, Promise(**{limit: getattr(own, limit)}))
            shares[name] = np.where(given, met, np.nan)
    return shares


class _Groups:
    """Makes groups of one run's requests."""

    def __init__(self, record: RunRecord, met: np.ndarray, each: Mapping[str, np.ndarray]) -> None:
        self.record = record
        self.met = met
        self.each = each
        self.served = np.zeros(met.size) if record.work is None else units(record.work, met.size)

    def by(self, column: str) -> dict[str, Group]:
        """Return a group for every value of a column, in order of the values; null is none."""
        outcomes = self.record.outcomes
        names = sorted(outcomes[column].drop_nulls().unique())
        code = outcomes[column].replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64).to_numpy()
        members = [code == number for number in range(len(names))]
        latencies = latencies_of(self.record, members)
        return {
            name: self._group(member, latency) for name, member, latency in zip(names, members, latencies, strict=True)
        }

    def _group(self, member: np.ndarray, latency: Latency) -> Group:
        rows = self.record.outcomes.filter(member)
        labels = rows["class"].unique()
        shares = {name: values[member] for name, values in self.each.items()}
        return Group(
            finished=int((rows["outcome"] == "finished").sum()),
            rejected=int((rows["outcome"] == "rejected").sum()),
            demoted=int(rows["demoted"].sum()),
            served=float(self.served[member].sum()),
            latency=latency,
            promises=Service.of(self.record, self.met, member),
            kept={name: float(np.nanmean(some)) for name, some in shares.items() if not np.isnan(some).all()},
            label=labels[0] if len(labels) == 1 else None,
        )


def _over_seeds(seeds: Sequence[Mapping[str, Group]]) -> dict[str, Group]:
    """Average each group over the seeds that have it."""
    names = sorted({name for groups in seeds for name in groups})
    return {name: Group.over_seeds([groups[name] for groups in seeds if name in groups]) for name in names}
