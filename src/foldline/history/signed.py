"""
What a vendor has signed or sealed, and what has to leave a view together.

Anthropic binds each thinking block to `system`, `tools` and all messages before it, and refuses a
request that sends one back after anything else ("preserved thinking"; models before Claude 5 do not
check it, and may refuse the last tool calls without their thinking). A view that changes what is
before a block therefore leaves the block out; text and tool calls of the same answer stay. A sealed compaction is the opposite: it holds what a vendor has
compacted, nobody else can read it, so it stays in every view.

Source: platform.claude.com, "Preserved thinking", "Prefix checks on thinking blocks" and "Compaction
on demand"; developers.openai.com, "Compaction"; all read on 2026-11-22. The reasoning of OpenAI and
the thought signatures of Gemini are bound to their own answer only.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from hashlib import sha256
from types import MappingProxyType

from msgspec.structs import replace

from foldline.history.digest import chain_digest
from foldline.history.formats import CONVERTERS
from foldline.history.formats.wire import Object, listed_blocks, maybe_object
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import CompactionPart, ReasoningPart


REASONING_NOTE = "[reasoning left out]"
"""What a view has in the place of reasoning that it does not show."""

PREFIX_KEY = "bound_to"
"""The metadata key for a hash of the request that signed thinking answers."""

# The fields of an item that hold thinking of Anthropic: those of OpenRouter and LiteLLM too.
_FIELDS: Mapping[NativeFormat, tuple[str, ...]] = MappingProxyType(
    {
        NativeFormat.ANTHROPIC: ("content",),
        NativeFormat.OPENAI_CHAT: ("reasoning_details", "thinking_blocks"),
    }
)
# What says the same without a signature.
_WANTED = "reasoning_content"
_WORDS = ("reasoning", _WANTED)
_SAYS = ("content", "tool_calls", "refusal", "audio")
# Models that sign their thinking, or need it back, without binding it to what is before it.
_FREE = r"claude-(?:[a-z]+-)?[1-4]\b|deepseek|glm|kimi|minimax|qwen"
# What keeps the text of a compaction from anyone else, or has to come back with it.
_SEALS: Mapping[NativeFormat, frozenset[str]] = MappingProxyType(
    {
        NativeFormat.ANTHROPIC: frozenset({"signature", "encrypted_content"}),
        NativeFormat.OPENAI_RESPONSES: frozenset({"encrypted_content"}),
    }
)


def is_signed(message: Message) -> bool:
    """Whether *message* holds thinking that its vendor bound to everything before it."""
    native = message.native
    if native is None or native.format not in _FIELDS:
        return False
    # A model that is not known may bind its thinking.
    if checks_prefix((message.metadata or {}).get("model")) is False:
        return False
    # Most items are not read further.
    if "signature" not in native.item and "redacted_thinking" not in native.item:
        return False
    fields = _FIELDS[native.format]
    return any(
        _is_bound(block)
        for item in _items(message)
        for key in fields
        for block in _blocks(item, key)
    )


def without_signed(message: Message) -> Message | None:
    """Return *message* without the thinking that is bound; None if it held nothing else."""
    native = message.native
    if native is None or not is_signed(message):
        return message
    unbound = [_unbound(item, native.format) for item in _items(message)]
    left = [item for item in unbound if any(map(item.get, _SAYS))]
    return CONVERTERS[native.format].said_by(message, left) if left else None


def bound(
    answer: Iterable[Message], view: Sequence[Message], opening: bytes
) -> tuple[Message, ...]:
    """Return *answer* with a hash of its request, *opening* and *view*, beside each message."""
    digest = reduce(_after, view, _opened(view, opening))
    messages: list[Message] = []
    for message in answer:
        metadata = {**(message.metadata or {}), PREFIX_KEY: digest.hex()}
        messages.append(replace(message, metadata=metadata))
        digest = _after(digest, message)
    return tuple(messages)


def sendable(view: Iterable[Message], opening: bytes) -> tuple[Message, ...]:
    """
    Return *view* without the thinking that its vendor has bound to another request.

    Thinking stays only if everything before it equals the request that it answered, as `bound`
    has noted: the model, tools and system messages, and each message as it was sent.
    """
    view = tuple(view)
    digest = _opened(view, opening)
    sent: list[Message] = []
    for message in view:
        left: Message | None = message
        if is_signed(message) and (message.metadata or {}).get(PREFIX_KEY) != digest.hex():
            left = without_signed(message)
        if left is not None:
            sent.append(left)
            digest = _after(digest, left)
    return tuple(sent)


def _opened(view: Iterable[Message], opening: bytes) -> bytes:
    """Return the digest of what comes before all other messages, wherever it is in *view*."""
    digest = sha256(opening).digest()
    for message in view:
        if message.role == "system":
            digest = chain_digest(digest, message)
    return digest


def _after(digest: bytes, message: Message) -> bytes:
    return digest if message.role == "system" else chain_digest(digest, message)


def only_sealed(message: Message) -> Message | None:
    """Return the newest compaction in *message* that is sealed or signed, alone; None if there is none."""
    native = message.native
    if native is None or CompactionPart not in map(type, message.parts):
        return None
    seals = _SEALS.get(native.format, frozenset())
    for item in reversed(_items(message)):
        inner = _blocks(item) if native.format is NativeFormat.ANTHROPIC else [item]
        for block in reversed(inner):
            if "compaction" in str(block.get("type")) and any(map(block.get, seals)):
                alone = {**item, "content": [block]} if block is not item else item
                return CONVERTERS[native.format].said_by(message, [alone])
    return None


def still_reasoned(message: Message, shorter: Message) -> Message:
    """
    Return *shorter*, a form of *message*, with reasoning if its vendor wants calls back with theirs.

    DeepSeek, Kimi and others refuse a request that has the calls of a model that thinks without
    `reasoning_content`; what stands there is not compared.
    """
    native = message.native
    is_wanted = any(item.get(_WANTED) for item in _items(message))
    if native is None or not is_wanted or not shorter.tool_calls:
        return shorter
    thoughts = [part.content for part in shorter.parts if isinstance(part, ReasoningPart)]
    converter = CONVERTERS[native.format]
    items = converter.build(shorter)
    said = {**items[-1], _WANTED: "".join(thoughts) or REASONING_NOTE}
    return converter.said_by(shorter, [*items[:-1], said])


def _items(message: Message) -> list[Object]:
    native = message.native
    return [] if native is None else CONVERTERS[native.format].native_items(message) or []


def _blocks(item: Object, field: str = "content") -> list[Object]:
    return [maybe_object(block) for block in listed_blocks(item.get(field))]


def _unbound(item: Object, format: NativeFormat) -> Object:
    """Return *item* without what is bound in it; the very same object if there is nothing."""
    changed = item
    for field in _FIELDS[format]:
        blocks = _blocks(item, field)
        left = [block for block in blocks if not _is_bound(block)]
        if len(left) < len(blocks):
            changed = {**changed, field: left}
    if changed is item or format is NativeFormat.ANTHROPIC:
        return changed
    gone = (*_WORDS, *(field for field in _FIELDS[format] if not changed.get(field)))
    return {key: value for key, value in changed.items() if key not in gone}


def _is_bound(block: Object) -> bool:
    kind, written = str(block.get("type")), str(block.get("format"))
    if kind == "redacted_thinking":
        return True
    is_thinking = kind == "thinking" or written.startswith("anthropic")
    return is_thinking and bool(block.get("signature"))


def checks_prefix(model: object) -> bool | None:
    """Whether *model* refuses thinking after another prefix; None if its name does not tell that."""
    if not isinstance(model, str):
        return None
    return _checks(model)


# Of each message in a view it is asked, of few models.
@lru_cache
def _checks(model: str) -> bool | None:
    if re.search(_FREE, model) is not None:
        return False
    return True if "claude" in model else None
