"""The record of a summary: written as text, read back, and what it tells."""

import pytest

from foldline.reduction.record import Artefact, Counts, Section, SummaryRecord, Task, brief


RECORD = SummaryRecord(
    Counts(user=2, tool=1), {Section.USED: ("id: A-1",), Section.LAST: ("user: bye", "user: - x")}
)


def test_a_record_is_read_back() -> None:
    """What is rendered is read as an equal record, with roles that add up to the total."""
    empty = SummaryRecord(Counts(), {})
    mixed = SummaryRecord(Counts(user=2, other=1), {})

    assert RECORD.render().split("\n")[0] == "Record of 3 messages (user 2, tool 1)."
    assert SummaryRecord.read(RECORD.render()) == RECORD
    assert SummaryRecord.read(empty.render()) == empty
    assert mixed.render() == "Record of 3 messages (user 2, other 1)."
    assert SummaryRecord.read(mixed.render()) == mixed


def test_a_text_of_the_first_form_is_read() -> None:
    """A stored digest of an earlier version is a record, and stays byte for byte what it was."""
    text = "Digest of 3 messages (user 2).\n## Ids seen\n- codes: B-2\n## Last said\n- user: bye"
    record = SummaryRecord.read(text)

    assert record is not None
    assert record == SummaryRecord(
        Counts(user=2, other=1),
        {Section.SEEN: ("codes: B-2",), Section.LAST: ("user: bye",)},
        format=1,
    )
    assert record.render() == text


def test_a_brief_record_has_no_headings() -> None:
    """Without roles, what was asked needs no heading, unless there is more than that."""
    asked = SummaryRecord(brief(Counts(user=2)), {Section.REQUESTS: ("Buy milk.",)})
    more = SummaryRecord(asked.counts, {**asked.sections, Section.LAST: ("user: bye",)})

    assert asked.render() == "Record of 2 messages.\n- Buy milk."
    assert SummaryRecord.read(asked.render()) == asked
    assert "\n## Asked by the user\n- Buy milk.\n## Last said\n" in more.render()
    assert SummaryRecord.read(more.render()) == more
    assert asked.counts == Counts(other=2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A summary in prose.",
        "Record of 1 messages (user 2).",
        "Digest of 3 messages (user 2).\n- item without heading",
        "Record of 2 messages (user 2).\n## Unknown\n- a",
        "Record of 2 messages (user 2).\n## Last said\nno mark",
        "Record of 2 messages (user 2).\n## Last said\n- a\n## Ids seen\n- order is wrong",
        "Record of 2 messages (user 2).\n## Last said",
        "Record of 3 messages (user 2).\n## Last said\n- the roles do not add up",
    ],
)
def test_other_texts_are_no_records(text: str) -> None:
    """A text that differs from what would be written is somebody else's."""
    assert SummaryRecord.read(text) is None


def test_what_a_record_tells() -> None:
    """Files, tasks, identifiers and the narrative are typed, whatever lines they stand on."""
    record = SummaryRecord(
        Counts(user=1, tool=4),
        {
            Section.CREATED: ("/a/b/: new.py",),
            Section.EDITED: ("/a/: x.py, y.py (last call failed)", "setup.py"),
            Section.READ: ("/a/: z.py",),
            Section.DONE: ("[t1] Write the tests",),
            Section.OPEN: ("[t2] Run them", "as the agent wrote it"),
            Section.USED: ("user_id: u_1",),
            Section.SEEN: ("codes: C-1, C-2",),
            Section.NARRATIVE: ("First this.", "Then that."),
        },
    )

    assert record.artefacts == (
        Artefact(path="/a/b/new.py", action="created"),
        Artefact(path="/a/x.py", action="edited"),
        Artefact(path="/a/y.py", action="edited", failed=True),
        Artefact(path="setup.py", action="edited"),
        Artefact(path="/a/z.py", action="read"),
    )
    assert record.done_tasks == (Task(id="t1", text="Write the tests"),)
    assert record.open_tasks == (
        Task(id="t2", text="Run them"),
        Task(id="", text="as the agent wrote it"),
    )
    assert record.identifiers == ("u_1", "C-1", "C-2")
    assert record.narrative == "First this.\nThen that."
    assert SummaryRecord.read(record.render()) == record
