"""The cells of a sweep: every combination of what a file lists. docs/commands/sweep.md has every key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from headway.core.counted import IS, counted
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput, nearest
from headway.core.rules import Order
from headway.core.spec import number, whole
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.engine import STEADY_AFTER
from headway.studies.cell_key import Keys
from headway.studies.cells import Cell
from headway.studies.compare import engine_for
from headway.studies.inputs import HERE, engine_named, origin_named
from headway.studies.source import Source
from headway.workload import SeededTrace, TenantsFile, Trace, read_tenants
from headway.workload.files import read_bytes
from headway.workload.limits import LARGEST

T = TypeVar("T")

Check = Callable[[str, Any], Any]
Setting = str | float | int | bool | None
Settings = Mapping[str, Setting]

MOST_CELLS = 1_000_000
MOST_SEEDS = 1_000_000
LAST_SEED = 2**62
"""The largest seed: results hold seeds of 64 bits."""


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{key} must be a text that is not empty, got {value!r}")
    return value


def _one_of(*kinds: type) -> Check:
    return lambda key, value: value if isinstance(value, kinds) else _text(key, value)


def _policy(key: str, value: object) -> str | type[Order]:
    return value if isinstance(value, type) and issubclass(value, Order) else _text(key, value)


def _truth(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{key} must be true or false, got {value!r}")
    return value


def _positive(key: str, value: object) -> float:
    return number(key, value, 0.0, math.inf, open_low=True, open_high=True)


def _share(**bounds: bool) -> Check:
    return lambda key, value: number(key, value, 0.0, 1.0, **bounds)


@dataclass(frozen=True)
class Axis:
    """A key of the file that may list several values.

    Attributes:
        check: judges one value.
        default: where the key is left out.
        dtype: of its column in the results.
    """

    check: Check
    default: Any
    dtype: type[pl.DataType]


AXES: dict[str, Axis] = {
    "workload": Axis(_one_of(Trace, SeededTrace, TenantsFile), None, pl.String),
    "tenants": Axis(_text, None, pl.String),
    "tokens_per_image": Axis(lambda key, value: whole(key, value, 0, 100_000), 0, pl.Int64),
    "limit": Axis(lambda key, value: whole(key, value, 1, LARGEST), None, pl.Int64),
    "rate": Axis(_positive, None, pl.Float64),
    "scale_lengths": Axis(_positive, None, pl.Float64),
    "epsilon_sl": Axis(_share(), 0.0, pl.Float64),
    "epsilon_ls": Axis(_share(), 0.0, pl.Float64),
    "engine": Axis(_one_of(EngineProfile), None, pl.String),
    "clients": Axis(lambda key, value: whole(key, value, 1, LARGEST), None, pl.Int64),
    "patience": Axis(_positive, None, pl.Float64),
    "sla": Axis(_text, None, pl.String),
    "steady_after": Axis(lambda key, value: whole(key, value, 1, LARGEST), STEADY_AFTER, pl.Int64),
    "watch_future": Axis(_truth, False, pl.Boolean),
    "policy": Axis(_policy, None, pl.String),
    "memory": Axis(_text, None, pl.String),
    "evict": Axis(_text, "last-admitted", pl.String),
    "shed": Axis(_text, "keep", pl.String),
    "prefill_share": Axis(_share(open_high=True), 0.0, pl.Float64),
    "pools": Axis(_share(open_low=True, open_high=True), None, pl.Float64),
    "reserve": Axis(_text, None, pl.String),
}
"""Keys that make the grid, a list is a dimension of it; in the order of the cells, the last one changes fastest."""

SEEDS: dict[str, Check] = {
    "seeds": lambda _key, value: value,
    "seed": lambda key, value: whole(key, value, 0, LAST_SEED),
}
"""Keys that name the seeds: how many from which on, or a list of them."""

COLUMNS: dict[str, type[pl.DataType]] = {name: axis.dtype for name, axis in AXES.items()} | {"seed": pl.Int64}
"""Columns of settings in the results."""


@dataclass(frozen=True)
class Planned:
    """A cell with its key and its settings, as results show them: a value for each of `COLUMNS`."""

    key: str
    settings: Settings
    cell: Cell


@dataclass(frozen=True)
class Plan:
    """What a sweep is to compute.

    Attributes:
        name: how messages call it.
        cells: none is there twice; seed by seed, so that whatever ends early has the same seeds for all.
        notes: what the reader should know, a sentence each.
    """

    name: str
    cells: tuple[Planned, ...]
    notes: tuple[str, ...] = ()


def read_plan(path: str | Path) -> Plan:
    """Read a sweep file. Paths in it count from its folder.

    Raises:
        InvalidInput: it cannot be read, is not TOML, or a key or value is wrong: one line that names where it stands,
            what is there and what was expected.
    """
    file = Path(path)
    return plan_of(tables(file), str(file), file.parent)


def tables(file: Path) -> dict[str, Any]:
    """Return what is in a sweep file, not judged yet.

    Raises:
        InvalidInput: it cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(read_bytes(file).decode())
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file}: not UTF-8 text; expected a sweep in TOML") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise InvalidInput(f"{file}: not TOML: {error}") from None


