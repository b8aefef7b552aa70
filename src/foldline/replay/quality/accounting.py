"""
Where every dropped token went, and whether a summary made anything up.

A token is dropped if its message does not stand in the view as it was said. It is accounted for if
exactly one summary covers the message, or if the message is shown shortened, with its number, or
without reasoning that a vendor binds to another view.
"""

import re
from collections.abc import Callable, Container, Iterator
from functools import partial

from msgspec import Struct

from foldline.history.signed import without_signed
from foldline.replay.quality.identifiers import identifiers, said, spelled_out
from foldline.replay.quality.moments import Moment, Transcript
from foldline.replay.validity import stretches


_MOST_STEPS = 24
_POINTER = re.compile(r"(?i)\b(?:messages?|turns?|span) \d+(?: ?[-–] ?\d+)?")


class Accounting(Struct, frozen=True, kw_only=True):
    """The tokens of one view's history that it does not show as they were said."""

    dropped: int = 0
    # Those that one summary covers, or one note on a shortened message.
    accounted: int = 0
    # Those that more than one summary covers.
    twice: int = 0

    def __add__(self, other: "Accounting") -> "Accounting":
        return Accounting(
            dropped=self.dropped + other.dropped,
            accounted=self.accounted + other.accounted,
            twice=self.twice + other.twice,
        )


def account(transcript: Transcript, moment: Moment) -> Accounting:
    """Return what of *transcript* the view of *moment* does not show, and what covers it."""
    messages, state, cut = transcript.messages, moment.state, moment.cut
    shown = {id(one) for one in moment.view}
    total = _folded(transcript, moment, shown)
    noted = () if state is None else {one.index for one in state.shortened}
    left = {said(one) for one in moment.retained}
    for index, message in enumerate(messages[cut : moment.index], cut):
        if id(message) not in shown:
            bare = without_signed(message)
            is_noted = index in noted or bare is None or said(bare) in left
            size = transcript.sizes[index]
            total += Accounting(dropped=size, accounted=size * is_noted)
    return total


def _folded(transcript: Transcript, moment: Moment, shown: Container[int]) -> Accounting:
    """Return what of the messages before the cut is dropped: all but a last user message that stays."""
    state, cut = moment.state, moment.cut
    if state is None:
        return Accounting()
    layers = [(layer.start, layer.end) for layer in state.layers] or [(0, cut)]
    pin = state.pinned_index
    stays = pin is not None and pin < cut and id(transcript.messages[pin]) in shown
    total = Accounting()
    for start, end, covers in stretches(layers, cut):
        size = transcript.tokens[end] - transcript.tokens[start]
        if stays and pin is not None and start <= pin < end:
            size -= transcript.sizes[pin]
        total += Accounting(dropped=size, accounted=size * (covers == 1), twice=size * (covers > 1))
    return total


def invented(transcript: Transcript, moment: Moment) -> Iterator[tuple[str, bool]]:
    """
    Yield each identifier of the summaries of *moment*, and whether its sources lack it.

    The first line, which counts messages, and the numbers of messages that a summary points to are
    no identifiers. A path has a source if two parts of it have one, such as the folder of a command and
    a file in it, or three, the first of which is absolute, as when a file is moved.
    """
    has = partial(transcript.is_said, end=moment.cut)
    for text in moment.summaries:
        lines = spelled_out(_POINTER.sub("", text)).splitlines()[1:]
        for value in dict.fromkeys(identifiers("\n".join(lines))):
            yield value, not _has_source(value, has)


def _has_source(value: str, has: Callable[[str], bool]) -> bool:
    return has(value) or any(has(end) and _is_folder(start, has) for start, end in _halves(value))


def _halves(path: str) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of *path* with what comes after each; none of one with too many steps."""
    steps = path.split("/")
    for at in range(1, len(steps) if len(steps) <= _MOST_STEPS else 0):
        yield "/".join(steps[:at]).removesuffix("/."), "/".join(steps[at:])


def _is_folder(start: str, has: Callable[[str], bool]) -> bool:
    return has(start) or any(has(end) and has(f"/{root}") for root, end in _halves(start))
