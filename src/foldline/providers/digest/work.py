"""
What tools did: files, commits, tasks and values, read from calls and their results by code.

An extractor knows the schema of some tools. The built-in ones know the schemas that agents share: an
editor with a path and an old and a new text, a patch, a shell, git, a list of tasks, and what sets a
value. What none of them knows is not lost: its identifiers are in the ledger, and its answer is beside
its call.
"""

import logging
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TypeAlias

from msgspec import Struct, convert

from foldline.providers.digest.failures import confirmed, failure_of
from foldline.providers.digest.identifiers import kind_of
from foldline.providers.digest.span import Argument, Result, Span
from foldline.providers.digest.text import one_line, shorten
from foldline.reduction.record import Artefact, FileAction
from foldline.reduction.tools import COMMAND_LABELS, name_words


__all__ = ["EXTRACTORS", "Extractor", "Facts", "ToolUse", "facts_of", "uses_of"]


class ToolUse(Struct, frozen=True, kw_only=True):
    """One call of a tool, and what it answered; the result is empty if there was none."""

    position: int
    """The place of its message among those of the fold, from 0."""

    name: str
    """The name of the tool; empty for a result without its call."""

    arguments: tuple[Argument, ...]
    """The values of its arguments as text, each with the name that it stands under."""

    result: str = ""
    """What it answered, as text; empty if it has not yet."""

    failure: str = ""
    """The line in which the result says that the call failed; empty if it did not."""

    def argument(self, *labels: str) -> str:
        """Return the first value that one of *labels* names; empty without one."""
        return next((one.value for one in self.arguments if one.label in labels), "")


class Facts(Struct, frozen=True, kw_only=True):
    """What one call shows: each of them one line without breaks, or less."""

    files: tuple[Artefact, ...] = ()
    """The files that it worked on, and what it did to each."""

    commits: tuple[str, ...] = ()
    """The commits that it made: the hash and the subject of each."""

    open_tasks: tuple[str, ...] = ()
    """The tasks that are to be done."""

    done_tasks: tuple[str, ...] = ()
    """The tasks that are done."""

    has_tasks: bool = False
    """Whether the two lists of tasks take the place of the ones before."""
    values: tuple[tuple[str, str], ...] = ()
    """Names and the value that each of them has from now on."""
    result: str | None = None
    """What the answer says, in one line; None for the beginning of it."""


Extractor: TypeAlias = Callable[[ToolUse], Facts | None]
"""Reads the facts of a call; None if it does not know the schema."""

_log = logging.getLogger("foldline")
_LINE_LENGTH = 160
# What parts the name of a value from it.
_SAYS = ": "
_MOST_PATHS = 20
_PATH_LABELS = (
    "path",
    "file_path",
    "filePath",
    "filepath",
    "filename",
    "file_name",
    "file",
    "target_file",
    "TargetFile",
    "notebook_path",
    "relative_path",
    "relative_workspace_path",
    "absolute_path",
)
_OLD_LABELS = ("old_string", "oldText", "old_str", "old_text", "oldString", "search", "old")
_NEW_LABELS = ("new_string", "newText", "new_str", "new_text", "newString", "replace", "new")
_CONTENT_LABELS = ("content", "contents", "text", "file_text", "code_edit", "new_content")
_READS = frozenset({"read", "view", "open", "cat", "show", "get", "load", "goto"})
_VERBS: tuple[tuple[FileAction, frozenset[str]], ...] = (
    (
        "edited",
        frozenset({"edit", "replace", "insert", "update", "patch", "modify", "append", "apply"}),
    ),
    ("created", frozenset({"write", "create", "save", "new", "add"})),
    ("deleted", frozenset({"delete", "remove", "unlink"})),
    ("read", _READS),
)
# Tools that look or talk, whatever else their name says, except those that replace or apply.
_LOOKING = r"search|find|grep|list|diff|history|validate|check|review|comment|http|fetch|request"
_LOOKS = frozenset({*_LOOKING.split("|"), "send"})
_LOOKS_FIRST = re.compile(_LOOKING, re.IGNORECASE).match
_CHANGES = frozenset({"replace", "apply"})
# Neither an address nor a sentence; a record parts its files at commas and colons.
_PATHLIKE = re.compile(
    r"(?!\w+://| |.*[,:] )(?=\S*$|.*[/\\.]\S)(?:[^\s\"'`<>|;&{}*?]| ){1,300}(?<! )"
).fullmatch


