"""
Whose wish a statement tells: what only a tool said is none of the user's.

A page or a file may say what the user allegedly wants. A statement that tells it as the user's is
known by its words: they are those of a tool's answer, and not those of anything the user has said.
"""

import re
from collections.abc import Iterable
from functools import cached_property

from foldline.history.messages import Message
from foldline.reduction.labels import is_fact
from foldline.reduction.language import content, words
from foldline.reduction.request import SummaryRequest
from foldline.reduction.said import Said
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import statements


__all__ = ["TYPED", "Wishes"]


_WANT = r"(?:want|ask|request|decid|demand|instruct|order|agree|approv|wish|would like"
_TOLD = re.compile(
    r"\b(?:users?|customers?|clients?|humans?|operators?|owner|boss|manager|team)\b[^.\n]{0,40}?"
    rf"\b{_WANT}|need|prefer|confirm)"
    rf"|\b(?:he|she|they|we|you|everyone|everybody|somebody)\b[^.\n]{{0,20}}?\b{_WANT})"
    rf"|\b(?:as|was|were|been|is|are|it) {_WANT}|confirm)\w*d\b|\b(?:agreed|approved|requested) (?:to|by|on|that)\b"
    r"|\b(?:nutzer(?:in)?|benutzer(?:in)?|kund(?:e|in)) [^.\n]{0,20}?\b(?:will|wollte|möchte|wünscht|verlangt|bittet|bat)"
    r"|\b(?:utilisat\w+|clients?) [^.\n]{0,20}?\b(?:veut|voulait|souhaite|demande|exige)"
    r"|\b(?:usuari[oa]|utente|client[ea]) [^.\n]{0,20}?\b(?:quiere|quer|queria|quería|desea|deseja|pide|pede|vuole|chiede|exige)"
    r"|\b(?:пользовател\w+|клиент\w*) [^.\n]{0,20}?(?:хоч|хот|прос|требу)\w+",
    re.IGNORECASE,
).search
TYPED = 1_500
"""What has more characters was pasted: somebody else may have written it."""

_LEAST_WORDS = 3
_OF_TOOL = 0.7
_OF_USER = 0.5


class Wishes:
    """What the user and what tools said in the sources of a summary."""

    def __init__(self, request: SummaryRequest, said: Said) -> None:
        """Take what *request* gives to read, and what was *said* in it."""
        self._request = request
        self._said = said

    def is_foreign(self, statement: str) -> bool:
        """Whether *statement* tells as the user's wish what only an answer of a tool says."""
        if not _TOLD(statement):
            return False
        said = content(words(statement)) - _TELLING
        if len(said) < _LEAST_WORDS or len(said & self._of_user) >= _OF_USER * len(said):
            return False
        return any(len(said & line) >= _OF_TOOL * len(said) for line in self._of_tools)

    def is_of_user(self, statement: str) -> bool:
        """Whether *statement* is an order in the words that the user typed."""
        said = content(words(statement))
        return bool(said) and any(len(said & one) >= _OF_TOOL * len(said) for one in self._typed)

    def are_reported(self, statement: str) -> bool:
        """Whether *statement* has the label of a turn, and tells of what was said."""
        return is_fact(statement, self._of_user)

    @cached_property
    def _typed(self) -> list[set[str]]:
        users = (one.text for one in self._request.messages if one.role == "user")
        texts = (*users, *self._request.shown)
        return [content(words(text)) for text in texts if len(text) <= TYPED]

    @cached_property
    def _of_user(self) -> set[str]:
        return content(words("\n".join((self._request.prompt, *self._said.texts))))

    @cached_property
    def _of_tools(self) -> list[set[str]]:
        texts = (text for one in self._request.messages for text in _answers(one))
        return [content(words(line)) for text in texts for line in statements(text)]


def _answers(message: Message) -> Iterable[str]:
    return texts_of([message]) if message.role == "tool" else ()


_TELLING = content(
    words(
        "user users customer customers client clients human operator want wants wanted asks asked"
        " request requests requested need needs needed prefer prefers preferred decided demanded"
        " instructed ordered agreed approved confirmed wish wishes would like also has have that"
    )
)
