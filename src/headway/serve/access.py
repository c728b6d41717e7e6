"""Who asks, and may they? API keys to tenants, and the limits of each tenant."""

from __future__ import annotations

import hashlib
import hmac
import math
from dataclasses import dataclass

from headway.serve.refusal import SHORTLY, Refused, wrong_value
from headway.workload.tenants import NOBODY, Tenant, TenantsFile, Terms

LONGEST_NAME = 128
"""Characters of a name that a client gives: it goes into metrics and logs."""

TENANT_HEADER = "x-llm-d-inference-fairness-id"
"""Names the tenant where no key does."""

_ROUNDING = 1e-6  # seconds: sums of intervals are not exact


@dataclass(frozen=True)
class Caller:
    """On whose behalf a request is served.

    Attributes:
        tenant: its name.
        terms: what holds for its requests, where they do not say otherwise.
    """

    tenant: str
    terms: Terms


def digest(key: str) -> bytes:
    """Return the SHA-256 of an API key (32 bytes), which is all that is kept of it.

    A key is random and long (`headway key`), so that a plain hash cannot be turned back by guessing.
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class Access:
    """Who is calling? The tenant whose key it is; without keys, whoever the client says.

    A token is hashed and compared with every key, always with all of them and in constant time, so that the time of an
    answer says nothing about a key. Cost: a hash and a microsecond a key.

    Args:
        file: the tenants; None for none.
        keys_required: whether a request must bring a key; without, keys that are brought are not looked at.
    """

    def __init__(self, file: TenantsFile | None, *, keys_required: bool) -> None:
        self._required = keys_required
        self._tenants: dict[str, Tenant] = {} if file is None else {tenant.name: tenant for tenant in file.tenants}
        self._keys = [(key, tenant) for tenant in self._tenants.values() for key in tenant.keys]
        self._default = Terms() if file is None else file.default
        self._strict = file is not None and file.strict

    def caller(self, authorization: str | None, named: str | None) -> Caller:
        """Return on whose behalf a request is served.

        Args:
            authorization: the header of that name, as in `Bearer hw-…`; None where it is missing.
            named: the tenant that a header names; None where none does.

        Raises:
            Refused: 401 without a key or with one that nobody has, 403 with a key of another tenant than the one
                named, or for a tenant that a strict file does not name.
        """
        if not self._required:
            return self._named(named or NOBODY)
        tenant = self._owner(authorization)
        if named not in (None, "", tenant.name):
            raise Refused(403, "tenant_mismatch", "the key is not that of the tenant named", param=TENANT_HEADER)
        return Caller(tenant.name, tenant.terms)

    def _owner(self, authorization: str | None) -> Tenant:
        """Return the tenant whose key a request brings."""
        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refused(401, "invalid_api_key", "an API key is missing; send it as Authorization: Bearer KEY")
        given = digest(token.strip())
        owner: Tenant | None = None
        for key, tenant in self._keys:
            if hmac.compare_digest(key, given):
                owner = tenant
        if owner is None:
            raise Refused(401, "invalid_api_key", "this API key is not known here")
        return owner

    def _named(self, name: str) -> Caller:
        tenant = self._tenants.get(name)
        if tenant is not None:
            return Caller(name, tenant.terms)
        if self._strict:
            raise Refused(403, "unknown_tenant", "no tenant of this name is served here", param=TENANT_HEADER)
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise wrong_value(TENANT_HEADER, f"expected at most {LONGEST_NAME} printable characters")
        return Caller(name, self._default)


class Limits:
    """May this tenant send another request now? Counts those in the server, and meters how fast they come.

    The meter is a virtual schedule (the generic cell rate algorithm): a request is due an interval after the one
    before, and may come early by as much as makes a minute's worth at once. It says exactly when the next one may come.
    Every question costs O(1); all are asked from one thread.

    Args:
        file: the tenants with their limits; None for none.
    """

    def __init__(self, file: TenantsFile | None) -> None:
        self._unfinished: dict[str, int] = {}  # of tenants that have any, with or without a limit
        self._due: dict[str, float] = {}  # when the next request of a metered tenant is due, in seconds
        self.use(file)

    def use(self, file: TenantsFile | None) -> None:
        """From now on these limits hold; requests in the server go on counting."""
        tenants = () if file is None else file.tenants
        self._most = {tenant.name: tenant.max_unfinished for tenant in tenants if tenant.max_unfinished is not None}
        self._rates = {
            tenant.name: tenant.requests_per_minute for tenant in tenants if tenant.requests_per_minute is not None
        }
        self._due = {name: due for name, due in self._due.items() if name in self._rates}

    def unfinished(self, tenant: str) -> int:
        """Requests of a tenant that are in the server."""
        return self._unfinished.get(tenant, 0)

    def take(self, tenant: str, now: float) -> None:
        """Count a request that comes at `now` (seconds), until `release`.

        Raises:
            Refused: 429, the tenant has reached a limit; nothing was counted then.
        """
        unfinished = self._unfinished.get(tenant, 0)
        most = self._most.get(tenant)
        if most is not None and unfinished >= most:
            raise _limited(f"this tenant has {unfinished:,} unfinished requests, the most that it may have", SHORTLY)
        rate = self._rates.get(tenant)
        if rate is not None:
            interval = 60.0 / rate
            due = max(self._due.get(tenant, -math.inf), now)
            early = due - max(60.0 - interval, 0.0) - now
            if early > _ROUNDING:
                raise _limited(f"this tenant may send {rate:g} requests a minute", early)
            self._due[tenant] = due + interval
        self._unfinished[tenant] = unfinished + 1

    def release(self, tenant: str) -> None:
        """A request that was counted has ended, however."""
        left = self._unfinished[tenant] - 1
        if left:
            self._unfinished[tenant] = left
        else:
            del self._unfinished[tenant]


def _limited(message: str, seconds: float) -> Refused:
    return Refused(429, "rate_limit_exceeded", f"{message}; try again later", retry_after=seconds, should_retry=True)
