"""A view of a framework's own messages: its objects, and what is read only once."""

import asyncio
import copy
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace
from pydantic import BaseModel

from foldline.agent.cache import ReductionCache
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError, FormatError
from foldline.guests import (
    NO_RESPONSE,
    OPENING_NOTE,
    GuestCodec,
    GuestView,
    prefix_digest,
    summary_text,
    taking_turns,
)
from foldline.history.formats.renderings.sending import CONTINUES_NOTE
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import TextPart
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.testing.summarizer import ScriptedSummarizer
from tests.guests.notes import Mark, Note, NoteCodec, Results, Said, talk


CONFIG = HistoryReductionConfig(
    strategy="summarizing",
    counting_unit="messages",
    target_count=6,
    summarization_threshold=4,
)


def make_view(
    codec: NoteCodec | None = None, *, cache: ReductionCache | None = None, known: int = 1 << 20
) -> tuple[GuestView[Note], ScriptedSummarizer]:
    """Make a view of notes, and what writes its summaries."""
    summarizer = ScriptedSummarizer(repeat="They looked into rooms.")
    reducer = HistoryReducer(CONFIG, summarizer=summarizer, cache=cache)
    return GuestView(reducer, codec or NoteCodec(), known_bytes=known), summarizer


def test_what_needs_no_fold_is_the_very_objects() -> None:
    """A short conversation is its own view, object by object, in a list of its own."""
    notes = talk(1)

    shown = make_view()[0].reduce_sync(notes)

    assert shown.messages is not notes
    assert list(map(id, shown.messages)) == list(map(id, notes))


def test_a_view_has_the_system_note_the_summary_and_the_newest_objects() -> None:
    """After a fold a note of the user and the summary are new: no vendor refuses who speaks first."""
    notes = talk(4)

    shown = make_view()[0].reduce_sync(notes)

    assert shown.state is not None
    system, note, summary, *rest = shown.messages
    (label,) = shown.state.summary_messages()
    assert system is notes[0]
    assert note == Said("user", OPENING_NOTE)
    assert summary == Said("assistant", summary_text(label))
    assert [id(one) for one in rest] == [id(one) for one in notes[-len(rest) :]]


def test_a_greeting_of_the_model_comes_behind_a_note() -> None:
    """A conversation that the model began opens with the note too; rules alone have nobody to open."""
    greeting: list[Note] = [Said("system", "Be brief."), Said("assistant", "Hello?")]
    view, _ = make_view()

    shown = view.reduce_sync(greeting).messages

    assert shown == [greeting[0], Said("user", OPENING_NOTE), greeting[1]]
    assert view.reduce_sync(greeting[:1]).messages == greeting[:1]


def test_an_answer_after_a_summary_comes_behind_a_note() -> None:
    """Where a cut is inside an exchange the user speaks between the summary and the answer."""
    summary = Message(role="assistant", parts=(TextPart("met"),), metadata={SUMMARY_KEY: True})
    answers = [Message.assistant("So."), Message.assistant("And so.")]

    said = taking_turns([Message.system("Be brief."), summary, *answers, Message.user("Go on.")])

    assert said == [
        Message.system("Be brief."),
        Message.user(OPENING_NOTE),
        summary,
        Message.user(CONTINUES_NOTE),
        *answers,
        Message.user("Go on."),
    ]


async def test_an_awaited_view_is_the_same() -> None:
    """`reduce` gives what `reduce_sync` gives."""
    notes = talk(4)

    awaited = await make_view()[0].reduce(notes)

    assert awaited.event.status == "performed"
    assert len(awaited.messages) < len(notes)


async def test_a_blocking_view_inside_a_loop_folds() -> None:
    """A hook that cannot await gets its view from inside a running loop too."""
    shown = make_view()[0].reduce_sync(talk(4))

    assert shown.event.status == "performed"


def test_the_given_list_stays_as_it_is() -> None:
    """Neither the list nor an object in it changes."""
    notes = talk(6)
    before = copy.deepcopy(notes)

    make_view()[0].reduce_sync(notes)

    assert notes == before


def test_an_object_that_is_cut_is_shown_in_part() -> None:
    """Of an object with two messages, of which a repair takes one, the other is shown."""
    notes: list[Note] = [
        Said("user", "look"),
        Said("assistant", calls=[("a", "look", "{}")]),
        Results([("a", "chairs"), ("lost", "of no call")], took=2.0),
        Said("assistant", "There are chairs."),
    ]

    shown = make_view()[0].reduce_sync(notes).messages

    assert shown[2] == Results([("a", "chairs")], took=2.0)
    assert [id(shown[at]) for at in (0, 1, 3)] == [id(notes[at]) for at in (0, 1, 3)]


