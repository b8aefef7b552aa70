"""
The record of a reduction: that of its one summary, or those of its layers put together.

Of layers the newer one decides: what was last done to a file, the newest value of a name, whether a
task is done. Everything else is listed once, oldest first.
"""

import re
from collections.abc import Iterable, Sequence

from foldline.reduction.call_counts import calls_of, is_counts
from foldline.reduction.record import FILES, Artefact, Counts, FileAction, Section, SummaryRecord
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.tasks import task_lines, tasks_of


_IS_WHOLE = re.compile(r"[/~]|[A-Za-z]:/").match
_DEEPEST = 20
# What a file that was made or changed before is said to be after the next call.
_STAYS: dict[tuple[FileAction, FileAction], FileAction] = {
    ("created", "read"): "created",
    ("edited", "read"): "edited",
    ("deleted", "read"): "deleted",
    ("edited", "created"): "edited",
    ("read", "created"): "edited",
}
_SPOKEN = (Section.SAID, Section.LAST)


def record_of(cut: int, *, summary: str, layers: Sequence[SummaryLayer]) -> SummaryRecord | None:
    """
    Return the record of the first *cut* messages; None without a summary.

    Args:
        cut: How many messages the summary stands for.
        summary: The summary, if there is one.
        layers: Its layers, oldest first, if there are any.
    """
    if not summary:
        return None
    records = [_read(one.summary, one.end - one.start) for one in layers] or [_read(summary, cut)]
    return _joined(records) if len(records) > 1 else records[0]


def _read(text: str, messages: int) -> SummaryRecord:
    """Return *text* as a record: what somebody wrote freely is narrative."""
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    free = SummaryRecord(Counts(other=messages), {Section.NARRATIVE: lines})
    return SummaryRecord.read(text) or free


def _joined(records: Sequence[SummaryRecord]) -> SummaryRecord:
    lines = {
        section: dict.fromkeys(line for one in records for line in one.lines(section))
        for section in Section
    }
    # What was said last in an older one was said before the newer one.
    said = [line for one in records for name in _SPOKEN for line in one.lines(name)]
    last = dict.fromkeys(records[-1].lines(Section.LAST))
    lines |= {Section.SAID: dict.fromkeys(said[: len(said) - len(last)]), Section.LAST: last}
    values = {line.partition(": ")[0]: line for line in lines[Section.VALUES]}
    lines[Section.VALUES] = dict.fromkeys(values.values())
    files = files_of(one for record in records for one in reversed(record.artefacts))[::-1]
    for section, action in FILES.items():
        lines[section] = dict.fromkeys(one.line for one in files if one.action == action)
    tasks = tasks_of(records)
    lines |= {section: dict.fromkeys(task_lines(tasks, section)) for section in tasks}
    counted = calls_of(records).line
    called = [line for line in lines[Section.TOOLS] if not is_counts(line)]
    lines[Section.TOOLS] = dict.fromkeys(filter(None, [counted, *called]))
    sections = {section: tuple(found) for section, found in lines.items() if found}
    return SummaryRecord(sum((one.counts for one in records), Counts()), sections)


def files_of(artefacts: Iterable[Artefact]) -> list[Artefact]:
    """
    Return each file once, what was last touched last, with what was done to it in all.

    A relative path with a folder is the file of the one absolute path that ends with it.

    Args:
        artefacts: What was done, oldest first.
    """
    files: dict[str, Artefact] = {}
    wholes: dict[str, str] = {}
    for new in artefacts:
        path = new.path.replace("\\", "/").removeprefix("./")
        ends = _ends(path)
        known = path
        if path not in files:
            # An end that several files have is that of none.
            own = (end for end in ends if end in files and end not in wholes)
            known = wholes.get(path) or next(own, path)
        old = files.pop(known, None)
        for end in ends:
            wholes[end] = path if wholes.get(end, path) == path else ""
        action = _STAYS.get((old.action, new.action), new.action) if old else new.action
        is_longer = old is None or len(path) > len(known)
        files[path if is_longer else known] = Artefact(
            path=new.path if old is None or is_longer else old.path,
            action=action,
            failed=new.failed,
        )
    return [*files.values()]


def _ends(path: str) -> list[str]:
    """Return the ends of an absolute path that have a folder, longest first; of others none."""
    parts = path.split("/")[-_DEEPEST:] if _IS_WHOLE(path) else []
    return ["/".join(parts[at:]) for at in range(1, len(parts) - 1)]
