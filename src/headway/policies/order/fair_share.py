"""Fair share: tenants by virtual time, each with an order of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec
from headway.core.rules import Order
from headway.core.sequence import Sequence
from headway.core.spec import Spec, build, choice, number
from headway.policies.order.account import Account
from headway.policies.order.charges import CHARGES, FOR_EVER
from headway.policies.order.heads import Heads
from headway.policies.order.least_slack import LeastSlack
from headway.policies.order.plain import PLAIN_ORDERS
from headway.policies.order.virtual_time import VirtualTime

NESTINGS = ("tenant-first", "slack-first")
LIFTS = ("active", "waiting")


class FairShare(Order):
    """Which tenant has received least for its weight? Its requests go first, in an order of its own.

    Every iteration charges a tenant for the work done for it, prompt and decode positions by their weights; never for
    what an eviction makes the engine compute again. A tenant that begins to wait starts level with the least of the
    active ones, and never below the level at which requests were last started: debt is kept, credit is dropped. A
    request that memory refuses blocks the others, whoever they belong to, so that the service of two tenants with work
    waiting never differs by more than a bound. Cost: O(log tenants) an admission, O(1) an iteration.
    Source: Deadline-Aware Batching and Tenant Fairness; Fairness in Serving Large Language Models (OSDI 2024).

    Args:
        inner: the order among the requests of one tenant.
        charge: "iteration", for work done; "predicted", the predicted output at admission, settled at the end; or
            "admission", one unit each, which is wrong: a long answer costs as little as a short one.
        lift: "active", over tenants with anything waiting or running; or "waiting", over those with something waiting
            only, which is wrong: a tenant that returns while others only run keeps its banked credit.
        nesting: "tenant-first" asks the order of the tenant that has received least; "slack-first" lets every tenant
            compete whose most urgent request is within the band of the most urgent one of all, which meets more
            promises and has no bound. It needs inner=least-slack(band=...).
        w_in: charge for a prompt position.
        w_out: charge for a decode position.
    """

    def __init__(
        self,
        inner: str | Spec = "fcfs",
        charge: str = "iteration",
        lift: str = "active",
        nesting: str = "tenant-first",
        w_in: float = 1.0,
        w_out: float = 2.0,
    ) -> None:
        super().__init__()
        spec = inner if isinstance(inner, Spec) else Spec(str(inner))
        made = build(spec, PLAIN_ORDERS, "inner order")  # checked once, and then made without looking again
        self.make_inner: Callable[[], Order] = partial(type(made), **spec.arguments)
        self.choosy = made.choosy
        self.slack: LeastSlack | None = made if isinstance(made, LeastSlack) else None  # of all tenants together
        self.slack_first = choice("nesting", nesting, NESTINGS) == "slack-first"
        if self.slack_first and self.slack is None:
            raise InvalidSpec(f"nesting=slack-first needs inner=least-slack(...), got inner={spec}")
        self.accounts: dict[str, Account] = {}
        self.charge = CHARGES[choice("charge", charge, tuple(CHARGES))](
            number("w_in", w_in, 0, 1e6), number("w_out", w_out, 0, 1e6), self.accounts
        )
        self.times = VirtualTime(self.charge, lift_waiting=choice("lift", lift, LIFTS) == "waiting")
        self.heads = Heads(self.times)
        self._engine: EngineProfile | None = None
        self._cached: Callable[[Sequence], int] | None = None
        self._turn: Account | None = None  # whose turn it was when last asked; None where more than one was asked

    def attach(self, engine: EngineProfile) -> None:
        """Learn the engine's sizes."""
        self._engine = engine
        self.charge.attach(engine)
        if self.slack is not None:
            self.slack.chunk_cap = self.chunk_cap
            self.slack.attach(engine)

    def attach_cache(self, cached: Callable[[Sequence], int]) -> None:
        """Keep it for the tenants' orders."""
        self._cached = cached
        if self.slack is not None:
            self.slack.attach_cache(cached)

    def push(self, seq: Sequence, now: float) -> bool:
        """Join the tenant's queue; the next candidate may change if it was empty, or if it is the tenant's turn."""
        account = self.account(seq)
        waited = account.waiting > 0
        self.times.arrived(seq, account)
        ahead = account.order.push(seq, now)
        if self.slack is not None and self.slack_first:
            return self.heads.renew(account) or self.slack.by_cache
        return not waited or (ahead and (self._turn is None or self._turn is account))

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Ask the order of the tenant that has received least; where nothing of it fits, that of the next one."""
        if self.slack is not None and self.slack_first:
            return None if refused is not None else self._by_urgency(self.slack, space)
        self._turn = account = self.times.least()
        if account is None:
            return None
        seq = account.order.candidate(now, space, refused)
        if seq is None and refused is None and self.slack is not None:
            return self._next_tenant(self.slack, now, space)
        return seq

    def admitted(self, seq: Sequence, now: float) -> None:
        """It starts: its tenant has one request less waiting."""
        account = self.account(seq)
        self.times.admitted(seq, account)
        account.order.admitted(seq, now)
        if self.slack_first:
            self.heads.renew(account)

    def prefilled(self, seq: Sequence, now: float) -> None:
        """Tell the tenant's order."""
        self.account(seq).order.prefilled(seq, now)

    def next_ready(self, ready: dict[Sequence, None]) -> Sequence:
        """Ask the order of the tenant that has received least of those with anybody ready; ties by who is first."""
        accounts = {seq: self.account(seq) for seq in ready}
        least = min(dict.fromkeys(accounts.values()), key=self.times.time)
        return least.order.next_ready({seq: None for seq, account in accounts.items() if account is least})

    def finished(self, seq: Sequence, now: float) -> None:
        """Tell the tenant's order."""
        self.account(seq).order.finished(seq, now)

    def back(self, seq: Sequence, now: float) -> None:
        """It waits to return, before everybody else."""
        self.account(seq).away += 1
        super().back(seq, now)

    def remove(self, seq: Sequence) -> None:
        """It waits no more."""
        account = self.account(seq)
        self.times.removed(seq, account)
        account.order.remove(seq)
        if self.slack_first:
            self.heads.renew(account)

    def gone(self, seq: Sequence) -> None:
        """It runs no more: settle what it was charged."""
        account = self.account(seq)
        self.times.gone(seq, account)
        account.order.gone(seq)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """Charge an iteration, and let what the tenants' orders share learn from it."""
        self.charge.ran(batch)
        if self.slack is not None:
            self.slack.ran(batch, now, seconds)

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """Charge quiet iterations."""
        self.charge.rested(steps, filling, positions)

    def promotions(self) -> int:
        """Return those of all tenants' orders."""
        return sum(account.order.promotions() for account in self.accounts.values())

    def steady_until(self, now: float) -> float:
        """The order of the tenant whose turn it is may change its mind with time."""
        return super().steady_until(now) if self._turn is None else self._turn.order.steady_until(now)

    def steady_for(self) -> int:
        """Whose turn it is changes as soon as what runs has been charged past another tenant's time."""
        if self.returned:
            return FOR_EVER  # whoever returns goes first, and was refused
        if self.slack_first and not self.heads.several:
            return FOR_EVER
        account = self.times.least()
        if account is None:
            return FOR_EVER
        return self.times.steady_for(account) if account is self._turn else 0

    def account(self, seq: Sequence) -> Account:
        """Return the account of a request's tenant, a new one for a new tenant."""
        account = self.accounts.get(seq.request.tenant)
        if account is None:
            order = self.make_inner()
            order.chunk_cap = self.chunk_cap
            if isinstance(order, LeastSlack) and self.slack is not None:
                order.join(self.slack)
            if self._engine is not None:
                order.attach(self._engine)
            if self._cached is not None:
                order.attach_cache(self._cached)
            account = self.accounts[seq.request.tenant] = Account(len(self.accounts), order)
        return account

    def _by_urgency(self, slack: LeastSlack, space: int) -> Sequence | None:
        """Choose between the tenants with a fitting request within the band of the most urgent one that fits."""
        self._turn = None
        first = slack.most_urgent(space)
        chosen = None if first is None else self.heads.choose(space, first[0] + slack.band)
        if first is None or chosen is None:
            return None
        self._turn, entry = chosen
        order = self._turn.order
        if slack.by_cache and isinstance(order, LeastSlack):
            return order.first_within(space, first[0] + slack.band)
        return entry[4]

    def _next_tenant(self, slack: LeastSlack, now: float, space: int) -> Sequence | None:
        """Ask one tenant after the other, since nothing of the first one fits; no need where nothing fits at all."""
        self._turn = None  # it may change with whatever made that order decline
        if slack.most_urgent(space) is None:
            return None
        in_turn = self.times.in_turn()
        try:
            answers = (account.order.candidate(now, space, None) for account in in_turn)
            return next((seq for seq in answers if seq is not None), None)
        finally:
            in_turn.close()
