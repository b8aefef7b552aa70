"""What users said in so many words: their requests and their rules, and what a view has of them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.reminders import without_reminders
from foldline.providers.digest.rules import rules_in
from foldline.reduction.text_calls import with_text_calls
from foldline.replay.quality.identifiers import call_arguments
from foldline.replay.quality.trail import writes


_BEGINNING = 60
_SHORT = 80


class Told(Struct, frozen=True, kw_only=True):
    """Something that the user said in a message that is folded away."""

    text: str
    message: int
    # Whether the view has it word for word; line breaks do not matter.
    is_kept: bool
    # Whether the view has its first 60 characters.
    is_begun: bool


def requests(folded: Sequence[Message], seen: str) -> Iterator[Told]:
    """Yield the user messages of *folded*, and whether *seen*, the text of a view, has them."""
    shown = _flat(seen)
    for index, text in _users(folded):
        yield _told(index, text, shown)


def rules(folded: Sequence[Message], seen: str) -> Iterator[Told]:
    """Yield the rules in user messages of *folded*, each once, and whether *seen* has them."""
    shown = _flat(seen)
    found = {rule: at for at, text in _users(folded) for rule in rules_in([text])}
    for rule, index in found.items():
        yield _told(index, rule, shown)


def _users(folded: Sequence[Message]) -> Iterator[tuple[int, str]]:
    for index, message in enumerate(with_text_calls(folded, is_first=True)):
        if message.is_from_user and (text := without_reminders(message.text)).strip():
            yield index, text


def _told(index: int, text: str, shown: str) -> Told:
    flat = _flat(text)
    return Told(
        text=text, message=index, is_kept=flat in shown, is_begun=flat[:_BEGINNING] in shown
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def current_values(folded: Sequence[Message], seen: str) -> Iterator[bool]:
    """Yield if *seen* has the last of each short argument that calls on one thing changed."""
    known: dict[tuple[str, str, str], list[str]] = {}
    for message in folded:
        for call in message.tool_calls:
            for key, value in _changeable(call):
                known.setdefault(key, []).append(value)
    shown = _flat(seen)
    for values in known.values():
        if len(set(values)) > 1:
            yield _flat(values[-1]) in shown


def _changeable(call: ToolCallPart) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield the short texts among the arguments of *call* but the first, and what they are of."""
    (_, subject), *others = call_arguments(call).items() or (("", ""),)
    for name, value in () if writes(call) else others:
        if isinstance(value, str) and 1 < len(value) <= _SHORT:
            yield (call.name, str(subject), name), value
