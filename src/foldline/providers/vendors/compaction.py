"""
The vendor's own compaction as a summarizer, behind our trigger and our hash.

OpenAI answers with an item that only OpenAI can read; beside it stands a record made by code, the
offline digest, which everything else uses. Anthropic answers with a text, which has to keep the
contract as every summary does; its signature is not kept.

Source: the API references of both (developers.openai.com, "Compact a response";
platform.claude.com, "Compaction on demand"), read on 2026-11-23.
"""

from collections.abc import Iterator
from copy import copy
from typing import Self, TypeVar

from msgspec.structs import replace

from foldline.checks import expect, expect_whole
from foldline.errors import ConfigError, SummarizerError
from foldline.history.formats.renderings import render_openai_responses
from foldline.history.formats.wire import Object, readable_text
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    CompactionPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.signed import only_sealed
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.digest.text import clean
from foldline.providers.model import ChatRequest, window_of
from foldline.providers.summarizer import instruction, spend
from foldline.providers.vendors.client_model import ClientModel, named_model
from foldline.providers.vendors.wire_formats import AnthropicMessages, OpenAIResponses
from foldline.reduction.request import Summary, SummaryRequest


_Found = TypeVar("_Found", str, Message)

_PROMPT = """\
{prompt}
{focus}
Use at most {budget} tokens, which is about {words} words. Write the summary alone.
{defects}"""
_BETA = "compact-2026-09-04"


class VendorCompaction:
    """
    A `Summarizer` that has a vendor compact exactly the messages that a fold takes away.

    It is for the vendor that the agent itself asks. Secrets of known shapes are taken out before, and
    so is reasoning; media leave a mark of their kind.
    """

    def __init__(
        self, client: object, model: str, *, name: str | None = None, window: int | None = None
    ) -> None:
        """
        Compact with *model*.

        Args:
            client: An `OpenAI` or an `Anthropic`, blocking or async, or what has their method
                `responses.compact` or `messages.create`.
            name: The identity of the summarizer; by default that of the model, and `compaction`.
            window: How many tokens the model reads at once, if the book of models does not know it.

        Raises:
            ConfigError: *client* has neither method, or an argument is wrong.
        """
        expect("model", model, str)
        expect("name", name, str | None)
        expect_whole("window", window, 1, optional=True)
        if callable(OpenAIResponses.method(client, "compact")):
            wire: type[OpenAIResponses | AnthropicMessages] = OpenAIResponses
        elif callable(AnthropicMessages.method(client)):
            wire = AnthropicMessages
        else:
            message = f"client must be one of OpenAI or Anthropic, got {type(client).__name__}"
            raise ConfigError(message)
        self.is_code = wire is OpenAIResponses
        """Whether code writes the text, since only the vendor can read what it makes."""
        self._model = named_model(client, model)
        self._asked = ClientModel(client, self._model, wire=wire, window=window)
        self.model_name = self._asked.name
        """The name of the model that compacts."""
        self.name = f"{self._asked.name} compaction" if name is None else name
        """The identity of the summarizer."""
        self._before: Message | None = None
        self._digest = DigestSummarizer()

    @property
    def context_window(self) -> int | None:
        """The model's context window in tokens; None if it is not known."""
        return window_of(self._asked)

    def after(self, sealed: Message | None, digest: DigestSummarizer) -> Self:
        """Return this summarizer for a view that begins with *sealed*; *digest* writes its text."""
        made = copy(self)
        made._digest = digest  # noqa: SLF001
        made._before = sealed if self.is_code else None  # noqa: SLF001
        return made

    async def summarize(self, request: SummaryRequest) -> str | Summary:
        """
        Return what the vendor makes of *request*.

        Raises:
            SummarizerError: It made nothing.
            ModelError: The vendor failed.
        """
        asked = instruction(_PROMPT, request).strip()
        view = tuple(_view(request, self._before, keeps_sealed=self.is_code))
        if not self.is_code:
            wanted = {"type": "summarize", "instructions": asked}
            settings = {"compaction": wanted, "betas": [_BETA]}
            response = await self._asked.respond(ChatRequest(messages=view, settings=settings))
            spend(response.usage)
            parts = (part for one in response.messages for part in one.parts)
            texts = (one.content for one in parts if isinstance(one, CompactionPart))
            return self._made("\n".join(filter(None, texts)))
        given: Object = {"model": self._model, "input": render_openai_responses(view)}
        response = await self._asked.answered({**given, "instructions": asked}, method="compact")
        spend(response.usage)
        found = next(filter(None, map(only_sealed, reversed(response.messages))), None)
        sealed = self._made(found)
        text = await self._digest.summarize(request)
        return Summary(text=text, sealed=sealed)

    def _made(self, found: _Found | None) -> _Found:
        if not found:
            raise SummarizerError(f"{self.name} returned no compaction")
        return found


def _view(
    request: SummaryRequest, before: Message | None, *, keeps_sealed: bool
) -> Iterator[Message]:
    """Give what a vendor reads of *request*, after the item *before* of its own."""
    if before is not None:
        yield before
    for text in request.earlier:
        label = {SUMMARY_KEY: True}
        yield Message(role="assistant", parts=(TextPart(clean(text)),), metadata=label)
    for message in request.messages:
        sealed = only_sealed(message) if keeps_sealed else None
        parts = tuple(part for part in map(_readable, message.parts) if part is not None)
        yield sealed or Message(role=message.role, parts=parts, name=message.name)


def _readable(part: Part) -> Part | None:
    """Return *part* without secrets; None if it is thought, or nothing that can be read."""
    match part:
        case ToolCallPart():
            return replace(part, arguments=clean(part.arguments))
        case ToolCallResponsePart():
            given = part.response
            texts = [given] if isinstance(given, str) else map(readable_text, given)
            return replace(part, response=clean("\n".join(filter(None, texts))))
        case _:
            text = readable_text(part)
            return TextPart(clean(text)) if text else None
