"""What an agent did to files and committed, and what of it a text tells."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from foldline.history.formats.wire import is_failed
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.record import SummaryRecord
from foldline.replay.quality.identifiers import call_arguments, has_word, said, spelled_out


_EDITS = re.compile(r"(?i)edit|write|create|replace|patch|insert|append|save")
_READS = frozenset({"view", "undo_edit", "read", "list"})
_PATHS = ("path", "file_path", "filepath", "filename", "file", "target_file", "notebook_path")
_EDITED = re.compile(r"(?i)\b(?:edit|wr[io]t|creat|modif|chang)")
_ITEM = re.compile(r"[,;] |: ")
_COMMIT = re.compile(r"git commit\b[^\"'\n]{0,80}?(?:-\w*m|--message)[ =]*[\"']([^\"'\n]{1,200})")
_WORD = re.compile(r"[^\s,;:()\[\]`\"']+")
_HASH = re.compile(r"(?m)^\[\S+ (?:\(root-commit\) )?([0-9a-f]{7,40})\]")
_SUBJECT = 24


class Trail(Struct, frozen=True, kw_only=True):
    """What was done, and what of it a text tells."""

    # The files that were written to.
    edited: tuple[str, ...] = ()
    # Those that the text names.
    named: tuple[str, ...] = ()
    # Those that it names as created or edited, or as deleted since.
    marked: tuple[str, ...] = ()
    # The subjects of the commits that succeeded.
    commits: tuple[str, ...] = ()
    # Those that the text names, by the hash or by the subject or its first 24 characters.
    told: tuple[str, ...] = ()


def trail_of(messages: Sequence[Message], text: str, summaries: Sequence[str] = ()) -> Trail:
    """Return what was done in *messages*, and what *text*, in their place, tells of it."""
    # Without *summaries* in it the whole text is one.
    edited, made = edited_files(messages), commits(messages)
    named = (path for path in edited if any(_items(path, edited, text)))
    marks = [_marked(edited, summary) for summary in summaries or (text,)]
    told = (subject for subject, name in made if _is_told(subject, name, made, text))
    return Trail(
        edited=edited,
        named=tuple(named),
        marked=tuple(path for path in edited if any(path in each for each in marks)),
        commits=tuple(subject for subject, _ in made),
        told=tuple(told),
    )


def _marked(edited: Sequence[str], summary: str) -> set[str]:
    """Return which of *edited* the *summary* gives as changed."""
    record = SummaryRecord.read(summary)
    if record is None:
        text = spelled_out(summary)
        return {path for path in edited if any(map(_EDITED.search, _items(path, edited, text)))}
    changed = [one.path for one in record.artefacts if one.action != "read"]
    return {path for path in edited if any(_is_path(one, path, edited) for one in changed)}


def edited_files(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the files that calls of *messages* wrote to, each once, but for calls that failed."""
    answers = (part for one in messages for part in one.tool_call_responses)
    failed = {part.id for part in answers if is_failed(part)}
    calls = (call for one in messages for call in one.tool_calls if call.id not in failed)
    return tuple(dict.fromkeys(path for call in calls if (path := _edited(call))))


def writes(call: ToolCallPart) -> bool:
    """Whether *call* is of a tool that writes to files, by its name."""
    return bool(_EDITS.search(call.name)) and call_arguments(call).get("command") not in _READS


def _edited(call: ToolCallPart) -> str:
    given = call_arguments(call) if writes(call) else {}
    named = (given.get(name) for name in _PATHS)
    return next((path for path in named if isinstance(path, str)), "")


def commits(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    """Return the subject and the hash of each commit that calls of *messages* made."""
    answers = {part.id: one for one in messages for part in one.tool_call_responses}
    found: dict[str, str] = {}
    for one in messages:
        for call in one.tool_calls:
            if "commit" not in call.arguments:
                continue
            match = _COMMIT.search(said(Message(role="assistant", parts=(call,))))
            answer = answers.get(call.id)
            made = _HASH.search(said(answer)) if answer is not None else None
            if match and made:
                found[made[1]] = match[1]
    return tuple((subject, name) for name, subject in found.items())


def _is_told(subject: str, name: str, made: Sequence[tuple[str, str]], text: str) -> bool:
    beginning = subject[:_SUBJECT]
    if sum(other.startswith(beginning) for other, _ in made) > 1:
        beginning = subject
    return has_word(text, name[:7]) or has_word(text, name) or beginning in text


def _items(path: str, edited: Sequence[str], text: str) -> Iterator[str]:
    """Yield what *text* says where it names *path*: the heading, the line's label and the item."""
    name = path.rpartition("/")[2]
    heading = ""
    for line in text.splitlines() if name in text else ():
        if line.rstrip().endswith(":"):
            heading = line
        label, *rest = _ITEM.split(line)
        for piece in (label, *rest):
            words = _WORD.findall(piece) if name in piece else ()
            if any(_is_path(word, path, edited) for word in words):
                yield f"{heading} {label} {piece}"


def _is_path(word: str, path: str, edited: Sequence[str]) -> bool:
    """Whether *word* is *path*, or as much of its end or more that no other of *edited* is meant."""
    short, long = sorted((word.removeprefix("./"), path.removeprefix("./")), key=len)
    if short == long:
        return True
    if not long.endswith(f"/{short}"):
        return False
    return sum(f"/{other}".endswith(f"/{short}") for other in edited) <= 1
