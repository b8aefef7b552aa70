"""A vendor's own compaction as a summarizer of the chain."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anthropic
import openai
import pytest
from msgspec import structs

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.providers.summarizer import metered
from foldline.providers.vendors.compaction import VendorCompaction
from foldline.reduction.request import Summary, SummaryRequest
from foldline.reduction.state import HistoryReductionState
from foldline.testing.grammars import check_openai_responses
from tests.agent.test_reducer import CONFIG as QUOTING
from tests.agent.test_reducer import talk
from tests.providers.vendors.asking import KEY
from tests.providers.vendors.test_client_model import fake
from tests.servers.vendor import Answer, Recorded, VendorServer


CONFIG = structs.replace(QUOTING, quote_user_messages=0)
SECRET = "sk-ant-" + "a1B2" * 8
TEXT = "The user asked about the weather, and nothing is open."


def compacted(number: int = 1, *, size: int = 9) -> dict[str, Any]:
    """Return an answer of OpenAI as it was recorded: what users said, and a sealed item."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    item = {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": "AbC9" * size}
    usage = {"input_tokens": 156, "output_tokens": 190, "total_tokens": 346}
    return {"object": "response.compaction", "output": [said, item], "usage": usage, "id": "r1"}


def sealing(*answers: Any) -> tuple[VendorCompaction, list[dict[str, Any]]]:
    """Return a compaction whose vendor gives *answers*, and the list of what that is asked."""
    asked: list[dict[str, Any]] = []

    def compact(**given: Any) -> object:
        asked.append(given)
        return answers[len(asked) - 1]

    client = SimpleNamespace(responses=SimpleNamespace(compact=compact, create=print))
    return VendorCompaction(client, "gpt-5-mini"), asked


def said_in(items: list[Any]) -> str:
    """Return all texts of a rendered conversation."""
    contents = [item.get("content") or "" for item in items]
    blocks = [[{"text": one}] if isinstance(one, str) else one for one in contents]
    return "\n".join(block["text"] for one in blocks for block in one)


def reduce(
    summarizer: VendorCompaction, count: int, state: HistoryReductionState | None = None
) -> ReducedHistory[Message]:
    reducer = HistoryReducer(CONFIG, summarizer=summarizer)
    return asyncio.run(reducer.reduce(talk(count), state=state))


def test_a_sealed_item_travels_beside_a_record_made_by_code() -> None:
    """Its vendor gets both, the item in front; every other gets the record alone."""
    summarizer, asked = sealing(compacted())
    reduced = reduce(summarizer, 9)
    state, view = reduced.state, reduced.messages

    assert reduced.event.status == "performed"
    assert (reduced.event.summarizer, reduced.event.failures) == ("gpt-5-mini compaction", ())
    assert reduced.event.summarizer_usage == Usage(input_tokens=156, output_tokens=190)
    assert state is not None
    assert state.sealed_item is not None
    assert state.is_whole
    ours = render_openai_responses(view)
    assert (ours[0]["type"], ours[0]["id"]) == ("compaction", "cmp_1")
    assert not check_openai_responses(ours)
    record = state.summary_content
    assert record
    others = (render_openai_chat(view), render_anthropic(view).messages)
    assert all(record in said_in(rendered) for rendered in (ours, *others))
    assert all("AbC9" not in str(rendered) for rendered in others)
    covered = [*talk(9)[: state.summarized_up_to_index]]
    assert [one["content"] for one in asked[0]["input"]] == [one.text for one in covered]


def test_the_next_compaction_reads_the_item_before_it() -> None:
    """The vendor is given its own item again, the record after it, and the newly aged messages."""
    summarizer, asked = sealing(compacted(1), compacted(2))
    first = reduce(summarizer, 9)
    second = reduce(summarizer, 16, first.state)
    given = asked[1]["input"]

    assert first.state is not None
    assert second.state is not None
    assert given[0] == compacted(1)["output"][1]
    assert first.state.summary_content in str(given[1]["content"])
    newly = talk(16)[first.state.summarized_up_to_index : second.state.summarized_up_to_index]
    assert [one["content"] for one in given[2:]] == [one.text for one in newly]
    assert render_openai_responses(second.messages)[0]["id"] == "cmp_2"
    assert second.state.previous is not None
    assert second.state.previous.sealed_item == first.state.sealed_item


