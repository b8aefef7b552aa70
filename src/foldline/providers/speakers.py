"""Who speaks, where several agents answer: models are sent no names, so a summary has to tell them."""

from collections.abc import Iterable, Sequence
from itertools import chain

from foldline.history.messages import Message
from foldline.providers.digest.text import clean, one_line, shorten


_NAME_LENGTH = 80
_NAMED = "assistant ("


def spoken_by(messages: Sequence[Message], earlier: Iterable[str] = ()) -> list[str]:
    """Return the name of the agent that gave each of *messages*, where several agents answer."""
    agents = [one.speaker[::-1] if one.role == "assistant" else () for one in messages]
    if not any(chain.from_iterable(agents)):
        return [""] * len(agents)
    names = [next((one for one in each if one and isinstance(one, str)), "") for each in agents]
    known = {name: named(name).replace(":", "") for name in set(names) - {""}}
    if len(known) > 1 or (known and any(_NAMED in text for text in earlier)):
        return [known.get(name, "") for name in names]
    return [""] * len(names)


def named(name: str) -> str:
    """Return *name* on one line, without known secrets and what parts a line."""
    return shorten(one_line(clean(name).replace("=", "")), limit=_NAME_LENGTH)