def test_a_missing_result_is_written() -> None:
    """A call without result is followed by an object that says so; the call is the very object."""
    notes: list[Note] = [
        Said("user", "look"),
        Said("assistant", calls=[("a", "look", "{}")], thought="hm", seal="sealed"),
        Said("user", "go on"),
    ]

    shown = make_view()[0].reduce_sync(notes).messages

    assert shown == [*notes[:2], Results([("a", NO_RESPONSE)]), notes[2]]
    assert shown[1] is notes[1]


def test_a_changed_message_is_written_from_its_source() -> None:
    """A call whose id was taken gets another one, and keeps what only the guest knows of it."""
    first, second = (
        Said("assistant", calls=[("a", "look", "{}")], seal=name) for name in ("one", "two")
    )
    answers = [Results([("a", "chairs")]), Results([("a", "tables")], took=3.0)]
    notes: list[Note] = [Said("user", "look"), first, answers[0], second, answers[1]]

    shown = make_view()[0].reduce_sync(notes).messages

    assert shown[3] == Said("assistant", calls=[("a_2", "look", "{}")], seal="two")
    assert shown[4] == Results([("a_2", "tables")], took=3.0)


def test_what_says_nothing_goes_when_something_else_goes() -> None:
    """A mark is in a whole view, and in no other."""
    mark = Mark("the end of a turn")

    short = make_view()[0].reduce_sync([*talk(1), mark]).messages
    long = make_view()[0].reduce_sync([*talk(4), mark]).messages

    assert short[-1] is mark
    assert mark not in long


def test_what_is_disabled_gives_back_what_it_was_given() -> None:
    """Damage is the guest's own affair then."""
    notes: list[Note] = [Said("user", "look"), Results([("lost", "of no call")])]
    view = GuestView(HistoryReducer(HistoryReductionConfig(enabled=False)), NoteCodec())

    assert view.reduce_sync(notes).messages == notes


def test_only_new_objects_are_read() -> None:
    """Of a list that has grown the new objects are read, and of the same list none."""
    codec = NoteCodec()
    view, _ = make_view(codec)
    notes = talk(9)
    view.reduce_sync(notes)
    codec.reads = 0

    view.reduce_sync(notes)
    view.reduce_sync([*notes, Said("user", "and then?")])

    assert codec.reads == 1


def test_objects_made_again_are_known() -> None:
    """What a store of the guest has read back is not read again, and the new objects are shown."""
    codec = NoteCodec()
    view, _ = make_view(codec)
    notes = talk(9)
    view.reduce_sync(notes)
    codec.reads, again = 0, copy.deepcopy(notes)

    shown = view.reduce_sync(again).messages

    assert codec.reads == 0
    assert shown[-1] is again[-1]


class Line(BaseModel):
    """A message of a framework that is built on pydantic."""

    text: str
    label: str | None = None


class LineCodec(NoteCodec):
    """Reads lines, and counts them."""

    def read(self, item: object, /) -> Sequence[Message]:
        """Return what *item* says."""
        self.reads += 1
        assert isinstance(item, Line)
        return [Message.user(item.text)]


class TextCodec(LineCodec):
    """Looks at the text alone."""

    def known_by(self, item: object, /) -> object:
        """Return the text."""
        assert isinstance(item, Line)
        return item.text


@pytest.mark.parametrize(
    ("codec", "label", "reads"), [(LineCodec, None, 0), (LineCodec, "a", 9), (TextCodec, "a", 0)]
)
def test_what_a_store_fills_in_is_no_change(
    codec: type[LineCodec], label: str | None, reads: int
) -> None:
    """A field that is set to what it was is none, and no more is looked at than a codec says."""
    made = codec()
    reducer = HistoryReducer(HistoryReductionConfig(enabled=False))
    view: GuestView[object] = GuestView(reducer, cast("GuestCodec[object]", made))
    lines = [Line(text=f"line {at}") for at in range(9)]
    view.reduce_sync(lines)
    made.reads = 0

    view.reduce_sync([Line(text=one.text, label=label) for one in lines])

    assert made.reads == reads


def _another_text(notes: list[Note]) -> None:
    assert isinstance(notes[1], Said)
    notes[1].text = "What else?"


def _another_result(notes: list[Note]) -> None:
    assert isinstance(notes[3], Results)
    notes[3].answers[0] = ("a0", "no chairs at all")


def _another_kind(notes: list[Note]) -> None:
    notes[1] = Mark("What is in room 0 of the house?")


