"""What a guest is for the table: its own loop with a scripted model of its own kind."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from tests.integrations.golden import Transcript


class Player(Protocol):
    """
    One conversation in a guest.

    Each guest has a module in `tests/integrations/players` with a class `Player`, and what it
    cannot carry: `CANNOT`, the name of a transcript and the error that the guest itself gives.
    """

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        """Begin with what the transcript imports."""

    requests: list[list[Message]]
    """What the scripted model received, call by call."""

    async def say(self, turn: Sequence[Message]) -> None:
        """Let the user say the first message of *turn*; the model and the tools say the others."""

    def say_blocking(self, turn: Sequence[Message]) -> None:
        """Do the same through the blocking face of the guest, which may be in a running loop."""

    async def stored(self) -> list[Any]:
        """Return the guest's own history: its objects, as it keeps them."""

    def read(self, objects: Sequence[Any]) -> list[Message]:
        """Return what *objects* say."""

    def restart(self, reducer: HistoryReducer) -> None:
        """Make everything anew, as another process would, but for what the guest stores."""


def player_of(guest: str) -> tuple[Callable[[Transcript, HistoryReducer], Player], dict[str, str]]:
    """Return the player of *guest*, and what the guest cannot carry."""
    module = import_module(f"tests.integrations.players.{guest}")
    return module.Player, module.CANNOT
