"""Summarizers on clients that a program has already: SDKs, what looks like them, and functions."""

import asyncio
import logging
import re
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any

import anthropic
import openai
import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError, ContextOverflowError, ModelError, SummarizerError
from foldline.history.messages import Message, Usage
from foldline.providers.model import ChatRequest
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE, ModelSummarizer, metered
from foldline.providers.vendors.client_model import ClientModel, summarizer_from, wire_of
from foldline.providers.vendors.compaction import VendorCompaction
from foldline.providers.vendors.wire_formats import AnthropicMessages, OpenAIChat, OpenAIResponses
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest
from tests.agent.test_reducer import CONFIG, talk
from tests.providers.vendors.asking import KEY
from tests.servers.vendor import Answer, VendorServer


SECRET = "sk-ant-" + "a1B2" * 8
SAID = f"{FIRST_LINE}\nThe weather was spoken of.\n{LAST_LINE}"
REQUEST = SummaryRequest(
    messages=(Message.user(f"hello {SECRET}"),), prompt=DEFAULT_PROMPT, budget=100
)
OPENAI: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5-mini-2026",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}
    ],
    "usage": {"prompt_tokens": 70, "completion_tokens": 9, "total_tokens": 79},
}
RESPONSES: dict[str, Any] = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5-mini-2026",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": SAID, "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 70, "output_tokens": 9, "total_tokens": 79},
}
ANTHROPIC: dict[str, Any] = {
    "id": "a1",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5",
    "content": [{"type": "text", "text": SAID}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 70, "output_tokens": 9},
}
CLIENTS: list[Callable[..., Any]] = [
    openai.OpenAI,
    openai.AsyncOpenAI,
    anthropic.Anthropic,
    anthropic.AsyncAnthropic,
]


def client_of(kind: Callable[..., Any], vendor: VendorServer) -> Any:
    is_openai = kind in CLIENTS[:2]
    return kind(api_key=KEY, base_url=f"{vendor.url}/v1" if is_openai else vendor.url)


async def written(
    summarizer: ModelSummarizer, *, client: Any = None
) -> tuple[str | Exception, list[Usage]]:
    """Ask *summarizer*, close *client*, and return what came, and what was spent."""
    with metered() as spent:
        last: str | Exception
        try:
            last = await summarizer.summarize(REQUEST)
        except (ModelError, SummarizerError) as error:
            last = error
    close = getattr(client, "close", None)
    if close is not None and isawaitable(closing := close()):
        await closing
    return last, spent


async def failure(summarizer: ModelSummarizer, *, client: Any = None) -> Exception:
    last, _ = await written(summarizer, client=client)
    assert isinstance(last, Exception)
    return last


def fake(path: str, create: Callable[..., object], **more: object) -> Any:
    """Return an object that has *create* at *path*, as the client of an SDK has."""
    found: Any = SimpleNamespace(create=create)
    for name in reversed(path.split(".")):
        found = SimpleNamespace(**{name: found})
    vars(found).update(more)
    return found


def named(value: Any) -> Any:
    """Return *value* with attributes in place of keys, as the types of an SDK have them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: named(one) for key, one in value.items()})
    return [named(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", CLIENTS)
async def test_the_clients_of_both_sdks_summarize(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """Blocking or not, each sends the transcript without secrets, and its vendor's count is noted."""
    is_openai = kind in CLIENTS[:2]
    vendor.answers = [Answer.of(OPENAI if is_openai else ANTHROPIC)]
    client = client_of(kind, vendor)
    summarizer = summarizer_from(client, "some-model", settings={"temperature": 0.5})

    text, spent = await written(summarizer, client=client)
    sent = vendor.asked[0]

    assert text == "The weather was spoken of."
    assert [(one.input_tokens, one.output_tokens) for one in spent] == [(70, 9)]
    assert sent.path == ("/v1/chat/completions" if is_openai else "/v1/messages")
    assert (sent.body["model"], sent.body["temperature"]) == ("some-model", 0.5)
    assert SECRET not in str(sent.body)
    assert "[redacted anthropic key]" in str(sent.body["messages"])


