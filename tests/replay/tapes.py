"""Sessions of known shape to play."""

from html.parser import HTMLParser
from random import Random

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.logs.importer import Session
from foldline.replay.tape import Tape


WORDS = "river stone winter market letter garden engine harbour silver window"


class FourSigns:
    """A counter whose figures do not move when the estimator is fitted again."""

    def count(self, text: str) -> int:
        return -(-len(text) // 4)


class ReadPage(HTMLParser):
    """Which elements and attributes a page has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def _text(random: Random, words: int) -> str:
    return " ".join(random.choices(WORDS.split(), k=words)) + "."


def _turn(random: Random, size: int) -> list[Message]:
    answers = [Message.assistant(_text(random, 60)) for _ in range(size - 1)]
    return [Message.user(_text(random, 40)), *answers]


def _tool_turn(random: Random, number: int) -> list[Message]:
    calls = [ToolCallPart(f"call-{number}-{one}", "look_up", '{"at":1}') for one in range(2)]
    answers = [Message.tool(call.id, _text(random, 80)) for call in calls]
    asked = Message.assistant(_text(random, 10), tool_calls=calls)
    return [Message.user(_text(random, 40)), asked, *answers, Message.assistant(_text(random, 30))]


def chat_tape(turns: int, *, size: int = 2) -> Tape:
    """Return a session with so many turns of so many messages, one model call a turn."""
    random = Random(7)
    turned = [message for _ in range(turns) for message in _turn(random, size)]
    messages = (Message.system("Be brief."), *turned)
    return Tape(Session(id="chat", format="test", messages=messages), counter=FourSigns())


def tool_tape(turns: int) -> Tape:
    """Return a session whose turns call two tools at once."""
    random = Random(11)
    turned = [message for number in range(turns) for message in _tool_turn(random, number)]
    messages = (Message.system("Be brief."), *turned)
    session = Session(id="tools", format="test", title="Look up", messages=messages)
    return Tape(session, counter=FourSigns())
