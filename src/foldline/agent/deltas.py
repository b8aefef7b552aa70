"""What a model says while it says it, as events."""

from collections.abc import Callable
from typing import TypeAlias

from foldline.agent.events import (
    AgentEvent,
    ReasoningDeltaEvent,
    ReasoningEndEvent,
    ReasoningStartEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ToolCallArgumentsEvent,
    ToolCallStartEvent,
)
from foldline.history.parts import Part, ReasoningPart, TextPart, ToolCallPart
from foldline.providers.model import (
    ChatDelta,
    ChatResponse,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)


__all__ = ["Deltas"]


_Kind: TypeAlias = type[TextDelta | ReasoningDelta]


class Deltas:
    """Turns the pieces of one response into events that open, go on and close."""

    def __init__(self, iteration: int, tell: Callable[[AgentEvent], None]) -> None:
        """Begin the response of the model call *iteration*; *tell* is given the events."""
        self._iteration = iteration
        self._tell = tell
        self._open: _Kind | None = None
        self._calls: set[int] = set()
        self.has_begun = False
        """Whether anything was heard."""

    def add(self, piece: ChatDelta) -> None:
        """Tell of *piece*."""
        self.has_begun = True
        if isinstance(piece, ToolCallDelta):
            self.close()
            self._call(piece)
        elif piece.text:
            if self._open is not type(piece):
                self.close()
                self._begin(piece)
            self._go_on(piece)

    def _begin(self, piece: TextDelta | ReasoningDelta) -> None:
        self._open = type(piece)
        if isinstance(piece, TextDelta):
            self._tell(TextStartEvent(iteration=self._iteration))
        else:
            self._tell(ReasoningStartEvent(iteration=self._iteration))

    def _go_on(self, piece: TextDelta | ReasoningDelta) -> None:
        if isinstance(piece, TextDelta):
            self._tell(TextDeltaEvent(iteration=self._iteration, text=piece.text))
        else:
            self._tell(ReasoningDeltaEvent(iteration=self._iteration, text=piece.text))

    def _call(self, piece: ToolCallDelta) -> None:
        iteration, index = self._iteration, piece.index
        if index not in self._calls:
            self._calls.add(index)
            self._tell(ToolCallStartEvent(iteration=iteration, index=index, name=piece.name))
        if piece.arguments:
            event = ToolCallArgumentsEvent(iteration=iteration, index=index, delta=piece.arguments)
            self._tell(event)

    def close(self) -> None:
        """Tell that what is open has ended, if something is."""
        if self._open is TextDelta:
            self._tell(TextEndEvent(iteration=self._iteration))
        elif self._open is ReasoningDelta:
            self._tell(ReasoningEndEvent(iteration=self._iteration))
        self._open = None

    def add_all(self, response: ChatResponse) -> None:
        """Tell of a response that came at once."""
        calls = 0
        for part in (part for message in response.messages for part in message.parts):
            piece = _piece(part, calls)
            if piece is not None:
                calls += isinstance(piece, ToolCallDelta)
                self.add(piece)


def _piece(part: Part, index: int) -> ChatDelta | None:
    match part:
        case TextPart():
            return TextDelta(part.content)
        case ReasoningPart():
            return ReasoningDelta(part.content)
        case ToolCallPart():
            return ToolCallDelta(index=index, id=part.id, name=part.name, arguments=part.arguments)
        case _:
            return None
