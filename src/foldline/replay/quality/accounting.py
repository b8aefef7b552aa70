"""
Where every dropped token went, and whether a summary made anything up.

A token is dropped if its message does not stand in the view as it was said. It is accounted for if
exactly one summary covers the message, or if the message is shown shortened, with its number, or
without reasoning that a vendor binds to another view.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from foldline.history.signed import without_signed
from foldline.reduction.state import HistoryReductionState
from foldline.replay.quality.identifiers import has_word, identifiers, said, spelled_out
from foldline.replay.quality.moments import Moment, Transcript


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
    shown = {id(one) for one in moment.view}
    spans = _spans(moment.state)
    noted = () if moment.state is None else {one.index for one in moment.state.shortened}
    left = {said(one) for one in moment.retained}
    total = Accounting()
    for index, message in enumerate(transcript.messages[: moment.index]):
        if id(message) in shown:
            continue
        covers = sum(start <= index < end for start, end in spans)
        if index >= moment.cut:
            bare = without_signed(message)
            covers = index in noted or bare is None or said(bare) in left
        size = transcript.sizes[index]
        total += Accounting(dropped=size, accounted=size * (covers == 1), twice=size * (covers > 1))
    return total


def _spans(state: HistoryReductionState | None) -> tuple[tuple[int, int], ...]:
    if state is None:
        return ()
    layers = tuple((layer.start, layer.end) for layer in state.layers)
    return layers or ((0, state.summarized_up_to_index),)


def invented(transcript: Transcript, moment: Moment) -> Iterator[tuple[str, bool]]:
    """
    Yield each identifier of the summaries of *moment*, and whether its sources lack it.

    The first line, which counts messages, and the numbers of messages that a summary points to are
    no identifiers. A path has a source if two parts of it have one, such as the folder of a command and
    a file in it, or three, the first of which is absolute, as when a file is moved.
    """
    folded = transcript.messages[: moment.cut]
    # Names of arguments and numbers are in their JSON alone.
    calls = (call.arguments for message in folded for call in message.tool_calls)
    source = "\n".join((transcript.text[: transcript.starts[moment.cut]], *calls))
    for text in moment.summaries:
        lines = spelled_out(_POINTER.sub("", text)).splitlines()[1:]
        for value in dict.fromkeys(identifiers("\n".join(lines))):
            yield value, not _has_source(value, source)


def _has_source(value: str, source: str) -> bool:
    return has_word(source, value) or any(
        has_word(source, end) and _is_folder(start, source) for start, end in _halves(value)
    )


def _halves(path: str) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of *path* with what comes after each; none of one with too many steps."""
    steps = path.split("/")
    for at in range(1, len(steps) if len(steps) <= _MOST_STEPS else 0):
        yield "/".join(steps[:at]).removesuffix("/."), "/".join(steps[at:])


def _is_folder(start: str, source: str) -> bool:
    return has_word(source, start) or any(
        has_word(source, end) and has_word(source, f"/{root}") for root, end in _halves(start)
    )
