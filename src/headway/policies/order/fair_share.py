"""Fair share: tenants by virtual time, each with an order of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.rules import Order
from headway.core.sequence import Sequence
from headway.core.spec import Spec, build, choice, number
from headway.policies.order.account import Account
from headway.policies.order.charges import CHARGES, FOR_EVER
from headway.policies.order.plain import PLAIN_ORDERS
from headway.policies.order.virtual_time import VirtualTime

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
        w_in: charge for a prompt position.
        w_out: charge for a decode position.
    """

    def __init__(
        self,
        inner: str | Spec = "fcfs",
        charge: str = "iteration",
        lift: str = "active",
        w_in: float = 1.0,
        w_out: float = 2.0,
    ) -> None:
        super().__init__()
        spec = inner if isinstance(inner, Spec) else Spec(inner)
        made = build(spec, PLAIN_ORDERS, "inner order")  # checked once, and then made without looking again
        self.make_inner: Callable[[], Order] = partial(type(made), **spec.arguments)
        self.choosy = made.choosy
        self.chunk_cap = made.chunk_cap
        self.accounts: dict[str, Account] = {}
        self.charge = CHARGES[choice("charge", charge, tuple(CHARGES))](
            number("w_in", w_in, 0, 1e6), number("w_out", w_out, 0, 1e6), self.accounts
        )
        self.times = VirtualTime(self.charge, lift_waiting=choice("lift", lift, LIFTS) == "waiting")
        self._engine: EngineProfile | None = None
        self._turn: Account | None = None  # whose turn it was when last asked

    def attach(self, engine: EngineProfile) -> None:
        """Learn the engine's sizes."""
        self._engine = engine
        self.charge.attach(engine)

    def push(self, seq: Sequence, now: float) -> bool:
        """Join the tenant's queue; the next candidate may change if it was empty, or if it is the tenant's turn."""
        account = self.account(seq)
        waited = account.waiting > 0
        self.times.arrived(seq, account)
        ahead = account.order.push(seq, now)
        return (ahead and account is self._turn) or not waited

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Ask the order of the tenant that has received least; whom it names, or that it names nobody, holds."""
        self._turn = account = self.times.least()
        return None if account is None else account.order.candidate(now, space, refused)

    def admitted(self, seq: Sequence, now: float) -> None:
        """It starts: its tenant has one request less waiting."""
        account = self.account(seq)
        self.times.admitted(seq, account)
        account.order.admitted(seq, now)

    def prefilled(self, seq: Sequence, now: float) -> None:
        """Tell the tenant's order."""
        self.account(seq).order.prefilled(seq, now)

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

    def gone(self, seq: Sequence) -> None:
        """It runs no more: settle what it was charged."""
        account = self.account(seq)
        self.times.gone(seq, account)
        account.order.gone(seq)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """Charge an iteration."""
        self.charge.ran(batch)

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """Charge quiet iterations."""
        self.charge.rested(steps, filling, positions)

    def steady_until(self, now: float) -> float:
        """The order of the tenant whose turn it is may change its mind with time."""
        return super().steady_until(now) if self._turn is None else self._turn.order.steady_until(now)

    def steady_for(self) -> int:
        """Whose turn it is changes as soon as what runs has been charged past another tenant's time."""
        if self.returned:
            return FOR_EVER  # whoever returns goes first, and was refused
        account = self.times.least()
        if account is None:
            return FOR_EVER
        return self.times.steady_for(account) if account is self._turn else 0

    def account(self, seq: Sequence) -> Account:
        """Return the account of a request's tenant, a new one for a new tenant."""
        account = self.accounts.get(seq.request.tenant)
        if account is None:
            order = self.make_inner()
            if self._engine is not None:
                order.attach(self._engine)
            account = self.accounts[seq.request.tenant] = Account(order)
        return account