def plan_of(given: Mapping[str, Any], name: str = "sweep", folder: Path = HERE) -> Plan:
    """Return the plan of the keys of a sweep file.

    Args:
        given: as in the file; a workload may also be a trace or a tenants file, an engine an `EngineProfile`, and a
            policy the class of an own order.
        name: how messages call it.
        folder: where paths count from.

    Raises:
        InvalidInput: as `read_plan`.
    """
    found: dict[str, Planned] = {}
    total, still = 0, False
    maker = _Maker(folder)
    for where, grid in _grids(given, name):
        try:
            for planned, once in maker.cells(grid):
                total += 1
                still |= once
                found.setdefault(planned.key, planned)
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error}") from None
    _check_told_apart(name, found.values())
    notes: list[str] = []
    if total > len(found):
        notes.append(f"{counted(total - len(found), 'cell', IS)} there twice and run once.")
    if still:
        notes.append("Where nothing is drawn every seed gives the same: such cells are run with the first seed alone.")
    return Plan(name, tuple(found.values()), tuple(notes))


def _check_told_apart(name: str, cells: Iterable[Planned]) -> None:
    """Refuse cells that results could not tell apart.

    Raises:
        InvalidInput: two engines, traces or own orders have one name and are not the same.
    """
    seen: set[tuple[Setting, ...]] = set()
    for one in cells:
        shown = tuple(one.settings[column] for column in COLUMNS)
        if shown in seen:
            named = ", ".join(f"{column} '{one.settings[column]}'" for column in ("workload", "engine", "policy"))
            raise InvalidInput(
                f"{name}: two different cells are both called {named}; give engines and traces of different content "
                "names of their own"
            )
        seen.add(shown)


def policies_of(given: Mapping[str, Any]) -> list[str]:
    """Return every text that names a policy in a sweep file, before anything is judged."""
    grids = given.get("grid", [])
    places = [given, *(grid for grid in (grids if isinstance(grids, list) else []) if isinstance(grid, Mapping))]
    return [text for place in places for text in _several(place.get("policy", [])) if isinstance(text, str)]


