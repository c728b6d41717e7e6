"""llama.cpp in process, through cyllama: one context, one unified KV cache, mixed batches."""

from __future__ import annotations

import os
from collections.abc import Mapping
from collections.abc import Sequence as Items
from pathlib import Path

from headway.core.errors import InvalidInput
from headway.serve.backend import BackendFailed, Row, Sampling
from headway.serve.chat import ChatTemplate

# Idle OpenMP workers spin by default, which costs whoever else needs the cores; read when the library loads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import cyllama.llama.llama_cpp as llama

llama.disable_logging()

DEFAULT_CONTEXT = 8192
_ANY_SEED = 0xFFFFFFFF  # llama.cpp draws one itself


class LlamaVocabulary:
    """The vocabulary of a GGUF model, with its chat template."""

    def __init__(self, model: llama.LlamaModel) -> None:
        self._vocab = model.get_vocab()
        self.size: int = self._vocab.n_vocab
        self._begins: bool = self._vocab.get_add_bos()
        # At the begin of a text llama.cpp drops a space; after another token it does not.
        self._anchor: list[int] = self._vocab.tokenize("a", False, False)
        self._anchored: int = len(self._vocab.detokenize(self._anchor, False, False))
        names = {name: self._name(token) for name, token in (("bos_token", "token_bos"), ("eos_token", "token_eos"))}
        self._template = ChatTemplate(model.get_default_chat_template() or "", names)

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text, with the token that begins every sequence where the model wants one."""
        return self._vocab.tokenize(text, self._begins and not special, special)

    def chat(self, messages: Items[Mapping[str, str]]) -> str:
        """Return the prompt of a conversation by the model's own template."""
        return self._template.prompt(messages)

    def text(self, tokens: Items[int]) -> str:
        """Return the text of tokens, without control tokens; the space before the first one is kept."""
        return self._vocab.detokenize([*self._anchor, *tokens], False, False)[self._anchored :]

    def ends(self, token: int) -> bool:
        """Whether an answer is complete with this token."""
        return self._vocab.is_eog(token)

    def _name(self, getter: str) -> str:
        token = getattr(self._vocab, getter)()
        return self._vocab.get_text(token) if token >= 0 else ""


class LlamaBackend:
    """A GGUF model on this machine's processors.

    Args:
        path: the model.
        kv_tokens: tokens that the KV cache holds, of all sequences together.
        slots: sequences that it holds at most.
        budget: positions of one iteration.
        threads: of computation.

    Raises:
        InvalidInput: it is no model that llama.cpp can load, or it does not fit the memory.
    """

    def __init__(self, path: Path, *, kv_tokens: int, slots: int, budget: int, threads: int) -> None:
        self.name = path.stem
        self.kv_tokens, self.slots, self.budget, self._threads = kv_tokens, slots, budget, threads
        try:
            self._model = llama.LlamaModel(str(path), llama.LlamaModelParams())
        except (OSError, RuntimeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{path}: llama.cpp cannot load it ({error}); expected a GGUF model") from None
        self.context = min(kv_tokens, self._model.n_ctx_train)
        self.vocabulary = LlamaVocabulary(self._model)
        self._batch = llama.LlamaBatch(n_tokens=budget, embd=0, n_seq_max=1)
        self._samplers: dict[int, llama.LlamaSampler] = {}
        self._open_context()

    def open(self, slot: int, sampling: Sampling) -> None:
        """A sequence takes a slot."""
        self._samplers[slot] = _sampler(sampling)

    def decode(self, rows: Items[Row]) -> list[int]:
        """Compute an iteration; return a token for each row that wants one.

        Decodes and prompts are computed apart. Attention goes over tiles of rows, and skips cache that no row of a tile
        looks at: a prompt next to decodes of many sequences would go over the cache of all of them. That costs more
        than to read the weights twice (benchmarks/README.md).
        """
        single = [row for row in rows if len(row.tokens) == 1]
        longer = [row for row in rows if len(row.tokens) > 1]
        found = {slot: token for part in (single, longer) if part for slot, token in self._compute(part)}
        return [found[row.slot] for row in rows if row.wanted]

    def _compute(self, rows: Items[Row]) -> list[tuple[int, int]]:
        """Compute rows in one go; return slot and token of those that want one."""
        batch = self._batch
        batch.clear()
        add, wanted, index = batch.add, [], -1
        for row in rows:
            last, slot, position = len(row.tokens) - 1, [row.slot], row.position
            for offset, token in enumerate(row.tokens):
                add(token, position + offset, slot, row.wanted and offset == last)
            index += last + 1
            if row.wanted:
                wanted.append((row.slot, index))
        try:
            self._context.decode(batch)
            return [(slot, self._samplers[slot].sample(self._context, index)) for slot, index in wanted]
        except (ValueError, RuntimeError, InterruptedError) as error:
            raise BackendFailed(f"llama.cpp: {error}") from error

    def drop(self, slot: int) -> None:
        """Forget what is held for a slot."""
        self._context.memory_seq_rm(slot, -1, -1)

    def close(self, slot: int) -> None:
        """The sequence has ended."""
        self.drop(slot)
        self._samplers.pop(slot, None)

    def held(self, slot: int) -> int:
        """Tokens that are held for a slot."""
        return self._context.memory_seq_pos_max(slot) + 1

    def reset(self) -> None:
        """Make a new context."""
        self._samplers.clear()
        self._context.close()
        self._open_context()

    def shutdown(self) -> None:
        """Free context and model."""
        self._samplers.clear()
        self._batch.close()
        self._context.close()
        self._model.close()

    def _open_context(self) -> None:
        params = llama.LlamaContextParams()
        params.n_ctx = self.kv_tokens
        params.n_batch = params.n_ubatch = self.budget
        params.n_seq_max = self.slots
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = self._threads
        try:
            self._context = llama.LlamaContext(self._model, params)
        except (RuntimeError, ValueError) as error:
            raise BackendFailed(f"llama.cpp: {error}") from error


def _sampler(sampling: Sampling) -> llama.LlamaSampler:
    sampler = llama.LlamaSampler(llama.LlamaSamplerChainParams())
    if sampling.temperature <= 0:
        sampler.add_greedy()
        return sampler
    if sampling.top_k:
        sampler.add_top_k(sampling.top_k)
    if sampling.top_p < 1:
        sampler.add_top_p(sampling.top_p, 1)
    sampler.add_temp(sampling.temperature)
    sampler.add_dist(_ANY_SEED if sampling.seed is None else sampling.seed % _ANY_SEED)
    return sampler
