"""The tenants file: TOML to `TenantsFile`. Every key is judged here, and named with its tenant when it is wrong."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headway.core.errors import InvalidInput, InvalidWorkload, nearest
from headway.core.spec import Spec, number, parse_spec, whole
from headway.workload.columns import MOST
from headway.workload.limits import LARGEST
from headway.workload.tenants import PROMISED, Tenant, TenantsFile, Terms
from headway.workload.traces.table import content
from headway.workload.traffic import Traffic

Check = Callable[[str, object], Any]

EXTREME = 1e6
"""Largest weight, and inverse of the smallest: beyond, a share is no share, and sums over a run lose their digits."""

HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
"""How a key stands in a file: never itself."""

EXAMPLES = {
    "arrivals": "poisson(rate=5)",
    "prompt": "lognormal(mean=500)",
    "output": "lognormal(mean=200)",
    "lengths": "qba-paper",
}


def _positive(key: str, value: object) -> float:
    return number(key, value, 0.0, math.inf, open_low=True, open_high=True)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidWorkload(f'{key} must be a text, as in {key} = "{EXAMPLES.get(key, "chat")}", got {value!r}')
    return value


def _spec(key: str, value: object) -> Spec:
    return parse_spec(_text(key, value))


def _truth(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidWorkload(f"{key} must be true or false, got {value!r}")
    return value


def _keys(key: str, value: object) -> tuple[bytes, ...]:
    """Return the hashes of API keys. What is no hash may be a key: no message may show it."""
    if not isinstance(value, list) or not value:
        raise InvalidWorkload(f'{key} must be a list of hashes, as in {key} = ["sha256:..."]; headway key makes one')
    hashes: list[bytes] = []
    for place, text in enumerate(value, start=1):
        found = HASHED.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidWorkload(
                f"{key}: number {place} is no hash (not shown, it may be a key); expected sha256: and 64 "
                "hexadecimal digits, as headway key prints"
            )
        hashes.append(bytes.fromhex(found[1]))
    return tuple(hashes)


def _requests(key: str, value: object) -> int:
    return whole(key, value, 1, LARGEST)


TERMS: dict[str, Check] = {
    "weight": lambda key, value: number(key, value, 1 / EXTREME, EXTREME),
    "class": _text,
    "priority": lambda key, value: whole(key, value, -MOST, MOST),
    "ttft_slo": _positive,
    "itl_slo": _positive,
    "completion_slo": _positive,
}
"""Keys of a `[[tenant]]` and of `[default]`: what holds for the requests."""

TRAFFIC: dict[str, Check] = {
    "arrivals": _spec,
    "prompt": _spec,
    "output": _spec,
    "lengths": _spec,
    "requests": _requests,
    "start": lambda key, value: number(key, value, 0.0, math.inf, open_high=True),
    "end": _positive,
}
"""Keys of a `[[tenant]]`: what it sends."""

SERVED: dict[str, Check] = {
    "keys": _keys,
    "max_unfinished": lambda key, value: whole(key, value, 1, LARGEST),
    "requests_per_minute": lambda key, value: number(key, value, 1 / EXTREME, EXTREME),
}
"""Keys of a `[[tenant]]`: how a server knows it, and what it lets in."""

GLOBAL: dict[str, Check] = {"duration": _positive, "requests": _requests, "strict": _truth}
"""Keys at the top of the file."""


def is_tenants(path: str | Path) -> bool:
    """Whether a file is to be read as a tenants file and not as a trace: its name ends in .toml."""
    return Path(path).suffix.lower() == ".toml"


def read_tenants(path: str | Path) -> TenantsFile:
    """Read a tenants file; docs/tenants.md has every key.

    Raises:
        InvalidInput: it cannot be read, is not TOML, or a key or value is wrong: one line that names the file, the
            tenant, the key, what is there and what was expected.
    """
    source = Path(path)
    try:
        return tenants_from_toml(content(source).decode(), source.name)
    except UnicodeDecodeError:
        raise InvalidWorkload(f"{source}: not UTF-8 text; expected a tenants file in TOML") from None


def tenants_from_toml(text: str, name: str) -> TenantsFile:
    """Read the text of a tenants file; `name` is the file's, for messages.

    Raises:
        InvalidWorkload: as `read_tenants`.
    """
    try:
        file: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise InvalidWorkload(f"{name}: not TOML: {error}") from None
    try:
        tables = file.pop("tenant", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise InvalidWorkload("tenants are tables of their own; head each with [[tenant]]")
        default = file.pop("default", {})
        if not isinstance(default, dict):
            raise InvalidWorkload("default is a table; head it with [default]")
        whole_file = _checked(file, GLOBAL, ("tenant", "default"))
        if not tables and not default:
            raise InvalidWorkload("there is no tenant in it; expected a [[tenant]] table")
        tenants = tuple(_tenant(index, table) for index, table in enumerate(tables, start=1))
        names = [tenant.name for tenant in tenants]
        if twice := next((tenant for tenant in names if names.count(tenant) > 1), None):
            raise InvalidWorkload(f"tenant '{twice}' is there twice; name each once")
        _check_keys_apart(tenants)
        return TenantsFile(name, tenants, _default(default), **whole_file)
    except InvalidInput as error:
        raise InvalidWorkload(f"{name}: {error}") from None


def _tenant(index: int, table: dict[str, Any]) -> Tenant:
    if "name" not in table:
        raise InvalidWorkload(f'[[tenant]] number {index} has no name; give one, as in name = "chat"')
    name = _text("name", table["name"])
    try:
        given = _checked(
            {key: value for key, value in table.items() if key != "name"}, TERMS | TRAFFIC | SERVED, ("name",)
        )
        return Tenant(name, _terms(given), _traffic(given), **{key: given[key] for key in SERVED if key in given})
    except InvalidInput as error:
        raise InvalidWorkload(f"tenant '{name}': {error}") from None


def _check_keys_apart(tenants: Iterable[Tenant]) -> None:
    """Refuse a key that is there twice: nobody could tell whose it is."""
    owners: dict[bytes, str] = {}
    for tenant in tenants:
        for key in tenant.keys:
            if key in owners:
                if owners[key] == tenant.name:
                    raise InvalidWorkload(f"tenant '{tenant.name}' has a key twice; leave one out")
                raise InvalidWorkload(
                    f"tenants '{owners[key]}' and '{tenant.name}' have a key in common; give each its own"
                )
            owners[key] = tenant.name


def _default(table: dict[str, Any]) -> Terms:
    try:
        return _terms(_checked(table, TERMS))
    except InvalidInput as error:
        raise InvalidWorkload(f"[default]: {error}") from None


def _terms(given: dict[str, Any]) -> Terms:
    return Terms({key: given[key] for key in PROMISED if key in given})


def _traffic(given: dict[str, Any]) -> Traffic | None:
    """Return what a tenant sends; None where it says nothing of it."""
    sends = {key: given[key] for key in TRAFFIC if key in given}
    if not sends:
        return None
    if "arrivals" not in sends:
        raise InvalidWorkload(
            f'{next(iter(sends))} needs arrivals; give them, as in arrivals = "{EXAMPLES["arrivals"]}"'
        )
    match [sends.pop(key, None) for key in ("prompt", "output", "lengths")]:
        case [Spec() as prompt, Spec() as output, None]:
            return Traffic(lengths=(prompt, output), **sends)
        case [None, None, Spec() as both]:
            return Traffic(lengths=both, **sends)
        case _:
            raise InvalidWorkload("arrivals need lengths; give prompt and output, or lengths for both")


def _checked(table: dict[str, Any], checks: dict[str, Check], others: Iterable[str] = ()) -> dict[str, Any]:
    """Return the values of a table as what they stand for; `others` are keys that are known and judged elsewhere."""
    for key in table:
        if key not in checks:
            raise InvalidWorkload(f"unknown key '{key}'; {nearest(key, (*checks, *others))}")
    return {key: checks[key](key, value) for key, value in table.items()}
