"""The cut that a caller gives."""

from collections.abc import Sequence

from foldline.checks import expect, expect_whole
from foldline.errors import ConfigError
from foldline.history.history import History
from foldline.history.messages import READ_HINT, Message


def check_cut(messages: Sequence[Message], index: int) -> None:
    """
    Raise ConfigError if *index* separates a call in *messages* from its answer.

    So it does if one of the two arguments is of a wrong type.
    """
    expect_whole("summarized_up_to_index", index, 0)
    expect("messages", messages, Sequence)
    if not isinstance(messages, History):
        for place, one in enumerate(messages):
            expect(f"messages[{place}]", one, Message, hint=READ_HINT)
        messages = History(messages)
    after = range(max(index, messages.start), len(messages))
    if any(messages.reach(place) < index for place in after):
        raise ConfigError(f"summarized_up_to_index={index} separates a tool call from its answer")
