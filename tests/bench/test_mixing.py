"""Conversations interleaved."""

from bench.mixing import interleaved
from foldline.history.messages import Message
from foldline.logs.importer import Session


def _session(name: str, size: int) -> Session:
    said = tuple(Message.user(f"{name}{number}") for number in range(size))
    return Session(id=name, format="test", messages=said)


def test_four_messages_of_each_in_turn() -> None:
    """Blocks of four alternate until all is said; the last group may be smaller."""
    first, second, third = (_session(name, size) for name, size in (("a", 6), ("b", 3), ("c", 2)))

    mixed, alone = interleaved((first, second, third), 2)

    assert [one.text for one in mixed.messages] == [
        "a0",
        "a1",
        "a2",
        "a3",
        "b0",
        "b1",
        "b2",
        "a4",
        "a5",
    ]
    assert mixed.id == "a and 1 more"
    assert alone is third
