"""
The record of a reduction: that of its one summary, or those of its layers put together.

Of layers the newer one decides: what was last done to a file, the newest value of a name, whether a
task is done. Everything else is listed once, oldest first.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from foldline.reduction.record import FILES, Artefact, Counts, Section, SummaryRecord, Task
from foldline.reduction.spans import SummaryLayer


__all__ = ["record_of"]


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
    first, *rest = [_read(one.summary, one.end - one.start) for one in layers] or [
        _read(summary, cut)
    ]
    return _joined([first, *rest]) if rest else first


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
    lines[Section.LAST] = dict.fromkeys(records[-1].lines(Section.LAST))
    values = {line.partition(": ")[0]: line for line in lines[Section.VALUES]}
    lines[Section.VALUES] = dict.fromkeys(values.values())
    files = _files(one for record in records for one in reversed(record.artefacts))
    for section, action in FILES.items():
        lines[section] = dict.fromkeys(one.line for one in files if one.action == action)
    lines[Section.OPEN], lines[Section.DONE] = _tasks(records)
    sections = {section: tuple(found) for section, found in lines.items() if found}
    # Equal lines count calls of different messages.
    if calls := tuple(line for one in records for line in one.lines(Section.TOOLS)):
        sections[Section.TOOLS] = calls
    return SummaryRecord(sum((one.counts for one in records), Counts()), sections)


def _files(artefacts: Iterable[Artefact]) -> list[Artefact]:
    files: dict[str, Artefact] = {}
    for one in artefacts:
        old = files.pop(one.path, one)
        # Who reads a file changes nothing of it.
        action = old.action if one.action == "read" else one.action
        files[one.path] = replace(one, action=action)
    return [*reversed(files.values())]


def _tasks(records: Iterable[SummaryRecord]) -> tuple[dict[str, None], dict[str, None]]:
    """Return the lines of open and of done tasks; each layer has numbered its own from 1."""
    opened, done, number = dict[str, Task](), dict[str, Task](), 0
    for record in records:
        before = number
        for found, tasks in ((record.open_tasks, opened), (record.done_tasks, done)):
            for task in found:
                at = before + int(task.id[1:]) if task.id else 0
                number = max(number, at)
                known = opened.pop(task.text, None) or done.pop(task.text, None)
                tasks[task.text] = known or Task(id=f"t{at}" if at else "", text=task.text)
    return (
        dict.fromkeys(one.line for one in opened.values()),
        dict.fromkeys(one.line for one in done.values()),
    )
