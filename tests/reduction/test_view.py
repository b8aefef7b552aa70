"""What the model is sent."""

from foldline.history.formats.anthropic import message_from_anthropic
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.signed import is_signed
from foldline.reduction.shortening import clip
from foldline.reduction.state import LABEL_TOKENS
from foldline.reduction.view import view_of, view_tokens
from tests.reduction.test_verdict import state_of


CALL = ToolCallPart("c", "look_up", "{}")


def test_system_messages_stand_in_front_of_a_summary_or_at_their_places() -> None:
    """All are kept, those before the cut in front, so that a new one changes nothing before it."""
    first, second = Message.system("one"), Message.system("two")
    history = History([Message.user("a"), first, Message.assistant("b"), second])

    assert [m.text for m in view_of(history)] == ["a", "one", "b", "two"]
    state = state_of(history, 1)
    assert [m.text for m in view_of(history, state)] == ["one", "Summary", "b", "two"]
    history.extend([Message.user("c"), Message.system("three")])
    texts = [m.text for m in view_of(history, state)]
    assert texts == ["one", "Summary", "b", "two", "c", "three"]


def test_a_system_message_stays_between_messages_that_are_shortened() -> None:
    """What changes the messages around it leaves it where it was."""
    said = [
        Message.user("a"),
        Message.assistant("b"),
        Message.system("now"),
        Message.user("c" * 900),
    ]
    history = History(said)
    entry = clip(history, 2, limit=60, recall=None)
    assert entry is not None
    view = view_of(history, state_of(history, 1, shortened=(entry,)))

    assert [m.text[:1] for m in view[1:]] == ["b", "n", "c"]
    assert len(view[-1].text) < 900


def test_a_view_without_reduction_is_the_history() -> None:
    """The same objects, nothing left out."""
    messages = [Message.user("a"), Message.assistant("b")]

    assert view_of(History(messages)) == messages


def test_damage_is_mended_in_the_view_only() -> None:
    """An orphan behind the cut is left out of the view and stays in the history."""
    history = History([Message.user("a"), Message.tool("x", "orphan"), Message.user("b")])

    assert [m.text for m in view_of(history)] == ["a", "b"]
    assert len(history) == 3


def test_a_pinned_message_keeps_its_words_and_loses_foreign_answers() -> None:
    """A user message that also answered a folded call keeps what the user said."""
    mixed = Message(role="user", parts=(ToolCallResponsePart("c", "r"), TextPart("question")))
    history = History([Message.assistant(tool_calls=[CALL]), mixed, Message.assistant("b")])
    view = view_of(history, state_of(history, 2, pinned_index=1))

    assert [m.parts for m in view[1:]] == [(TextPart("question"),), (TextPart("b"),)]


def test_bound_thinking_is_left_out_up_to_the_record() -> None:
    """What was there before a reduction loses it, and an answer of nothing else is left out."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "S"}
    said = {"type": "text", "text": "so"}
    items = [[thought, said], [thought], [thought, said]]
    answers = [message_from_anthropic({"role": "assistant", "content": one}) for one in items]
    asked = Message.user("a")
    history = History([asked, answers[0], asked, answers[1], asked, answers[2]])
    view = view_of(history, state_of(history, 1, history_length=5))
    whole = view_of(history, state_of(history, 1, history_length=5, thinking_from=1))

    assert [m.text for m in view] == ["Summary", "so", "a", "a", "so"]
    assert [is_signed(m) for m in view] == [False, False, False, False, True]
    assert whole[1:] == history[1:]


def test_tokens_of_a_view_are_those_of_its_pieces() -> None:
    """System, summary with its label, pinned message and tail add up."""
    history = History([Message.system("s"), Message.user("a b c"), Message.assistant("d e f")])
    state = state_of(history, 1, summary_tokens=10, pinned_index=0)

    assert view_tokens(history) == history.system_tokens + history.tokens()
    front = history.system_tokens + LABEL_TOKENS + 10
    assert view_tokens(history, state) == front + history.tokens()
    assert view_tokens(history, state_of(history, 1, summary_tokens=10)) == (
        front + history.tokens(1)
    )
