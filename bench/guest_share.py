"""
Our share of a model call inside a framework: its own messages against a comparison of two lists.

`python -m bench.guest_share GUEST`, run by the environment of that guest (`make test-guests` makes
them): what a view takes of a list that is the same as before, and of one with one more message,
as multiples of `known == items` with an equal copy. At 10,000 messages at most three.
"""

import copy
import importlib
import sys
from collections.abc import Callable
from operator import eq
from typing import Any

from bench.measure import rounds
from bench.workload import texts
from foldline import HistoryReducer, HistoryReductionConfig, Message
from foldline.guests import GuestCodec, GuestView
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.messages import NativeFormat
from foldline.history.parts import TextPart, ToolCallPart


COUNTS = (100, 1_000, 10_000)
MOST = 3.0
_LAST = COUNTS[-1]
_CODECS = {
    "agent_framework": "AgentFrameworkCodec",
    "agno": "AgnoCodec",
    "bedrock": "ConverseCodec",
    "google_adk": "GoogleADKCodec",
    "google_genai": "ContentCodec",
    "langchain": "LangChainCodec",
    "langgraph": "LangChainCodec",
    "llama_index": "LlamaIndexCodec",
    "pydantic_ai": "PydanticAICodec",
    "strands": "StrandsCodec",
}


def _said(count: int) -> list[Message]:
    """Return *count* messages, every fourth one with a call."""
    said: list[Message] = []
    for number in range(0, count, 4):
        asked, answer, result, closing = (text for _, text in texts(4, seed=number))
        call = ToolCallPart(f"call_{number}", "read_file", '{"path": "a/b.py", "lines": [1, 200]}')
        said += [
            Message.user(asked),
            Message(role="assistant", parts=(TextPart(answer), call)),
            Message.tool(f"call_{number}", result, name="read_file"),
            Message.assistant(closing),
        ]
    return said


def _same(known: list[Any], items: list[Any]) -> bool:
    """Compare messages of Agent Framework, which has no `==` for them, by their fields."""
    return all(
        one.role == other.role and list(map(vars, one.contents)) == list(map(vars, other.contents))
        for one, other in zip(known, items, strict=True)
    )


def _ways(guest: str, reducer: HistoryReducer) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what writes messages as those of *guest*, and what reduces them."""
    if guest == "openai_agents":
        wire = NativeFormat.OPENAI_RESPONSES
        return OPENAI_RESPONSES.items, lambda items, state: reducer.reduce_sync(
            items, format=wire, state=state
        )
    name = "langchain" if guest == "langgraph" else guest
    module = importlib.import_module(f"foldline.integrations.{name}_messages")
    codec: GuestCodec[Any] = getattr(module, _CODECS[guest])()
    view = GuestView(reducer, codec)
    return (
        lambda said: [codec.write(one, None) for one in said],
        lambda items, state: view.reduce_sync(items, state=state),
    )


def main(guest: str) -> int:
    """Print the ratios of *guest*; return 1 if one is too high at the last count, else 0."""
    same = _same if guest == "agent_framework" else eq
    code = 0
    for count in COUNTS:
        config = HistoryReductionConfig(
            counting_unit="messages", target_count=20, summarization_threshold=20
        )
        write, reduce = _ways(guest, HistoryReducer(config))
        items = write(_said(count))
        known, state = copy.deepcopy(items), reduce(items, None).state
        more = iter([[*items, *write([Message.user(f"And {n}?")])] for n in range(99)])
        ways: dict[str, Callable[[], object]] = {
            "same": lambda: reduce(items, state),  # noqa: B023 - called before the next count
            "one more": lambda: reduce(next(more), state),  # noqa: B023 - as above
        }
        for name, way in ways.items():
            ratio = _ratio(way, lambda: same(known, items))  # noqa: B023 - as above
            print(f"{guest} {count:>6,} {name:8} {ratio:.2f}x of ==")
            code |= count == _LAST and ratio > MOST
    return int(code)


def _ratio(way: Callable[[], object], floor: Callable[[], object]) -> float:
    def once(work: Callable[[], object]) -> Callable[[], int]:
        return lambda: bool(work()) or 1

    return rounds(once(way)) / rounds(once(floor))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
