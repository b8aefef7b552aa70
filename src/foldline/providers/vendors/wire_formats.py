"""
The wire formats: OpenAI Chat Completions, which most vendors speak, Responses, Anthropic Messages.

Source: the API references of both; the fields `reasoning_content` (DeepSeek and others), `reasoning`
and `reasoning_details` (OpenRouter, Ollama, vLLM) of compatible vendors. Reasoning is sent back in
the field in which it came.

A vendor of Responses stores nothing unless the model is opened to hold its history there; otherwise
reasoning travels encrypted and is sent back with the next request.

The prompt of Anthropic is cached up to the last message of each request, so the next request reads
all of it from the cache; other marks are those of `cache_marks`. The setting `betas` is a list of names; it is sent as a header. Models that
refuse thinking bound to another prefix are asked to drop it instead: what is known to be bound
elsewhere is left out before, and this is for what nobody can know (platform.claude.com, "Fix a
thinking block bound to a different conversation", read on 2026-11-22).
"""

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from msgspec.structs import replace

from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.formats.responses import (
    REASONING,
    THOUGHTS,
    ChatStream,
    anthropic_usage,
    first_choice,
    joined_events,
)
from foldline.history.formats.wire import (
    Object,
    is_list,
    is_object,
    json_text,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.messages import Message, Native, NativeFormat
from foldline.providers.book import MARKED_MODELS
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.vendors.cache_marks import mark_anthropic, mark_openai
from foldline.providers.vendors.turns import in_turns
from foldline.providers.vendors.vendor_model import END, TURNS, StreamReader, WireModel, described


_DETAILS = "reasoning_details"
_SENT_BACK = ("role", "content", "refusal", *REASONING, _DETAILS, "tool_calls")
_STRUCTURE = frozenset({"$defs", "$ref", "additionalProperties", "anyOf", "items", "properties"})
# What a schema may hold for a vendor to promise arguments that fit it.
_STRICT_KEYS = _STRUCTURE | {"const", "description", "enum", "required", "title", "type"}


def is_strict(schema: Mapping[str, object]) -> bool:
    """Whether OpenAI takes *schema* as strict: an object, every property required, no others."""
    return schema.get("type") == "object" and _is_strict(dict(schema))


def _is_strict(schema: Object) -> bool:
    if not schema.keys() <= _STRICT_KEYS:
        return False
    properties = maybe_object(schema.get("properties"))
    kind = schema.get("type")
    if "object" in (kind if isinstance(kind, list) else [kind]) and (
        schema.get("additionalProperties") is not False
        or set(maybe_list(schema.get("required"))) != properties.keys()
    ):
        return False
    inner = [*properties.values(), *maybe_object(schema.get("$defs")).values()]
    inner += maybe_list(schema.get("anyOf"))
    inner += [schema["items"]] if "items" in schema else []
    return all(is_object(one) and _is_strict(one) for one in inner)


class _ChatReader(StreamReader):
    def __init__(self) -> None:
        super().__init__()
        self._stream = ChatStream()
        self._is_ended = False

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        if event.get("type") == END:
            self._is_ended = True
            return
        delta, calls = self._stream.take(event)
        if thought := _reasoning(delta) or maybe_text(delta.get(THOUGHTS)):
            yield ReasoningDelta(thought)
        for key in ("content", "refusal"):
            if piece := maybe_text(delta.get(key)):
                yield TextDelta(piece)
        for place, own_id, name, arguments in calls:
            yield ToolCallDelta(index=place, id=own_id, name=name, arguments=arguments)

    def whole(self) -> Object | None:
        return self._stream.whole() if self._stream.finish or self._is_ended else None


class _OpenAI(WireModel):
    _text: ClassVar[str]

    def _marked(self, items: list[Object], request: ChatRequest) -> list[Object]:
        is_whole = request.service_thread_id is None
        if self._caches_prompt and is_whole and re.match(MARKED_MODELS, self._model):
            return mark_openai(items, request.settings, self._text)
        return items


def _seal(block: Object) -> object:
    """Return what a vendor reads of *block*, which is reasoning, or what says that it is unchanged."""
    return block.get("signature") or block.get("data")


class OpenAIChat(_OpenAI):
    """Chat Completions as one model speaks it."""

    _text = "text"
    _endpoint = "chat.completions"
    _required = ("model", "messages")
    _format = NativeFormat.OPENAI_CHAT
    _reader = _ChatReader
    _takes_turns = True

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: FBT001
        items = render_openai_chat(request.messages)
        if self.refused:
            items = [*map(self._readable, items)]
        if TURNS in self.refused:
            items = in_turns(items)
        body: Object = {"messages": self._marked(items, request)}
        if request.tools:
            body["tools"] = [
                {"type": "function", "function": self._function(tool)} for tool in request.tools
            ]
        if streamed:
            body["stream_options"] = {"include_usage": True}
        return body

    def _thoughts(self, request: ChatRequest) -> Iterator[object]:
        # Those of OpenRouter, behind which another vendor may answer each time.
        for item in render_openai_chat(request.messages):
            yield from filter(None, map(_seal, maybe_list(item.get(_DETAILS))))

    def _readable(self, item: Object) -> Object:
        """Return *item* without reasoning of which something is refused."""
        if self.refused.isdisjoint(map(_seal, maybe_list(item.get(_DETAILS)))):
            return item
        return {key: item[key] for key in item if key not in {*REASONING, _DETAILS}}

    def _function(self, tool: ToolDefinition) -> Object:
        function = described(tool) | {"parameters": dict(tool.parameters)}
        is_promised = self._profile.get("openai_supports_strict_tool_definition", True)
        is_promised = is_promised and is_strict(tool.parameters)
        return function | ({"strict": True} if is_promised else {})

    def _messages(self, whole: Object) -> tuple[Message, ...]:
        given = maybe_object(first_choice(whole).get("message"))
        messages = super()._messages(_readable(whole, given))
        return tuple(_with_reasoning(message, given) for message in messages)

    def _stopped(self, whole: Object) -> str:
        return maybe_text(first_choice(whole).get("finish_reason"))


def _readable(whole: Object, given: Object) -> Object:
    """Return *whole* with the reasoning of its message in the one field that is read."""
    if not given:
        return whole
    thought = {"reasoning_content": _reasoning(given)} if _reasoning(given) else {}
    return {**whole, "choices": [{"message": {**given, **thought}}]}


def _reasoning(given: Object) -> str:
    return next(filter(None, (maybe_text(given.get(key)) for key in REASONING)), "")


def _with_reasoning(message: Message, given: Object) -> Message:
    """Keep the item itself if its reasoning came in a field that the parts do not write."""
    if not given.get("reasoning") and not given.get(_DETAILS):
        return message
    item = {
        key: given.get(key) for key in _SENT_BACK if key == "content" or given.get(key) is not None
    }
    return replace(message, native=Native(format=NativeFormat.OPENAI_CHAT, item=json_text(item)))


ENCRYPTS = "openai_supports_encrypted_reasoning_content"
"""What says in a profile that a model returns its reasoning encrypted."""

_CACHING, _COMPARED = "prompt_cache_options", "comparison_response_id"
_SEALED = "reasoning.encrypted_content"
_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHT = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ARGUMENTS = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
_CALLS = frozenset({"function_call", "custom_tool_call"})


# OpenAI's models that do not reason: they refuse the reasoning of those that do ("can only be
# provided to a reasoning or computer use model", openai/openai-agents-python#569).
_PLAIN = re.compile(r"(?:ft:)?(?:gpt-[34]|chatgpt-|gpt-5-chat)").match


def _without_reasoning(item: Object) -> Object:
    # The id would name the reasoning that the item was made of.
    is_made = item.get("role") == "assistant" or item.get("type") in _CALLS
    return {key: item[key] for key in item if key != "id"} if is_made else item


class _ResponsesReader(StreamReader):
    def __init__(self) -> None:
        super().__init__()
        self._events: list[Object] = []

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        kind, piece = maybe_text(event.get("type")), maybe_text(event.get("delta"))
        place = maybe_count(event.get("output_index"))
        item = maybe_object(event.get("item"))
        self._events.append(event)
        if kind in _TEXT:
            yield TextDelta(piece)
        elif kind in _THOUGHT:
            yield ReasoningDelta(piece)
        elif kind in _ARGUMENTS:
            yield from self._grown(place, piece)
        elif kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            yield ReasoningDelta("\n")
        elif kind == "response.output_item.added" and item.get("type") in _CALLS:
            yield self._started(place, item.get("call_id"), item.get("name"))

    def whole(self) -> Object | None:
        if not self._events:
            return None
        return joined_events(self._events, NativeFormat.OPENAI_RESPONSES) or None


class OpenAIResponses(_OpenAI):
    """The Responses API as one model speaks it."""

    _text = "input_text"
    _endpoint = "responses"
    _format = NativeFormat.OPENAI_RESPONSES
    _reader = _ResponsesReader

    def _thoughts(self, request: ChatRequest) -> Iterator[object]:
        for one in render_openai_responses(request.messages):
            if one.get("type") == "reasoning":
                yield one.get("id")

    def _readable(self, items: list[Object]) -> Iterator[Object]:
        """Yield *items* without reasoning that the model refuses, and what is made of it as text and calls."""
        is_plain, is_gone = _PLAIN(self._model) is not None, False
        for one in items:
            if one.get("type") == "reasoning":
                is_gone = is_plain or one.get("id") in self.refused
            if not is_gone:
                yield one
            elif one.get("type") != "reasoning":
                yield _without_reasoning(one)

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: ARG002, FBT001
        items = render_openai_responses(request.messages)
        if _PLAIN(self._model) or self.refused:
            items = [*self._readable(items)]
        body: Object = {"input": self._marked(items, request), "store": self._holds_history}
        if request.service_thread_id is not None:
            body["previous_response_id"] = request.service_thread_id
        if request.tools:
            # A schema is strict here unless it says that it is not.
            body["tools"] = [
                {
                    "type": "function",
                    **described(tool),
                    "parameters": dict(tool.parameters),
                    "strict": is_strict(tool.parameters),
                }
                for tool in request.tools
            ]
        if self._profile.get(ENCRYPTS):
            body["include"] = [_SEALED]
        return body

    def body(self, request: ChatRequest, *, streamed: bool) -> Object:
        """Write *request* as `WireModel.body` does, and fill in the response to compare with."""
        body = super().body(request, streamed=streamed)
        options = maybe_object(body.get(_CACHING))
        if _COMPARED in options and options[_COMPARED] is None:
            body[_CACHING] = {**options, _COMPARED: request.previous_id}
        return body

    def _prewarming(self, settings: Mapping[str, object]) -> Object:
        if not re.match(MARKED_MODELS, self._model):
            return {}
        options = {**maybe_object(settings.get(_CACHING)), "prewarm": True}
        options.pop(_COMPARED, None)
        return {_CACHING: options}

    def read(self, whole: Object) -> ChatResponse:
        """Return what *whole* says as `WireModel.read` does, and the conversation that is held."""
        response = super().read(whole)
        return replace(response, service_thread_id=response.id if self._holds_history else None)

    def _stopped(self, whole: Object) -> str:
        if whole.get("status") == "failed":
            return "error"
        why = maybe_object(whole.get("incomplete_details")).get("reason")
        if why is None:
            return ""
        return "content_filter" if why == "content_filter" else "length"


DEFAULT_MAX_TOKENS = 8192
"""How many tokens a model may write by default; the vendor requires a number."""

_DIAGNOSTICS, _COMPARED_MESSAGE = "diagnostics", "previous_message_id"
_BETAS = "betas"
_BETA_HEADER = "anthropic-beta"
_MARK = "cache_control"
_BINDING = "thinking-binding-controls-2026-08-01"
# Not the date of a snapshot; of the models since 5.1 only Mythos 5.1 has no check.
_VERSION = re.compile(r"claude-(?!mythos-5-1)(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)").search
_FIRST_CHECKED = (5, 1)
_THINKS = frozenset({None, "adaptive", "enabled"})


# What calls are sent with where no tool is defined: the vendor refuses them else ("must define
# tools", anthropics/anthropic-sdk-python#494).
_NO_TOOLS: Mapping[str, object] = {
    "tools": [{"name": "none", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "none"},
}


class _MessageReader(StreamReader):
    def __init__(self) -> None:
        super().__init__()
        self._events: list[Object] = []
        self._is_ended = False

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        kind, place = event.get("type"), maybe_count(event.get("index"))
        self._events.append(event)
        if kind == "content_block_start":
            block = maybe_object(event.get("content_block"))
            if block.get("type") == "tool_use":
                yield self._started(place, block.get("id"), block.get("name"))
            elif text := maybe_text(block.get("text")):
                yield TextDelta(text)
        elif kind == "content_block_delta":
            yield from self._piece(maybe_object(event.get("delta")), place)
        elif kind == "message_stop":
            self._is_ended = True

    def _piece(self, delta: Object, place: int) -> Iterator[ChatDelta]:
        match delta:
            case {"type": "text_delta", "text": str() as text}:
                yield TextDelta(text)
            case {"type": "thinking_delta", "thinking": str() as text}:
                yield ReasoningDelta(text)
            case {"type": "input_json_delta", "partial_json": str() as text}:
                yield from self._grown(place, text)
            case _:
                pass

    def whole(self) -> Object | None:
        return joined_events(self._events, NativeFormat.ANTHROPIC) if self._is_ended else None


def _is_thought(block: Object) -> bool:
    return block.get("type") in {"thinking", "redacted_thinking"}


class AnthropicMessages(WireModel):
    """The Messages API as one model speaks it."""

    _endpoint = "messages"
    _required = ("model", "max_tokens", "messages")
    _format = NativeFormat.ANTHROPIC
    _reader = _MessageReader
    _usage = staticmethod(anthropic_usage)

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: ARG002, FBT001
        view = render_anthropic(request.messages)
        if self.refused:
            view = replace(view, messages=[*self._readable(view.messages)])
        # What a model may think counts as written.
        thinking = maybe_object(request.settings.get("thinking"))
        limit = DEFAULT_MAX_TOKENS + maybe_count(thinking.get("budget_tokens"))
        body: Object = {"max_tokens": limit}
        if view.system:
            body["system"] = view.system
        body["messages"] = view.messages
        if request.tools:
            body["tools"] = [
                described(tool) | {"input_schema": dict(tool.parameters)} for tool in request.tools
            ]
        elif request.lacks_tools:
            body |= _NO_TOOLS
        if self._caches_prompt:
            marks_request = self._profile.get("supports_auto_cache", True)
            body |= mark_anthropic(
                view.system, view.messages, request.settings, marks_request=marks_request
            )
        return body

    def body(self, request: ChatRequest, *, streamed: bool) -> Object:
        """Write *request* as `WireModel.body` does, and say what to do with thinking bound elsewhere."""
        body = super().body(request, streamed=streamed)
        thinking = maybe_object(body.get("thinking"))
        version = _VERSION(self._model)
        is_checked = version and (int(version[1]), int(version[2] or 0)) >= _FIRST_CHECKED
        if is_checked and thinking.get("type") in _THINKS and "block_binding" not in thinking:
            binding = {"prefix_mismatch_behavior": "drop_block"}
            body["thinking"] = {"type": "adaptive", **thinking, "block_binding": binding}
            body[_BETAS] = [*dict.fromkeys((*maybe_list(body.get(_BETAS)), _BINDING))]
        elif "block_binding" in thinking and not thinking["block_binding"]:
            # A server that does not know the field is spared it.
            body["thinking"] = {key: thinking[key] for key in thinking if key != "block_binding"}
        if is_object(asked := body.get(_DIAGNOSTICS)):
            known = asked.get(_COMPARED_MESSAGE) or request.previous_id
            body[_DIAGNOSTICS] = {**asked, _COMPARED_MESSAGE: known}
        return body

    def _thoughts(self, request: ChatRequest) -> Iterator[object]:
        for item in render_anthropic(request.messages).messages:
            yield from map(_seal, filter(_is_thought, maybe_list(item["content"])))

    def _readable(self, items: list[Object]) -> Iterator[Object]:
        for item in items:
            given = item["content"]
            left = [
                one
                for one in maybe_list(given)
                if not (_is_thought(one) and _seal(one) in self.refused)
            ]
            if not is_list(given) or len(left) == len(given):
                yield item
            elif left:
                yield {**item, "content": left}

    def _prewarming(self, settings: Mapping[str, object]) -> Object:
        # What the vendor refuses without an answer, and a request without it has another prefix.
        thinks = maybe_object(settings.get("thinking")).get("type") == "enabled"
        forces = maybe_object(settings.get("tool_choice")).get("type") in {"any", "tool"}
        is_formed = "format" in maybe_object(settings.get("output_config"))
        can = self._profile.get("supports_auto_cache", True)
        can = can and settings.get(_MARK, _MARK) is not None
        return {"max_tokens": 0} if can and not (thinks or forces or is_formed) else {}

    def _options(self, body: Object, settings: Mapping[str, object]) -> Object:
        options, betas = super()._options(body, settings), body.pop(_BETAS, None)
        if not betas:
            return options
        headers = {_BETA_HEADER: ",".join(betas), **options.get("extra_headers", {})}
        return {**options, "extra_headers": headers}

    def _stopped(self, whole: Object) -> str:
        return maybe_text(whole.get("stop_reason"))
