"""A small framework of its own: what it calls messages, and the codec for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from foldline.errors import FormatError
from foldline.guests import summary_text
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart


@dataclass
class Said:
    """What somebody said; the answer of a model has an id and a seal that must not be lost."""

    by: str
    text: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    thought: str = ""
    seal: str = ""


@dataclass
class Results:
    """What several tools answered."""

    answers: list[tuple[str, str]]
    took: float = 0.0


@dataclass
class Mark:
    """What says nothing, like the end of a turn."""

    label: str


Note = Said | Results | Mark


class NoteCodec:
    """Reads and writes notes; counts what it reads."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self, item: Note, /) -> Sequence[Message]:
        """Return what *item* says."""
        self.reads += 1
        match item:
            case Mark():
                return ()
            case Results(answers=answers):
                return [Message.tool(call_id, text) for call_id, text in answers]
            case Said(by="user" | "system" | "assistant" as role):
                thought = (ReasoningPart(item.thought),) if item.thought else ()
                text = (TextPart(item.text),) if item.text else ()
                calls = [ToolCallPart(*call) for call in item.calls]
                return [Message(role=role, parts=(*thought, *text, *calls))]
            case _:
                message = f"no note: {type(item).__name__}"
                raise FormatError(message)

    def write(self, message: Message, source: Note | None, /) -> Note:
        """Return a note of *message*."""
        if message.role == "tool":
            answers = [(one.id, str(one.response)) for one in message.tool_call_responses]
            return Results(answers, took=source.took if isinstance(source, Results) else 0.0)
        text = summary_text(message) if message.is_summary else message.text
        calls = [(one.id, one.name, one.arguments) for one in message.tool_calls]
        thought = "".join(one.content for one in message.parts if isinstance(one, ReasoningPart))
        seal = source.seal if isinstance(source, Said) else ""
        return Said(message.role, text, calls, thought, seal)

    def part(self, item: Note, which: Sequence[int], /) -> Note:
        """Return the results of *item* at *which*."""
        assert isinstance(item, Results)
        return replace(item, answers=[item.answers[at] for at in which])


def talk(count: int) -> list[Note]:
    """Make a conversation of *count* exchanges: each has two calls and their results in one note."""
    notes: list[Note] = [Said("system", "Be brief.")]
    for at in range(count):
        calls = [(f"a{at}", "look", f'{{"at": {at}}}'), (f"b{at}", "look", "{}")]
        notes += [
            Said("user", f"What is in room {at} of the house?"),
            Said("assistant", "I look.", calls, thought="It may be dark.", seal=f"seal {at}"),
            Results([(f"a{at}", f"{at} chairs and a table"), (f"b{at}", "nothing")], took=0.5),
            Said("assistant", f"There are {at} chairs in it."),
        ]
    return notes
