"""
What shows that a task is done: an answer of a tool that did it, or the user's words.

What was last said of a task decides: what has half of its words, and two of them, or, of a call, the path
that the task names. Where both name codes, one is the same. An answer counts if nothing in it tells of a
failure, if the call was not to show something, as a search is, and if whatever failed after it was called
again and did not fail. That needs no answer with a code of the task whose tool is called by a word of it,
as `cancel_order` is, or that names the commit of the task. The user's words count if they say that something
is done, and are no question, denial, request or condition.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from foldline.history.formats.wire import is_failed
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart, ToolCallResponsePart, texts_in
from foldline.history.reminders import without_reminders
from foldline.reduction.quotes import TYPED
from foldline.reduction.statements import statements
from foldline.reduction.tasks import stems
from foldline.reduction.tools import name_words, shows


# So much of the words of a task says something of it, and so many.
_SAYS = 0.5
_LEAST_SAID = 2
# What a call without a name may answer at most: more was most often asked for.
_SHORT = 600
_PATHS = re.compile(r"(?<![\w./~-])[./~]*((?:[\w-]+[./])+[\w-]*[A-Za-z][\w-]*)").findall
_RUNS = re.compile(r"[\w-]{4,64}").findall
_COMMIT = re.compile(r"[\da-f]{7,40}").fullmatch
_HAS_FAILED = re.compile(
    r"(?<!\b0 )(?<!\bno )(?<!without )\b(?:\w*(?:error|exception)s?|fail(?:s|ed|ures?)?|traceback|fatal"
    r"|refused|denied|forbidden|unauthori[sz]ed|rejected|aborted|invalid|unable|cannot|could not"
    r"|not found|no such|timed? ?out)\b(?!\"?[:=] ?(?:0|null|none|false|\"\"|\[\]))"
    r"|\b(?:exit(?:ed)?|return)[ _]?(?:with )?(?:code|status)?[\"':=>]{0,3} ?-?[1-9]"
    r"|\"(?:success\w*|ok|passed)\": ?false|[✗✘❌]",
    re.IGNORECASE,
).search
# What denies, asks, or is a note of what is to be done.
_IS_OPEN = re.compile(
    r"[?？]\s*\Z|\b(?:not|never|todo|fixme|pending|still|yet)\b|n['’]t\b", re.IGNORECASE
).search
# How a person asks, wishes, plans, denies or sets a condition.
_IS_ASKED = re.compile(
    r"\b(?:please|need\w*|want\w*|wish\w*|like to|should|must|ought|shall|will|would|could|(?:can|told) you"
    r"|let|lets|going to|ha(?:ve|s|d) to|to be|make sure|if|when|once|after|until|before|unless|ask\w*"
    r"|expect\w*|(?<!pull )request\w*|suppos\w*|require\w*|nor?|none|without|cannot|stop"
    r"|bitte|soll\w*|muss|müssen|kann\w*|wenn|nicht|kein\w*|noch|faut|doit|pouvez|veux|si|pas|jamais"
    r"|por favor|debe\w*|hay que|quiero|puede\w*|per favore|deve|voglio|non|não|nunca|moet\w*|niet|geen"
    r"|måste|inte|ska|proszę|nie|lütfen|değil|пожалуйста|надо|нужно|не|нет)\b"
    r"|\A\W*(?:get|have|see|do)\b|['’]d like|[请請没未不]|ください|ない|ません|않",
    re.IGNORECASE,
).search
_IS_DONE = re.compile(
    r"\b(?:did|done|works|worked|ready|finished|completed?|fixed|solved|closed|passe[sd]|made|sent|paid"
    r"|bought|wrote|written|built|told|erledigt|fertig|gemacht|faite?s?|terminé\w*|hech[oa]|list[oa]"
    r"|fatt[oa]|finit[oa]|feit[oa]|pronto|pronta|klaar|gedaan|klart?|gjort|zrobi\w+|gotowe|tamam|bitti"
    r"|готово|сделан\w*|сделал\w*|[a-z]{2,}ed)\b|完成|好了|しました|했",
    re.IGNORECASE,
).search


def is_left_open(statement: str) -> bool:
    """Whether *statement* denies, asks, wishes, plans or sets a condition."""
    return bool(_IS_OPEN(statement) or _IS_ASKED(statement))


def has_failed(answer: ToolCallResponsePart) -> bool:
    """Whether *answer* tells of a failure."""
    return is_failed(answer) or _HAS_FAILED("\n".join(texts_in(answer))) is not None


def says_done(statement: str) -> bool:
    """Whether *statement* says that something is done, and leaves nothing open."""
    return _IS_DONE(statement) is not None and not is_left_open(statement)


class _Fact(Struct, frozen=True, kw_only=True):
    """What one statement says, or what one call was given."""

    said: set[str]
    """The stems of a statement; empty for the call itself."""

    codes: set[str] = set()
    """The codes in a statement, and in what was called."""

    named: set[str] = set()
    """The stems of what the tool is called."""

    is_done: bool | None
    """Whether it is done by that; False if a call has failed, None if it is in doubt."""

    call: str = ""
    """What was called, with its arguments; empty for the user's words."""

    is_call: bool = False
    """Whether it is the call itself."""


