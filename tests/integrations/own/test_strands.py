"""A repository of Strands' sessions in threads, and a model that refuses a request."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from strands import Agent, tool
from strands.multiagent import MultiAgentBase
from strands.types.exceptions import ContextWindowOverflowException, SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.integrations.strands import FoldlineConversationManager
from foldline.integrations.strands_sessions import FoldlineSessionRepository
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from tests.integrations.counted import RULES, Heard, Room, peek
from tests.integrations.players.strands import Scripted


SESSION = "user@example.com"


def make(count: int = 3) -> FoldlineSessionRepository:
    """Make a repository of one session with an agent and *count* messages."""
    made = FoldlineSessionRepository(MemoryStore())
    made.create_session(Session(SESSION, SessionType.AGENT))
    made.create_agent(SESSION, SessionAgent("guide / 1", {"a": 1}, {}))
    for at in range(count):
        made.create_message(SESSION, "guide / 1", said(at, f"text {at}"))
    return made


def said(at: int, text: str) -> SessionMessage:
    """Make a message with bytes in it."""
    image = {"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}
    return SessionMessage({"role": "user", "content": [{"text": text}, image]}, at)  # type: ignore[list-item]


def test_what_is_kept_comes_back() -> None:
    """Session, agent and messages come back as they were, bytes included."""
    made = make()

    session, agent = made.read_session(SESSION), made.read_agent(SESSION, "guide / 1")
    assert session is not None
    assert agent is not None
    assert (session.session_id, agent.state) == (SESSION, {"a": 1})
    assert [one.message for one in made.list_messages(SESSION, "guide / 1")] == [
        said(at, f"text {at}").message for at in range(3)
    ]


def test_pages_of_messages() -> None:
    """A limit and an offset give a page."""
    found = make(5).list_messages(SESSION, "guide / 1", limit=2, offset=1)

    assert [one.message_id for one in found] == [1, 2]


def test_a_redaction_takes_the_place_of_a_message() -> None:
    """What is updated is in its place, with the time when it was made; the others stay."""
    made = make()
    before = made.list_messages(SESSION, "guide / 1")
    changed = said(1, "text 1")
    changed.redact_message = {"role": "user", "content": [{"text": "redacted"}]}

    made.update_message(SESSION, "guide / 1", changed)

    after = made.list_messages(SESSION, "guide / 1")
    assert after[1].to_message()["content"] == [{"text": "redacted"}]
    assert after[1].created_at == before[1].created_at
    assert [after[0], after[2]] == [before[0], before[2]]


def test_an_agent_is_updated() -> None:
    """Its state changes, and the time when it was made stays."""
    made = make()
    first = made.read_agent(SESSION, "guide / 1")

    made.update_agent(SESSION, SessionAgent("guide / 1", {"a": 2}, {}, created_at="later"))

    found = made.read_agent(SESSION, "guide / 1")
    assert first is not None
    assert found is not None
    assert (found.state, found.created_at) == ({"a": 2}, first.created_at)


def test_an_agent_in_which_only_the_time_is_new_is_not_written() -> None:
    """Strands gives one after each tool, and the reduction in it may be long."""
    made = make()

    def updated(state: dict[str, Any], at: str) -> str:
        made.update_agent(SESSION, SessionAgent("guide / 1", state, {}, updated_at=at))
        found = made.read_agent(SESSION, "guide / 1")
        assert found is not None
        assert found.state == state
        return found.updated_at

    first = made.read_agent(SESSION, "guide / 1")
    assert first is not None
    assert updated({"a": 1}, "later") == first.updated_at
    assert updated({"a": 2}, "later") == "later"


@pytest.mark.parametrize("value", [True, 1.0])
def test_another_type_of_the_same_number_is_written(value: object) -> None:
    """In Python both are equal to 1, and in JSON they are not."""
    made = make()

    made.update_agent(SESSION, SessionAgent("guide / 1", {"a": value}, {}))

    found = made.read_agent(SESSION, "guide / 1")
    assert found is not None
    assert type(found.state["a"]) is type(value)


class Overtaken(FoldlineSessionRepository):
    """A repository of which another request writes to a thread right after it was found."""

    then: Callable[[], None] | None = None

    def _find(self, *names: str) -> ConversationThread | None:
        """Return it as it was before."""
        found, then = super()._find(*names), self.then
        self.then = None
        if then is not None:
            then()
        return found


def test_a_redaction_keeps_what_another_request_has_added() -> None:
    """It is written between the reading of the messages and their replacement."""
    other = make()
    made = Overtaken(other._store)
    changed = said(1, "text 1")
    changed.redact_message = {"role": "user", "content": [{"text": "redacted"}]}
    made.then = lambda: other.create_message(SESSION, "guide / 1", said(3, "text 3"))

    made.update_message(SESSION, "guide / 1", changed)

    found = [
        one.to_message()["content"][0]["text"] for one in made.list_messages(SESSION, "guide / 1")
    ]
    assert found == ["text 0", "redacted", "text 2", "text 3"]


def test_a_redaction_is_of_the_message_of_its_own_request() -> None:
    """Each of two requests at once numbers its messages alone, so that both have the same numbers."""
    made = make(1)
    theirs, own = said(1, "theirs"), said(1, "own")
    for one in (theirs, own):
        made.create_message(SESSION, "guide / 1", one)
    own.redact_message = {"role": "user", "content": [{"text": "redacted"}]}

    made.update_message(SESSION, "guide / 1", own)

    found = [
        one.to_message()["content"][0]["text"] for one in made.list_messages(SESSION, "guide / 1")
    ]
    assert found == ["text 0", "theirs", "redacted"]


class CutOffStore(MemoryStore):
    """A store whose process ends as soon as it has made a thread."""

    async def thread(self, *args: Any, **options: Any) -> Any:
        """Make it, and end."""
        await super().thread(*args, **options)
        raise KeyboardInterrupt


def test_a_session_whose_making_was_cut_off_is_made_again() -> None:
    """A thread that has nothing of it yet is none."""
    store, session = CutOffStore(), Session(SESSION, SessionType.AGENT)
    with pytest.raises(KeyboardInterrupt):
        FoldlineSessionRepository(store).create_session(session)
    made = FoldlineSessionRepository(ThreadStore(store.context.storage))

    before = made.read_session(SESSION)
    made.create_session(session)

    found = made.read_session(SESSION)
    assert (before, found and found.session_id) == (None, SESSION)


class OvertakenStore(MemoryStore):
    """A store in which others change each thread right after it was found."""

    async def find(self, *args: Any, **options: Any) -> Any:
        """Return it as it was before."""
        found, other = [await super(OvertakenStore, self).find(*args, **options) for _ in "12"]
        if other is not None and other.metadata:
            await other.set_metadata({**other.metadata, "state": {"a": "theirs"}})
        return found


def test_of_two_requests_of_a_session_the_last_one_wins() -> None:
    """As in Strands' own repositories: the answer of the model is not lost in an error."""
    store = OvertakenStore()
    made = FoldlineSessionRepository(store)
    made.create_session(Session(SESSION, SessionType.AGENT))
    made.create_agent(SESSION, SessionAgent("guide / 1", {"a": 1}, {}))

    made.update_agent(SESSION, SessionAgent("guide / 1", {"a": 2}, {}))

    found = FoldlineSessionRepository(ThreadStore(store.context.storage)).read_agent(
        SESSION, "guide / 1"
    )
    assert found is not None
    assert found.state == {"a": 2}


