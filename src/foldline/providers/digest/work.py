"""
What tools did: files, commits, tasks and values, read from calls and their results by code.

An extractor knows the schema of some tools. The built-in ones know the schemas that agents share: an
editor with a path and an old and a new text, a patch, a shell, git, a list of tasks. What none of
them knows is not lost: its identifiers are in the ledger, and its answer is beside its call.
"""

import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct, convert

from foldline.providers.digest.failures import failure_of
from foldline.providers.digest.span import Argument, Result, Span
from foldline.providers.digest.text import one_line, shorten
from foldline.reduction.record import Artefact, FileAction


__all__ = ["EXTRACTORS", "Extractor", "Facts", "ToolUse", "facts_of", "uses_of"]


class ToolUse(Struct, frozen=True, kw_only=True):
    """One call of a tool, and what it answered; the result is empty if there was none."""

    position: int
    name: str
    arguments: tuple[Argument, ...]
    result: str = ""
    failure: str = ""
    """The line in which the result says that the call failed; empty if it did not."""

    def argument(self, *labels: str) -> str:
        """Return the first value that one of *labels* names; empty without one."""
        return next((one.value for one in self.arguments if one.label in labels), "")


class Facts(Struct, frozen=True, kw_only=True):
    """What one call shows: each of them one line without breaks, or less."""

    files: tuple[Artefact, ...] = ()
    commits: tuple[str, ...] = ()
    open_tasks: tuple[str, ...] = ()
    done_tasks: tuple[str, ...] = ()
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
_PATH_LENGTH = 300
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
_COMMAND_LABELS = ("command", "cmd", "script", "CommandLine")
_VERBS: tuple[tuple[FileAction, frozenset[str]], ...] = (
    (
        "edited",
        frozenset({"edit", "replace", "insert", "update", "patch", "modify", "append", "apply"}),
    ),
    ("created", frozenset({"write", "create", "save", "new", "add"})),
    ("deleted", frozenset({"delete", "remove", "unlink"})),
    ("read", frozenset({"read", "view", "open", "cat", "show", "get", "load", "goto"})),
)
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall
_PATHLIKE = re.compile(r"[^\s\"'`<>|;&$(){}*?]{1,300}").fullmatch


def _editor(use: ToolUse) -> Facts | None:
    """Read what tools for files have in common: a path, and texts or a verb."""
    path = use.argument(*_PATH_LABELS)
    if not path or not _PATHLIKE(path):
        return None
    action = _action(use)
    if action is None:
        return None
    values = _changed(use.argument(*_OLD_LABELS), use.argument(*_NEW_LABELS))
    return Facts(files=(_artefact(path, action, use),), values=() if use.failure else values)


def _action(use: ToolUse) -> FileAction | None:
    labels = {one.label for one in use.arguments}
    if not labels.isdisjoint(_OLD_LABELS) and not labels.isdisjoint(_NEW_LABELS):
        return "edited"
    # A tool that does several things is told by an argument which one.
    for said in (use.argument("command")[:40], use.name):
        verbs = {part.lower() for part in _NAME_PARTS(said)}
        for action, words in _VERBS:
            if not verbs.isdisjoint(words):
                return action
    return None if labels.isdisjoint(_CONTENT_LABELS) else "created"


def _artefact(path: str, action: FileAction, use: ToolUse) -> Artefact:
    return Artefact(path=path, action=action, failed=bool(use.failure))


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
    files: list[Artefact] = []
    for argument in use.arguments:
        for verb, path in _PATCHED.findall(argument.value):
            files.append(_artefact(path.strip(), _PATCH_ACTIONS[verb], use))
        if "patch" in use.name.lower() and not files:
            files.extend(_artefact(path, "edited", use) for path in _DIFFED.findall(argument.value))
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
_QUOTED = re.compile(r"\"[^\"]{0,2000}\"|'[^']{0,2000}'")
_COMMITTED = re.compile(
    r"^\[[\w./-]{1,100}(?: \([\w -]{1,30}\))? ([0-9a-f]{7,40})\] (.{1,300})$", re.MULTILINE
)
_MESSAGE = re.compile(
    r"\bgit\b[^\n|;&]{0,80} commit\b[^\n]{0,80}?(?:-[a-z]*m|--message)[ =]*(?:\"([^\"]{1,300})|'([^']{1,300}))"
)
_DEVICES = ("/dev/",)


def _shell(use: ToolUse) -> Facts | None:
    """Read a line of a shell: what it writes, moves and deletes, and what it commits."""
    command = use.argument(*_COMMAND_LABELS)
    if not command or use.argument(*_PATH_LABELS):
        return None
    files = tuple(
        _artefact(path, action, use)
        for path, action in dict.fromkeys(_shell_files(command))
        if not path.startswith(_DEVICES) and re.search(r"[^\W\d]", path)
    )
    return Facts(files=files[:_MOST_PATHS], commits=tuple(_commits(use, command)))


def _shell_files(command: str) -> Iterator[tuple[str, FileAction]]:
    heredoc = command.find("<<")
    if heredoc >= 0:
        # What follows the first line is the text of a file.
        command = command[: command.find("\n", heredoc) if "\n" in command[heredoc:] else None]
    folder = ""
    for one in _COMMANDS.split(command):
        plain = _QUOTED.sub("''", _PREFIXES.sub("", one.strip()))
        name, *named = _ARGUMENT.findall(_WRITTEN.sub("", plain.partition("|")[0])) or [""]
        if name == "cd":
            folder = _joined(folder, named[0]) if named else ""
            continue
        for path in _WRITTEN.findall(plain):
            yield _joined(folder, path), "edited" if ">>" in plain else "created"
        for path, action in _changes(name, named, plain):
            yield _joined(folder, path), action


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


def _commits(use: ToolUse, command: str) -> Iterator[str]:
    if "commit" not in command or use.failure:
        return
    found = [f"{commit} {subject}" for commit, subject in _COMMITTED.findall(use.result)]
    said = [first or other for first, other in _MESSAGE.findall(command)]
    for line in found or said:
        yield shorten(one_line(line), limit=_LINE_LENGTH)


_TASK_LABELS = ("content", "step", "task", "title", "description", "text", "subject")
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
        return tuple(
            shorten(one_line(line), limit=_LINE_LENGTH)
            for line, status in known
            if status in wanted
        )

    return Facts(open_tasks=lines(_OPEN), done_tasks=lines(_DONE), has_tasks=True)


EXTRACTORS: tuple[Extractor, ...] = (_patch, _tasks, _editor, _shell)
"""The built-in extractors; the first one that knows a call reads it."""


def uses_of(span: Span) -> list[ToolUse]:
    """Return the calls of *span* in order, each with its result; a result alone has no name."""
    results: dict[str, deque[Result]] = {}
    for result in span.results:
        results.setdefault(result.id, deque()).append(result)
    alone: list[Result] = []
    uses: list[ToolUse] = []
    for call in span.calls:
        # An id may come again: a result answers the last call with its id before it.
        answers = results.get(call.id, deque[Result]()) if call.id else deque[Result]()
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
            facts = convert(one(use), Facts | None)
        except Exception as error:  # noqa: BLE001 - an extractor of a user may raise anything
            # The summary must not depend on it; once in a digest is enough to say so.
            known.remove(one)
            name = getattr(one, "__name__", type(one).__name__)
            _log.warning("extractor %s is left out: %s", name, type(error).__name__)
        else:
            if facts is not None:
                return facts
    return Facts()
