"""What `tune` may choose from: settings of a scheduler, those to begin with, and those near a good one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

from headway.core.engine import EngineProfile
from headway.core.spec import Spec, parse_spec
from headway.policies.policy import Policy
from headway.policies.shares import Shares

GAMMAS = (0.5, 0.65, 0.8, 0.9, 0.95, 0.99)
ALPHAS = (-1.0, -0.5, 0.0, 1.0, 3.0)
BANDS = (0.0, 0.5, 2.0)
RESERVES = (0.0, 0.02, 0.05, 0.1, 0.2)

ORDER_LADDERS: dict[str, dict[str, tuple[float, ...]]] = {
    "aa": {"gamma": GAMMAS},
    "qba": {"k": (1, 2, 3, 4, 5, 6, 8, 11, 14), "gamma": GAMMAS},
    "shortest-work": {"aging": (0.0, 5.0, 15.0, 50.0, 150.0, 500.0)},
    "least-slack": {"alpha": ALPHAS, "band": BANDS},
    "combined": {"chunk": (8, 16, 32, 64, 128, 256, 512, 1024, 2048), "alpha": ALPHAS, "band": BANDS},
}
"""Values of the options of each order that are searched, from low to high."""

MEMORY_LADDERS: dict[str, dict[str, tuple[float, ...]]] = {
    "prompt-fit": {"safety": (0.6, 0.7, 0.8, 0.9, 0.95, 1.0)},
    "watermark": {"level": (0.7, 0.8, 0.9, 0.95, 1.0)},
    "past-future": {"reserve": RESERVES},
    "ema": {"reserve": RESERVES},
    "conservative": {"overcommit": (1.0, 1.5, 2.0, 3.0, 5.0)},
}
"""The same of memory rules."""

SHED_LADDERS: dict[str, dict[str, tuple[float, ...]]] = {
    "reject": {"safety": (0.8, 1.0, 1.2, 1.5)},
    "demote": {"safety": (0.8, 1.0, 1.2, 1.5)},
    "queue-cap": {"requests": (8, 16, 32, 64, 128, 256)},
}
"""The same of shedding rules."""

PREFILL_SHARES = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5)
RESERVED = (0.02, 0.1)
"""Shares of the iterations in which whoever waited too long goes first."""

BY_CLASS = ("psf", "aa", "qba")
"""Orders that need to know who will be long."""

BY_PROMISE = ("least-slack", "combined", "reject", "demote")
"""Rules that look at what requests were promised."""

START_ORDERS = (
    "fcfs",
    "shortest-work(aging=0.0)",
    "shortest-work(aging=50.0)",
    "shortest-work(aging=500.0)",
    "psf",
    "aa(gamma=0.8)",
    "aa(gamma=0.95)",
    "qba(k=2, gamma=0.8)",
    "qba(k=5, gamma=0.8)",
    "qba(k=11, gamma=0.8)",
    "least-slack(alpha=-1.0, band=0.0)",
    "least-slack(alpha=1.0, band=0.0)",
)
START_CHUNKS = (4, 16)  # parts of the token budget

START_MEMORY = (
    "prompt-fit(safety=0.7)",
    "prompt-fit(safety=0.9)",
    "watermark(level=0.9)",
    "past-future(reserve=0.05)",
    "conservative(overcommit=1.5)",
)
START_SHED = ("reject(safety=1.2)", "demote(safety=1.2)", "queue-cap(requests=32)", "queue-cap(requests=128)")


@dataclass(frozen=True)
class Setting:
    """What a scheduler is told: everything that a command line and a server's configuration can say alike.

    Attributes:
        order: spec of the order.
        memory: spec of the memory rule.
        shed: spec of the shedding rule.
        prefill_share: share of the positions that prompts are guaranteed.
        reserve: reservation for those who waited too long; "" for none.
    """

    order: str
    memory: str
    shed: str = "keep"
    prefill_share: float = 0.0
    reserve: str = ""

    def policy(self) -> Policy:
        """Return it as a policy, named by all that it says."""
        shares = Shares.of(self.prefill_share, self.reserve or None)
        made = Policy.of(self.order, self.memory, self.shed, shares=shares)
        return replace(made, name=repr(self))

    def name(self, baseline: Setting) -> str:
        """Return how reports call it: its order, and what else it changes."""
        parts = [self.order]
        parts += [text for text, usual in ((self.memory, baseline.memory), (self.shed, baseline.shed)) if text != usual]
        if self.prefill_share != baseline.prefill_share:
            parts.append(f"prefill-share {self.prefill_share:g}")
        if self.reserve != baseline.reserve:
            parts.append(f"reserve {self.reserve or 'none'}")
        return " + ".join(parts)

    def changed(self, baseline: Setting) -> int:
        """Return how many parts differ."""
        return sum(getattr(self, field.name) != getattr(baseline, field.name) for field in fields(self))

    def complexity(self, baseline: Setting) -> tuple[int, bool, int, str]:
        """Return a key: whoever changes less, and needs to know less, is simpler."""
        options = sum(len(_parsed(spec).arguments) for spec in (self.order, self.memory, self.shed))
        return self.changed(baseline), self.predicts, options, repr(self)

    @property
    def predicts(self) -> bool:
        """Whether it needs to be told who will be long."""
        return _parsed(self.order).name in BY_CLASS

    @property
    def promised(self) -> bool:
        """Whether it needs to know what requests were promised."""
        return any(_parsed(spec).name in BY_PROMISE for spec in (self.order, self.shed))


@dataclass(frozen=True)
class Space:
    """What is worth a try on this traffic.

    Attributes:
        baseline: what all is compared with.
        orders, memory, shed: specs to begin with.
        shares: shares for prompts to begin with.
        reserves: reservations to begin with.
        most_chunk: positions above which a cap on chunks caps nothing.
    """

    baseline: Setting
    orders: tuple[str, ...]
    memory: tuple[str, ...]
    shed: tuple[str, ...]
    shares: tuple[float, ...]
    reserves: tuple[str, ...]
    most_chunk: int

    @classmethod
    def of(
        cls,
        baseline: Setting,
        engine: EngineProfile,
        *,
        memory_matters: bool,
        promised: bool,
        shed: bool,
        classes: bool,
        tenants: bool,
        patience: float,
        length: int,
    ) -> Space:
        """Leave out what cannot matter.

        Args:
            baseline: what all is compared with.
            engine: of the runs.
            memory_matters: the cache was nearly full somewhere.
            promised: requests have promises of a first or last token.
            shed: whether turning requests away can be an improvement: not where only waits count.
            classes: predictions are of short and long.
            tenants: there are several.
            patience: seconds of waiting that are too long, for reservations.
            length: of an answer, tokens, as past-future is told to begin with.
        """
        orders = [spec for spec in START_ORDERS if classes or parse_spec(spec).name not in BY_CLASS]
        if promised:
            budget = engine.token_budget
            orders += [f"combined(chunk={max(1, budget // part)}, alpha=-1, band=0.5)" for part in START_CHUNKS]
        orders = [spec for spec in orders if promised or parse_spec(spec).name not in BY_PROMISE]
        if tenants:
            orders.append("fair-share")
        memory = [f"past-future(reserve=0.05, seed_length={length})" if "past" in m else m for m in START_MEMORY]
        doomed = [spec for spec in START_SHED if promised or parse_spec(spec).name not in BY_PROMISE]
        return cls(
            baseline=baseline,
            orders=_typed(orders),
            memory=_typed(memory) if memory_matters else (),
            shed=_typed(doomed) if shed else (),
            shares=(0.1, 0.35) if engine.mode == "mixed" else (),
            reserves=tuple(f"share={share:g},after={patience:g},window=200" for share in RESERVED),
            most_chunk=engine.token_budget,
        )

    def start(self) -> list[Setting]:
        """Return the baseline, and all that changes one part of it."""
        base = self.baseline
        made = [base]
        made += [replace(base, order=spec) for spec in self.orders]
        made += [replace(base, memory=spec) for spec in self.memory]
        made += [replace(base, shed=spec) for spec in self.shed]
        made += [replace(base, prefill_share=share) for share in self.shares]
        made += [replace(base, reserve=text) for text in self.reserves]
        return list(dict.fromkeys(setting for setting in made if self._useful(setting)))

    def crossed(self, orders: Sequence[Setting], others: Sequence[Setting]) -> list[Setting]:
        """Return settings that have the order of one and what else another one changes."""
        pairs = product(orders, others)
        return list(dict.fromkeys(replace(other, order=one.order) for one, other in pairs))

    def near(self, setting: Setting) -> list[Setting]:
        """Return settings that differ by one step of one knob, or lack one change."""
        base = self.baseline
        made = [replace(setting, order=spec) for spec in _steps(setting.order, ORDER_LADDERS)]
        if self.memory:
            made += [replace(setting, memory=spec) for spec in _steps(setting.memory, MEMORY_LADDERS)]
        made += [replace(setting, shed=spec) for spec in _steps(setting.shed, SHED_LADDERS)]
        if self.shares:
            made += [replace(setting, prefill_share=share) for share in _beside(setting.prefill_share, PREFILL_SHARES)]
        made += [replace(setting, **{field.name: getattr(base, field.name)}) for field in fields(base)]
        return [one for one in dict.fromkeys(made) if one != setting and self._useful(one)]

    def _useful(self, setting: Setting) -> bool:
        order = _parsed(setting.order)
        return order.name != "combined" or order.arguments.get("chunk", 0) < self.most_chunk


def _parsed(spec: str) -> Spec:
    """Return a spec as data; of an own order, which is named by its import path, nothing is searched."""
    return Spec(spec.strip()) if ":" in spec.partition("(")[0] else parse_spec(spec)


def _typed(specs: Sequence[str]) -> tuple[str, ...]:
    """Return specs as they are written everywhere."""
    return tuple(str(_parsed(spec)) for spec in specs)


def _steps(spec: str, ladders: dict[str, dict[str, tuple[float, ...]]]) -> Iterator[str]:
    """Yield specs with one searched option one step up or down."""
    parsed = _parsed(spec)
    for option, ladder in ladders.get(parsed.name, {}).items():
        if option in parsed.arguments:
            for value in _beside(parsed.arguments[option], ladder):
                yield str(Spec(parsed.name, parsed.arguments | {option: value}))


def _beside(value: float, ladder: Sequence[float]) -> list[float]:
    """Return the next lower and the next higher value."""
    return [*[step for step in ladder if step < value][-1:], *[step for step in ladder if step > value][:1]]