def test_what_is_not_there() -> None:
    """Reading gives None; writing to it, or making it twice, is the error of Strands."""
    made = make()

    assert made.read_session("other") is None
    assert made.read_agent(SESSION, "other") is None
    assert made.read_message(SESSION, "guide / 1", 9) is None
    for call in (
        lambda: made.create_agent("other", SessionAgent("a", {}, {})),
        lambda: made.create_message(SESSION, "other", said(0, "a")),
        lambda: made.update_message(SESSION, "guide / 1", said(9, "a")),
        lambda: made.create_session(Session(SESSION, SessionType.AGENT)),
    ):
        with pytest.raises(SessionException):
            call()


class Swarm(MultiAgentBase):
    """Several agents with a state of their own."""

    id = "swarm / 1"

    def __init__(self) -> None:
        self.state = {"round": 1}

    async def invoke_async(self, task: Any, invocation_state: Any = None, **kwargs: Any) -> Any:
        """Do nothing."""

    def serialize_state(self) -> dict[str, Any]:
        """Return the state."""
        return self.state


def test_the_state_of_a_swarm_is_kept() -> None:
    """It comes back as it was written last, apart from an agent of the same name."""
    made, swarm = make(), Swarm()
    assert made.read_multi_agent(SESSION, swarm.id) is None

    made.create_multi_agent(SESSION, swarm)
    assert made.read_multi_agent(SESSION, swarm.id) == {"round": 1}
    swarm.state = {"round": 2}
    made.update_multi_agent(SESSION, swarm)

    assert made.read_multi_agent(SESSION, swarm.id) == {"round": 2}
    assert made.read_agent(SESSION, swarm.id) is None


