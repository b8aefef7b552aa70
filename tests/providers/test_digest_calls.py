"""What a digest tells of calls: those that changed something first, and counts that are true."""

import json
import re
from collections import Counter
from collections.abc import Sequence

import pytest

from foldline.history.messages import Message
from foldline.providers.digest.summarizer import write_digest
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from tests.providers.test_digest_work import used


OK = '{"ok": true}'
STEPS: dict[int, tuple[str, dict[str, object], str]] = {
    30: ("set_config", {"host": "web-01", "key": "pool.max", "value": 80}, OK),
    61: ("set_config", {"host": "web-02", "key": "pool.max", "value": 100}, OK),
    62: ("create_ticket", {"title": "Pool exhausted"}, '{"id": "OPS-4471"}'),
    90: ("restart", {"host": "web-02"}, '{"ok": false, "error": "window is closed"}'),
    110: ("close_ticket", {"id": "OPS-4471"}, OK),
}


def work(first: int, end: int) -> list[Message]:
    """Return the messages of the steps from *first* to *end*: most only look at something."""
    return [
        message
        for step in range(first, end)
        for message in used(
            *STEPS.get(
                step,
                ("get_metrics", {"host": f"db-{step % 6}"}, json.dumps({"p99": 1_000 + step * 7})),
            )
        )
    ]


def digest(messages: Sequence[Message], *, budget: int, earlier: tuple[str, ...] = ()) -> str:
    return write_digest(
        SummaryRequest(messages=tuple(messages), prompt="", budget=budget, earlier=earlier)
    )


def tools(text: str) -> tuple[str, ...]:
    record = SummaryRecord.read(text)
    assert record is not None
    return record.lines(Section.TOOLS)


def test_what_changed_something_comes_before_what_was_read() -> None:
    """Of many calls those of tools that are called seldom and change something are told, in order."""
    lines = tools(digest(work(0, 120), budget=1_400))

    assert [line.split(" ")[0] for line in lines if "get_metrics" not in line] == [
        "set_config",
        "set_config",
        "create_ticket",
        "failed:",
        "close_ticket",
    ]
    assert "failed: restart host: web-02 -> window is closed" in lines


@pytest.mark.parametrize("budget", [120, 300, 600, 1_000, 2_000])
def test_counts_stay_true(budget: int) -> None:
    """After each fold, with and without layers, counts are those of the messages that they name."""
    names = [STEPS.get(step, ("get_metrics", {}, ""))[0] for step in range(120)]
    earlier: tuple[str, ...] = ()
    for end in range(10, 121, 10):
        text = digest(work(end - 10, end), budget=budget, earlier=earlier)
        earlier = (text,) if end % 30 else (*earlier, text)[-1:]
        found = re.search(
            r"^- counts(?: of the last (\d+) messages)?: (.*[^…])$", text, re.MULTILINE
        )
        if found:
            last = int(found[1] or end * 2) // 2
            told = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", found[2])}
            assert told == Counter(names[end - last : end])


def test_counts_of_layers_are_true() -> None:
    """Where a layer has no counts, those of its messages are not taken for none."""
    lost, kept = (
        SummaryRecord(Counts(assistant=40, tool=40), {Section.TOOLS: (line,)}).render()
        for line in ("set_config key: a -> ok", "counts: get_metrics 39, pay 1")
    )
    both = tools(digest(work(80, 90), budget=2_000, earlier=(lost, kept)))

    assert "counts of the last 100 messages: get_metrics 49, pay 1" in both
    assert not any(
        line.startswith("counts") for line in tools(digest((), budget=900, earlier=(kept, lost)))
    )


def test_a_list_of_tasks_is_no_line_of_calls() -> None:
    """The sections of tasks tell it; that it was refused is told."""
    plan: dict[str, object] = {"todos": [{"content": "Fix the leak", "status": "pending"}]}
    done, refused = used("Todo", plan), used("Todo", plan, "Error: no such list")
    lines, failed = (tools(digest([*one, *work(0, 20)], budget=1_200)) for one in (done, refused))

    assert not any("Fix the leak" in line for line in lines)
    assert "counts: get_metrics 20, Todo 1" in lines
    assert any("no such list" in line for line in failed)


def test_what_was_set_comes_before_what_was_only_seen() -> None:
    """All values that hold are told where a log has more ids than there is room for."""
    talk: list[Message] = []
    for step in range(60):
        log = "\n".join(f"pod-{step:02}{row:02}x started" for row in range(30))
        setting: dict[str, object] = {"host": f"web-{step % 9}", "key": "pool.max", "value": step}
        talk += [*used("get_logs", {"host": "web"}, log), *used("set_config", setting, OK)]
    record = SummaryRecord.read(digest(talk, budget=1_500))

    assert record is not None
    assert set(record.lines(Section.VALUES)) == {
        f"pool.max (host web-{step % 9}): {step}" for step in range(51, 60)
    }
    assert not any(line.startswith("value: ") for line in record.lines(Section.USED))
