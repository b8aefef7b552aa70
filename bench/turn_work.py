"""
The conversation that whole turns are measured on, the same for everybody.

It has the shape of one with tools: a user, four calls with their results, and an answer, over and
over. Nothing but the standard library is needed: the peers read it too.
"""

import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bench import workload


INSTRUCTIONS = "You are a careful assistant. Look things up before you answer."
TOOL = "search_files"
CALLS = 4
MESSAGES = {"plain": 2, "tool": 4}
"""How many messages a turn of each kind adds."""
KEEP, SLACK = 20, 5
"""What a reduced view keeps, in messages, and how many more may gather."""


class Said(NamedTuple):
    """One message, as no framework spells it."""

    role: str
    """`user`, `assistant` or `tool`."""

    text: str
    """What it says; what the tool answered; the query of a call."""

    call_id: str = ""
    """The id of the call that it makes or answers."""


class Talk:
    """A conversation that goes on for ever, from a seed."""

    def __init__(self, seed: int = 7, *, first_call: int = 0) -> None:
        """Begin with *seed*, and number the calls from *first_call* on."""
        self._rng = random.Random(seed)
        self._calls = first_call
        self._messages = self._all()

    def take(self, count: int) -> list[Said]:
        """Return the next *count* messages; whole exchanges, where it is a multiple of ten."""
        return list(islice(self._messages, count))

    def user(self) -> str:
        """Return what a user says: about 150 characters."""
        return self._words(5.0, 0.6)

    def answer(self) -> str:
        """Return what an assistant says: about 400 characters."""
        return self._words(6.0, 0.6)

    def result(self) -> str:
        """Return what a tool answers: about 400 characters, some far longer."""
        return self._words(6.0, 0.8)

    def query(self) -> str:
        """Return what a tool is asked for."""
        return workload.words(self._rng, 40)

    def call_id(self) -> str:
        """Return an id that no other call has."""
        self._calls += 1
        return f"call_{self._calls}"

    def _words(self, mean: float, spread: float) -> str:
        return workload.words(self._rng, int(self._rng.lognormvariate(mean, spread)))

    def _all(self) -> Iterator[Said]:
        while True:
            yield Said("user", self.user())
            for _ in range(CALLS):
                call_id = self.call_id()
                yield Said("assistant", self.query(), call_id)
                yield Said("tool", self.result(), call_id)
            yield Said("assistant", self.answer())