class Evidence:
    """What users and tools have said in the messages that a summary stands for."""

    def __init__(self, messages: Iterable[Message]) -> None:
        """Read *messages* once somebody asks."""
        self._messages = messages

    @cached_property
    def _facts(self) -> Sequence[_Fact]:
        return [*_facts(self._messages)]

    def shows(self, task: str) -> bool | None:
        """Whether *task* is done by what was last said of it; None if nothing tells."""
        wanted, codes, named = stems(task), _codes(task), map(re.escape, _PATHS(task))
        paths = [re.compile(rf"(?<![\w-]){one}(?![\w-])") for one in named]
        about = [at for at, one in enumerate(self._facts) if _is_about(one, wanted, codes, paths)]
        last = self._facts[about[-1]] if about else None
        if last is None or not last.is_done or not last.call or _has_made(last, wanted, codes):
            return last.is_done if last else None
        later = {one.call: one.is_done for one in self._facts[about[-1] :] if one.is_call}
        return all(later.values()) or None


def _codes(text: str) -> set[str]:
    """Return what has letters and digits in *text*."""
    runs = (run.casefold() for run in _RUNS(text) if not run.isalpha())
    return {one for one in runs if re.search("[a-z]", one) and re.search(r"\d", one)}


def _has_made(fact: _Fact, wanted: set[str], codes: set[str]) -> bool:
    """Whether *fact* names a code of the task, and the tool what it does, or it is a commit of the task."""
    shared = codes & fact.codes
    is_commit = any(map(_COMMIT, shared)) and not wanted.isdisjoint(fact.said)
    return bool(shared) and (is_commit or not wanted.isdisjoint(fact.named))


def _is_about(
    fact: _Fact, wanted: set[str], codes: set[str], paths: Iterable[re.Pattern[str]]
) -> bool:
    if fact.is_call:
        return any(path.search(fact.call) for path in paths)
    if _has_made(fact, wanted, codes):
        return True
    common = wanted & fact.said
    if not common or (codes and fact.codes and codes.isdisjoint(fact.codes)):
        return False
    return len(common) >= max(min(_LEAST_SAID, len(wanted)), _SAYS * len(wanted))


def _facts(messages: Iterable[Message]) -> Iterator[_Fact]:
    calls: dict[str, ToolCallPart] = {}
    for message in messages:
        calls |= {call.id: call for call in message.tool_calls}
        if message.is_from_user and len(text := without_reminders(message.text)) <= TYPED:
            for one in statements(text):
                yield _Fact(said=stems(one), is_done=says_done(one) or None)
        if message.role == "tool" and message.text:
            yield from _of_answer(message.text, None, has_failed=False)
        is_marked = (message.metadata or {}).get("isError") is True
        for part in message.tool_call_responses:
            has_failed = is_marked or is_failed(part)
            yield from _of_answer(
                "\n".join(texts_in(part)), calls.get(part.id), has_failed=has_failed
            )


def _of_answer(text: str, call: ToolCallPart | None, *, has_failed: bool) -> Iterator[_Fact]:
    if shows(call) if call else len(text) > _SHORT:
        return
    is_done = not (has_failed or _HAS_FAILED(text))
    key = f"{call.name} {call.arguments}" if call else "an earlier call"
    named = stems(" ".join(name_words(call.name))) if call else set[str]()
    given = _codes(call.arguments) if call else set[str]()
    yield _Fact(said=set(), is_done=is_done, call=key, is_call=True)
    for one in statements(text):
        in_doubt = is_done and _IS_OPEN(one)
        yield _Fact(
            said=stems(one),
            codes=_codes(one) | given,
            named=named,
            is_done=None if in_doubt else is_done,
            call=key,
        )
