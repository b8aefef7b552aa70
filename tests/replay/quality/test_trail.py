"""What was done to files, and what a text tells of it."""

from foldline.history.formats.wire import FAILED
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallResponsePart
from foldline.replay.quality.trail import commits, edited_files, trail_of
from tests.replay.quality.by_hand import call


def test_edited_files_are_those_written_to() -> None:
    """Calls that read, or failed, or name no file edit nothing; a file counts once."""
    failed = ToolCallResponsePart("call-4", (TextPart("no"), FAILED))
    said = [
        call(1, "edit", '{"path": "src/a.py"}'),
        call(2, "read", '{"path": "src/b.py"}'),
        call(3, "write_file", '{"file_path": "src/c.py"}'),
        call(4, "write", '{"path": "src/d.py"}'),
        Message(role="tool", parts=(failed,)),
        call(5, "edit", '{"path": "src/a.py"}'),
        call(6, "str_replace_editor", '{"command": "view", "path": "src/e.py"}'),
        call(7, "edit", '{"lines": "3:4"}'),
    ]

    assert edited_files(said) == ("src/a.py", "src/c.py")


def test_a_file_is_marked_by_its_heading_label_or_item() -> None:
    """A mark stands in the heading above, before the colon of the line, or beside the name."""
    said = [call(at, "edit", f'{{"path": "/w/src/{name}.py"}}') for at, name in enumerate("abcd")]
    text = (
        "Edited files:\n- /w/src/a.py\n\nFiles:\n- edited: src/b.py\n- c.py (read), d.py (created)"
    )

    trail = trail_of(said, text)

    assert trail.named == trail.edited
    assert trail.marked == ("/w/src/a.py", "/w/src/b.py", "/w/src/d.py")


def test_a_bare_name_must_tell_one_file() -> None:
    """A name that two edited files have names neither; with its folder it names one."""
    said = [call(1, "edit", '{"path": "a/x.py"}'), call(2, "edit", '{"path": "b/x.py"}')]

    assert trail_of(said, "edited x.py").named == ()
    assert trail_of(said, "edited b/x.py, zb/x.py.old").named == ("b/x.py",)
    assert trail_of(said, "edited /w/a/x.py").named == ("a/x.py",)


def test_a_record_marks_files_by_its_sections() -> None:
    """What a record lists as created, edited or deleted is marked; what it lists as read is named."""
    said = [call(at, "edit", f'{{"path": "/w/src/{name}.py"}}') for at, name in enumerate("abcde")]
    record = (
        "Record of 9 messages.\n## Asked by the user\n- edit e.py\n"
        "## Files created\n- /w/src/: a.py (last call failed)\n## Files edited\n- src/: b.py\n"
        "## Files deleted\n- /w/src/: c.py\n## Files read\n- /w/src/: d.py"
    )

    trail = trail_of(said, f"[Label]\n{record}", (record,))

    assert trail.named == trail.edited
    assert trail.marked == ("/w/src/a.py", "/w/src/b.py", "/w/src/c.py")


def test_each_layer_marks_in_its_own_way() -> None:
    """Of two summaries one may be a record and one prose; what is quoted beside them marks nothing."""
    said = [call(at, "edit", f'{{"path": "src/{name}.py"}}') for at, name in enumerate("abc")]
    layers = ("Record of 2 messages.\n## Files edited\n- src/: a.py", "Then b.py was changed.")

    trail = trail_of(said, "\n".join((*layers, "user: edit c.py")), layers)

    assert trail.named == trail.edited
    assert trail.marked == ("src/a.py", "src/b.py")


def test_commits_are_told_by_subject_or_hash() -> None:
    """A commit that printed its hash was made; one that printed none failed."""
    said = [
        call(1, "bash", '{"command": "git add -A && git commit -m \\"Drop the word index\\""}'),
        Message.tool("call-1", "hooks\n[main 1a2b3c4] Drop the word index\n 1 file changed"),
        call(2, "bash", '{"command": "git commit -am \'Add a page\'"}'),
        Message.tool("call-2", "[main 5d6e7f8] Add a page"),
        call(3, "bash", '{"command": "git commit -m \\"Refused\\""}'),
        Message.tool("call-3", "nothing to commit"),
    ]

    assert commits(said) == (("Drop the word index", "1a2b3c4"), ("Add a page", "5d6e7f8"))
    assert trail_of(said, "committed 1a2b3c4").told == ("Drop the word index",)
    assert trail_of(said, 'committed "Add a page"').told == ("Add a page",)


def test_a_beginning_must_tell_one_commit() -> None:
    """Of two commits whose subjects begin alike each needs its whole subject."""
    said = [
        call(1, "bash", '{"command": "git commit -m \\"Correct the page of figures\\""}'),
        Message.tool("call-1", "[main 1a2b3c4] Correct the page of figures"),
        call(2, "bash", '{"command": "git commit -m \\"Correct the page of figures again\\""}'),
        Message.tool("call-2", "[main 5d6e7f8] Correct the page of figures again"),
    ]

    assert trail_of(said, "Correct the page of fig").told == ()
    assert trail_of(said, "Correct the page of figures").told == ("Correct the page of figures",)