def _is_looking(name: str, words: AbstractSet[str]) -> bool:
    looks = _LOOKS_FIRST(name) is not None or not words.isdisjoint(_LOOKS)
    return looks and words.isdisjoint(_CHANGES)


def _editor(use: ToolUse) -> Facts | None:
    """Read what tools for files have in common: a path, and texts or a verb."""
    path = use.argument(*_PATH_LABELS)
    if not path or not _PATHLIKE(path):
        return None
    action = _action(use)
    if action is None:
        return None
    artefact = Artefact(path=path, action=action, failed=bool(use.failure))
    if use.failure or action == "read":
        return Facts(files=(artefact,))
    place = "/".join([part for part in re.split(r"[/\\]", path) if part not in {"", "."}][-2:])
    changed = _changed(use.argument(*_OLD_LABELS), use.argument(*_NEW_LABELS))
    values = tuple((f"{name} ({place})", value) for name, value in changed)
    return Facts(files=(artefact,), values=values)


_OPENED = re.compile(
    r"\(Open file: (/[^\s()]{1,300})\)\r?\n\(Current directory: (/[^\s()]{0,300})\)"
).search
_OPENED_END = 1_000


def _opened(use: ToolUse) -> Facts | None:
    """Read editors of SWE-agent, which change the file that their answer says is open."""
    found = _OPENED(use.result[-_OPENED_END:])
    if not found or use.argument(*_PATH_LABELS, *COMMAND_LABELS) or _action(use) != "edited":
        return None
    path = found[1].removeprefix(found[2].rstrip("/") + "/")
    return Facts(files=(Artefact(path=path, action="edited", failed=bool(use.failure)),))


def _action(use: ToolUse) -> FileAction | None:
    words = name_words(use.name)
    if _is_looking(use.name, words):
        return None if words.isdisjoint(_READS) else "read"
    labels = {one.label for one in use.arguments}
    if not labels.isdisjoint(_OLD_LABELS) and not labels.isdisjoint(_NEW_LABELS):
        return "edited"
    # A tool that does several things is told by an argument which one.
    for said in (name_words(use.argument("command")[:40]), words):
        for action, verbs in _VERBS:
            if not said.isdisjoint(verbs):
                return action
    return None if labels.isdisjoint(_CONTENT_LABELS) else "created"


_SETTING = re.compile(
    r"^[ \t]*[\"']?([A-Za-z_][\w.-]{1,60})[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"',;(){}\[\]]{1,80})"
    r"[\"']?[ \t]*[,;]?[ \t]*(?:(?:#|//).*)?$",
    re.MULTILINE,
)


def _changed(old: str, new: str) -> tuple[tuple[str, str], ...]:
    """Return the settings, such as `size: 3`, whose value is another one in *new*."""
    if not old or not new:
        return ()
    before = dict(_SETTING.findall(old))
    return tuple(
        (name, value)
        for name, value in _SETTING.findall(new)
        if name in before and before[name] != value
    )


_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (\S[^\r\n]{0,299})$", re.MULTILINE)
_DIFFED = re.compile(r"^\+\+\+ (?:b/)?(\S{1,300})$", re.MULTILINE)
_PATCH_ACTIONS: dict[str, FileAction] = {"Add": "created", "Update": "edited", "Delete": "deleted"}


def _patch(use: ToolUse) -> Facts | None:
    """Read patches of Codex, and unified diffs that a tool applies."""
    found: list[tuple[str, FileAction]] = []
    is_patch = "patch" in use.name.lower()
    for argument in use.arguments:
        if " File: " in argument.value:
            for verb, path in _PATCHED.findall(argument.value):
                found.append((path.strip(), _PATCH_ACTIONS[verb]))
        if is_patch and not found:
            found.extend((path, "edited") for path in _DIFFED.findall(argument.value))
    if not found or _is_looking(use.name, name_words(use.name)):
        return None
    files = [
        Artefact(path=path, action=action, failed=bool(use.failure))
        for path, action in found
        if _PATHLIKE(path)
    ]
    return Facts(files=tuple(files[:_MOST_PATHS])) if files else None


