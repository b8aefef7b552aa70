"""Views for a loop on Google's SDK, which asks by `client.models.generate_content`."""

from foldline.agent.known import KNOWN_BYTES
from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestView
from foldline.integrations.google_genai_messages import (
    Content,
    ContentCodec,
    alternating,
    as_dictionaries,
    sendable,
)


class GeminiView(GuestView[Content]):
    """
    Reduces a list of contents; see `GuestView`.

    Contents are objects of the SDK, the dictionaries that it takes for them, or both. What is new in
    a view is an object if one was given. A view is a request that Gemini accepts: results
    come right after their calls and together, and a user speaks first.
    """

    def __init__(
        self,
        reducer: HistoryReducer,
        codec: ContentCodec | None = None,
        *,
        known_bytes: int = KNOWN_BYTES,
    ) -> None:
        """Reduce with *reducer*, which several views may share; see `GuestView`."""
        super().__init__(reducer, codec or ContentCodec(), known_bytes=known_bytes)

    def arranged(self, view: list[Content], given: list[Content], /) -> list[Content]:
        """Return *view* as Gemini takes it."""
        is_plain = all(isinstance(one, dict) for one in given)
        return [*map(sendable, alternating(as_dictionaries(view) if is_plain else view))]
