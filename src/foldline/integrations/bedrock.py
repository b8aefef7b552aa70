"""Views for a loop on Amazon Bedrock's Converse API, which boto3 asks by `client.converse`."""

from typing import Any

from foldline.agent.known import KNOWN_BYTES
from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestView
from foldline.history.formats.renderings.sending import scrubbed
from foldline.integrations.bedrock_messages import ConverseCodec, alternating


class ConverseView(GuestView[dict[str, Any]]):
    """
    Reduces a list of messages of Converse; see `GuestView`.

    A view is a request that Bedrock accepts: roles alternate, a user speaks first, each call is
    answered in the next message, and no text is blank.
    """

    def __init__(
        self,
        reducer: HistoryReducer,
        codec: ConverseCodec | None = None,
        *,
        known_bytes: int = KNOWN_BYTES,
    ) -> None:
        """Reduce with *reducer*, which several views may share; see `GuestView`."""
        super().__init__(reducer, codec or ConverseCodec(), known_bytes=known_bytes)

    def arranged(self, view: list[dict[str, Any]], _: object, /) -> list[dict[str, Any]]:
        """Return *view* as Converse takes it."""
        return [scrubbed(one) for one in alternating(view)]
