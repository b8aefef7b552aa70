"""Requests that hold the whole conversation so far."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from foldline.history.messages import Message, Usage
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
    session = Session(id=id, format="test", messages=(*messages, *answer))
    return Recording(session=session, sent=len(messages))


OTHER = Message.user("other")


@pytest.mark.parametrize(
    ("requests", "sessions"),
    [
        pytest.param(
            [(U,), (OTHER,), (U, A, V), (OTHER, B, W)],
            [((U, A, V), (1, 3)), ((OTHER, B, W), (1, 3))],
            id="conversations may be mixed",
        ),
        pytest.param(
            [(U,), (V,), (U,)],
            [((U,), ()), ((V,), ()), ((U,), ())],
            id="copies that nothing continues stay apart",
        ),
        pytest.param(
            [(U,), (U,), (U, A, V)], [((U, A, V), (1, 1, 3))], id="sent twice was asked twice"
        ),
        pytest.param(
            [(U, A), (U, A, V, B)],
            [((U, A, V, B), ())],
            id="records that end in an answer say nothing of calls",
        ),
    ],
)
def test_requests_become_sessions(
    requests: list[tuple[Message, ...]], sessions: list[tuple[tuple[Message, ...], tuple[int, ...]]]
) -> None:
    """Each request continues the conversation that it holds, in order of appearance."""
    made = joined(recording(*said) for said in requests)

    assert [(session.messages, session.calls) for session in made] == sessions


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


def test_each_answer_keeps_what_the_vendor_counted() -> None:
    """The next request repeats an answer without its usage, which the recording of the answer has."""
    first, second = (Usage(input_tokens=size, output_tokens=1) for size in (10, 30))

    (session,) = joined(
        [
            recording(U, answer=[replace(A, usage=first)]),
            recording(U, A, V, answer=[replace(B, usage=second)]),
            recording(U, A, V, B, W),
        ]
    )

    assert [one.usage for one in session.messages] == [None, first, None, second, None]


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