def test_an_item_that_would_make_the_view_no_smaller_is_left_out() -> None:
    """The record alone stands for the messages then."""
    summarizer, _ = sealing(compacted(size=100_000))
    reduced = reduce(summarizer, 9)

    assert reduced.event.status == "performed"
    assert reduced.state is not None
    assert reduced.state.sealed_item is None
    assert reduced.event.reduced_tokens < reduced.event.original_tokens


def test_layers_have_no_sealed_item() -> None:
    """An item that stands for one layer would stand in front of all."""
    summarizer, _ = sealing(compacted())
    config = structs.replace(CONFIG, use_single_summary=False)
    reduced = HistoryReducer(config, summarizer=summarizer).reduce_sync(talk(9))

    assert reduced.event.summarizer == "gpt-5-mini compaction"
    assert reduced.state is not None
    assert (len(reduced.state.layers), reduced.state.sealed_item) == (1, None)


@pytest.mark.parametrize(
    "answer",
    [
        {"object": "response.compaction", "output": []},
        {"object": "response.compaction", "output": [{"type": "compaction", "id": "c"}]},
        "no object",
    ],
)
def test_without_an_item_the_next_summarizer_writes(answer: object) -> None:
    """An answer without a sealed item is a failure like any other."""
    summarizer, asked = sealing(answer, answer)
    reduced = reduce(summarizer, 9)

    assert len(asked) == 2
    assert reduced.event.summarizer == "digest"
    assert reduced.state is not None
    assert reduced.state.sealed_item is None


def test_secrets_reasoning_and_media_stay_in_the_process() -> None:
    """Texts, arguments and results are redacted; a recorded sealed item goes back as it came."""
    old = {"type": "compaction", "id": "cmp_0", "encrypted_content": "AbC9"}
    messages = (
        message_from_openai_responses(old),
        Message(
            role="user",
            parts=(TextPart(f"my key {SECRET}"), BlobPart("image", "image/png", "QUJD")),
        ),
        Message(
            role="assistant",
            parts=(
                ReasoningPart(f"the key {SECRET}"),
                ToolCallPart("c1", "use", f'{{"key": "{SECRET}"}}'),
            ),
        ),
        Message(
            role="tool",
            parts=(ToolCallResponsePart("c1", (TextPart(SECRET), GenericPart("odd", "thought"))),),
        ),
        Message.user("and now?"),
    )
    summarizer, asked = sealing(compacted())
    request = SummaryRequest(messages=messages, prompt="Sum.", focus=SECRET, budget=100)
    made = asyncio.run(summarizer.summarize(request))

    assert isinstance(made, Summary)
    assert SECRET not in str(asked) + made.text
    assert "thought" not in str(asked)
    assert asked[0]["input"][0] == old
    assert str(asked[0]["input"]).count("[redacted anthropic key]") == 3
    assert "[image]" in str(asked[0]["input"])
    assert "Sum." in asked[0]["instructions"]


async def read_by(client: Any, model: str) -> tuple[Any, list[Usage]]:
    with metered() as spent:
        request = SummaryRequest(messages=tuple(talk(3)), prompt="Sum.", budget=100)
        made = await VendorCompaction(client, model).summarize(request)
    close = client.close()
    if close is not None:
        await close
    return made, spent


@pytest.mark.parametrize("kind", [anthropic.Anthropic, anthropic.AsyncAnthropic])
async def test_a_readable_compaction_is_a_text(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """Anthropic is asked to compact on demand; what it counts apart is what was spent."""
    block = {"type": "compaction", "content": TEXT, "encrypted_content": "X", "signature": "s"}
    counted = {"type": "compaction", "input_tokens": 70, "output_tokens": 9}
    answer = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [block],
        "stop_reason": "compaction",
        "usage": {"input_tokens": 0, "output_tokens": 0, "iterations": [counted]},
    }
    vendor.answers = [Answer.of(answer)]
    made, spent = await read_by(kind(api_key=KEY, base_url=vendor.url), "claude-sonnet-5")
    sent = vendor.asked[0]

    assert made == TEXT
    assert [(one.input_tokens, one.output_tokens) for one in spent] == [(70, 9)]
    assert sent.headers["anthropic-beta"] == "compact-2026-09-04"
    assert sent.body["compaction"]["type"] == "summarize"
    assert "Sum." in sent.body["compaction"]["instructions"]
    assert all(one.text.strip() in said_in(sent.body["messages"]) for one in talk(3))


