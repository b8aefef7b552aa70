"""Conversations of our own that every guest plays, and what its model has to receive."""

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.formats import from_anthropic
from foldline.guests import summary_text, taking_turns
from foldline.history.digest import EMPTY_DIGEST, chain_digest
from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.summarizer import ScriptedSummarizer


RULES = "Be brief."
SUMMARY = "They looked into rooms."
CONFIG = HistoryReductionConfig(
    strategy="summarizing",
    counting_unit="messages",
    target_count=8,
    summarization_threshold=6,
)
# One red pixel.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="


class Transcript(Struct, frozen=True, kw_only=True):
    """What is said, as Anthropic has it: it can say the most."""

    name: str
    imported: Sequence[dict[str, Any]] = ()
    """What the guest's history has before its loop begins."""

    played: Sequence[dict[str, Any]]
    """What the loop plays: users speak, the model answers, tools are run."""

    is_signed: bool = True
    """Whether thinking has the signature that binds it to what is before it."""

    def _read(self, items: Sequence[dict[str, Any]]) -> list[Message]:
        read = from_anthropic(items)
        return [one if self.is_signed else replace(one, native=None) for one in read]

    @property
    def before(self) -> list[Message]:
        """What the guest's history has before its loop begins."""
        return self._read(self.imported)

    @property
    def turns(self) -> list[list[Message]]:
        """The messages of each turn: the user's, then answers and results."""
        turns: list[list[Message]] = []
        for message in self._read(self.played):
            if message.role == "user":
                turns.append([])
            turns[-1].append(message)
        return turns

    def answered(self, text: str | None) -> "Transcript":
        """Return the same with *text* as the result of the call that has none; None drops the call."""
        result = {"type": "tool_result", "tool_use_id": "lost", "content": text}
        imported = [*self.imported]
        if text is None:
            del imported[1:2]
        else:
            imported[2:2] = [{"role": "user", "content": [result]}]
        return replace(self, imported=imported) if self.imported else self

    @property
    def messages(self) -> list[Message]:
        """Everything that is said."""
        return [*self.before, *(message for turn in self.turns for message in turn)]


def _exchange(at: int, ids: Sequence[str], *, thinks: bool = False, shows: bool = False) -> Any:
    thought = {"type": "thinking", "thinking": f"Room {at}.", "signature": f"c2lnbmVk{at:04}"}
    image = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    asked: list[dict[str, Any]] = [{"type": "text", "text": f"What is in room {at} of the house?"}]
    if shows:
        asked.append({"type": "image", "source": image})
    calls = [
        {"type": "tool_use", "id": id, "name": "look", "input": {"room": at, "side": side}}
        for side, id in enumerate(ids)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": id, "content": f"{at + side} chairs"}
        for side, id in enumerate(ids)
    ]
    said = [*([thought] if thinks else []), {"type": "text", "text": "I look."}, *calls]
    return (
        {"role": "user", "content": asked if shows else asked[0]["text"]},
        {"role": "assistant", "content": said},
        {"role": "user", "content": results},
        {"role": "assistant", "content": f"There are {at} chairs in it."},
    )


def _exchanges(count: int, ids: str, **said: bool) -> list[dict[str, Any]]:
    made = (_exchange(at, [one.format(at) for one in ids.split()], **said) for at in range(count))
    return [message for exchange in made for message in exchange]


_UNANSWERED = (
    {"role": "user", "content": "Go into the cellar."},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "lost", "name": "look", "input": {"room": 99, "side": 0}}
        ],
    },
    {"role": "user", "content": "No, do not."},
    {"role": "assistant", "content": "I stay here."},
)

TRANSCRIPTS = (
    Transcript(name="parallel calls", played=_exchanges(9, "left_{0} right_{0}")),
    Transcript(
        name="reused ids and an unanswered call",
        imported=_UNANSWERED,
        played=_exchanges(9, "call_1"),
    ),
    Transcript(
        name="signed thinking and images",
        played=_exchanges(9, "call_{0}", thinks=True, shows=True),
    ),
)


def make_reducer(summarizer: ScriptedSummarizer | None = None) -> HistoryReducer:
    """Make what reduces: the same for a guest and for the comparison."""
    writer = ScriptedSummarizer(repeat=SUMMARY) if summarizer is None else summarizer
    return HistoryReducer(CONFIG, summarizer=writer)


def view_hash(messages: Sequence[Message]) -> str:
    """Return the chained digest of *messages*, system messages included."""
    sent = (
        replace(one, parts=(TextPart(summary_text(one)),)) if one.is_summary else one
        for one in messages
    )
    return reduce(chain_digest, sent, EMPTY_DIGEST).hex()


def own_views(transcript: Transcript) -> Iterator[list[Message]]:
    """Yield the view of each call as foldline alone makes it, with notes of the user where it has none."""
    reducer, state = make_reducer(), None
    said = [Message.system(RULES), *transcript.before]
    for turn in transcript.turns:
        for message in turn:
            if message.role == "assistant":
                reduced = reducer.reduce_sync(said, state=state)
                state = reduced.state
                yield taking_turns([*reduced.messages])
            said.append(message)


def answer_of(messages: Sequence[Message], arguments: object) -> str:
    """Return what the tool answers to a call with *arguments*."""
    wanted = json.dumps(arguments, sort_keys=True)
    calls = (call for message in messages for call in message.tool_calls)
    same = [
        call for call in calls if json.dumps(json.loads(call.arguments), sort_keys=True) == wanted
    ]
    at = next(i for i, one in enumerate(messages) if same[0] in one.tool_calls)
    results = (one for message in messages[at:] for one in message.tool_call_responses)
    return str(next(one.response for one in results if one.id == same[0].id))
