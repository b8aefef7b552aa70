"""Messages as words: `u c1+c2 r1 r2 a` is a question, two calls, their results and an answer."""

from collections.abc import Sequence

from foldline.history.history import History
from foldline.history.messages import Message, Role
from foldline.history.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart


__all__ = [
    "SPEAKERS",
    "Letters",
    "WordCount",
    "is_one_answer",
    "is_safe_cut",
    "message_of",
    "pairs_of",
]

ROLES: dict[str, Role] = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
SPEAKERS: dict[str, Role] = {"s": "system", "u": "user", "r": "tool", "n": "tool"}
"""Who says a word that names no role, by its first letter; else it is the assistant."""


class Letters:
    """A counter that takes a letter for a token."""

    def count(self, text: str) -> int:
        return len(text)


class WordCount:
    """A counter that takes a word for a token; a message has four more."""

    def count(self, text: str) -> int:
        return len(text.split())


def message_of(word: str) -> Message:
    """Return the message of *word*: a role and a colon if needed, then parts joined by plus."""
    role, _, signs = word.rpartition(":")
    parts = tuple(_part(sign) for sign in signs.split("+") if sign)
    return Message(role=ROLES[role] if role else SPEAKERS.get(word[0], "assistant"), parts=parts)


def is_one_answer(first: Message, second: Message) -> bool:
    """Whether *second* continues *first*, which is by the same assistant."""
    kinds = [[type(part) for part in one.parts] for one in (first, second)]
    is_text_after_text = {*kinds[0]} == {TextPart} == {*kinds[1][:1]}
    is_same = first.role == second.role == "assistant" and first.name == second.name
    return is_same and not is_text_after_text


def _part(sign: str) -> Part:
    match sign[0]:
        case "c":
            return ToolCallPart(sign[1:], "tool", "{}")
        case "r":
            return ToolCallResponsePart(sign[1:], "ok")
        case "t":
            return ReasoningPart("hm")
        case _:
            return TextPart(sign)


def pairs_of(messages: Sequence[Message]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the positions of calls with those of their answers, and the calls without one."""
    pairs: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    for position, part in ((at, part) for at, m in enumerate(messages) for part in m.parts):
        if isinstance(part, ToolCallPart) and messages[position].role == "assistant":
            waiting.append((part.id, position))
        elif isinstance(part, ToolCallResponsePart):
            calls = [call for call in waiting if call[0] == part.id]
            for call in calls[-1:]:
                waiting.remove(call)
                pairs.append((call[1], position))
    return pairs, [position for _, position in waiting]


def is_safe_cut(history: History, index: int) -> bool:
    """Whether *index* is in the history and a cut there tears nothing apart."""
    if not 0 < index <= len(history):
        return index == 0
    is_whole = next(history.whole_indexes(index, index - 1), None) == index
    return is_whole and index <= history.first_open_call()
