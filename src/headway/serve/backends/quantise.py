"""Fewer bits for a model's weights: half the bytes that every iteration reads."""

from __future__ import annotations

from pathlib import Path

from headway.serve.backends.llama import llama
from headway.serve.store import SourceFailed

_Q4_0 = 2  # llama.cpp's number of this kind of file


def to_q4_0(source: Path, target: Path) -> None:
    """Write a GGUF model in Q4_0, from whatever precision it has.

    Raises:
        SourceFailed: llama.cpp cannot read it.
    """
    params = llama.LlamaModelQuantizeParams()
    params.ftype = _Q4_0
    params.allow_requantize = True
    try:
        llama.model_quantize(str(source), str(target), params)
    except RuntimeError as error:
        raise SourceFailed(f"llama.cpp cannot quantise {source.name} ({error})") from None
