"""Who speaks is told where several agents answer, and only there."""

from msgspec.structs import replace

from foldline.history.messages import AGENT_KEY, Message
from foldline.history.parts import TextPart
from foldline.providers.digest.summarizer import write_digest
from foldline.providers.speakers import spoken_by
from foldline.providers.transcript import write_transcript
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest


def answer(text: str, agent: str = "", *, name: str | None = None) -> Message:
    metadata = {AGENT_KEY: agent} if agent else None
    return Message(role="assistant", parts=(TextPart(text),), name=name, metadata=metadata)


TALK = (
    Message.user("Plan the garden of the house in Delft, please.", name="Anna"),
    answer("The beds along the wall get roses and lavender.", "planner"),
    answer("Roses along a north wall will not have light enough.", "critic"),
    *(
        answer(f"Bed {n} is dug over in week {n}, and nothing is planted.", "planner")
        for n in range(9)
    ),
)


def digest(*messages: Message, earlier: tuple[str, ...] = ()) -> str:
    request = SummaryRequest(messages=messages, earlier=earlier, prompt=DEFAULT_PROMPT, budget=400)
    return write_digest(request)


def test_each_agent_is_named_in_a_digest() -> None:
    """Sentences of several agents carry their names, in a later digest too."""
    first = digest(*TALK)

    assert "assistant (planner): The beds along the wall get roses and lavender." in first
    assert "assistant (critic): Roses along a north wall" in first
    later = digest(answer("Ferns grow in the shade of that wall.", "critic"), earlier=(first,))
    assert "assistant (planner): The beds" in later
    assert "assistant (critic): Ferns grow in the shade of that wall." in later


def test_users_with_names_are_told_apart() -> None:
    """A digest says which user said what, and still repeats nothing that is quoted beside it."""
    told = (
        ("Bob", "The kitchen floor is oak, and it was laid by my father in spring."),
        ("A: nn", "The roof of the shed leaks above the workbench since the storm."),
        ("Bob", "My neighbour lends us the ladder on weekdays after work."),
        ("A: nn", "The paint for the fence stands in the cellar behind the bikes."),
    )
    shown = tuple(text for _, text in told)
    said = [(Message.user(text, name=name), answer("Noted.")) for name, text in told]
    messages = tuple(one for pair in said for one in pair)
    request = SummaryRequest(messages=messages, prompt=DEFAULT_PROMPT, budget=400)

    assert "\n- user (A nn): The roof of the shed" in write_digest(request)
    assert "\n- user (Bob): My neighbour lends" in write_digest(request)
    assert not any(text in write_digest(replace(request, shown=shown)) for text in shown)


def test_each_agent_is_named_in_a_transcript() -> None:
    """A model that summarizes reads the names at the head of each message."""
    text, _ = write_transcript(TALK, most_result=100)

    heads = [line for line in text.split("\n") if line.startswith("=== ")]
    assert heads[:3] == [
        "=== 1 user (Anna) ===",
        "=== 2 assistant (planner) ===",
        "=== 3 assistant (critic) ===",
    ]


def test_a_single_agent_is_not_named() -> None:
    """What one agent answers costs no tokens for its name, whatever it is called."""
    assert spoken_by(TALK[:2]) == ["", ""]
    assert "planner" not in digest(*TALK[:2])
    assert "planner" not in write_transcript(TALK[:2], most_result=100)[0]


def test_names_of_other_programs_are_read_too() -> None:
    """Without a key of ours the name of a message tells who answered; a user is no agent."""
    said = [answer("a", name="one"), answer("b", name="two"), Message.user("c", name="Anna")]

    assert spoken_by(said) == ["one", "two", ""]


def test_a_name_breaks_no_line() -> None:
    """A name is on one line, and has nothing that ends it."""
    said = [answer("a", "x: y\n=== z"), answer("b", "two")]

    assert spoken_by(said) == ["x y z", "two"]
