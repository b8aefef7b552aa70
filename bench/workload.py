"""A seeded conversation of plain English, the same for everybody who is measured."""

import random
from pydoc_data.topics import topics


SUMMARY = (
    "The user and the assistant went through the language reference together: names and binding, "
    "expressions, the data model, imports and exceptions, with examples for each of them. "
) * 7
"""A summary of usual length: about 1,200 characters."""

_WORDS = "\n".join(topics[key] for key in sorted(topics)).split()


def words(rng: random.Random, characters: int) -> str:
    """Return a stretch of the reference, about *characters* long."""
    count = max(3, characters // 7)
    start = rng.randrange(len(_WORDS) - count - 1)
    return " ".join(_WORDS[start : start + count])


def texts(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """
    Return *count* messages as (role, text): a user of about 150 characters, an assistant of 400.
    """
    rng = random.Random(seed)
    return [
        ("user", words(rng, int(rng.lognormvariate(5.0, 0.6))))
        if number % 2 == 0
        else ("assistant", words(rng, int(rng.lognormvariate(6.0, 0.6))))
        for number in range(count)
    ]
