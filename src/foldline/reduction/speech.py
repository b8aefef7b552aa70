"""Whether a text tells of a conversation, or is the next turn of it."""

import re

from foldline.reduction.language import LANGUAGES, SIDES, TELLING, profile, words
from foldline.reduction.statements import is_listed, statements


__all__ = ["calls_tool", "is_turn"]


# Who tells, in languages without spaces, or that write endings onto the word.
_TELLS = re.compile(
    "用户|用戶|助手|对话|對話|总结|總結|摘要|讨论|討論|ユーザー|アシスタント|会話|要約|사용자|대화|요약"
)
_ADDRESSES = re.compile("你|您|あなた|당신|我可以|お手伝い")
_BEGINNING = 2
_MOST_ADDRESSED = 0.25
_NOT_SAID = re.compile(
    r"(?i:\bi\.\s?e\.)|```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|「[^」\n]*」",
    re.DOTALL,
)
_EXCLAIMED = re.compile(r"[!！][\s\"'”’)*_]*\Z").search

_CALL = re.compile(
    r"(?:^|\n)[ \t]*(?:```\w*[ \t]*\n\s*)?(?:"
    r"<(?:tool_call|function_call|invoke|tool_use)\b|<\|(?:tool|python_tag)"
    r"|[\[{]\s*\{?\s*\"(?:name|tool|tool_name|tool_calls|function|function_call|action)\"\s*:"
    r"|Action:[^\n]+\n\s*Action Input:)"
)
_WORDS_BEFORE_CALL = 40


def calls_tool(text: str) -> bool:
    """Whether *text* is a tool call, perhaps with a sentence or a fence before it."""
    return any(
        len(words(text[: call.start()])) < _WORDS_BEFORE_CALL for call in _CALL.finditer(text)
    )


def is_turn(text: str) -> bool:
    """
    Whether *text* answers somebody: it begins or ends by speaking to him, or does so often.

    Who tells of a conversation names its sides or what they did, and speaks to nobody. What is
    quoted, code and lists are not judged.
    """
    said = [one for one in statements(_NOT_SAID.sub(" ", text)) if not is_listed(one)]
    if not said:
        return False
    shares = profile(words(" ".join(said))).languages
    most = max(shares.values())
    likely = [LANGUAGES[code] for code in shares if shares[code] >= most / 2]
    persons = frozenset(word for one in likely for word in one.first | one.second)
    if any(_tells(one, persons) for one in said[:_BEGINNING]):
        return False
    addressed = [_addresses(one, persons) for one in said]
    exclaimed = [bool(_EXCLAIMED(one)) for one in (said[0], said[-1])]
    return (
        any(addressed[:_BEGINNING])
        or addressed[-1]
        or any(exclaimed)
        or sum(addressed) > _MOST_ADDRESSED * len(said)
    )


def _tells(sentence: str, persons: frozenset[str]) -> bool:
    found = {*words(sentence)}
    if found & SIDES or _TELLS.search(sentence):
        return True
    return bool(found & TELLING) and not found & persons


def _addresses(sentence: str, persons: frozenset[str]) -> bool:
    return not persons.isdisjoint(words(sentence)) or bool(_ADDRESSES.search(sentence))