@pytest.mark.parametrize("change", [_another_text, _another_result, _another_kind])
def test_a_change_in_place_is_noticed(change: Callable[[list[Note]], None]) -> None:
    """An object that was changed after it was read makes the reduction of its prefix a miss."""
    view, _ = make_view(cache=ReductionCache())
    notes = talk(9)
    view.reduce_sync(notes)

    change(notes)
    found = view.reduce_sync(notes).event

    assert found.status == "performed"


def test_nothing_is_remembered_without_memory() -> None:
    """With no bytes to remember in, everything is read each time."""
    codec = NoteCodec()
    view, _ = make_view(codec, known=0)
    notes = talk(9)

    view.reduce_sync(notes)
    view.reduce_sync(notes)

    assert codec.reads == 2 * len(notes)


def test_a_state_is_all_that_a_restart_needs() -> None:
    """Another process with the stored state shows the same view, and asks no summarizer."""
    notes = talk(6)
    first = make_view()[0].reduce_sync(notes)
    assert first.state is not None
    stored = first.state.to_json()

    view, summarizer = make_view()
    again = view.reduce_sync(copy.deepcopy(notes), state=HistoryReductionState.from_json(stored))

    assert again.messages == first.messages
    assert summarizer.requests == []


def test_a_view_is_that_of_the_messages() -> None:
    """At every length the view says what that of the same messages says, by one state each."""
    notes, codec = talk(12), NoteCodec()
    view, _ = make_view()
    reducer = HistoryReducer(
        CONFIG, summarizer=ScriptedSummarizer(repeat="They looked into rooms.")
    )
    state = own_state = None
    for end in range(1, len(notes) + 1):
        messages = [message for one in notes[:end] for message in codec.read(one)]
        wanted = reducer.reduce_sync(messages, state=own_state)
        found = view.reduce_sync(notes[:end], state=state)
        state, own_state = found.state, wanted.state
        said = [message for one in found.messages for message in codec.read(one)]
        sent = [
            replace(one, parts=(TextPart(summary_text(one)),)) if one.is_summary else one
            for one in wanted.messages
        ]
        noted = taking_turns(sent)
        assert prefix_digest(said) == prefix_digest(noted)
        assert len(said) == len(noted)


def test_an_unknown_object_is_named_by_its_place() -> None:
    """The error of a codec has the place of the object in the whole list."""
    view, _ = make_view()
    notes = talk(3)
    view.reduce_sync(notes)

    with pytest.raises(FormatError, match=r"messages\[13\]: no note: str"):
        view.reduce_sync([*notes, "hello"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_a_wrong_value_is_named_by_its_place() -> None:
    """So has the error of a message whose fields have the wrong type."""
    wrong = Said("user", 5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    with pytest.raises(FormatError, match=r"^messages\[1\]: "):
        make_view()[0].reduce_sync([Said("user", "hello"), wrong])


@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_window_that_the_guest_tells_holds_for_a_reducer_that_knows_none(
    is_blocking: bool,
) -> None:
    """One that it knows itself counts first, and a guest may tell none."""
    notes = talk(40)

    def shown(reducer: HistoryReducer, window: int | None) -> int:
        view = GuestView(reducer, NoteCodec())
        if is_blocking:
            return len(view.reduce_sync(notes, window=window).messages)
        return len(asyncio.run(view.reduce(notes, window=window)).messages)

    assert shown(HistoryReducer(), None) == len(notes)
    assert shown(HistoryReducer(), 1_000) < len(notes)
    assert shown(HistoryReducer(window=100_000), 1_000) == len(notes)


def test_what_is_said_of_a_reducer_is_said_once_where_the_guest_tells_the_window(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And a window that is told is not said to be assumed."""
    view = GuestView(HistoryReducer(model="ours:one"), NoteCodec())

    for _ in range(2):
        view.reduce_sync(talk(1), window=1_000)

    assert "are assumed" not in caplog.text
    assert len(caplog.messages) == len(set(caplog.messages))


@pytest.mark.parametrize("window", ["8192", 8_192.0, -1, True])
def test_a_window_that_is_no_count_is_named(window: Any) -> None:
    """A profile that somebody wrote by hand may hold anything."""
    with pytest.raises(ConfigError, match="window must be a whole number"):
        GuestView(HistoryReducer(), NoteCodec()).reduce_sync(talk(1), window=window)


def test_a_view_needs_a_reducer() -> None:
    """A configuration in its place is refused."""
    with pytest.raises(ConfigError, match="reducer must be a HistoryReducer"):
        GuestView(CONFIG, NoteCodec())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
