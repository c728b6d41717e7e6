"""A policy: an order, a memory rule, a shedding rule and an eviction rule, as specs."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

import numpy as np

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec, expect, nearest
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.spec import Spec, build, construct, parse_spec
from headway.policies.eviction import EVICTION_RULES
from headway.policies.memory import MEMORY_RULES
from headway.policies.order import ORDERS
from headway.policies.shares import Reserved, Shares
from headway.policies.shedding import SHEDDING_RULES

_IMPORT_PATH = re.compile(r"^([A-Za-z_][\w.]*):([A-Za-z_]\w*)(\(.*\))?$", re.DOTALL)


@dataclass(frozen=True)
class Policy:
    """What to run: reusable, without state, and picklable. `build` makes a scheduler with fresh rules from it.

    Attributes:
        name: how reports call it: the order's spec, as a rule.
        order_spec: the order's spec, or the name of its class.
        order: makes a fresh order.
        memory: spec of the memory rule; None takes the engine's.
        shedding: spec of the shedding rule.
        eviction: spec of the eviction rule.
        shares: what is guaranteed beside the order.
    """

    name: str
    order_spec: str
    order: Callable[[], Order]
    memory: Spec | None = None
    shedding: Spec = Spec("keep")  # noqa: RUF009 - a Spec is immutable
    eviction: Spec = Spec("last-admitted")  # noqa: RUF009
    shares: Shares = Shares()  # noqa: RUF009

    @classmethod
    def of(
        cls,
        order: str | type[Order],
        memory: str | None = None,
        shedding: str = "keep",
        eviction: str = "last-admitted",
        shares: Shares | None = None,
    ) -> Policy:
        """Make a policy from specs, or from an own order's class or import path (`my_module:MyOrder`).

        Raises:
            InvalidSpec: a spec cannot be read, names something unknown or gives a value out of range.
        """
        name, make = _order_maker(order)
        policy = cls(
            name=name,
            order_spec=name,
            order=make,
            memory=None if memory is None else parse_spec(memory),
            shedding=parse_spec(shedding),
            eviction=parse_spec(eviction),
            shares=shares or Shares(),
        )
        if not hasattr(policy.order(), "returned"):
            raise InvalidSpec(f"policy '{name}': its __init__ must call super().__init__()")
        if policy.memory is not None:
            build(policy.memory, MEMORY_RULES, "memory rule")
        build(policy.shedding, SHEDDING_RULES, "shedding rule")
        build(policy.eviction, EVICTION_RULES, "eviction rule")
        return policy

    def rules(
        self, engine: EngineProfile, rng: np.random.Generator | None = None
    ) -> tuple[Order, MemoryRule, Shedding, Eviction]:
        """Make fresh rules; the memory rule is the engine's where the policy names none.

        Args:
            engine: what they are for.
            rng: the only randomness that they may use; by default a generator of seed 0.
        """
        memory: MemoryRule = build(self.memory_on(engine), MEMORY_RULES, "memory rule")
        memory.attach(engine, np.random.default_rng(0) if rng is None else rng)
        shedding: Shedding = build(self.shedding, SHEDDING_RULES, "shedding rule")
        eviction: Eviction = build(self.eviction, EVICTION_RULES, "eviction rule")
        order = self.order()
        if self.shares.reserve is not None:
            order = Reserved(order, self.shares.reserve)
        for rule in (order, shedding):
            rule.attach(engine)
        return order, memory, shedding, eviction

    def memory_on(self, engine: EngineProfile) -> Spec:
        """Return the spec of the memory rule that it runs on an engine."""
        return self.memory or parse_spec(engine.memory)

    def draws(self, engine: EngineProfile) -> bool:
        """Whether another seed gives another run on the same requests."""
        return build(self.memory_on(engine), MEMORY_RULES, "memory rule").draws

    def build(
        self,
        engine: EngineProfile,
        rng: np.random.Generator | None = None,
        make: Callable[..., Scheduler] = Scheduler,
    ) -> Scheduler:
        """Make a scheduler for one engine, with fresh rules.

        Args:
            engine: what it is for.
            rng: the only randomness that the rules may use; by default a generator of seed 0.
            make: the scheduler's class, where it is to be a special one.

        Raises:
            InvalidInput: the policy guarantees prompts a share on an engine that serves them first anyway, or splits
                one that cannot be split so.
        """
        if self.shares.prefill and engine.mode == "prefill-first":
            raise InvalidSpec(f"prefill share: engine '{engine.name}' fills prompts first anyway; leave the share out")
        engine = self.shares.engine(engine)
        return make(engine, *self.rules(engine, rng), self.shares.prefill)


def _order_maker(order: str | type[Order]) -> tuple[str, Callable[[], Order]]:
    """Return the order's name, however its spec was spelled, and what makes a fresh one."""
    if isinstance(order, type) and issubclass(order, Order):  # pyright: ignore[reportUnnecessaryIsInstance]
        return order.__name__, order
    expect("policy", order, str, "a spec such as 'qba(k=3)', or a subclass of headway.Order")
    path = _IMPORT_PATH.match(order.strip())
    if path is None:
        spec = parse_spec(order)
        if spec.name not in ORDERS:
            typed = order.partition("(")[0].strip()
            known = nearest(spec.name, ORDERS)
            own = "" if known.startswith("did") else f". Your own is named as module:Class, as in {typed}:MyOrder"
            raise InvalidSpec(f"unknown policy '{typed}'; {known}{own}")
        return str(spec), partial(build, spec, ORDERS, "policy")
    own = Spec(f"{path[1]}:{path[2]}", parse_spec(f"own{path[3] or ''}").arguments)
    cls = _imported(path[1], path[2])
    return str(own), partial(construct, cls, own, "policy")


def _imported(module: str, name: str) -> type[Order]:
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise InvalidSpec(f"policy '{module}:{name}': cannot import it: {error}") from None
    except AttributeError:
        orders = [key for key, value in vars(sys.modules[module]).items() if _is_order(value) and value is not Order]
        hint = f"; {nearest(name, orders)}" if orders else ", and no subclass of headway.Order"
        raise InvalidSpec(f"policy '{module}:{name}': module '{module}' has no '{name}'{hint}") from None
    if not _is_order(found):
        raise InvalidSpec(f"policy '{module}:{name}': expected a subclass of headway.Order, got {found!r}")
    return found


def _is_order(value: object) -> TypeGuard[type[Order]]:
    return isinstance(value, type) and issubclass(value, Order)
