"""A conversation to one prompt, by the template that a model brings with it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from collections.abc import Sequence as Items

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from headway.core.errors import InvalidInput


class ChatTemplate:
    """A model's chat template; it runs in a sandbox, since it comes with a file from elsewhere.

    Args:
        source: Jinja, as in `tokenizer.chat_template`; empty for a model without one.
        names: texts of the control tokens that templates use, as `bos_token`.
    """

    def __init__(self, source: str, names: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = _today
        self._names = dict(names)
        try:
            self._template = environment.from_string(source) if source else None
        except TemplateError as error:
            raise InvalidInput(f"the model's chat template cannot be read: {error}") from None

    def prompt(self, messages: Items[Mapping[str, str]]) -> str:
        """Return the prompt, up to where the assistant's answer begins.

        Raises:
            InvalidInput: the model has no template, or it refuses these messages.
        """
        if self._template is None:
            raise InvalidInput("the model has no chat template; send a prompt to /v1/completions")
        try:
            return self._template.render(messages=list(messages), add_generation_prompt=True, **self._names)
        except TemplateError as error:
            raise InvalidInput(f"the model's chat template refuses these messages: {error}") from None


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _today(layout: str) -> str:
    return datetime.datetime.now(tz=datetime.UTC).strftime(layout)
