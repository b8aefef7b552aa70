"""What users said in so many words: their requests and their rules, and which views have them."""

import re
from collections.abc import Iterator

from foldline.history.parts import ToolCallPart
from foldline.replay.quality.identifiers import call_arguments
from foldline.replay.quality.moments import Moment, Transcript, text_of_all
from foldline.replay.quality.trail import writes


__all__ = ["current_values", "first_request", "requests", "rules"]


_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_RULE = re.compile(
    r"(?i)\b(?:never|always|must(?: not|n't)?|do not|don['’]t|make sure|only use|under no circumstances)\b"
)
_FEWEST_WORDS, _LONGEST = 4, 300
_BEGINNING = 60
_SHORT = 80


def requests(transcript: Transcript, moment: Moment) -> Iterator[bool]:
    """Yield for each user message that is folded away whether the view has it word for word."""
    seen = _flat(text_of_all(moment.view))
    for text in _folded(transcript, moment):
        yield _flat(text) in seen


def first_request(transcript: Transcript, moment: Moment) -> bool | None:
    """Return whether the view has the first 60 characters of the first request; None unless folded."""
    first = next(_folded(transcript, moment), None)
    if first is None:
        return None
    return _flat(first)[:_BEGINNING] in _flat(text_of_all(moment.view))


def rules(transcript: Transcript, moment: Moment) -> Iterator[bool]:
    """
    Yield for each rule in a user message that is folded away whether the view has it word for word.

    A rule is a sentence with `never`, `always`, `must`, `do not`, `make sure` and the like; so it is
    counted in English alone, and some of them are no rules.
    """
    seen = _flat(text_of_all(moment.view))
    lines = (line for text in _folded(transcript, moment) for line in _SENTENCE.split(text))
    for line in dict.fromkeys(map(_flat, lines)):
        is_sized = len(line) <= _LONGEST and line.count(" ") + 1 >= _FEWEST_WORDS
        if is_sized and not line.endswith("?") and _RULE.search(line):
            yield line in seen


def _folded(transcript: Transcript, moment: Moment) -> Iterator[str]:
    for message in transcript.messages[: moment.cut]:
        if message.role == "user" and message.text.strip():
            yield message.text


def _flat(text: str) -> str:
    return " ".join(text.split())


def current_values(transcript: Transcript, moment: Moment) -> Iterator[bool]:
    """
    Yield for each value that changed whether the view has the current one.

    A value changed if two calls of one tool that are folded away have the same first argument, and
    another argument of the same name has two short texts; what calls write into files aside.
    """
    known: dict[tuple[str, str, str], list[str]] = {}
    for message in transcript.messages[: moment.cut]:
        for call in message.tool_calls:
            for key, value in _changeable(call):
                known.setdefault(key, []).append(value)
    seen = _flat(text_of_all(moment.view))
    for values in known.values():
        if len(set(values)) > 1:
            yield _flat(values[-1]) in seen


def _changeable(call: ToolCallPart) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield the short texts among the arguments of *call* but the first, and what they are of."""
    (_, subject), *others = call_arguments(call).items() or (("", ""),)
    for name, value in () if writes(call) else others:
        if isinstance(value, str) and 1 < len(value) <= _SHORT:
            yield (call.name, str(subject), name), value