# One command of a line of the shell: a pipe does not begin another one that writes.
_COMMANDS = re.compile(r"&&|\|\||[;\n]")
_WRITTEN = re.compile(r"(?:(?<![\d&>=-])>{1,2}|\btee(?: -a)?) *([\w./~@+-]{1,300})")
_ARGUMENT = re.compile(r"(?<!\S)(?!-)[\w./~@+-]{1,300}(?!\S)")
_SHELL_VERBS: dict[str, FileAction] = {
    "rm": "deleted",
    "unlink": "deleted",
    "touch": "created",
    "cat": "read",
    "head": "read",
    "tail": "read",
    "less": "read",
}
_PREFIXES = re.compile(r"^(?:sudo +|git +(?=rm\b|mv\b))")
_SUBSTITUTED = re.compile(r"^(?:sed|perl)\b[^|]{0,400}? -i")
# What is no command: an escape, a comment, quoted text, and the text of a file up to its mark.
_UNSAID = re.compile(
    r"\\.|(?<!\S)\#[^\n]*"
    r"|(?:\"\$\(cat\ +)?(?<!<)<<(?!<)-?[ \t]*[\"']?(?P<mark>[A-Za-z_]\w{0,60})[\"']?"
    r"|^\)\"|\"(?:[^\"\\]|\\.)*\"|'[^']*'|\n",
    re.DOTALL | re.MULTILINE,
)
_BLANK = ("#", "<<", ")", "\\\n")
_QUIET = re.compile(
    r"\bgit\b[^\n|;&]{0,80} commit\b[^\n|;&]{0,200}? -(?:-quiet|[a-z]{0,9}q[a-z]{0,9})(?!\S)"
).search
_COMMITTED = re.compile(
    r"^\[[\w./-]{1,100}(?: \([\w -]{1,30}\))? ([0-9a-f]{7,40})\] (.{1,300})$", re.MULTILINE
)
_LOGGED = re.compile(r"^([0-9a-f]{7,40}) (?:\([^)\n]{1,100}\) )?(.{1,300})$", re.MULTILINE)
_MESSAGE = re.compile(
    r"\bgit\b[^\n|;&]{0,80} commit\b[^\n]{0,80}?(?:-[a-z]*m|--message)[ =]*(?:\"([^\"]{1,300})|'([^']{1,300}))"
)
_DEVICES = ("/dev/",)


def _shell(use: ToolUse) -> Facts | None:
    """Read a line of a shell: what it writes, moves and deletes, and what it commits."""
    command = use.argument(*COMMAND_LABELS)
    if not command or use.argument(*_PATH_LABELS):
        return None
    bare = _bare(command)
    files = [
        one
        for one in dict.fromkeys(_shell_files(bare, is_failed=bool(use.failure)))
        if not one.path.startswith(_DEVICES) and re.search(r"[^\W\d]", one.path)
    ]
    commits = tuple(_commits(use, command, is_quiet=_QUIET(bare) is not None))
    return Facts(files=tuple(files[:_MOST_PATHS]), commits=commits)


def _bare(command: str) -> str:
    """Return the commands of *command* alone, without what they quote or write to a file."""
    kept: list[str] = []
    at, mark = 0, ""
    while found := _UNSAID.search(command, at):
        kept.append(command[at : found.start()])
        at = found.end()
        mark = mark or found["mark"] or ""
        if found[0] != "\n":
            kept.append(" " if found[0].startswith(_BLANK) else "''")
            continue
        kept.append("\n")
        if mark:
            end = re.compile(rf"^[ \t]*{mark}[ \t]*$", re.MULTILINE).search(command, at)
            at, mark = end.end() if end else len(command), ""
    return "".join(kept) + command[at:]


def _shell_files(bare: str, *, is_failed: bool) -> Iterator[Artefact]:
    commands = [one.strip() for one in _COMMANDS.split(bare) if one.strip()]
    folder = ""
    for place, one in enumerate(commands, 1):
        plain = _PREFIXES.sub("", one)
        name, *named = _ARGUMENT.findall(_WRITTEN.sub("", plain.partition("|")[0])) or [""]
        if name == "cd":
            folder = _joined(folder, named[0]) if named else ""
            continue
        written: FileAction = "edited" if ">>" in plain else "created"
        # Most often the last command is reached because the ones before it have done their part.
        failed = is_failed and place == len(commands)
        made: list[tuple[str, FileAction]] = [(path, written) for path in _WRITTEN.findall(plain)]
        for path, action in chain(made, _changes(name, named, plain)):
            yield Artefact(path=_joined(folder, path), action=action, failed=failed)


