"""What a guest is for the table: its own loop with a scripted model of its own kind."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestCodec
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


class Player(Protocol):
    """
    One conversation in a guest.

    Each guest has a module in `tests/integrations/players` with a class `Player`, and with rows for
    what it cannot carry:

    - `CANNOT` has the name of a transcript that the guest spoils itself, with how; or `BLOCKING`
      with the error that it gives.
    - `UNANSWERED` is what it answers by itself to a call without result; None says that it sends no
      such call, and nothing that foldline answers.
    - `CODEC` is the codec of its objects; None where they are dictionaries that foldline reads.
    - `SIGNED` is whether its thinking has a place for a vendor's signature.
    """

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        """Make what plays *transcript*."""

    async def begin(self) -> None:
        """Put what the transcript imports into the guest's history."""

    requests: list[list[Message]]
    """What the scripted model received, call by call."""

    def received(self) -> list[Any]:
        """Return the objects of the newest of these requests."""
        ...

    async def say(self, turn: Sequence[Message]) -> None:
        """Let the user say the first message of *turn*; the model and the tools say the others."""

    def say_blocking(self, turn: Sequence[Message]) -> None:
        """Do the same through the blocking face of the guest, which may be in a running loop."""

    async def stored(self) -> list[Any]:
        """Return the guest's own history: its objects, as it keeps them."""
        ...

    def read(self, objects: Sequence[Any]) -> list[Message]:
        """Return what *objects* say."""
        ...

    def restart(self, reducer: HistoryReducer) -> None:
        """Make everything again, as another process would, but for what the guest stores."""


class Guest(Struct, frozen=True):
    """A guest, with the rows that say what it cannot carry."""

    player: Callable[[Transcript, HistoryReducer], Player]
    cannot: Mapping[str, str]
    unanswered: str | None
    signed: bool
    codec: GuestCodec[Any] | None
    model: Callable[[], Any]

    async def play(self, transcript: Transcript, reducer: HistoryReducer) -> Player:
        """Begin *transcript*."""
        player = self.player(transcript, reducer)
        await player.begin()
        return player

    def carried(self, transcript: Transcript) -> Transcript:
        """Return *transcript* as the guest has it once its loop has begun."""
        carried = transcript
        if self.unanswered != "":
            carried = transcript.answered(self.unanswered)
        return replace(carried, is_signed=self.signed)


def guest_of(name: str) -> Guest:
    """Return the guest of that name."""
    module = import_module(f"tests.integrations.players.{name}")
    return Guest(
        player=module.Player,
        cannot=module.CANNOT,
        unanswered=module.UNANSWERED,
        signed=module.SIGNED,
        codec=module.CODEC,
        model=module.model,
    )
