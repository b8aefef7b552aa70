"""What an identifier is, and whether a text has one."""

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.replay.quality.identifiers import (
    generic,
    has_word,
    identifiers,
    last_word,
    said,
    spelled_out,
    wants,
)


def test_identifiers_by_shape() -> None:
    """A digit, a sign inside, capitals or camel case make an identifier; plain words are none."""
    text = "Book HAT170 for mia_li_3668 at src/app.py, JFK to LAX, useState, a well-known Thing 12."

    assert list(identifiers(text)) == [
        "HAT170",
        "mia_li_3668",
        "src/app.py",
        "JFK",
        "LAX",
        "useState",
    ]


def test_an_identifier_has_no_full_stop_of_its_sentence() -> None:
    """The point that ends a sentence, and a sign at an end, belong to no identifier."""
    assert list(identifiers("It is 2024-05-20. See a1b2: and end.")) == ["2024-05-20", "a1b2"]


def test_the_generic_pattern_takes_any_run_with_a_sign() -> None:
    """A digit, `@`, `_`, `/` or `#` is enough, and capitals are not."""
    assert list(generic('{"id": "x1"} JFK #4 a/b me@home. 7!')) == [
        "x1",
        "#4",
        "a/b",
        "me@home",
        "7",
    ]


def test_wants_reads_short_arguments_alone() -> None:
    """Values come from all depths of arguments; names of arguments and long texts give none."""
    long = "x1y2 " * 100
    arguments = f'{{"path_name": "a.py", "list": [{{"id": "HAT1"}}, 5], "text": "{long}"}}'
    message = Message.assistant("see B747", tool_calls=[ToolCallPart("1", "edit", arguments)])

    assert wants(message) == ("a.py", "HAT1")
    assert wants(Message.user("HAT1")) == ()


def test_wants_of_arguments_that_are_no_object() -> None:
    """Arguments that are no JSON object are one text."""
    calls = [ToolCallPart("1", "run", "cat a.py"), ToolCallPart("2", "run", '"b.py"')]

    assert wants(Message.assistant("", tool_calls=calls)) == ("a.py", "b.py")


def test_wants_each_value_once_by_another_pattern() -> None:
    """The pattern can be another one, and a value that occurs twice is wanted once."""
    message = Message.assistant("", tool_calls=[ToolCallPart("1", "run", '{"a": "#4 #4 JFK"}')])

    assert wants(message, generic) == ("#4",)


def test_what_is_said_has_no_escapes() -> None:
    """A line break in an argument separates words, as it does when it is written out."""
    message = Message.assistant("ok", tool_calls=[ToolCallPart("1", "run", '{"a": "x\\nnew_1"}')])

    assert said(message) == "ok\nrun\nx\nnew_1"
    assert said(Message.tool("1", "done")) == "done"


@pytest.mark.parametrize(
    ("text", "is_there"),
    [("user_1", True), ("user_12", False), ("user_12 user_1", True), ("xuser_1", False)],
)
def test_only_whole_words_count(text: str, is_there: bool) -> None:
    """A value inside a longer word is not there."""
    assert has_word(text, "user_1") is is_there


def test_the_last_mention_before_an_end() -> None:
    """What stands after the end, and what goes beyond it, is not counted."""
    text = "a1b2 then a1b2"

    assert last_word(text, "a1b2", len(text)) == 10
    assert last_word(text, "a1b2", 12) == 0
    assert last_word(text, "a1b2", 3) == -1


def test_a_directory_is_put_before_each_of_its_files() -> None:
    """What a digest writes once counts for each file of its line."""
    assert spelled_out("- src/a/: x.py, y.py\nother: z") == "src/a/x.py, src/a/y.py\nother: z"