@pytest.mark.parametrize("kind", CLIENTS)
async def test_what_their_vendors_refuse_is_an_error_of_ours(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """An overflow is one with its numbers, a rate limit has its status; neither repeats a text."""
    long = "prompt is too long: 210000 tokens > 200000 maximum"
    refused = [
        Answer.of({"error": {"message": long, "type": "invalid_request_error"}}, status=400),
        Answer.of({"error": {"message": SECRET, "type": "rate_limit_error"}}, status=429),
    ]
    found = []
    for answer in refused:
        vendor.answers = [answer]
        client = client_of(kind, vendor)
        found.append(await failure(summarizer_from(client, "some-model"), client=client))
    overflow, limit = found

    assert isinstance(overflow, ContextOverflowError)
    assert isinstance(limit, ModelError)
    assert (overflow.window, overflow.tokens) == (200_000, 210_000)
    assert limit.status == 429
    assert SECRET not in f"{limit}"


@pytest.mark.parametrize("kind", CLIENTS)
async def test_a_cut_answer_is_no_summary(kind: Callable[..., Any], vendor: VendorServer) -> None:
    """The reason for which a vendor stopped is read: a text that hit its limit is asked for again."""
    cut = [{**OPENAI["choices"][0], "finish_reason": "length"}]
    is_openai = kind in CLIENTS[:2]
    answer = {**OPENAI, "choices": cut} if is_openai else {**ANTHROPIC, "stop_reason": "max_tokens"}
    vendor.answers = [Answer.of(answer)]
    client = client_of(kind, vendor)

    found = await failure(summarizer_from(client, "some-model"), client=client)

    assert isinstance(found, SummarizerError)
    assert f"{found}" == "some-model did not finish its summary: length"


@pytest.mark.parametrize("shape", [dict, named])
@pytest.mark.parametrize(
    ("path", "answer", "field"),
    [
        ("chat.completions", OPENAI, "messages"),
        ("responses", RESPONSES, "input"),
        ("messages", ANTHROPIC, "messages"),
    ],
)
async def test_what_looks_like_a_client_is_one(
    path: str, answer: dict[str, Any], field: str, shape: Callable[[Any], Any]
) -> None:
    """A prepared object is asked by its method's own arguments; it answers with a dict or an object."""
    asked: list[dict[str, Any]] = []

    def create(**given: Any) -> object:
        asked.append(given)
        return shape(answer)

    text, spent = await written(summarizer_from(fake(path, create), "some-model"))

    assert text == "The weather was spoken of."
    assert [(one.input_tokens, one.output_tokens) for one in spent] == [(70, 9)]
    assert asked[0]["model"] == "some-model"
    assert "hello" in str(asked[0][field])
    assert "extra_body" not in asked[0]


@pytest.mark.parametrize("answer", ["a text", None, {"choices": [{"message": None}]}])
async def test_an_answer_that_cannot_be_read_is_an_error_of_ours(answer: object) -> None:
    """What is no answer of the format ends as an error, not as a summary."""
    client = fake("chat.completions", lambda **_: answer)

    assert isinstance(
        await failure(summarizer_from(client, "some-model")), ModelError | SummarizerError
    )


def test_openai_itself_is_asked_for_responses() -> None:
    """At OpenAI's own address the Responses API counts, elsewhere Chat Completions does."""
    azure = openai.AzureOpenAI(api_key=KEY, api_version="v", azure_endpoint="https://a.example")
    found = [
        (openai.OpenAI(api_key=KEY), OpenAIResponses),
        (openai.OpenAI(api_key=KEY, base_url="https://a.example"), OpenAIChat),
        (azure, OpenAIChat),
        (anthropic.Anthropic(api_key=KEY), AnthropicMessages),
        (fake("chat.completions", print), OpenAIChat),
        (object(), None),
    ]

    assert [wire_of(client) for client, _ in found] == [wire for _, wire in found]


def test_the_name_says_who_is_asked() -> None:
    """A vendor's own address gives the name its vendor, and with it window and prices."""
    ours = summarizer_from(anthropic.Anthropic(api_key=KEY), "claude-haiku-4-5")
    theirs = summarizer_from(openai.OpenAI(api_key=KEY, base_url="https://a.example"), "own-7b")
    given = summarizer_from(fake("messages", print), "own-7b", name="cheap", window=9_000)

    assert (ours.name, ours.context_window) == ("anthropic:claude-haiku-4-5", 200_000)
    assert (theirs.name, theirs.context_window) == ("own-7b", None)
    assert (given.name, given.model_name, given.context_window) == ("cheap", "own-7b", 9_000)


@pytest.mark.parametrize("made", [summarizer_from, VendorCompaction])
def test_the_vendor_may_stand_before_the_name(made: Callable[..., Any]) -> None:
    """OpenAI is asked for the name behind `openai:`; a server of one's own may have such names."""
    ours = made(openai.OpenAI(api_key=KEY), "openai:gpt-5-nano")
    theirs = made(openai.OpenAI(api_key=KEY, base_url="https://a.example"), "openai:own-7b")

    assert (ours.model_name, theirs.model_name) == ("openai:gpt-5-nano", "openai:own-7b")


def test_a_client_of_somebody_else_gets_no_fork() -> None:
    """Even if it names the agent's model: it may send elsewhere, and a fork is not redacted."""
    summarizer = summarizer_from(openai.OpenAI(api_key=KEY), "gpt-5-mini")

    assert not summarizer.rides


async def test_a_blocking_client_holds_nobody_up() -> None:
    """It runs in a thread of its own, sees the caller's context, and its errors arrive."""
    who: ContextVar[str] = ContextVar("who")
    started, released, seen = threading.Event(), threading.Event(), []

    def create(**_: object) -> object:
        seen.append((who.get(), threading.current_thread().daemon))
        started.set()
        assert released.wait(60)
        return OPENAI

    who.set("the caller")
    summarizer = summarizer_from(fake("chat.completions", create), "some-model")
    asked = asyncio.ensure_future(summarizer.summarize(REQUEST))
    await asyncio.to_thread(started.wait, 60)
    released.set()

    assert await asked == "The weather was spoken of."
    assert seen == [("the caller", True)]


def test_a_client_that_hangs_costs_the_fold_its_time_and_no_more() -> None:
    """The next in the chain writes, and neither loop nor program waits for the thread."""
    released = threading.Event()

    def create(**_: object) -> object:
        released.wait(60)
        return OPENAI

    hangs = summarizer_from(fake("chat.completions", create), "some-model")
    reducer = HistoryReducer(CONFIG, summarizer=hangs, timeout=0.05)
    try:
        reduced = asyncio.run(reducer.reduce(talk(9)))
    finally:
        released.set()

    assert reduced.event.summarizer == "digest"
    assert reduced.event.failures[0] == "TimeoutError"


async def _later(prompt: str) -> str:
    await asyncio.sleep(0)
    return _now(prompt)


def _now(prompt: str) -> str:
    assert "hello" in prompt
    assert SECRET not in prompt
    return SAID


class _Callable:
    async def __call__(self, prompt: str) -> str:
        return await _later(prompt)


def _awaitable(prompt: str) -> Awaitable[str]:
    return _later(prompt)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (_now, "_now"),
        (_later, "_later"),
        (_awaitable, "_awaitable"),
        (_Callable(), "_Callable"),
        (partial(_now), "partial"),
    ],
)
async def test_a_function_is_a_model(function: Callable[[str], object], name: str) -> None:
    """One that returns a text, or what can be awaited for one, is asked with the whole prompt."""
    summarizer = summarizer_from(function)

    assert await written(summarizer) == ("The weather was spoken of.", [])
    assert summarizer.name == name