def _grids(given: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return every grid with what holds for all of them, and where messages say that it stands."""
    top = {key: value for key, value in given.items() if key != "grid"}
    grids = given.get("grid", [{}])
    if not isinstance(grids, list) or not grids or not all(isinstance(grid, Mapping) for grid in grids):
        raise InvalidInput(f"{name}: grids are tables of their own; head each with [[grid]]")
    _check_keys(name, top, ("grid",))
    if "grid" not in given:
        return [(name, top)]
    placed = [(f"{name}: [[grid]] number {place}", grid) for place, grid in enumerate(grids, 1)]
    for where, grid in placed:
        _check_keys(where, grid)
    return [(where, {**top, **grid}) for where, grid in placed]


def _check_keys(where: str, table: Mapping[str, Any], others: Iterable[str] = ()) -> None:
    known = (*AXES, *SEEDS, *others)
    for key in table:
        if key not in known:
            raise InvalidInput(f"{where}: unknown key '{key}'; {nearest(key, known)}")


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | range) else [value]


class _Maker:
    """Makes cells that share what is equal in them: a file is read once, a source is one object."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys = Keys()
        self.origin = _once(self._origin)
        self.tenants = _once(lambda text: read_tenants(folder / text))
        self.source = _once(self._source)
        self.engine = _once(self._engine)
        self.policy = _once(self._policy)
        self.agreement = _once(Sla.parse)
        self.draws = _once(_draws)

    def cells(self, given: Mapping[str, Any]) -> Iterator[tuple[Planned, bool]]:
        """Yield every cell of one grid, and whether its seeds would all give the same and only the first is run."""
        seeds = _seeds(given)
        lists = {name: _values(name, given) for name in AXES}
        if "workload" not in given:
            raise InvalidInput('there is no workload; name one or several, as in workload = "qba-paper"')
        if "policy" not in given:
            raise InvalidInput('there is no policy; name one or several, as in policy = ["fcfs", "qba(k=3)"]')
        count = math.prod(map(len, lists.values())) * len(seeds)
        if count > MOST_CELLS:
            raise InvalidInput(f"{counted(count, 'cell')}; expected at most {MOST_CELLS:,}")
        differ = len(set(seeds)) > 1
        for seed in seeds:
            for values in product(*lists.values()):
                chosen = dict(zip(AXES, values, strict=True))
                cell = self._cell(chosen, seed)
                once = differ and not (cell.source.seeded or self.draws(cell.policy, cell.engine))
                if not once or seed == seeds[0]:
                    yield Planned(self._keys.of(cell), _shown(chosen, cell), cell), once

    def _cell(self, chosen: dict[str, Any], seed: int) -> Cell:
        source = self.source(*(chosen[name] for name in _SOURCE))
        engine = engine_for(source, self.engine(chosen["engine"]))
        policy = self.policy(*(chosen[name] for name in _POLICY))
        clients, rate = chosen["clients"], chosen["rate"]
        if clients is not None and rate is not None:
            raise InvalidInput(
                f"clients = {clients} and rate = {rate:g} exclude each other: clients send when an answer has ended; "
                "give each a [[grid]] of its own"
            )
        self.draws(policy, engine)
        return Cell(
            source,
            seed,
            policy,
            engine,
            sla=None if chosen["sla"] is None else self.agreement(chosen["sla"]),
            clients=clients,
            patience=chosen["patience"],
            steady_after=chosen["steady_after"],
            watch_future=chosen["watch_future"],
        )

    def _origin(self, workload: Any, tokens_per_image: int) -> Trace | SeededTrace | TenantsFile | str:
        origin = origin_named(workload, tokens_per_image, self._folder) if isinstance(workload, str) else workload
        if isinstance(origin, TenantsFile):
            origin.draw()  # one that sends nothing is no workload
        return origin

    def _source(
        self,
        workload: Any,
        tenants: str | None,
        tokens_per_image: int,
        limit: int | None,
        rate: float | None,
        scale_lengths: float | None,
        epsilon_sl: float,
        epsilon_ls: float,
    ) -> Source:
        origin = self.origin(workload, tokens_per_image)
        promises = None if tenants is None else self.tenants(tenants)
        if promises is not None and isinstance(origin, TenantsFile):
            raise InvalidInput(
                f"{origin.name} is a tenants file, and tenants = '{tenants}' is another; give one of them"
            )
        source = Source(origin, limit, rate, scale_lengths, epsilon_sl, epsilon_ls, promises)
        if isinstance(origin, str | Trace):
            replace(source, limit=1).requests(0)  # what is wrong is wrong with one request, too
        return source

    def _engine(self, engine: str | EngineProfile | None) -> EngineProfile | None:
        return engine_named(engine, self._folder) if isinstance(engine, str) else engine

    def _policy(
        self,
        policy: str | type[Order],
        memory: str | None,
        evict: str,
        shed: str,
        prefill_share: float,
        pools: float | None,
        reserve: str | None,
    ) -> Policy:
        return Policy.of(policy, memory, shed, evict, Shares.of(prefill_share, reserve, pools))


_SOURCE = ("workload", "tenants", "tokens_per_image", "limit", "rate", "scale_lengths", "epsilon_sl", "epsilon_ls")
_POLICY = ("policy", "memory", "evict", "shed", "prefill_share", "pools", "reserve")


def _values(name: str, given: Mapping[str, Any]) -> list[Any]:
    """Return the values of one key, repeated ones too: their cells are there twice, which is noted."""
    axis = AXES[name]
    if name not in given:
        return [axis.default]
    values = _several(given[name])
    if not values:
        raise InvalidInput(f"{name} is an empty list; give a value, or leave it out")
    return [axis.check(name, value) for value in values]


def _seeds(given: Mapping[str, Any]) -> Sequence[int]:
    """Return the seeds: so many from `seed` on, or those that are listed."""
    seeds, first = given.get("seeds", 1), given.get("seed")
    if isinstance(seeds, list | tuple | range):
        if first is not None:
            raise InvalidInput(f"seed = {first} is of no use beside a list of seeds; leave it out")
        if not seeds:
            raise InvalidInput("seeds is an empty list; expected how many seeds, or which")
        return [whole("seeds", seed, 0, LAST_SEED) for seed in seeds]
    start = whole("seed", 0 if first is None else first, 0, LAST_SEED)
    return range(start, start + whole("seeds", seeds, 1, MOST_SEEDS))


def _draws(policy: Policy, engine: EngineProfile) -> bool:
    """Whether another seed gives another run of the same requests.

    Raises:
        InvalidInput: the policy cannot run on the engine.
    """
    policy.build(engine)
    return engine.jitter > 0 or policy.draws(engine)


def _once(make: Callable[..., T]) -> Callable[..., T]:
    """Return a function that makes each thing once: texts and numbers are told apart by value, all else by identity."""
    made: dict[tuple[object, ...], T] = {}

    def call(*parts: Any) -> T:
        known = tuple(map(_identity, parts))
        if known not in made:
            made[known] = make(*parts)
        return made[known]

    return call


def _identity(part: object) -> object:
    return part if isinstance(part, str | int | float | None) else (type(part), id(part))


def _shown(chosen: Mapping[str, Any], cell: Cell) -> dict[str, Setting]:
    """Return the settings of a cell as results show them: rules with their options in order, the engine by its name."""
    workload = chosen["workload"]
    return {**chosen, "workload": workload if isinstance(workload, str) else workload.name, **rules_of(cell)}


def rules_of(cell: Cell) -> dict[str, Setting]:
    """Return what results show of a cell's engine, rules and agreement, and its seed."""
    return {
        "engine": cell.engine.name,
        "policy": cell.policy.order_spec,
        "memory": str(cell.policy.memory_on(cell.engine)),
        "evict": str(cell.policy.eviction),
        "shed": str(cell.policy.shedding),
        "reserve": None if cell.policy.shares.reserve is None else str(cell.policy.shares.reserve),
        "sla": None if cell.sla is None else str(cell.sla),
        "seed": cell.seed,
    }
