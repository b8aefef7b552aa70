"""Requests that hold the whole conversation so far."""

from collections.abc import Iterable

import pytest

from foldline.history.messages import Message
from foldline.logs.growth import Recording, joined
from foldline.logs.importer import Session


U, A, V, B, W = (
    Message.user("one"),
    Message.assistant("yes"),
    Message.user("two"),
    Message.assistant("no"),
    Message.user("three"),
)


def recording(*messages: Message, id: str = "", answer: Iterable[Message] = ()) -> Recording:
    """Return a request of *messages* and its *answer*."""
    session = Session(id=id, format="test", messages=(*messages, *answer))
    return Recording(session=session, sent=len(messages))


def test_growing_requests_are_one_session() -> None:
    """The longest one is the conversation, and each of them was a call of the model."""
    sessions = joined(
        [recording(U, id="x"), recording(U, A, V), recording(U, A, V, B, W, answer=[A])]
    )

    (session,) = sessions
    assert (session.id, session.messages) == ("x", (U, A, V, B, W, A))
    assert session.calls == (1, 3, 5)
    assert session.notes[0].startswith("this session is 3 records")


def test_conversations_may_be_mixed() -> None:
    """Each request continues the conversation that it holds, in order of appearance."""
    other = Message.user("other")

    sessions = joined([recording(U), recording(other), recording(U, A, V), recording(other, B, W)])

    assert [session.messages for session in sessions] == [(U, A, V), (other, B, W)]


def test_equal_requests_stay_apart() -> None:
    """Copies that nothing continues are sessions of their own, in their places."""
    sessions = joined([recording(U, id="a"), recording(V), recording(U, id="b")])

    assert [session.messages for session in sessions] == [(U,), (V,), (U,)]
    assert [session.calls for session in sessions] == [(), (), ()]


def test_a_request_sent_again_is_a_call_of_its_session() -> None:
    """What was tried twice was asked twice."""
    (session,) = joined([recording(U), recording(U), recording(U, A, V)])

    assert session.calls == (1, 1, 3)


@pytest.mark.parametrize("system", [(), (Message.system("rule"),)])
def test_another_branch_is_another_session(system: tuple[Message, ...]) -> None:
    """Two requests that continue the same one are two sessions."""
    sessions = joined(
        [recording(*system, *said) for said in ((U,), (U, A, V), (U, A, W), (U, A, W, A, V))]
    )

    assert [session.messages[len(system) :] for session in sessions] == [
        (U, A, V),
        (U, A, W, A, V),
    ]


def test_the_time_may_stand_in_the_system_messages() -> None:
    """If they change with every request it is still one session, which has the last ones."""
    times = [Message.system(f"It is {hour}.") for hour in range(4)]
    said = [(U,), (U, A, V), (U, A, V), (U, A, V, B, W)]

    (session,) = joined(
        [recording(time, *messages) for time, messages in zip(times, said, strict=True)]
    )

    assert session.messages == (times[-1], *said[-1])
    assert session.calls == (2, 4, 4, 6)


def test_the_same_system_messages_are_preferred() -> None:
    """Other instructions for the same first message are another session."""
    early, late = Message.system("It is noon."), Message.system("It is one.")
    title = Message.system("Write a title.")

    sessions = joined(
        [
            recording(title, U),
            recording(early, U),
            recording(early, U, A, V),
            recording(late, U, A, V, B, W),
        ]
    )

    assert [len(session.messages) for session in sessions] == [2, 6]
    assert sessions[1].calls == (2, 4, 6)


def test_records_that_end_in_an_answer_tell_no_calls() -> None:
    """If the records are no requests, the calls follow from who speaks."""
    (session,) = joined([recording(U, A), recording(U, A, V, B)])

    assert (session.messages, session.calls) == ((U, A, V, B), ())
