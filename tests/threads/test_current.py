"""The messages that an execution state refers to."""

import pytest

from foldline.errors import MessagesNotLoadedError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.prefix import Prefix
from foldline.threads.loop_state import CurrentMessages


MESSAGES = [Message.system("s"), Message.user("u"), Message.system("t"), Message.assistant("a")]


def test_it_reads_like_the_history_that_is_in_memory() -> None:
    """
    Where the history is in memory, every index and slice gives what the list of messages would.
    """
    current = CurrentMessages.of(History(MESSAGES))

    assert len(current) == 4
    assert list(current) == MESSAGES
    assert [current[at] for at in range(-4, 4)] == MESSAGES * 2
    assert current[1:3] == MESSAGES[1:3]
    assert current[::-1] == MESSAGES[::-1]
    with pytest.raises(IndexError):
        current[4]


def test_it_stays_as_long_as_it_was() -> None:
    """What the history gains later is not in it."""
    history = History(MESSAGES)
    current = CurrentMessages.of(history)
    history.append(Message.user("later"))

    assert list(current) == MESSAGES
    assert current != CurrentMessages.of(history)


def test_without_a_history_it_knows_its_length_alone() -> None:
    """A message that is not in memory is an error that tells how to read it."""
    current = CurrentMessages(3, b"d" * 32)

    assert len(current) == 3
    with pytest.raises(MessagesNotLoadedError, match=r"message 1 is not in memory.*get_messages"):
        current[1]


def test_it_is_compared_by_count_and_digest() -> None:
    """Two of the same count and digest are equal and hash alike; anything else is another thing."""
    history = History(MESSAGES)
    one, other = CurrentMessages.of(history), CurrentMessages(4, history.digest())

    assert one == other
    assert hash(one) == hash(other)
    assert one.digest == history.digest()
    assert one != CurrentMessages(4)
    assert one != CurrentMessages(3, history.digest())
    assert one != MESSAGES


def test_a_window_gives_what_it_holds_and_never_something_else() -> None:
    """Over a history that begins behind a prefix, an index gives its message or an error."""
    full = [Message.user("u0"), Message.system("s1"), Message.user("u2"), Message.user("u3")]
    visible = [full[0], full[2], full[3]]
    prefix = Prefix(
        length=2, digest=History(visible[:2]).digest(), users=2, system=(full[1],), system_at=(1,)
    )
    current = CurrentMessages.of(History([full[3]], prefix=prefix))

    assert current[3] == full[3]
    with pytest.raises(MessagesNotLoadedError):
        current[0]
