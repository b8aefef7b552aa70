"""Whatever is folded, the offline digest of it keeps the contract of summaries."""

import json
from random import Random

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.digest.summarizer import DigestSummarizer, write_digest
from foldline.reduction.budget import budget_for
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.contract import reviewed
from foldline.reduction.request import SummaryRequest
from foldline.reduction.sendable import cleaned
from tests.depth import by_depth
from tests.histories import damaged_history, legal_history


COUNTER = TokenEstimator()
EACH = 500
SHARE = by_depth(40, 1)
MOST = 1_500
# Below this a text has no room to say even what it is.
LEAST_ROOM = 24


def code(random: Random) -> str:
    return "".join(random.choices("ABCDEFabcdef0123456789", k=random.randint(6, 20)))


def secret(random: Random) -> str:
    """Make something that is redacted, so that no scanner takes this file for a leak."""
    return random.choice(("sk-" + "proj-", "ghp" + "_")) + code(random).upper() * 4


def value(random: Random) -> str:
    """Make a text with addresses, codes and secrets that touch one another."""
    name, key = code(random), secret(random)
    return random.choice(
        (
            f"https://{name}.example.org/{name}?a=1&b={name}",
            f"https://bob:{key}@{name}.example.org/x",
            f"https://example.org/cb?token={key}&user={name}",
            f"https://{key}/{name}",
            f"see {name}+tag@example.org, or <{name}@mail.example.org>",
            f"https://example.org/caf\u00e9/{name}",
            f"{name}:{key}/{name}@example.org",
            f"Never send {name} to {key}.",
            f"my order number is {name}",
            f"C:\\new\\{name}\\{key}",
            f"pay 4111 1111 1111 1111 for {name}",
            json.dumps({"inner": f"{name}&{key}", "password": name}),
        )
    )


def escaped(random: Random, written: str) -> str:
    """Write the JSON text *written* with escapes that JSON allows and that hide what is said."""
    for character in random.sample("&+@/.C5", k=random.randint(0, 4)):
        short = character == "/" and random.random() < 0.5
        written = written.replace(character, "\\/" if short else f"\\u{ord(character):04x}")
    return written


def noise(random: Random, number: int) -> list[Message]:
    """Make an exchange whose call and answer hold such values as JSON, in prose, and cut off."""
    fields = {"q": value(random), code(random): [value(random), {"n": None}]}
    arguments = escaped(random, json.dumps(fields))
    answer = escaped(random, json.dumps({"rows": [value(random), value(random)]}))
    if random.random() < 0.3:
        answer = answer[: random.randint(0, len(answer))]
    return [
        Message.user(value(random)),
        Message.assistant(value(random), tool_calls=[ToolCallPart(f"n{number}", "t", arguments)]),
        Message.tool(f"n{number}", answer),
    ]


def spans(random: Random, *, damaged: bool) -> list[list[Message]]:
    """Make a history and cut it into the spans of one to six folds."""
    messages = (damaged_history if damaged else legal_history)(random, exchanges=5)
    for number in range(random.randint(0, 5)):
        place = random.randint(0, len(messages))
        messages[place:place] = noise(random, number)
    size = random.choice((1, 2, 5, 20, 100))
    return [messages[start : start + size] for start in range(0, len(messages), size)][:6]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("damaged", [False, True])
def test_a_digest_has_no_defects(seed: int, *, damaged: bool) -> None:
    """Over thousands of rolling folds no digest is empty or too long."""
    random = Random(f"digest {seed} {damaged}")
    folds = 0
    for number in range(EACH // SHARE):
        text = ""
        for span in spans(random, damaged=damaged):
            before = COUNTER.count(text) if text else 0
            room = before + sum(count_message(message, COUNTER) for message in span)
            if room < LEAST_ROOM:
                continue
            # Both as a rolling summary is asked for and as one of what is new alone.
            budget = budget_for(room, MOST, before=random.choice((0, before)))
            request = SummaryRequest(
                messages=tuple(span), earlier=(text,) if text else (), prompt="", budget=budget
            )
            text = cleaned(write_digest(request))
            review = reviewed(text, request, count=COUNTER.count, room=room, by_code=True)
            folds += 1

            assert review.defects == (), (seed, number)
            assert review.tokens <= budget

    assert folds > EACH // SHARE


TOPICS = ("the weather in Porto", "a recipe for soup", "sharp knives", "hiking boots", "a film")


def chat(answer: str, *, named_by: str) -> list[Message]:
    """Make 30 exchanges: two facts in the first, then chit-chat with one id each."""
    messages = [
        Message.user("my order number is ORD-77412-XK. Never ship to Berlin."),
        Message.assistant(answer),
    ]
    for number in range(1, 30):
        topic, item = TOPICS[number % len(TOPICS)], f", item SKU-{1000 + number * 37}-Q"
        asked = item if named_by in {"user", "both"} else ""
        told = item if named_by in {"model", "both"} else ""
        messages += [
            Message.user(f"Tell me about {topic}{asked}."),
            Message.assistant(f"Sure, here is something on {topic} ({number}){told}."),
        ]
    return messages


@pytest.mark.parametrize("named_by", ["user", "model", "both", "nobody"])
@pytest.mark.parametrize("answer", ["ok", "Thanks, I have noted that."])
def test_facts_of_a_short_conversation_survive_every_fold(answer: str, named_by: str) -> None:
    """An order number and a prohibition of the first message are in the view of each fold."""
    config = HistoryReductionConfig(
        enabled=True, strategy="summarizing", counting_unit="messages", target_count=4,
        summarization_threshold=2,
    )  # fmt: skip
    reducer = HistoryReducer(config, summarizer=DigestSummarizer())
    history, state, views = History(), None, list[str]()
    for message in chat(answer, named_by=named_by):
        history.append(message)
        reduced = reducer.reduce_sync(history, state=state)
        state = reduced.state
        if reduced.verdict.folds and state is not None:
            views.append("\n".join(one.text for one in state.front_messages()))

    assert len(views) > 15
    assert all("ORD-77412-XK" in view for view in views)
    assert all("Never ship to Berlin." in view for view in views)
