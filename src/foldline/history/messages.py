"""One message: who said what."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.checks import expect
from foldline.history.parts import (
    GenericPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    as_result,
    is_opaque,
)
from foldline.history.reminders import is_reminder


PIN_KEY = "__pinned__"
"""The metadata key of a message that is pinned when a thread stores it."""

READ_HINT = (
    "convert a vendor's items with `from_openai_chat` or its like in foldline.formats,"
    " a text with `Message.user`"
)
"""What to do with what should be a message, and is none yet."""

PARTIAL_KEY = "__partial__"
"""The metadata key of an answer of which only a part was streamed when its reader left."""

AGENT_KEY = "agent"
"""The metadata key for the name of the agent that produced a message."""

SUMMARY_KEY = "__summary__"
"""The metadata key that labels a message of a view as a summary."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Who speaks."""


class NativeFormat(Enum):
    """The wire formats whose items can be kept verbatim."""

    OPENAI_CHAT = "openai-chat"
    """OpenAI Chat Completions messages."""

    OPENAI_RESPONSES = "openai-responses"
    """OpenAI Responses input items."""

    ANTHROPIC = "anthropic"
    """Anthropic Messages messages."""

    OTEL = "otel"
    """OpenTelemetry GenAI messages."""


class Native(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A vendor's own items, kept if the parts alone could not write them again byte for byte."""

    format: NativeFormat
    """The wire format that the items are written in."""

    item: str
    """
    The item as JSON text, verbatim; a JSON list if the message is several items; empty if the parts
    say it all.
    """

    continues: bool = False
    """Whether the item is a piece of the one that the message before ends with."""


class Usage(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The tokens that a vendor reported for the call which produced a message."""

    input_tokens: int = 0
    """Tokens read in all, cached ones included."""

    output_tokens: int = 0
    """Tokens written, reasoning included."""

    cache_read_tokens: int = 0
    """Of the tokens read, those that came from the vendor's prompt cache."""

    cache_write_tokens: int = 0
    """Of the tokens read, those that were written to the vendor's prompt cache."""

    reasoning_tokens: int = 0
    """Of the tokens written, those spent on reasoning."""


def total_usage(usages: Iterable[Usage | None]) -> Usage:
    """Return the sum of *usages*."""
    total = dict.fromkeys(Usage.__struct_fields__, 0)
    for usage in filter(None, usages):
        for name in total:
            total[name] += getattr(usage, name)
    return Usage(**total)


def _plain(name: str, value: str) -> str:
    """Return *value* as a mere str: JSON cannot be written of a framework's subclass of it."""
    expect(name, value, str | None)
    return str.__str__(value)


class Message(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """
    One message of a history, immutable.

    Two messages are the same for a reduction when their roles, names and parts are; `id`,
    `created_at`, `metadata`, `usage` and `native` are left out of every digest.
    """

    role: Role
    """Who speaks."""

    parts: tuple[Part, ...] = ()
    """What is said, in order; may be empty."""

    id: str | None = None
    """The identity of the message, where it has one."""

    name: str | None = None
    """The name of the speaker or the tool, where the vendor knows one."""

    created_at: datetime | None = None
    """When it was said, with time zone."""

    metadata: Mapping[str, object] | None = None
    """Values of the owner; stored, never sent and never hashed."""

    usage: Usage | None = None
    """What the vendor reported for the call that produced it."""

    native: Native | None = None
    """The vendor's items, if the parts alone could not write them again byte for byte."""

    @classmethod
    def user(
        cls, text: str, *, id: str | None = None, name: str | None = None, pin: bool = False
    ) -> "Message":
        """Make a user message of *text*; with *pin*, a pinned one."""
        metadata = {PIN_KEY: True} if pin else None
        return cls(
            role="user",
            parts=(TextPart(text),),
            id=id and _plain("id", id),
            name=name and _plain("name", name),
            metadata=metadata,
        )

    @classmethod
    def system(cls, text: str, *, id: str | None = None) -> "Message":
        """Make a system message of *text*."""
        return cls(role="system", parts=(TextPart(text),), id=id and _plain("id", id))

    @classmethod
    def assistant(
        cls,
        text: str = "",
        *,
        tool_calls: Iterable[ToolCallPart] = (),
        id: str | None = None,
        name: str | None = None,
        pin: bool = False,
    ) -> "Message":
        """
        Make an assistant message of *text*, then *tool_calls*; with *pin*, a pinned one.

        An empty *text* makes no part.
        """
        # A caller without a type checker may pass anything; to ask for a protocol takes longer.
        if not isinstance(tool_calls, (tuple, Iterable)):  # pyright: ignore[reportUnnecessaryIsInstance]
            expect("tool_calls", tool_calls, Iterable)
        said = (TextPart(text),) if text else ()
        parts, metadata = (*said, *tool_calls), {PIN_KEY: True} if pin else None
        return cls(
            role="assistant",
            parts=parts,
            id=id and _plain("id", id),
            name=name and _plain("name", name),
            metadata=metadata,
        )

    @classmethod
    def tool(
        cls,
        call_id: str,
        response: str | Mapping[str, object] | Sequence[object],
        *,
        id: str | None = None,
        name: str | None = None,
        pin: bool = False,
    ) -> "Message":
        """
        Make the answer *response* of a tool to the call *call_id*; with *pin*, a pinned one.

        A dict, and a list of anything but parts, is written as JSON.
        """
        part = ToolCallResponsePart(call_id, as_result(response))
        metadata = {PIN_KEY: True} if pin else None
        return cls(
            role="tool",
            parts=(part,),
            id=id and _plain("id", id),
            name=name and _plain("name", name),
            metadata=metadata,
        )

    @property
    def speaker(self) -> tuple[str | None, object]:
        """Who says it: its name, and the agent of a conversation of several; None where unknown."""
        return self.name, None if self.metadata is None else self.metadata.get(AGENT_KEY)

    def begins_after(self, before: "Message") -> bool:
        """
        Whether this is an answer of its own and does not go on with *before*, which is one too.

        It is if another speaks, or if it begins with a text after nothing but text: reasoning and
        calls belong to the text beside them, whichever of these a vendor has as items of their own.
        """
        if self.speaker != before.speaker:
            return True
        said = bool(before.parts and self.parts)
        return said and all(isinstance(one, TextPart) for one in (*before.parts, self.parts[0]))

    @property
    def is_summary(self) -> bool:
        """Whether the message is a summary that a view put in place of older messages."""
        return self.metadata is not None and SUMMARY_KEY in self.metadata

    @property
    def is_pinned(self) -> bool:
        """Whether the message is pinned when it is stored: a summary keeps it word for word."""
        return self.metadata is not None and PIN_KEY in self.metadata

    @property
    def is_opaque(self) -> bool:
        """Whether the message is nothing but values of the program's own, which no model gets."""
        parts = self.parts
        return bool(parts) and type(parts[0]) is GenericPart and all(map(is_opaque, parts))

    @property
    def text(self) -> str:
        """The text parts joined by newlines; empty if there are none."""
        parts = self.parts
        # Most messages are one text: this is several times as fast.
        if len(parts) == 1 and type(parts[0]) is TextPart:
            return parts[0].content
        return "\n".join([part.content for part in parts if isinstance(part, TextPart)])

    @property
    def is_from_user(self) -> bool:
        """Whether the role is user, and there is more than reminders of a harness."""
        if self.role != "user":
            return False
        for part in self.parts:
            if (
                not isinstance(part, TextPart)
                or part.content.lstrip()[:1] != "<"
                or not is_reminder(part.content)
            ):
                return True
        return not self.parts

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls that the message makes, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCallPart)])

    @property
    def tool_call_responses(self) -> tuple[ToolCallResponsePart, ...]:
        """The results that the message carries, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCallResponsePart)])