def _joined(folder: str, path: str) -> str:
    return f"{folder.rstrip('/')}/{path}" if folder and path[:1] not in {"/", "~"} else path


def _changes(name: str, named: Sequence[str], plain: str) -> Iterator[tuple[str, FileAction]]:
    if name in {"mv", "cp"} and len(named) > 1:
        *sources, target = named
        is_folder = len(sources) > 1 or target.endswith(("/", "."))
        for source in sources:
            if name == "mv":
                yield source, "deleted"
            made = source.rpartition("/")[2]
            yield f"{target.rstrip('/')}/{made}" if is_folder else target, "created"
    elif _SUBSTITUTED.match(plain):
        for path in named:
            if "." in path:
                yield path, "edited"
    elif name in _SHELL_VERBS:
        for path in named:
            yield path, _SHELL_VERBS[name]


def _commits(use: ToolUse, command: str, *, is_quiet: bool) -> Iterator[str]:
    if "commit" not in command:
        return
    found = [f"{commit} {subject}" for commit, subject in _COMMITTED.findall(use.result)]
    if not found and not use.failure:
        hashes = {subject: commit for commit, subject in _LOGGED.findall(use.result)}
        said = [first or other for first, other in _MESSAGE.findall(command)]
        # A commit that answers something else has most often not been made.
        quiet = said if is_quiet or not use.result.strip() else []
        found = [f"{hashes[one]} {one}" for one in said if one in hashes] or quiet
    for line in found:
        yield shorten(one_line(line), limit=_LINE_LENGTH)


_TASK_LABELS = ("content", "step", "task", "title", "description", "text", "subject")
_TASK_TOOL = re.compile(r"(?:^|[^a-z])(?:todo|task|plan|step)|(?:Todo|Task|Plan|Step)").search
_STATUS_LABELS = ("status", "state")
_DONE = frozenset({"completed", "complete", "done", "finished", "closed", "cancelled", "canceled"})
_OPEN = frozenset(
    {
        "pending",
        "open",
        "todo",
        "in_progress",
        "in progress",
        "inprogress",
        "active",
        "blocked",
        "not_started",
    }
)


def _tasks(use: ToolUse) -> Facts | None:
    """Read a whole list of tasks: texts, each with a status of its own."""
    if use.failure or _LOOKS_FIRST(use.name) or not _TASK_TOOL(use.name):
        return None
    text, tasks = "", list[tuple[str, str]]()
    before = ""
    for one in use.arguments:
        if one.label in _TASK_LABELS:
            text = one.value
            if before:
                tasks.append((text, before))
                text, before = "", ""
        elif one.label in _STATUS_LABELS:
            status = one.value.lower()
            if text:
                tasks.append((text, status))
                text = ""
            else:
                before = status
    known = [(line, status) for line, status in tasks if status in _DONE | _OPEN]
    if not known or len(known) != len(tasks):
        return None

    def lines(wanted: frozenset[str]) -> tuple[str, ...]:
        found = (one_line(line) for line, status in known if status in wanted)
        return tuple(shorten(line, limit=_LINE_LENGTH) for line in found)

    return Facts(open_tasks=lines(_OPEN), done_tasks=lines(_DONE), has_tasks=True)


_SETS = frozenset({"set", "update", "change", "move", "modify", "assign", "rename"})
_NAME_PARTS = re.compile(r"[A-Z]?[a-z\d]+|[A-Z\d]+(?![a-z])").findall
# What says what a tool does, and not what it does it to.
_DOES = _SETS | {"and", "or", "delete", "remove", "create", "add", "insert"}
# What a value belongs to is named by an argument that ends so, an id rather than a name, or is a code.
_SUBJECTS = [
    re.compile(rf"(.{{0,60}}?)[\W_]*{end}", re.IGNORECASE) for end in ("id", "key", "name")
]
# What a value is one of many of; a key or a name is only if the value has no name of its own.
_PLACE = re.compile(
    r".{0,60}(?:cell|column|row|flag|feature|field|setting|property|attribute|parameter|variable"
    r"|(key|name))",
    re.IGNORECASE,
).fullmatch
_VALUE = "value"
_MOST_FIELDS = 8
_VALUE_LENGTH = 80


