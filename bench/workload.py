"""A seeded conversation of plain English, the same for everybody who is measured."""

import random
from pydoc_data.topics import topics


SUMMARY = (
    "The user and the assistant went through the language reference together. "
    "They began with names and how a block binds them to objects, and with what a scope hides. "
    "Then came expressions: which operators bind tighter, and in which order operands are evaluated. "
    "The data model took longest, since the user asked what each special method is called for. "
    "Imports followed, with the search for a module and what a package adds to that search. "
    "Of exceptions they read how a handler is found, and what a clause at the end always does. "
    "Formatting of text was tried with short examples, and so was slicing of sequences. "
    "The assistant explained what mappings and sets ask of their keys, and why a list cannot be one. "
    "Class definitions were read twice, because the order in which bases are searched was not clear. "
    "At the end the user wanted to see how a generator is resumed and closed. "
    "The assistant quoted the reference each time, and added no opinion of its own."
)
"""A summary of usual length: about 1,200 characters."""

Text = tuple[str, str]
"""A message as role and text."""

_WORDS = "\n".join(topics[key] for key in sorted(topics)).split()


def words(rng: random.Random, characters: int) -> str:
    """Return a stretch of the reference, about *characters* long."""
    count = max(3, characters // 7)
    start = rng.randrange(len(_WORDS) - count - 1)
    return " ".join(_WORDS[start : start + count])


def texts(count: int, seed: int = 7) -> list[Text]:
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
