"""An agent of which each part of a request has a word of its own, and a counter that hears them."""

from pydantic import BaseModel, Field


RULES = "Always be INSTRUCTED."


class Room(BaseModel):
    """The form of an answer."""

    chairs: int = Field(description="a number that is FORMED")


ANSWER = '{"chairs": 2}'


def peek(room: int) -> str:
    """Be TOOLED for a look into a room."""
    return f"{room} chairs"


class Heard:
    """Counts tokens, and keeps what it was given to count."""

    def __init__(self) -> None:
        self.text = ""

    def count(self, text: str, /) -> int:
        """Return the tokens of *text*."""
        self.text += text
        return len(text) // 4

    @property
    def parts(self) -> list[str]:
        """The parts of a request that were counted."""
        words = ("INSTRUCTED", "TOOLED", "SERVED", "HOSTED", "HANDED", "FORMED")
        return [one for one in words if one in self.text]
