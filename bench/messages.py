"""The conversation of the bench as messages of ours."""

from bench.workload import Text
from foldline.history.messages import Message


def message_of(text: Text) -> Message:
    """Return *text* as a message."""
    role, said = text
    return Message.user(said) if role == "user" else Message.assistant(said)