async def test_a_function_that_continues_the_chat_is_refused() -> None:
    """The answer of a function is judged as a model's: without the first line it is no summary."""
    chats = await failure(summarizer_from(lambda _: "Sure, here is the rest."))

    assert "without the first line" in f"{chats}"


def test_what_a_function_raises_goes_to_the_chain() -> None:
    """The event names the kind of the error and its place, not its text; the next one is asked."""

    def broken(_: str) -> str:
        message = "a text of the conversation"
        raise LookupError(message)

    reduced = HistoryReducer(CONFIG, summarizer=summarizer_from(broken)).reduce_sync(talk(9))

    assert reduced.event.summarizer == "digest"
    failures = {re.sub(r"\d+", "N", one) for one in reduced.event.failures}
    assert failures == {f"LookupError in {__name__}, line N"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [(None, "returns must return a str, got NoneType"), (7, "returns must return a str, got int")],
)
def test_a_mistake_in_a_function_is_a_warning(
    answer: object, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A function that returns no text is named at the level that everybody sees."""

    def returns(_: str) -> object:
        return answer

    with caplog.at_level(logging.WARNING, "foldline"):
        HistoryReducer(CONFIG, summarizer=summarizer_from(returns)).reduce_sync(talk(9))

    wrote = "digest wrote the summary"
    assert caplog.messages == [f"summarizer returns failed (ModelError: {says}): {wrote}"]


def test_nobody_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The line says which address a client did not reach."""
    client = openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:1/v1", max_retries=0)

    with caplog.at_level(logging.WARNING, "foldline"):
        HistoryReducer(CONFIG, summarizer=summarizer_from(client, "m")).reduce_sync(talk(9))

    client.close()
    assert (
        "(ModelError: m could not be reached at 127.0.0.1:1: ConnectionRefusedError)" in caplog.text
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((7,), "client must be a client of OpenAI or Anthropic, or a function .* got int"),
        ((str,), "got the class str"),
        ((None, "gpt"), "got NoneType"),
        ((lambda: "x",), "<lambda> must take the prompt as its one argument"),
        ((divmod,), "divmod must take the prompt as its one argument"),
        ((fake("messages", print),), "model must name the model that SimpleNamespace asks"),
        ((fake("messages", print), 7), "model must be a str or None, got int"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[Any, ...], says: str) -> None:
    """What is no client, and a client without a model, is refused when it is given."""
    with pytest.raises(ConfigError, match=says):
        summarizer_from(*arguments)


def test_a_function_need_not_say_what_it_takes() -> None:
    """What is written in C may have no signature, and is asked all the same."""
    assert summarizer_from(max).name == "max"


def test_settings_need_a_client() -> None:
    """A function takes a prompt alone, so fields of a request would be lost."""
    with pytest.raises(ConfigError, match="settings have no effect with a function"):
        summarizer_from(_now, settings={"temperature": 0})


def test_headers_of_betas_and_options_are_arguments() -> None:
    """What an SDK sends as a header, or takes for itself, is no field of the request."""
    asked: list[dict[str, Any]] = []

    def create(**given: Any) -> object:
        asked.append(given)
        return ANTHROPIC

    model = ClientModel(fake("messages", create, timeout=5), "claude-x", wire=AnthropicMessages)
    settings = {
        "betas": ["some-beta"],
        "extra_headers": {"a": "b"},
        "top_k": 3,
        "extra_body": {"min_p": 0.1},
    }
    request = ChatRequest(messages=(Message.user("hi"),), settings=settings)
    asyncio.run(model.respond(request))

    assert asked[0]["extra_headers"] == {"anthropic-beta": "some-beta", "a": "b"}
    assert (asked[0]["timeout"], asked[0]["extra_body"]) == (5, {"top_k": 3, "min_p": 0.1})
