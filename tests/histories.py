"""
Histories for tests: legal ones as agents produce them, and damaged ones as crashes leave them.

Everything is drawn from a `random.Random` that the caller seeds, so that a failure can be made
again from one number.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import get_args

import msgspec

from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.units import CountingUnit


__all__ = ["COUNTING_UNITS", "DAMAGES", "damaged_history", "legal_history", "text"]


COUNTING_UNITS: tuple[CountingUnit, ...] = get_args(CountingUnit)

_SAID = (
    "the cache holds a summary of every flight booked before noon so ask again about order "
    "R2-D2-4711 in src/app/main.py line 42 naïve 東京 поезд 🚂 done"
)
_ODD_TEXTS = ("", " ", "\n", "\0", "a\0b", "\ud800", "x\udfff y", "\u2028", '{"a": 1}', "null")


def text(random: Random) -> str:
    """Return mostly a few words, now and then nothing, something odd, or very much."""
    draw = random.random()
    if draw < 0.08:
        return random.choice(_ODD_TEXTS)
    if draw < 0.082:
        return "long " * 20_000
    return " ".join(random.choices(_SAID.split(), k=random.randint(1, 30)))


def legal_history(random: Random, *, exchanges: int = 8) -> list[Message]:
    """
    Return the history of up to *exchanges* exchanges in which every call has its answers.

    System messages are anywhere between exchanges; parallel calls, reasoning, media, unknown parts
    and items of the OpenAI Responses API occur.
    """
    messages: list[Message] = []
    if random.random() < 0.2:
        messages.append(Message.assistant(text(random)))
    for exchange in range(random.randint(0, exchanges)):
        if random.random() < 0.3:
            messages.append(Message.system(text(random)))
        messages.extend(_exchange(random, exchange))
    return messages


def _exchange(random: Random, exchange: int) -> list[Message]:
    messages = [Message(role="user", parts=_said(random))]
    for step in range(random.choice((0, 0, 1, 1, 2, 5))):
        ids = [f"call_{exchange}_{step}_{one}" for one in range(random.choice((1, 1, 2, 4)))]
        messages.extend(_tool_step(random, ids))
    if random.random() < 0.9:
        messages.append(Message(role="assistant", parts=_answer(random)))
    return messages


def _said(random: Random) -> tuple[Part, ...]:
    parts: list[Part] = [TextPart(text(random))]
    if random.random() < 0.15:
        parts.append(_medium(random))
    if random.random() < 0.05:
        parts.clear()
    return tuple(parts)


def _medium(random: Random) -> Part:
    return random.choice(
        (
            BlobPart("image", "image/png", "aGVsbG8="),
            UriPart("image", "https://example.com/picture.png"),
            FilePart("document", "file-1"),
            GenericPart("x_unknown", '{"type":"x_unknown","value":1}'),
        )
    )


def _answer(random: Random) -> tuple[Part, ...]:
    parts: list[Part] = [TextPart(text(random))]
    if random.random() < 0.2:
        parts.insert(0, ReasoningPart(text(random)))
    if random.random() < 0.03:
        parts.append(CompactionPart(text(random)))
    if random.random() < 0.05:
        parts.clear()
    return tuple(parts)


def _tool_step(random: Random, ids: Sequence[str]) -> list[Message]:
    calls = tuple(ToolCallPart(one, "look_up", _arguments(random)) for one in ids)
    before: tuple[Part, ...] = (TextPart(text(random)),) if random.random() < 0.5 else ()
    responses = [ToolCallResponsePart(one, _response(random)) for one in ids]
    random.shuffle(responses)
    style = random.random()
    if style < 0.1:
        # As OpenAI Responses gives them: reasoning, words and calls, linked by their ids.
        asked = _response_items(random, calls)
    elif style < 0.2:
        # One item a call, as OpenAI Responses writes them.
        asked = [Message(role="assistant", parts=(call,)) for call in calls]
    else:
        asked = [Message(role="assistant", parts=(*before, *calls))]
    if style > 0.8:
        # All answers in one message, as Anthropic writes them.
        return [*asked, Message(role="tool", parts=tuple(responses))]
    return [*asked, *(Message(role="tool", parts=(one,)) for one in responses)]


def _response_items(random: Random, calls: Sequence[ToolCallPart]) -> list[Message]:
    name = calls[0].id
    if random.random() < 0.3:
        # What another vendor's reasoning is read as: it cannot be sent, nor can what was made of
        # it be told from what never had any.
        asked = [Message(role="assistant", parts=(ReasoningPart(text(random)),))]
    else:
        thought: dict[str, object] = {"type": "reasoning", "id": f"rs_{name}", "summary": []}
        asked = [message_from_openai_responses({**thought, "encrypted_content": "sealed"})]
    if random.random() < 0.5:
        block = {"type": "output_text", "text": text(random)}
        said = {"type": "message", "id": f"msg_{name}", "role": "assistant", "content": [block]}
        asked.append(message_from_openai_responses(said))
    for call in calls:
        fields = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        item = {"type": "function_call", "id": f"fc_{call.id}", **fields}
        asked.append(message_from_openai_responses(item))
    return asked


def _arguments(random: Random) -> str:
    return random.choice(
        ("{}", '{"q": "a"}', '{"n":[1,2.5,null]}', "", "not json", '{"a":"\\u0000"}')
    )


def _response(random: Random) -> str | tuple[TextPart | BlobPart, ...]:
    if random.random() < 0.1:
        return (TextPart(text(random)), BlobPart("image", "image/png", "aGVsbG8="))
    return text(random)


def damaged_history(random: Random, *, exchanges: int = 8) -> list[Message]:
    """Return a history with one to four damages out of `DAMAGES`."""
    messages = legal_history(random, exchanges=exchanges)
    for _ in range(random.randint(1, 4)):
        random.choice(DAMAGES)(random, messages)
    return messages


def _drop_one(random: Random, messages: list[Message]) -> None:
    if messages:
        messages.pop(random.randrange(len(messages)))


def _repeat_one(random: Random, messages: list[Message]) -> None:
    if messages:
        messages.insert(random.randint(0, len(messages)), random.choice(messages))


def _swap_two(random: Random, messages: list[Message]) -> None:
    if len(messages) > 1:
        one, other = random.sample(range(len(messages)), 2)
        messages[one], messages[other] = messages[other], messages[one]


def _answer_late(random: Random, messages: list[Message]) -> None:
    tools = [index for index, message in enumerate(messages) if message.role == "tool"]
    if tools:
        message = messages.pop(random.choice(tools))
        messages.insert(random.randint(0, len(messages)), message)


def _answer_nothing(random: Random, messages: list[Message]) -> None:
    message = Message.tool(random.choice(("call_0_0_0", "nobody", "")), text(random))
    messages.insert(random.randint(0, len(messages)), message)


def _leave_open(random: Random, messages: list[Message]) -> None:
    call = ToolCallPart(random.choice(("call_0_0_0", "open", "")), "look_up", "{}")
    message = Message.assistant(text(random), tool_calls=[call])
    messages.insert(random.randint(0, len(messages)), message)


def _same_id(random: Random, messages: list[Message]) -> None:
    for index, message in enumerate(messages):
        if random.random() < 0.5:
            messages[index] = _renamed(message)


def _renamed(message: Message) -> Message:
    kinds = (ToolCallPart, ToolCallResponsePart)
    renamed = msgspec.structs.replace
    parts = [renamed(one, id="same") if isinstance(one, kinds) else one for one in message.parts]
    return _changed(message, parts)


def _changed(message: Message, parts: Sequence[Part]) -> Message:
    # The vendor's own item says what the message said before.
    return msgspec.structs.replace(message, parts=tuple(parts), native=None)


def _other_role(random: Random, messages: list[Message]) -> None:
    if messages:
        index = random.randrange(len(messages))
        role = random.choice(("user", "assistant", "tool", "system"))
        messages[index] = msgspec.structs.replace(messages[index], role=role, native=None)


def _no_parts(random: Random, messages: list[Message]) -> None:
    if messages:
        index = random.randrange(len(messages))
        messages[index] = _changed(messages[index], ())


def _mixed_parts(random: Random, messages: list[Message]) -> None:
    if len(messages) > 1:
        one, other = random.sample(range(len(messages)), 2)
        parts = (*messages[one].parts, *messages[other].parts)
        messages[one] = _changed(messages[one], parts)


DAMAGES: tuple[Callable[[Random, list[Message]], None], ...] = (
    _drop_one,
    _repeat_one,
    _swap_two,
    _answer_late,
    _answer_nothing,
    _leave_open,
    _same_id,
    _other_role,
    _no_parts,
    _mixed_parts,
)
"""What can happen to a history; each changes the list in place."""
