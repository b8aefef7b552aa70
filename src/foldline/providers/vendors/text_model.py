"""
Models that are asked for a text, as a summarizer asks, by the clients of Google and of Amazon Bedrock.

Source: the references of `google-genai` and of boto3 (`bedrock-runtime`, `converse`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

from foldline.history.formats.responses import converse_usage, gemini_usage
from foldline.history.formats.wire import Object, maybe_list, maybe_object, maybe_text
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest, ChatResponse, FinishReason
from foldline.providers.vendors.failure import cloud_errors, sdk_errors
from foldline.providers.worker import asked


_FINISHES: Mapping[str, FinishReason] = {
    "MAX_TOKENS": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT"), "content_filter"),
}


def text_model(client: object, model: str | None, window: int | None) -> "TextModel | None":
    """Return what asks *model* through *client*; None if that is of neither of them."""
    kinds = (_Gemini, _Converse)
    kind = next((one for one in kinds if callable(one.method(client))), None)
    return None if kind is None else kind(client, model or "", window)


class TextModel(ABC):
    """A `ChatModel` that is shown the texts of a request."""

    _vendor: ClassVar[str]
    _path: ClassVar[str]

    def __init__(self, client: object, model: str, window: int | None) -> None:
        self._client = client
        self._model = model
        self.name = f"{self._vendor}:{model}"
        """The identity of the model."""
        self.context_window = window
        """The window in tokens; None leaves it to the book of models."""

    @classmethod
    def method(cls, client: object) -> Any:
        """Return the method of *client* that asks; None if it has none."""
        try:
            return attrgetter(cls._path)(client)
        except AttributeError:
            return None

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return what the model says to *request*; raise what `ChatModel.respond` raises."""
        rules = [one.text for one in request.messages if one.role == "system"]
        texts = [one.text for one in request.messages if one.role != "system"]
        given = self._arguments(rules, texts, dict(request.settings))
        with sdk_errors(self.name), cloud_errors(self.name):
            answer = await asked(partial(self.method(self._client), **given), name=self.name)
        dump = getattr(answer, "model_dump", None)
        return self._read(maybe_object(dump(mode="json", exclude_none=True) if dump else answer))

    @abstractmethod
    def _arguments(
        self, rules: Sequence[str], texts: Sequence[str], settings: Object
    ) -> Object: ...

    @abstractmethod
    def _read(self, answer: Object) -> ChatResponse: ...


class _Gemini(TextModel):
    _vendor = "google"
    _path = "models.generate_content"

    def _arguments(self, rules: Sequence[str], texts: Sequence[str], settings: Object) -> Object:
        config = {"system_instruction": "\n\n".join(rules), **settings}
        return {"model": self._model, "contents": [*texts], "config": config}

    def _read(self, answer: Object) -> ChatResponse:
        chosen = maybe_object(next(iter(maybe_list(answer.get("candidates"))), None))
        parts = maybe_list(maybe_object(chosen.get("content")).get("parts"))
        said = [part for part in map(maybe_object, parts) if not part.get("thought")]
        usage = gemini_usage(maybe_object(answer.get("usage_metadata")))
        return _response(said, usage=usage, stopped=chosen.get("finish_reason"))


class _Converse(TextModel):
    _vendor = "bedrock"
    _path = "converse"

    def _arguments(self, rules: Sequence[str], texts: Sequence[str], settings: Object) -> Object:
        system, content = ([{"text": text} for text in some] for some in (rules, texts))
        messages = [{"role": "user", "content": content}]
        return {"modelId": self._model, "system": system, "messages": messages, **settings}

    def _read(self, answer: Object) -> ChatResponse:
        message = maybe_object(maybe_object(answer.get("output")).get("message"))
        usage = converse_usage(maybe_object(answer.get("usage")))
        said = maybe_list(message.get("content"))
        return _response(said, usage=usage, stopped=answer.get("stopReason"))


def _response(blocks: Sequence[Any], *, usage: Any, stopped: Any) -> ChatResponse:
    text = "".join(maybe_text(maybe_object(block).get("text")) for block in blocks)
    return ChatResponse(
        messages=(Message.assistant(text),),
        usage=usage,
        finish_reason=_FINISHES.get(maybe_text(stopped), "stop"),
    )
