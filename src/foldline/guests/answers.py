"""
The reductions that the answers of a guest keep: each as what is new since one before it.

Most of a reduction is also in the one before it, which an earlier answer keeps. So an answer keeps the
name of that text, which of its pieces stay, and what is new between them:

    @5d3f0c5ee1b7a9d2
    =0,12
    +,{"index":40,"digest":"…"}
    =14,80
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, reduce
from hashlib import sha256

from foldline.errors import FormatError
from foldline.guests.kept import REDUCTION_KEY
from foldline.reduction.state import HistoryReductionState


# A text that is whole is JSON.
_AFTER, _STAYS, _NEW = "@", "=", "+"
# How many texts are read for one reduction.
_MOST = 16


class AnsweredReductions:
    """The newest reduction that answers keep, and what the next answer has to keep of a newer one."""

    def __init__(self, stores: Iterable[Mapping[str, object] | None]) -> None:
        """Find it in *stores*, those of the answers, oldest first."""
        kept = (one.get(REDUCTION_KEY) for one in stores if one)
        texts = [text for text in kept if text and isinstance(text, str)]
        chains = (_chain(texts[: at + 1]) for at in reversed(range(len(texts))))
        self._texts = next((one for one in chains if one), list[str]())

    @property
    def state(self) -> HistoryReductionState | None:
        """
        The reduction; None if they keep none.

        Raises:
            FormatError: What they keep is no reduction, or was written by a newer foldline.
        """
        return HistoryReductionState.from_json(self._whole) if self._whole else None

    @cached_property
    def _whole(self) -> str:
        return reduce(_applied, self._texts, "")

    def new(self, state: HistoryReductionState | None) -> dict[str, str]:
        """Return what the next answer has to keep; nothing if *state* is kept already."""
        text = "" if state is None else state.to_json().decode()
        if text in {"", self._whole}:
            return {}
        if 0 < len(self._texts) < _MOST:
            change = "\n".join(_changes(_name(self._texts[-1]), self._whole, text))
            text = min(change, text, key=len)
        return {REDUCTION_KEY: text}


def _chain(texts: Sequence[str]) -> list[str]:
    """Return what the last of *texts* is made of, beginning with a whole one; empty if that is gone."""
    chain, name = list[str](), ""
    for text in reversed(texts):
        if not chain or _name(text) == name:
            chain.append(text)
            if not text.startswith(_AFTER):
                return chain[::-1]
            name = text.partition("\n")[0].removeprefix(_AFTER)
    return []


def _name(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def _pieces(text: str) -> list[str]:
    # JSON has no line ends of its own.
    return text.replace("}", "}\n").replace("[{", "[\n{").replace(r"\n", "\\n\n").split("\n")


def _changes(name: str, old: str, new: str) -> Iterator[str]:
    yield f"{_AFTER}{name}"
    before, after = _pieces(old), _pieces(new)
    found = SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, stop, begin, end in found.get_opcodes():
        if tag == "equal":
            yield f"{_STAYS}{start},{stop}"
        elif begin < end:
            yield _NEW + "".join(after[begin:end])


def _applied(old: str, changes: str) -> str:
    if not changes.startswith(_AFTER):
        return changes
    before, made = _pieces(old), list[str]()
    for line in changes.split("\n")[1:]:
        start, _, stop = line[1:].partition(",")
        if line.startswith(_NEW):
            made.append(line[1:])
        elif line.startswith(_STAYS) and start.isdecimal() and stop.isdecimal():
            made += before[int(start) : int(stop)]
        else:
            message = "not a reduction: what an answer keeps is no change of one"
            raise FormatError(message)
    return "".join(made)