def readable(*texts: str) -> tuple[VendorCompaction, list[dict[str, Any]]]:
    asked: list[dict[str, Any]] = []

    def create(**given: Any) -> object:
        asked.append(given)
        return {"content": [{"type": "compaction", "content": texts[len(asked) - 1]}]}

    client = fake("messages", create)
    return VendorCompaction(client, "claude-sonnet-5", name="theirs"), asked


def test_a_readable_compaction_keeps_the_contract() -> None:
    """One that is too long is asked for once more, with what was wrong in the instructions."""
    summarizer, asked = readable("word " * 4_000, TEXT)
    reduced = reduce(summarizer, 9)

    assert "was rejected:\n- The text has " in asked[1]["extra_body"]["compaction"]["instructions"]
    assert (reduced.event.summarizer, reduced.event.summary) == ("theirs", TEXT)
    assert reduced.state is not None
    assert reduced.state.sealed_item is None


def test_a_compaction_that_failed_is_a_failure() -> None:
    """A block without content is no summary, and the next summarizer writes."""
    summarizer, asked = readable("", "")
    reduced = reduce(summarizer, 9)

    assert len(asked) == 2
    assert all(one.startswith("SummarizerError: theirs ") for one in reduced.event.failures)
    assert [one.summarizer for one in reduced.event.readings] == ["theirs", "digest"]


class Own:
    """A summarizer of a user, with an item of the vendor beside its text."""

    name = "own"

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Return both."""
        assert request.messages
        item = compacted()["output"][1]
        return Summary(text=TEXT, sealed=message_from_openai_responses(item))


def test_a_summarizer_of_your_own_may_give_an_item_too() -> None:
    """Its text stands beside what code has read, and the item in front of both."""
    reducer = HistoryReducer(CONFIG, summarizer=Own())
    reduced = asyncio.run(reducer.reduce(talk(9)))

    assert reduced.event.summarizer == "own"
    assert TEXT in (reduced.event.summary or "")
    assert render_openai_responses(reduced.messages)[0]["id"] == "cmp_1"


async def test_the_recorded_compaction_of_openai_is_read(
    vendor: VendorServer, recordings: Callable[[str], list[Recorded]]
) -> None:
    """The SDK's own method gives the sealed item and the counts of the recorded answer."""
    recorded = recordings("openai_responses--openai_responses_compact_messages")
    exchange = next(one for one in recorded if one.path.endswith("/compact"))
    vendor.answers = [exchange.answer]
    client = openai.OpenAI(api_key=KEY, base_url=f"{vendor.url}/v1")
    made, spent = await read_by(client, "gpt-4o-mini")

    assert vendor.asked[0].path == exchange.path
    assert vendor.asked[0].body.keys() == exchange.asked.keys()
    assert isinstance(made, Summary)
    assert made.sealed is not None
    assert made.sealed.native is not None
    assert "encrypted_content" in made.sealed.native.item
    assert [one.input_tokens for one in spent] == [156]


def test_what_cannot_compact_is_refused() -> None:
    """A client without either method, and a model without a name, are named at once."""
    with pytest.raises(ConfigError, match="client must be one of OpenAI or Anthropic, got object"):
        VendorCompaction(object(), "m")
    with pytest.raises(ConfigError, match="model must be a str, got None"):
        VendorCompaction(fake("messages", print), None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_it_names_its_model_and_window() -> None:
    """The reducer knows what it costs and how much it reads at once."""
    summarizer = VendorCompaction(anthropic.Anthropic(api_key=KEY), "claude-haiku-4-5")

    assert summarizer.name == "anthropic:claude-haiku-4-5 compaction"
    assert (summarizer.model_name, summarizer.context_window) == (
        "anthropic:claude-haiku-4-5",
        200_000,
    )
