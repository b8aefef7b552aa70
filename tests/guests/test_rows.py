"""The objects of a guest in the rows of a thread."""

from foldline.guests import objects_in, rows_of
from foldline.history.messages import Message


def test_an_object_is_in_the_first_of_its_rows() -> None:
    """Each comes back once, also one that says nothing; rows of others have none."""
    said = [Message.tool("a", "1"), Message.tool("b", "2")]

    rows = [*rows_of(said, {"a": 1}), Message.user("other"), *rows_of((), {"b": 2})]

    assert [row.role for row in rows] == ["tool", "tool", "user", "system"]
    assert objects_in(rows) == [{"a": 1}, {"b": 2}]
