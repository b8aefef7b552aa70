"""How foldline is used, as type checkers see it: checked by `make types`, never run."""

from typing import Any, assert_type

from anthropic import AsyncAnthropic
from anthropic.types import MessageParam
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam

from foldline import (
    Agent,
    AgentRunConfig,
    History,
    HistoryReducer,
    HistoryReductionConfig,
    HistoryReductionState,
    RecalledPage,
    ReducedHistory,
    ReductionCache,
    SummaryRequest,
    Verdict,
    recall,
    recall_tool,
)
from foldline.history.digest import message_digest, prefix_digest
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.reduction.event import ReductionStatus


def messages() -> list[Message]:
    """Make one message of every role."""
    call = ToolCallPart("call-1", "lookup", '{"city": "Oslo"}')
    return [
        Message.system("Be brief."),
        Message.user("How warm is Oslo?", name="ada"),
        Message.assistant("One moment.", tool_calls=[call]),
        Message.tool("call-1", "7 degrees", name="lookup"),
    ]


def parts(message: Message) -> str:
    """Read a message by its parts, each with its own type."""
    assert_type(message.tool_calls, tuple[ToolCallPart, ...])
    assert_type(message.tool_call_responses, tuple[ToolCallResponsePart, ...])
    for part in message.parts:
        if isinstance(part, TextPart):
            return assert_type(part.content, str)
    return assert_type(message.text, str)


def digests(message: Message) -> bool:
    """Compare a message with a history of one."""
    return assert_type(message_digest(message), bytes) == prefix_digest([message])


class Shouting:
    """A summarizer needs a name and one method, and no base class."""

    name = "shouting"

    async def summarize(self, request: SummaryRequest) -> str:
        """Repeat what was said first, louder."""
        return request.messages[0].text.upper()


async def reductions(history: History, items: list[dict[str, Any]]) -> str | None:
    """Get back the kind of messages that was given, awaiting or blocking."""
    config = HistoryReductionConfig(enabled=True, strategy="summarizing", counting_unit="messages")
    reducer = HistoryReducer(config, summarizer=Shouting(), cache=ReductionCache())
    assert_type(await reducer.reduce(history), ReducedHistory[Message])
    assert_type(await reducer.reduce(messages()), ReducedHistory[Message])
    assert_type(reducer.reduce_sync(items), ReducedHistory[dict[str, Any]])
    reduced = await reducer.reduce(items, overrides=AgentRunConfig(trigger_history_reduction=True))
    assert_type(reduced.messages, list[dict[str, Any]])
    assert_type(reduced.state, HistoryReductionState | None)
    assert_type(reducer.plan(history, state=reduced.state), Verdict)
    return reduced.termination_reason


async def chat_loop(client: AsyncOpenAI, reducer: HistoryReducer) -> None:
    """A list that the SDK of OpenAI types goes in, and what comes out goes to the SDK."""
    items: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Where is AB12?"}]
    reduced = reducer.reduce_sync(items)
    assert_type(reduced, ReducedHistory[ChatCompletionMessageParam])
    answer = await client.chat.completions.create(model="gpt-5", messages=reduced.messages)
    # The SDK's own type of a list with its answers in it.
    mixed: list[ChatCompletionMessageParam | ChatCompletionMessage] = [*items]
    mixed.append(answer.choices[0].message)
    assert_type(reducer.reduce_sync(mixed).event.status, ReductionStatus)


async def responses_loop(client: AsyncOpenAI, reducer: HistoryReducer) -> None:
    """The same for the Responses API: what is answered is an input as it is."""
    items: ResponseInputParam = [{"role": "user", "content": "Where is AB12?"}]
    reduced = await reducer.reduce(items)
    await client.responses.create(model="gpt-5", input=reduced.messages)


async def anthropic_loop(client: AsyncAnthropic, reducer: HistoryReducer) -> None:
    """The same for Anthropic: the content of an answer is taken as it is."""
    items: list[MessageParam] = [{"role": "user", "content": "Where is AB12?"}]
    reduced = await reducer.reduce(items)
    assert_type(reduced.messages, list[MessageParam])
    answer = await client.messages.create(
        model="claude-sonnet-4-6", max_tokens=99, messages=reduced.messages
    )
    items.append({"role": "assistant", "content": answer.content})


class Newest:
    """A reducer of a caller's own needs one method, and no base class."""

    async def reduce(self, messages: list[Message]) -> list[Message]:
        """Show the newest messages."""
        return messages[-10:]


def own_reducer() -> Agent:
    """Make an agent with another reducer and the tool that reads what it leaves out."""
    return Agent("openai:gpt-5-mini", reducer=Newest(), tools=[recall_tool()])


def recalled(items: list[dict[str, Any]], texts: list[dict[str, str]]) -> str:
    """Read a page of messages in any form."""
    assert_type(recall(messages(), 3, page=2), RecalledPage)
    assert_type(recall(texts, search="Oslo"), RecalledPage)
    return str(recall(items, 0, last=2))