class Small(Scripted):
    """Refuses what has too many messages."""

    most = 12

    async def stream(self, messages: Any, *given: Any, **named: Any) -> Any:
        """Answer from the script."""
        if len(messages) > self.most:
            self.asked.append((None, list(messages)))
            raise ContextWindowOverflowException
        async for event in super().stream(messages, *given, **named):
            yield event


@tool
def look(room: int) -> str:
    """Look at a room."""
    return f"Room {room} has {room + 2} chairs and a table. " * 40


def test_a_loop_of_tools_that_the_model_refuses_is_folded() -> None:
    """It has one question, which no count would cut; later calls grow until the next refusal."""
    model: Any = Small()
    uses = [
        {"toolUse": {"toolUseId": f"use-{n}", "name": "look", "input": {"room": n}}}
        for n in range(20)
    ]
    model.answers = [{"content": [one]} for one in [*uses, {"text": "All have chairs."}]]
    manager = FoldlineConversationManager(HistoryReducer())
    agent = Agent(model, tools=[look], callback_handler=None, conversation_manager=manager)

    agent("Count the chairs of each room.")

    sent = [len(messages) for _, messages in model.asked]
    refused = [at for at, size in enumerate(sent) if size > 12]
    assert sent[:7] == [1, 3, 5, 7, 9, 11, 13]
    assert all(sent[at + 1] < sent[at] - 6 for at in refused)
    assert all(b - a == 2 for at, (a, b) in enumerate(pairwise(sent)) if at not in refused)
    assert len(agent.messages) == 42


class Tiny(Scripted):
    """Refuses what has more than 2,000 tokens."""

    async def stream(self, messages: Any, *given: Any, **named: Any) -> Any:
        """Answer from the script."""
        if len(str(messages)) > 8_000:
            self.asked.append((None, list(messages)))
            raise ContextWindowOverflowException
        async for event in super().stream(messages, *given, **named):
            yield event


def test_a_long_conversation_goes_on_with_a_model_of_a_far_smaller_window() -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    model, before = Tiny(), list[Any]()
    model.answers = [{"content": [{"text": "It has two chairs."}]}] * 2
    for n in range(200):
        before.append({"role": "user", "content": [{"text": f"Room {n}? " * 9}]})
        before.append({"role": "assistant", "content": [{"text": f"{n} chairs. " * 40}]})
    manager = FoldlineConversationManager(HistoryReducer())
    agent = Agent(model, before, callback_handler=None, conversation_manager=manager)

    agent("And the last?")
    agent("And before?")

    sizes = [len(str(messages)) // 4 for _, messages in model.asked]
    assert len(sizes) == 5
    assert sizes[0] > 4 * 2_000
    assert all(after * 2 < before for before, after in pairwise(sizes[:4]))
    assert sizes[4] < 2_000


def test_a_refusal_that_a_fold_does_not_help_is_the_callers() -> None:
    """What comes to be no smaller is asked for no third time."""
    model: Any = Small()
    model.most = 0
    manager = FoldlineConversationManager(HistoryReducer())
    agent = Agent(model, callback_handler=None, conversation_manager=manager)

    with pytest.raises(ContextWindowOverflowException):
        agent("Count the chairs of each room.")

    assert len(model.asked) == 2


def test_a_path_is_no_store() -> None:
    """What is given in place of a store is refused at once, and not in the first run."""
    path: Any = "chat.db"
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineSessionRepository(path)


def test_all_that_a_request_has_beside_its_messages_is_counted() -> None:
    """The form of an answer is a tool among the others."""
    heard, model = Heard(), Scripted()
    use = {"toolUseId": "t1", "name": "Room", "input": {"chairs": 2}}
    model.answers = [{"content": [{"toolUse": use}]}]
    manager = FoldlineConversationManager(HistoryReducer(counter=heard))
    agent = Agent(
        model, [], [tool(peek)], RULES, callback_handler=None, conversation_manager=manager
    )

    agent("Hi", structured_output_model=Room)

    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]
