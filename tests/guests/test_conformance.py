"""The kit for codecs: it passes a sound one, and finds each fault that is planted in one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from foldline.errors import ConfigError
from foldline.guests import summary_text
from foldline.history.messages import Message
from foldline.testing.guests import GuestCheck, GuestConformance
from tests.guests.notes import Note, NoteCodec, Results, Said, talk


class Rereads(NoteCodec):
    """Says something else each time."""

    def read(self, item: Note, /) -> Sequence[Message]:
        said = super().read(item)
        return [*said, Message.user(f"{self.reads}")] if isinstance(item, Said) else said


class Consumes(NoteCodec):
    """Takes the results out of what it reads."""

    def read(self, item: Note, /) -> Sequence[Message]:
        said = super().read(item)
        if isinstance(item, Results):
            item.took += 1
        return said


class Writes(NoteCodec):
    """Writes with one fault."""

    def __init__(self, fault: Callable[[Message, Note | None, Note], Note]) -> None:
        super().__init__()
        self._fault = fault

    def write(self, message: Message, source: Note | None, /) -> Note:
        return self._fault(message, source, super().write(message, source))


class Takes(NoteCodec):
    """Takes another part than it is asked for."""

    def part(self, item: Note, which: Sequence[int], /) -> Note:
        return super().part(item, [0])


def _without_thought(message: Message, source: Note | None, made: Note) -> Note:
    return replace(made, thought="") if isinstance(made, Said) else made


def _of_the_user(message: Message, source: Note | None, made: Note) -> Note:
    return replace(made, by="user") if isinstance(made, Said) else made


def _into_the_source(message: Message, source: Note | None, made: Note) -> Note:
    if isinstance(source, Said):
        source.seal = "broken"
    return made


def _without_header(message: Message, source: Note | None, made: Note) -> Note:
    return replace(made, text=message.text) if isinstance(made, Said) else made


def _as_its_source(message: Message, source: Note | None, made: Note) -> Note:
    return made if source is None else source


FAULTS: dict[str, tuple[Callable[[], NoteCodec], str]] = {
    "reads otherwise each time": (Rereads, "reading_is_repeatable"),
    "changes what it reads": (Consumes, "reading_changes_nothing"),
    "loses thinking": (lambda: Writes(_without_thought), "a_written_message_reads_the_same"),
    "changes the speaker": (lambda: Writes(_of_the_user), "a_written_message_keeps_its_role"),
    "writes into the source": (lambda: Writes(_into_the_source), "writing_changes_no_source"),
    "takes the first part": (Takes, "a_part_says_that_part"),
    "writes a summary as it is": (lambda: Writes(_without_header), "a_summary_is_said"),
    "gives the source back": (
        lambda: Writes(_as_its_source),
        "a_shortened_result_keeps_its_call a_call_can_have_another_id",
    ),
}


@pytest.mark.parametrize("check", GuestConformance.checks(), ids=lambda check: check.name)
def test_a_sound_codec_keeps_the_promise(check: GuestCheck) -> None:
    """The codec of the small framework keeps each promise."""
    assert GuestConformance(NoteCodec(), talk(3)).prove(check)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    """Each planted fault breaks the promises that it should, and the report names them."""
    make, names = FAULTS[fault]

    report = GuestConformance(make(), talk(3)).run()

    assert not report.is_conformant
    assert {one.name for one in report.broken} >= set(names.split())


def test_what_is_not_there_is_not_judged() -> None:
    """Without a call there is nothing to say of results."""
    report = GuestConformance(NoteCodec(), [Said("user", "hello")]).run()

    assert report.is_conformant, str(report)
    assert "not_applicable a_missing_result_is_said" in str(report)


def test_a_codec_is_judged_on_something() -> None:
    """No objects at all are refused."""
    with pytest.raises(ConfigError, match="objects must be a conversation"):
        GuestConformance(NoteCodec(), [])


def test_the_summary_of_the_kit_has_its_header() -> None:
    """A written summary begins with the line that says what it is."""
    made = NoteCodec().write(Message(role="assistant", metadata={"__summary__": True}), None)

    assert isinstance(made, Said)
    assert made.text == summary_text(Message(role="assistant"))
