"""What clients may send: the bodies of `/v1/chat/completions` and `/v1/completions`.

A parameter that would change the answer and is not supported is refused, so that nobody gets an answer to another
question. What does not change it is taken and not looked at.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from headway.serve.backend import Sampling

MOST_STOPS = 4
MOST_K = 2**31 - 1  # what llama.cpp counts with
LONGEST_STOP = 256  # characters


def _written(text: str) -> str:
    """Refuse what JSON can spell and no text can hold: half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no character") from None
    return text


Text = Annotated[str, AfterValidator(_written)]


class StreamOptions(BaseModel):
    """What a stream brings beside the text."""

    model_config = ConfigDict(extra="forbid")

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None
    include_obfuscation: bool | None = None


class Body(BaseModel):
    """What both kinds of completion have in common."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    model: Text | None = Field(None, description="The served model; the only one there is if left out.")
    stream: bool | None = Field(None, description="Send the text as it comes (server-sent events).")
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(None, description="The most tokens of the answer.")
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0, le=MOST_K)] | None = Field(None, description="Draw among so many; 0 for all.")
    seed: int | None = None
    stop: Text | list[Text] | None = Field(None, description="Up to four texts that end the answer.")
    ignore_eos: bool | None = Field(None, description="Go on to the limit of tokens, whatever the model says.")
    priority: int | None = Field(None, description="Lower is more urgent.")
    service_tier: Text | None = Field(None, description="auto, default, flex or priority.")
    user: str | None = None
    metadata: dict[str, Any] | None = None
    # Known, and only with the value that changes nothing.
    n: Literal[1] | None = None
    frequency_penalty: Literal[0] | None = None
    presence_penalty: Literal[0] | None = None
    logit_bias: Annotated[dict[str, float], Field(max_length=0)] | None = None

    @field_validator("stop")
    @classmethod
    def _stops(cls, stop: str | list[str] | None) -> list[str]:
        stops = [stop] if isinstance(stop, str) else stop or []
        if len(stops) > MOST_STOPS or not all(0 < len(text) <= LONGEST_STOP for text in stops):
            raise ValueError(f"expected up to {MOST_STOPS} texts of 1 to {LONGEST_STOP} characters")
        return stops

    @field_validator("frequency_penalty", "presence_penalty", "n", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        """Take 0.0 for 0."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    @model_validator(mode="after")
    def _streamed(self) -> Self:
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options: only with stream = true")
        return self

    @property
    def stops(self) -> list[str]:
        """Texts that end the answer."""
        return list(self.stop or [])

    @property
    def limit(self) -> int | None:
        """The most tokens of the answer, if the client says so."""
        return self.max_tokens

    @property
    def sampling(self) -> Sampling:
        """How tokens are chosen; OpenAI's defaults."""
        return Sampling(
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            top_k=self.top_k or 0,
            seed=self.seed,
        )

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the counts of tokens."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def wants_counting(self) -> bool:
        """Whether every chunk of a stream has the counts of tokens so far; as vLLM has it."""
        return self.wants_usage and self.stream_options is not None and bool(self.stream_options.continuous_usage_stats)


class Part(BaseModel):
    """A part of a message; only text is known."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: Text


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "developer", "user", "assistant"]
    content: Text | list[Part] | None = None
    name: str | None = None
    # What clients send back of an answer: there is nothing in it.
    refusal: None = None
    annotations: Annotated[list[Any], Field(max_length=0)] | None = None
    tool_calls: Annotated[list[Any], Field(max_length=0)] | None = None
    function_call: None = None
    audio: None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.content is None and self.role != "assistant":
            raise ValueError(f"a message of role {self.role} needs content")
        return self

    @property
    def text(self) -> str:
        """The content as one text."""
        content = self.content or ""
        return content if isinstance(content, str) else "".join(part.text for part in content)


class TextFormat(BaseModel):
    """How the answer is to look: plain."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]


class ChatBody(Body):
    """`POST /v1/chat/completions`."""

    messages: Annotated[list[Message], Field(min_length=1)]
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = Field(None, description="As max_tokens.")
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    response_format: TextFormat | None = None
    tools: Annotated[list[Any], Field(max_length=0)] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    modalities: list[Literal["text"]] | None = None
    store: Literal[False] | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens of the answer, under its newer name or the older one."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def turns(self) -> list[dict[str, str]]:
        """Role and content of each message."""
        return [
            {"role": "system" if one.role == "developer" else one.role, "content": one.text} for one in self.messages
        ]


class CompletionBody(Body):
    """`POST /v1/completions`."""

    prompt: Text | Annotated[list[Text], Field(min_length=1, max_length=1)] | Annotated[list[int], Field(min_length=1)]
    echo: Literal[False] | None = None
    best_of: Literal[1] | None = None
    logprobs: Literal[0] | None = None
    suffix: Literal[""] | None = None

    @property
    def text(self) -> str | list[int]:
        """The prompt: a text, or tokens."""
        if isinstance(self.prompt, list) and isinstance(self.prompt[0], str):
            return self.prompt[0]
        return self.prompt  # type: ignore[return-value]
