"""A GGUF file small enough for a test, whole enough for llama.cpp to quantise: one layer of a llama, no vocabulary.

Layout: the GGUF specification, version 3 (ggml project, docs/gguf.md).
"""

from __future__ import annotations

import struct

import numpy as np

_UINT32, _FLOAT32, _STRING = 4, 6, 8
_WIDTH, _HIDDEN, _WORDS = 64, 128, 32


def tiny_gguf() -> bytes:
    """Return a model of float32 weights."""
    keys: dict[str, str | int | float] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.context_length": 64,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": _HIDDEN,
        "llama.attention.head_count": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": _WORDS,
    }
    square, up, down = (_WIDTH, _WIDTH), (_WIDTH, _HIDDEN), (_HIDDEN, _WIDTH)
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (_WIDTH, _WORDS),
        "output_norm.weight": (_WIDTH,),
        "output.weight": (_WIDTH, _WORDS),
        "blk.0.attn_norm.weight": (_WIDTH,),
        "blk.0.ffn_norm.weight": (_WIDTH,),
        **{f"blk.0.attn_{which}.weight": square for which in ("q", "k", "v", "output")},
        "blk.0.ffn_gate.weight": up,
        "blk.0.ffn_up.weight": up,
        "blk.0.ffn_down.weight": down,
    }
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(keys))
    head += b"".join(_string(key) + _value(value) for key, value in keys.items())
    data, random = b"", np.random.default_rng(1)
    for name, shape in shapes.items():
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        data += random.normal(size=int(np.prod(shape))).astype("<f4").tobytes()
    return head + bytes(-len(head) % 32) + data


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _value(value: str | float) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    return struct.pack("<If", _FLOAT32, value)
