"""
What tools did: files, commits, tasks and values, read from calls and their results by code.

An extractor knows the schema of some tools. The built-in ones know the schemas that agents share: an
editor with a path and an old and a new text, a patch, a shell, git, a list of tasks, and what sets a
value. What none of them knows is not lost: its identifiers are in the ledger, and its answer is beside
its call.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from posixpath import normpath

from msgspec import convert

from foldline.providers.digest.setters import read_setter
from foldline.providers.digest.text import one_line, shorten
from foldline.providers.digest.tool_use import (
    LOOKS_FIRST,
    READS,
    Extractor,
    Facts,
    ToolUse,
    is_looking,
)
from foldline.reduction.record import Artefact, FileAction
from foldline.reduction.tools import COMMAND_LABELS, CREATES, DELETES, EDITS, name_words


_log = logging.getLogger("foldline")
_LINE_LENGTH = 160
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
_STEPS = re.compile(r"(?<=[^./])/\.{1,2}(?:/|$)").search
_OLD_LABELS = ("old_string", "oldText", "old_str", "old_text", "oldString", "search", "old")
_NEW_LABELS = ("new_string", "newText", "new_str", "new_text", "newString", "replace", "new")
_CONTENT_LABELS = ("content", "contents", "text", "file_text", "code_edit", "new_content")
_VERBS: tuple[tuple[FileAction, frozenset[str]], ...] = (
    ("edited", EDITS),
    ("created", CREATES),
    ("deleted", DELETES),
    ("read", READS),
)
# Neither an address nor a sentence; a record parts its files at commas and colons.
_PATHLIKE = re.compile(
    r"(?!\w+://| |.*[,:] )(?=\S*$|.*[/\\.]\S)(?:[^\s\"'`<>|;&{}*?]| ){1,300}(?<! )"
).fullmatch


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
    if is_looking(use.name, words):
        return None if words.isdisjoint(READS) else "read"
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
    if not found or is_looking(use.name, name_words(use.name)):
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
    whole = f"{folder.rstrip('/')}/{path}" if folder and path[:1] not in {"/", "~"} else path
    return normpath(whole) if _STEPS(whole) else whole


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
    if use.failure or LOOKS_FIRST(use.name) or not _TASK_TOOL(use.name):
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


EXTRACTORS: tuple[Extractor, ...] = (_patch, _tasks, _editor, _opened, _shell, read_setter)
"""The built-in extractors; the first one that knows a call reads it."""


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
