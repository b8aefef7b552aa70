"""
Calls that an agent writes in its text, and results that it is given in the user's place.

Agents without the tools of a vendor write a call as a block of code, as tags, or after `Action:`, and
are sent the result as a message of the user. Here both are read as what they are, so that what a tool
has said is neither taken for the user's wish nor quoted as his words.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec.structs import replace

from foldline.history.codec import encode_json
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.reminders import without_reminders
from foldline.reduction.written_calls import WrittenCall, tagged_values, written_calls


LEAD = 20
"""How many messages before others tell how an agent calls."""


# How the harnesses of such agents begin a result: with a tag, with the call in brackets, with its id.
_BEGINS = re.compile(
    r"\s{0,9}(?:execution result of \[[^\]\n]{1,80}\]:|\[[^\n]{1,400}\] result:[ \t]{0,9}(?=\n|\Z)"
    r"|call id: \S{1,80}\n|tool (?:response|result|output)s?:\s{0,9}\n-{5,}"
    r"|exit ?code: -?\d{1,9} \([^\n]{1,40}\)\n"
    r"|<(?:\w{1,20}[-_])?(?:observation|outputs?|results?|response|returncode|stdout|exit_code"
    r"|exception|system)>)",
    re.IGNORECASE,
).match
# So a user may begin as well, but hardly after most calls.
_OBSERVES = re.compile(r"\W{0,9}observation:", re.IGNORECASE).match
# smolagents joins what its user says next to it.
_NEXT_TASK = "\nNew task:\n"
# A user may begin so as well: they are results if every reply to such a call is one.
_MAY_BEGIN = re.compile(
    r"\W{0,9}(?:[\w-]{1,20} ){0,2}(?:outputs?|results?|stdout|(?:exit|return) ?code)\s?:",
    re.IGNORECASE,
).match
_LEAST_ALIKE = 3
# What a harness says where nothing was printed.
_SILENT = re.compile(
    r"(?:your|the) (?:\w{1,20} ){0,2}(?:command|code|action)\b[^\n]{0,80}\bno[^\n]{0,40}\boutput\b",
    re.IGNORECASE,
).match
# What a harness says of an answer that it cannot read, or of a call that has failed.
_COMPLAINS = re.compile(
    r"\s{0,9}(?:\[error\] |(?:\w{1,20} )?errors?:\s{0,9}\n|your output was not formatted"
    r"|please always provide exactly one )",
    re.IGNORECASE,
).match
_CODES = frozenset({"returncode", "exit_code"})
_EXIT = re.compile(
    r"\s{0,9}(?:exit|return) ?code:\s?(-?\d{1,9})(?: \([^\n]{1,40}\))?\n(?:[\w ]{0,20}output:\s?)?",
    re.IGNORECASE,
).match
_FINE = "exit code 0"
# A shell has answered if it waits for the next command; a user who shows his own shows two prompts.
_PROMPT = re.compile(
    r"(?:\A|\n)((?:\w{0,9}sh-?[\w.]{0,9}|\[?[\w.-]{1,30}@[\w.-]{1,30}[:\]]\S{0,60})[$#]) ?\Z"
).search
_PROMPT_ENDS = ("$", "#", "$ ", "# ")
_TAG_ENDS = re.compile(r"</[\w-]{1,40}>\s{0,20}\Z").search
_LONGEST_END = 70
# Below a line with dashes the harness goes on to what the agent is to do now.
_NEXT_HEADING = re.compile(r"\n\n[A-Z' ]{3,40}\n-{5,}\n").search
# What the user has said in the same message is not the tool's.
_BY_USER = re.compile(
    r"(?:\] result:(?:\n[^\n<]{0,300})?|\nthe user [^\n]{1,300}|\n[^\n]{0,80}continuation:)"
    r"\n\s{0,9}<(?:feedback|user_message|answer|task)>",
    re.IGNORECASE,
).search


def text_results(messages: Sequence[Message], *, is_first: bool) -> frozenset[int]:
    """
    Return the places of those of *messages* that are results of calls in the text of an answer.

    The first one is none if it *is first* in the conversation; else the answer after it tells how the
    agent calls.
    """
    return frozenset(_answered(messages, is_first=is_first))


def _answered(
    messages: Sequence[Message], *, is_first: bool
) -> Mapping[int, Sequence[WrittenCall]]:
    """Return the places of results, each with the calls that `_calls_before` finds."""
    users = [at for at in range(is_first, len(messages)) if _is_user(messages[at])]
    sure = {at for at in users if _is_result(messages[at].text)}
    # Most conversations have none, which is seen at once.
    if not sure and sum(map(_may_begin, (messages[at].text for at in users))) < _LEAST_ALIKE:
        return {}
    replies = {at: calls for at in users if (calls := _calls_before(messages, at))}
    found = sure.intersection(replies)
    if not found:
        return replies if _are_alike([messages[at].text for at in replies]) else {}
    if any(_BEGINS(messages[at].text) for at in found) or 2 * len(found) > sum(
        not _SILENT(messages[at].text) for at in replies
    ):
        others = (at for at in users if at and _is_of_harness(messages, at, replies))
        return {at: replies.get(at, ()) for at in found.union(others)}
    return {}


def with_text_calls(
    messages: Sequence[Message], *, is_first: bool, lead: Sequence[Message] = ()
) -> tuple[Message, ...]:
    """
    Return *messages* with the calls in their texts as calls where they have a result, which is one as well.

    Those of *lead* stand before them, and tell how the agent calls. A first message that is the
    result of a call there has that call beside it.
    """
    known = [*lead, *messages]
    read = [*known]
    for at, before in _answered(known, is_first=is_first).items():
        calls = before if at else ()
        told = _told(without_reminders(known[at].text), len(calls))
        ids = [f"text-{at}", *(f"text-{at}-{place}" for place in range(1, len(told)))]
        made = [
            ToolCallPart(id, one.name, _written(one)) for id, one in zip(ids, calls, strict=False)
        ]
        results = [ToolCallResponsePart(id, one) for id, one in zip(ids, told, strict=True)]
        parts = (*made, *results) if at == len(lead) else results
        read[at] = replace(known[at], role="tool", parts=tuple(parts), native=None)
        if calls:
            parts = (*_said(known[at - 1], calls[0].start), *made)
            read[at - 1] = replace(known[at - 1], parts=parts, native=None)
    return tuple(read[len(lead) :])


def _is_user(message: Message) -> bool:
    return message.role == "user" and all(type(part) is TextPart for part in message.parts)


def _calls_before(messages: Sequence[Message], at: int) -> Sequence[WrittenCall]:
    """Return the calls in the text that the message *at* is the reply to; of the first one, those after it."""
    answers = messages[at - 1 : at] if at else messages[1:2]
    if not answers or answers[0].role != "assistant" or answers[0].tool_calls:
        return ()
    return written_calls(answers[0].text)


def _may_begin(text: str) -> bool:
    return bool(_MAY_BEGIN(text))


def _is_result(text: str) -> bool:
    begun = _BEGINS(text)
    if begun is None:
        observes = _OBSERVES(text) is not None and _NEXT_TASK not in text
        return observes or _ends_with_prompt(text)
    # A user who writes below a result, or shows one, goes on in words.
    if begun[0].endswith(">"):
        return bool(_TAG_ENDS(text, max(0, len(text) - _LONGEST_END)))
    return not _BY_USER(text)


def _ends_with_prompt(text: str) -> bool:
    if not text.endswith(_PROMPT_ENDS):
        return False
    prompt = _PROMPT(text[-_LONGEST_END:])
    return prompt is not None and text.find(prompt[1]) == text.rfind(prompt[1])


def _are_alike(texts: Sequence[str]) -> bool:
    """Whether each of *texts* begins with a label, enough of them, or says that nothing was printed."""
    is_alike = all(_may_begin(text) or _SILENT(text) for text in texts)
    return is_alike and sum(map(_may_begin, texts)) >= _LEAST_ALIKE


def _is_of_harness(messages: Sequence[Message], at: int, replies: Container[int]) -> bool:
    """Whether a harness that is known by its results has written the message *at* as well."""
    text = messages[at].text
    if messages[at - 1].role != "assistant":
        return False
    return bool(_COMPLAINS(text) or (at in replies and _SILENT(text)))


def _told(text: str, count: int) -> Sequence[str]:
    """Return what each of *count* calls has answered in *text*, all of it at the last one if that is unclear."""
    if count > 1:
        values = [value for _, value, _ in tagged_values(text)]
        return values if len(values) == count else [*[""] * (count - 1), _unframed(text)]
    return [_unframed(text)]


def _unframed(text: str) -> str:
    """Return what a tool has answered in *text*, without what the harness has put around it."""
    if (code := _EXIT(text)) is not None:
        said = f"exit code {code[1]}"
        return "\n".join([*([said] if said != _FINE else []), text[code.end() :]]).strip("\n")
    begun = _BEGINS(text) or _OBSERVES(text) or _MAY_BEGIN(text)
    if begun is None:
        return text
    if not begun[0].endswith(">"):
        ends = _NEXT_HEADING(text, begun.end()) if begun[0].endswith("-") else None
        return text[begun.end() : ends.start() if ends else None].lstrip(" ").strip("\n")
    found = [*tagged_values(text)]
    told = [f"exit code {value}" if name in _CODES else value for name, value, _ in found]
    rest = text[found[-1][2] if found else 0 :]
    return "\n".join([*(one for one in told if one != _FINE), rest]).strip("\n")


def _said(message: Message, end: int) -> Iterator[Part]:
    yield from (part for part in message.parts if type(part) is not TextPart)
    if said := message.text[:end].strip():
        yield TextPart(said)


def _written(call: WrittenCall) -> str:
    return encode_json(call.arguments).decode()