def _setter(use: ToolUse) -> Facts | None:
    """Read tools such as `set_budget`, which give new values to what one argument names."""
    parts = [part.lower() for part in _NAME_PARTS(use.name)]
    verb = next((part for part in parts if part in _SETS or part in _READS), "")
    if use.failure or verb not in _SETS or _is_looking(use.name, set(parts)):
        return None
    times = Counter(one.label for one in use.arguments)
    # Of several values under one name none takes the place of another.
    given = {one.label: one_line(one.value) for one in use.arguments if times[one.label] == 1}
    found = next(filter(None, (end.fullmatch(one) for end in _SUBJECTS for one in given)), None)
    key = found[0] if found else next((one for one in given if kind_of(given[one]) == "code"), "")
    if not key:
        return None
    thing = (found[1] if found else key) or " ".join(one for one in parts if one not in _DOES)
    subject = f"{thing} {given[key]}".strip()
    places = _places([one for one in given if one != key])
    place = " ".join(given[one] for one in places)
    values = (
        (f"{place if place and name == _VALUE else f'{place} {name}'.strip()} ({subject})", value)
        for name, value in confirmed(use.result, given).items()
        if value and name != key and name not in places
    )
    short = [
        pair for pair in values if max(map(len, pair)) <= _VALUE_LENGTH and _SAYS not in pair[0]
    ]
    return Facts(values=tuple(short[:_MOST_FIELDS]))


def _places(labels: Sequence[str]) -> list[str]:
    """Return those of *labels* that name which value is given, unless nothing else is."""
    found = ((one, _PLACE(one)) for one in labels)
    places = [one for one, match in found if match and (_VALUE in labels or not match[1])]
    return places if len(places) < len(labels) else []


EXTRACTORS: tuple[Extractor, ...] = (_patch, _tasks, _editor, _opened, _shell, _setter)
"""The built-in extractors; the first one that knows a call reads it."""


def uses_of(span: Span) -> list[ToolUse]:
    """Return the calls of *span* in order, each with its result; a result alone has no name."""
    results: dict[str, deque[Result]] = {}
    for result in span.results:
        results.setdefault(result.id, deque()).append(result)
    alone: list[Result] = []
    uses: list[ToolUse] = []
    none: deque[Result] = deque()
    for call in span.calls:
        # An id may come again: a result answers the last call with its id before it.
        answers = results.get(call.id, none) if call.id else none
        while answers and answers[0].position < call.position:
            alone.append(answers.popleft())
        uses.append(_use(call.position, call.name, call.arguments, answers))
    alone.extend(result for answers in results.values() for result in answers)
    uses.extend(_use(one.position, "", (), deque([one])) for one in alone)
    return sorted(uses, key=lambda use: use.position)


def _use(
    position: int, name: str, arguments: tuple[Argument, ...], answers: deque[Result]
) -> ToolUse:
    found = answers.popleft() if answers else None
    return ToolUse(
        position=position,
        name=name,
        arguments=arguments,
        result=found.text if found else "",
        failure=failure_of(found.text, is_marked=found.is_error) if found else "",
    )


def facts_of(uses: Sequence[ToolUse], extractors: Iterable[Extractor]) -> list[Facts]:
    """Return the facts of each of *uses*; of an unknown schema nothing."""
    known = list(extractors)
    return [_facts(use, known) for use in uses]


def _facts(use: ToolUse, known: list[Extractor]) -> Facts:
    for one in tuple(known):
        try:
            found = one(use)
            facts = None if found is None else convert(found, Facts)
        except Exception as error:  # noqa: BLE001 - an extractor of a user may raise anything
            # The summary must not depend on it; once in a digest is enough to say so.
            known.remove(one)
            name = getattr(one, "__name__", type(one).__name__)
            _log.warning("extractor %s is left out: %s", name, type(error).__name__)
        else:
            if facts is not None:
                return facts
    return Facts()
