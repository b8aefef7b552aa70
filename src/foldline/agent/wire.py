"""The caller's own form of messages: read on the way in, written on the way out."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.agent.known import Conversion, KnownLists
from foldline.agent.writers import writer_of
from foldline.agent.writing import Writing
from foldline.errors import FormatError
from foldline.history.formats import CONVERTERS
from foldline.history.formats.detect import witnesses_in
from foldline.history.formats.objects import plain_items
from foldline.history.formats.wire import are_texts, is_object
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.history.tokens import TokenCounter


_Dict: TypeAlias = dict[str, Any]

_FORMATS = (NativeFormat.ANTHROPIC, NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES)
_RULES = ("system", "developer")
_TEXT_KEYS = ("role", "content")


class Items(Struct, frozen=True, kw_only=True):
    """What a caller passed in, as a history, and the way back."""

    history: History
    # What was passed in; a copy, if it was a list.
    kept: Sequence[Any]
    # None if messages were given.
    writing: Writing | None = None

    def write(self, view: list[Message]) -> list[Any]:
        """Return *view* in the caller's form; what is unchanged is the caller's own object."""
        return view if self.writing is None else self.writing.write(view)


def read_items(
    messages: Any,
    format: NativeFormat | None,
    counter: TokenCounter | None,
    known: KnownLists | None = None,
) -> Items:
    """Read *messages* in whatever form they are; what is *known* of them is not read again."""
    if type(messages) is not list:
        if isinstance(messages, History):
            return Items(history=messages, kept=messages)
        if not isinstance(messages, Collection) or isinstance(messages, str | bytes | Mapping):
            text = f"messages must be a list of messages, got {type(messages).__name__}"  # pyright: ignore[reportUnknownArgumentType] - any object
            raise FormatError(text)
    # The caller's list may grow while a summary is written.
    given: list[Any] = list(messages)  # pyright: ignore[reportUnknownArgumentType] - any object
    if not given or isinstance(given[0], Message):
        _check_kinds(given, Message, "a Message like the first")
        return Items(history=History(given, counter=counter), kept=given)
    made = _conversion(given, format, counter, KnownLists(0) if known is None else known)
    history = made.history
    rules = len(history.system) - len(history.system_after(0))
    writer = writer_of(made.wire, is_detected=format is None, rules=rules)
    return Items(history=made.history, kept=given, writing=Writing(made, given, writer))


def _conversion(
    given: list[Any], format: NativeFormat | None, counter: TokenCounter | None, known: KnownLists
) -> Conversion:
    """Return what *given* are, of which as much as is *known* is not read again."""
    rules = _rules(given)
    asked: list[Any] = given
    kind: object = format
    if rules is not None:
        # They may tell the time, in a list that is the same else.
        asked, kind = [{**rules, "content": ""}, *given[1:]], (format, _RULES)
    before = known.find(asked, kind)
    if before is not None and before.size == len(given):
        return _opened(before.conversion, rules)
    if size := known.unedited(asked, kind, before):
        # An error is that of all of them.
        with suppress(FormatError):
            _conversion(given[:size], format, counter, known)
        return _conversion(given, format, counter, known)
    made = None
    if before is not None:
        old = _opened(before.conversion, rules)
        grown = partial(_grown, old, before.size, given)
        made = known.keeping(asked, kind, grown, grown_from=before, reads_copies=True)
    if made is None:
        read = partial(_converted, given, rules, format, counter)
        made = known.keeping(asked, kind, read, reads_copies=True)
    return made


def _rules(given: list[Any]) -> _Dict | None:
    """Return a copy of the first item if it is a system message of one text; else None."""
    first = given[0]
    # Of a subclass the fields are not all.
    if type(first) is not dict or not is_object(first) or first.get("role") not in _RULES:
        return None
    copied = first.copy()
    is_text = tuple(copied) == _TEXT_KEYS and are_texts(copied["content"])
    return copied if is_text and copied["content"].strip() else None


def _opened(made: Conversion, rules: _Dict | None) -> Conversion:
    """Return *made* as if it had been read with these *rules* in front, of whatever text."""
    if rules is None:
        return made
    history, text = made.history, rules["content"]
    before = history.system[0]
    if before.text == text:
        return made
    (message,), _ = CONVERTERS[made.wire].read([rules])
    # In a view they are the caller's own item.
    views = [
        replace(one, view=[message if said is before else said for said in one.view])
        for one in made.views
    ]
    return replace(made, history=history.opened_with(message), views=views)


def _converted(
    given: list[Any],
    rules: _Dict | None,
    format: NativeFormat | None,
    counter: TokenCounter | None,
    copies: Sequence[Any] | None,
) -> Conversion:
    items = plain_items(given) if copies is None else copies
    if rules is not None:
        items = [rules, *items[1:]]
    _check_kinds(items, Mapping, "a dictionary or an object of an SDK")
    witnesses = witnesses_in(items) if format is None else None
    wire = format if witnesses is None else witnesses.format
    found = next((one for one in _FORMATS if wire in (one, one.value)), None)
    if found is None:
        names = ", ".join(one.value for one in _FORMATS)
        text = f"format must be one of {names}, got {getattr(wire, 'value', wire)!r}"
        if format is None:
            text = f"messages with `parts` are in none of {names}: convert them, or pass Message objects"
        raise FormatError(_elsewhere(items) or text)
    try:
        read, places = CONVERTERS[found].read(items)
    except FormatError as error:
        if text := _elsewhere(items):
            raise FormatError(text) from error
        raise
    return Conversion(
        history=History(read, counter=counter),
        wire=found,
        witnesses=witnesses,
        places=array("q", places),
    )


def _elsewhere(items: Sequence[Any]) -> str:
    """Return who else takes what is in none of the formats; empty if nobody does."""
    from foldline.logs.converse import is_turn  # noqa: PLC0415 - an error alone needs it
    from foldline.logs.gemini import is_content  # noqa: PLC0415 - the same

    for at, item in enumerate(items):
        if is_content(item):
            return f"messages[{at}] is Gemini's: use foldline.integrations.google_genai.GeminiView"
        if is_turn(item):
            return f"messages[{at}] is Bedrock's: use foldline.integrations.bedrock.ConverseView"
    return ""


def _grown(
    old: Conversion, size: int, given: list[Any], copies: Sequence[Any] | None
) -> Conversion | None:
    """Return what *given* are, of which the first *size* are *old*; None if all has to be read."""
    # That is so if the new items show another format, go on with the last answer, or are wrong: the
    # error names their place in the whole list.
    try:
        new = copies
        if new is None:
            new = plain_items(given[size:])
            _check_kinds(new, Mapping, "")
        witnesses = None if old.witnesses is None else witnesses_in(new, old.witnesses)
        told = None if witnesses == old.witnesses else witnesses
        if told is not None and told.format is not old.wire:
            return None
        read, places = CONVERTERS[old.wire].read(new)
        if read[0].role == "assistant" and _is_of(read[0], old.history):
            return None
        history, grown = old.history.copy(), array("q", old.places)
        history.extend(read)
        grown.extend([size + at for at in places])
    except FormatError:
        return None
    return Conversion(
        history=history, wire=old.wire, witnesses=witnesses, places=grown, views=[*old.views]
    )


def _is_of(answer: Message, history: History) -> bool:
    """Whether *answer* may go on with the newest message of *history*."""
    last = history.at(history.total - 1)
    return last.role == answer.role and last.name == answer.name


def _check_kinds(given: Sequence[Any], kind: type, what: str) -> None:
    # Most lists hold one type.
    if all(issubclass(one, kind) for one in {*map(type, given)}):
        return
    for index, one in enumerate(given):
        if not isinstance(one, kind):
            name = type(one).__name__
            hint = ": extend the list by what it holds" if name == "list" else ""
            text = f"messages[{index}] must be {what}, got {name}{hint}"
            raise FormatError(text)
