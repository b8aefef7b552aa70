"""A conversation in a loop of one's own, whose requests go to a server on this machine."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestView
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from tests.integrations.golden import RULES, Transcript
from tests.integrations.player import Player
from tests.integrations.served import Judge, anything, open_desk


class OwnLoop(Player):
    """What all such loops do; a subclass asks with an SDK."""

    field: str
    """Where a request has its messages."""
    judge: Judge

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._said = transcript.messages
        self._kept = b""
        self._shown: list[Any] = []
        self._given = [self.codec.write(one, None) for one in transcript.before]
        self._desk = open_desk(type(self).judge if reducer.config.enabled else anything)
        self._view = self.view(reducer)

    @abstractmethod
    def view(self, reducer: HistoryReducer) -> GuestView[Any]:
        """Return the view of the guest."""

    @abstractmethod
    def answered(self, message: Message) -> dict[str, Any]:
        """Return the response that says *message*."""

    @property
    def _asked(self) -> list[tuple[list[Message], Sequence[Any]]]:
        return [([Message.system(RULES)], asked[self.field]) for asked in self._desk.asked]

    def received(self) -> list[Any]:
        return self._shown

    def restart(self, reducer: HistoryReducer) -> None:
        self._view = self.view(reducer)

    def _state(self) -> HistoryReductionState | None:
        return HistoryReductionState.from_json(self._kept) if self._kept else None

    def _begin(self, turn: Sequence[Message]) -> None:
        self._desk.answers = [self.answered(one) for one in turn if one.role == "assistant"]
        self._given.append(self.codec.write(turn[0], None))

    def _keep(self, reduced: Any) -> None:
        self._kept = b"" if reduced.state is None else reduced.state.to_json()
        self._shown = reduced.messages

    async def stored(self) -> list[Any]:
        return list(self._given)
