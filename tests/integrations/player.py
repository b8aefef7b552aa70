"""What a guest is for the table: its own loop with a scripted model of its own kind."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Self

from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from tests.integrations.golden import Transcript


BLOCKING = "a blocking run inside a loop"
"""The row of a guest whose own blocking face cannot be called while a loop is running."""


def said_on_a_page(count: int) -> list[Message]:
    """Return what the model of a page says: *count* answers, then it calls `recall` and answers."""
    answer = Message.assistant("It left on day 3.")
    call = ToolCallPart(id="r1", name="recall", arguments='{"message":0}')
    return [*[answer] * count, Message(role="assistant", parts=(call,)), answer]


class Player(ABC):
    """
    One conversation in a guest.

    Each guest has a module in `tests/integrations/players` with a class `Player`, whose rows say what
    it cannot carry, and a function `model` for its page.
    """

    codec: Any
    """The `GuestCodec` of its objects; None where they are dictionaries that foldline reads."""

    cannot: Mapping[str, str] = MappingProxyType({})
    """The name of a transcript that it spoils itself, with how; or `BLOCKING` with its error."""

    unanswered: str | None = ""
    """
    What it answers by itself to a call without result.

    None says that it sends no such call, and nothing that foldline answers.
    """

    signed = True
    """Whether its thinking has a place for a vendor's signature."""

    _model: Any
    """Its scripted model, which has in `asked` the objects of each call, or rules and objects."""

    @abstractmethod
    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        """Make what plays *transcript*."""

    @classmethod
    async def play(cls, transcript: Transcript, reducer: HistoryReducer) -> Self:
        """Begin *transcript*."""
        player = cls(transcript, reducer)
        await player.begin()
        return player

    @classmethod
    def carried(cls, transcript: Transcript) -> Transcript:
        """Return *transcript* as the guest has it once its loop has begun."""
        carried = transcript
        if cls.unanswered != "":
            carried = transcript.answered(cls.unanswered)
        return replace(carried, is_signed=cls.signed)

    async def begin(self) -> None:  # noqa: B027 - most have nothing left to do
        """Put what the transcript imports into the guest's history."""

    @property
    def _asked(self) -> list[tuple[list[Message], Sequence[Any]]]:
        given = (one if isinstance(one, tuple) else (None, one) for one in self._model.asked)
        return [([Message.system(rules)] if rules else [], view) for rules, view in given]

    @property
    def requests(self) -> list[list[Message]]:
        """What the scripted model received, call by call."""
        return [[*rules, *self.read(view)] for rules, view in self._asked]

    def received(self) -> list[Any]:
        """Return the objects of the newest of these requests."""
        return list(self._asked[-1][1])

    @abstractmethod
    async def say(self, turn: Sequence[Message]) -> None:
        """Let the user say the first message of *turn*; the model and the tools say the others."""

    def say_blocking(self, turn: Sequence[Message]) -> None:
        """Do the same through the blocking face of the guest, for which an own loop may stand."""
        coroutine = self.say(turn)
        try:
            asyncio.run(coroutine)
        finally:
            coroutine.close()

    @abstractmethod
    async def stored(self) -> list[Any]:
        """Return the guest's own history: its objects, as it keeps them."""

    def read(self, objects: Sequence[Any]) -> list[Message]:
        """Return what *objects* say."""
        return [message for one in objects for message in self.codec.read(one)]

    @abstractmethod
    def restart(self, reducer: HistoryReducer) -> None:
        """Make everything again, as another process would, but for what the guest stores."""


Guest = type[Player]
"""A guest: the class of its conversations."""


def guest_of(name: str) -> Guest:
    """Return the guest of that name."""
    guest: Guest = import_module(f"tests.integrations.players.{name}").Player
    return guest
