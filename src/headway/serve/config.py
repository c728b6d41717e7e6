"""Everything that a server is told: one TOML file, overridden by the command line, each value judged in one place."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.core.cost import CostModel, Steps
from headway.core.engine import LOCAL_TOKEN_BUDGET, EngineProfile
from headway.core.errors import InvalidInput, InvalidSpec, nearest
from headway.core.spec import choice, number, whole
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.serve.local_model import hub_id, local_model
from headway.workload.files import read_bytes
from headway.workload.tenants import TenantsFile
from headway.workload.tenants_toml import read_tenants

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine reaches; on no other is anybody served without a key."""

LEVELS = ("debug", "info", "warning", "error")
MOST_SLOTS = 256  # sequences: what llama.cpp holds at once
MOST_KV = 2**26  # tokens: far more than any machine without a GPU reads in time
MOST_BUDGET = 2**16  # positions
_LEAST_BODY = 1024  # bytes

Check = Callable[[str, object], Any]


def processors() -> int:
    """Return the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Config:
    """What a server is told. `config_of` makes one, `check` judges what must fit together.

    Attributes:
        model: a GGUF file or a hub id; None for the default model.
        host: address that is listened on.
        port: of it; 0 takes a free one.
        tenants: the tenants file; None for none.
        auth: whether requests must bring an API key; None for everywhere but on a loopback host without a tenants file.
        max_body_bytes: of a request.
        stop_seconds: that running requests are given to finish when the server is told to stop.
        log_level: one of `LEVELS`.
        policy: spec of the order.
        memory: spec of the memory rule; None takes the engine's.
        shed: spec of the shedding rule.
        evict: spec of the eviction rule.
        prefill_share: share of the positions guaranteed to prompts.
        pools: share of the positions that belongs to prompts alone; None for one pool.
        reserve: reservation for those who waited too long; None for none.
        threads: of computation.
        kv_tokens: tokens that the KV cache holds.
        slots: sequences that it holds at most.
        token_budget: positions of an iteration at most.
        file: where the values are from that were not given on the command line; None for defaults.
        given: what was given on the command line, by attribute.
    """

    model: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    tenants: Path | None = None
    auth: bool | None = None
    max_body_bytes: int = 2_097_152
    stop_seconds: float = 30.0
    log_level: str = "info"
    policy: str = "fcfs"
    memory: str | None = None
    shed: str = "keep"
    evict: str = "last-admitted"
    prefill_share: float = 0.0
    pools: float | None = None
    reserve: str | None = None
    threads: int = field(default_factory=processors)
    kv_tokens: int = 8192
    slots: int = 16
    token_budget: int = LOCAL_TOKEN_BUDGET
    file: Path | None = None
    given: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK

    @property
    def keys_required(self) -> bool:
        """Whether requests must bring an API key."""
        return not self.is_local or self.tenants is not None if self.auth is None else self.auth

    @property
    def rules(self) -> tuple[object, ...]:
        """What the policy is made from: equal where it is the same policy."""
        return (self.policy, self.memory, self.shed, self.evict, self.prefill_share, self.pools, self.reserve)

    def again(self) -> Config:
        """Read the same file once more, under the same command line.

        Raises:
            InvalidInput: as `config_of`.
        """
        return config_of(self.file, self.given)

    def make_policy(self) -> Policy:
        """Make the policy.

        Raises:
            InvalidSpec: a spec cannot be read or names something unknown, or a rule needs what only a simulation knows.
        """
        shares = Shares.of(self.prefill_share, self.reserve, self.pools)
        policy = Policy.of(self.policy, self.memory, self.shed, self.evict, shares)
        if policy.memory is not None and policy.memory.name == "oracle":
            raise InvalidSpec("memory rule 'oracle' needs true output lengths; only a simulation knows them")
        return policy

    def make_engine(self, name: str, cost: CostModel) -> EngineProfile:
        """Describe the engine to the scheduler; `cost` is what is known of its iteration times beforehand."""
        return EngineProfile(name, self.token_budget, self.slots, self.kv_tokens, cost)

    def read_tenants(self) -> TenantsFile | None:
        """Read the tenants file, if there is one.

        Raises:
            InvalidInput: it cannot be read, is wrong, or has no key where keys are required.
        """
        if self.tenants is not None:
            self._check_there("tenants", self.tenants)
        file = None if self.tenants is None else read_tenants(self.tenants)
        if self.keys_required and (file is None or not any(tenant.keys for tenant in file.tenants)):
            lacking = "there is no tenants file" if file is None else f"no tenant of {self.tenants} has one"
            way_out = ", or give --no-auth" if self.is_local else f", or serve on {LOOPBACK[0]} only"
            raise InvalidInput(
                f"host {self.host}: clients must bring API keys, and {lacking}; make one with headway key{way_out}"
            )
        return file

    def check(self) -> None:
        """Judge what must fit together: the policy and its engine, the host and its keys, the files that are named.

        Raises:
            InvalidInput: it does not; one line.
        """
        if self.auth is False and not self.is_local:
            raise InvalidInput(
                f"--no-auth on host {self.host}: without keys only {', '.join(LOOPBACK)} can be served; "
                "leave one of the two out"
            )
        self.make_policy().build(self.make_engine("serve", Steps(1.0)))
        if self.model is not None and hub_id(self.model) is None:
            self._check_there("model", Path(self.model).expanduser())
            local_model(self.model)
        self.read_tenants()

    def _check_there(self, key: str, path: Path) -> None:
        """Refuse a file that the configuration names and that is not there, in a line that says who names it.

        Raises:
            InvalidInput: it is not there. What the command line names is left to whoever reads it.
        """
        if self.file is None or key in self.given or not _is_missing(path):
            return
        hint = "" if path.is_absolute() else "; paths count from the current folder"
        raise InvalidInput(f"{self.file}: {key} = {str(path)!r}: there is no such file{hint}")


def config_of(file: Path | None, given: Mapping[str, object]) -> Config:
    """Read a configuration; docs/commands/serve.md has every key.

    Policies are not looked up yet, and no other file is read: see `Config.check`.

    Args:
        file: TOML; None for defaults.
        given: by attribute of `Config`: what goes before the file.

    Raises:
        InvalidInput: the file cannot be read, is not TOML, or a key or value is wrong: one line that names where it
            stands, what is there and what was expected.
    """
    values = {} if file is None else _from_file(file)
    for name, value in given.items():
        values[name] = CHECKS[name](option_of(name), value)
    return Config(**values, file=file, given=dict(given))


def option_of(name: str) -> str:
    """Return the command line option of an attribute."""
    return "--no-auth" if name == "auth" else f"--{name.replace('_', '-')}"


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{key} must be a text that is not empty, got {value!r}")
    return value


def _truth(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{key} must be true or false, got {value!r}")
    return value


def _whole(low: int, high: int) -> Check:
    return lambda key, value: whole(key, value, low, high)


SECTIONS: dict[str, dict[str, tuple[str, Check]]] = {
    "": {
        "model": ("model", _text),
        "host": ("host", _text),
        "port": ("port", _whole(0, 65_535)),
        "tenants": ("tenants", lambda key, value: Path(_text(key, value))),
        "auth": ("auth", _truth),
        "max_body_bytes": ("max_body_bytes", _whole(_LEAST_BODY, 2**40)),
        "stop_seconds": ("stop_seconds", lambda key, value: number(key, value, 0.0, math.inf, open_high=True)),
        "log_level": ("log_level", lambda key, value: choice(key, value, LEVELS)),
    },
    "policy": {
        "order": ("policy", _text),
        "memory": ("memory", _text),
        "shed": ("shed", _text),
        "evict": ("evict", _text),
        "prefill_share": ("prefill_share", lambda key, value: number(key, value, 0.0, 1.0, open_high=True)),
        "pools": ("pools", lambda key, value: number(key, value, 0.0, 1.0, open_low=True, open_high=True)),
        "reserve": ("reserve", _text),
    },
    "engine": {
        "threads": ("threads", _whole(1, 1024)),
        "kv_tokens": ("kv_tokens", _whole(1, MOST_KV)),
        "slots": ("slots", _whole(1, MOST_SLOTS)),
        "token_budget": ("token_budget", _whole(1, MOST_BUDGET)),
    },
}
"""Keys of the file by section ("" is its top): the attribute of `Config` that each gives, and how it is judged."""

CHECKS: dict[str, Check] = {name: check for keys in SECTIONS.values() for name, check in keys.values()}
"""By attribute of `Config`."""


def _from_file(file: Path) -> dict[str, Any]:
    """Return the values of a file by attribute."""
    try:
        top: dict[str, Any] = tomllib.loads(read_bytes(file).decode())
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file}: not UTF-8 text; expected a configuration in TOML") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise InvalidInput(f"{file}: not TOML: {error}") from None
    values: dict[str, Any] = {}
    for section, keys in SECTIONS.items():
        table = top.pop(section, {}) if section else {key: top[key] for key in top if key not in SECTIONS}
        where = f"{file}: [{section}]" if section else str(file)
        if not isinstance(table, dict):
            raise InvalidInput(f"{where} is a section; head it with [{section}], got {section} = {table!r}")
        others = () if section else (name for name in SECTIONS if name)
        for key, value in table.items():
            if key not in keys:
                raise InvalidInput(f"{where}: unknown key '{key}'; {nearest(key, (*keys, *others))}")
            name, check = keys[key]
            try:
                values[name] = check(key, value)
            except InvalidInput as error:
                raise InvalidInput(f"{where}: {error}") from None
    return values


def _is_missing(path: Path) -> bool:
    """Whether nothing is there; what cannot be looked at is told of by whoever reads it."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # a path with a zero byte is a ValueError
        return False
    return False


def shown(config: Config) -> dict[str, Any]:
    """Return the keys of a file, with the values that hold, by section."""
    return {
        section: {key: getattr(config, name) for key, (name, _) in keys.items()} for section, keys in SECTIONS.items()
    }
