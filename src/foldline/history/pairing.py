"""Which calls of a history wait for their results, and whether these stand where `repair` puts them."""

from collections.abc import Sequence

from foldline.history.messages import Message
from foldline.history.parts import GenericPart
from foldline.history.served import served_call


class Pairing:
    """The tool calls and results of a history, as far as it has grown."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """How many calls of the newest exchange wait, by the places of their messages."""
        self.asked: set[str] = set()
        """The calls that the next results have to answer."""
        self.last_damage = -1
        """Where a message was last that breaks the order."""
        self._waiting: dict[str, list[int]] = {}
        self._ids: set[str] = set()

    def copy(self) -> "Pairing":
        """Return what grows on its own."""
        made = Pairing()
        made.open, made.asked = self.open.copy(), self.asked.copy()
        made.last_damage, made._ids = self.last_damage, self._ids.copy()
        made._waiting = {one: [*places] for one, places in self._waiting.items()}
        return made

    def called(self, call_id: str, message: Message, position: int) -> None:
        """Note that *message* calls."""
        # A call by anybody else is damage, which no view keeps: nothing answers it.
        if message.role == "assistant":
            self._waiting.setdefault(call_id, []).append(position)
            self.open[position] = self.open.get(position, 0) + 1

    def answered(self, call_id: str, position: int) -> int:
        """Return the position of the call that a result at *position* answers, or its own."""
        waiting = self._waiting.get(call_id)
        if not waiting:
            return position
        call = waiting.pop()
        if not waiting:
            del self._waiting[call_id]
        if call in self.open:
            self.open[call] -= 1
            if not self.open[call]:
                del self.open[call]
        return call

    def served(self, part: GenericPart, message: Message, position: int) -> int:
        """Return the position of the call that *part* answers, or its own; note what it calls."""
        call_id, is_answer = served_call(part)
        if is_answer:
            return self.answered(call_id, position)
        if call_id:
            self.called(call_id, message, position)
        return position

    def follow(
        self,
        message: Message,
        before: Message | None,
        position: int,
        *,
        calls: Sequence[str],
        answers: Sequence[str],
    ) -> None:
        """Note whether *message*, the newest, breaks the order after the one *before* it."""
        asked = self.asked
        if message.role == "assistant":
            new = {*calls} - self._ids
            new.discard("")
            is_next = not asked or (before is not None and before.role == "assistant")
            fits = is_next and not answers and len(new) == len(calls)
            self._ids |= new
            asked |= new
        else:
            fits = len(asked.intersection(answers)) == len(message.parts) > 0
            asked.difference_update(answers)
        if not fits:
            asked.clear()
            self.last_damage = position
