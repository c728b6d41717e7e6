"""A wheel with a tiny model, in a folder that pip takes for its index."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from headway.serve.wheel import Wheel
from tests.serve.tiny_gguf import tiny_gguf

MODEL = "tiny_model/tiny.Q4_1.gguf"


def fake_wheel(folder: Path) -> Wheel:
    """Write a wheel into a folder; return what is expected of it."""
    path = folder / "tiny_model-1.2-py3-none-any.whl"
    about = "tiny_model-1.2.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MODEL, tiny_gguf())
        # It needs what no index has, and must be fetched without it.
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.2\nRequires-Dist: no-such"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return Wheel("tiny-model", "1.2", hashlib.sha256(path.read_bytes()).hexdigest(), MODEL)
