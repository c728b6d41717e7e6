"""What a text of the user names: a file where there is one, else what is built in."""

from __future__ import annotations

from pathlib import Path

from headway.core.engine import PRESETS, EngineProfile, engine_from_toml, preset
from headway.core.errors import InvalidEngine, InvalidInput, InvalidWorkload, nearest
from headway.core.spec import parse_spec
from headway.workload import SeededTrace, TenantsFile, Trace, open_trace, read_tenants, workloads
from headway.workload.files import exists, read_bytes
from headway.workload.tenants_toml import is_tenants

HERE = Path()


def engine_named(text: str, folder: Path = HERE) -> EngineProfile:
    """Return a preset of that name, or what a TOML file describes; its path counts from `folder`.

    Raises:
        InvalidEngine: there is no such preset or file, or the file does not describe an engine.
    """
    if text in PRESETS:
        return preset(text)
    path = folder / text
    if not text or not exists(str(path)):
        if path.suffix == ".toml" or len(Path(text).parts) > 1:
            raise InvalidEngine(f"engine file {path}: there is no such file")
        return preset(text)
    try:
        content = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise InvalidEngine(f"engine file {path}: not UTF-8 text; expected TOML") from None
    except OSError as error:
        raise InvalidEngine(f"engine file {path}: cannot be read: {error.strerror or error}") from None
    return engine_from_toml(content, path.stem)


def origin_named(text: str, tokens_per_image: int = 0, folder: Path = HERE) -> Trace | SeededTrace | TenantsFile | str:
    """Return the trace or tenants file of that path, which counts from `folder`, or the spec of a named workload.

    Raises:
        InvalidInput: it is neither, or the file cannot be read.
    """
    path = folder / text
    if text and exists(str(path)):
        return read_tenants(path) if is_tenants(path) else open_trace(path, tokens_per_image=tokens_per_image)
    try:
        name = parse_spec(text).name
    except InvalidInput:
        name = text.partition("(")[0]
        if name in workloads():
            raise
    if name not in workloads():
        raise InvalidWorkload(f"'{text}' is neither a file nor a workload; {nearest(name, workloads())}")
    return text
