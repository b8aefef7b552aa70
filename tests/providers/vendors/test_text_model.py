"""Summarizers on the clients of Google and Amazon Bedrock, in the shapes that these have."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from foldline.errors import ConfigError, ContextOverflowError, ModelError, SummarizerError
from foldline.history.messages import Message, Usage
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE, metered
from foldline.providers.vendors.client_model import summarizer_from
from foldline.reduction.request import SummaryRequest


SAID = f"{FIRST_LINE}\nThe weather was spoken of.\n{LAST_LINE}"
REQUEST = SummaryRequest(messages=(Message.user("hello"),), prompt="Sum.", budget=100)
GEMINI: dict[str, Any] = {
    "candidates": [
        {
            "content": {"parts": [{"text": "Hm.", "thought": True}, {"text": SAID}]},
            "finish_reason": "STOP",
        }
    ],
    "usage_metadata": {
        "prompt_token_count": 70,
        "candidates_token_count": 7,
        "thoughts_token_count": 2,
    },
}
CONVERSE: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": [{"text": SAID}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 60, "outputTokens": 9, "cacheWriteInputTokens": 10},
}


class Dumped(SimpleNamespace):
    """An answer that writes itself, as those of Google's SDK do."""

    def model_dump(self, **_: object) -> dict[str, Any]:
        """Return its fields."""
        return vars(self)


def gemini(ask: Callable[..., object]) -> Any:
    return SimpleNamespace(models=SimpleNamespace(generate_content=ask))


def bedrock(ask: Callable[..., object]) -> Any:
    return SimpleNamespace(converse=ask)


async def written(client: object, **options: Any) -> tuple[str, list[Usage]]:
    with metered() as spent:
        return await summarizer_from(client, "m", **options).summarize(REQUEST), spent


@pytest.mark.parametrize("is_async", [False, True])
async def test_google_is_asked(is_async: bool) -> None:
    """Settings are fields of its `config`; what was thought is no summary, and is counted."""
    given: list[dict[str, Any]] = []

    def ask(**arguments: Any) -> object:
        given.append(arguments)
        return Dumped(**GEMINI)

    async def ask_later(**arguments: Any) -> object:
        return ask(**arguments)

    said, spent = await written(
        gemini(ask_later if is_async else ask), settings={"temperature": 0.5}
    )

    (asked,) = given
    assert said == "The weather was spoken of."
    assert spent == [Usage(input_tokens=70, output_tokens=9, reasoning_tokens=2)]
    assert (asked["model"], asked["config"]["temperature"]) == ("m", 0.5)
    assert "summaries of recorded conversations" in asked["config"]["system_instruction"]
    assert "hello" in asked["contents"][0]


async def test_bedrock_is_asked() -> None:
    """Settings are arguments of `converse`; cached tokens are counted as input."""
    given: list[dict[str, Any]] = []

    def ask(**arguments: Any) -> object:
        given.append(arguments)
        return CONVERSE

    said, spent = await written(bedrock(ask), settings={"inferenceConfig": {"maxTokens": 9}})

    (asked,) = given
    assert said == "The weather was spoken of."
    assert spent == [Usage(input_tokens=70, output_tokens=9, cache_write_tokens=10)]
    assert (asked["modelId"], asked["inferenceConfig"]) == ("m", {"maxTokens": 9})
    assert "summaries of recorded conversations" in asked["system"][0]["text"]
    assert "hello" in asked["messages"][0]["content"][0]["text"]


@pytest.mark.parametrize(
    "client",
    [
        gemini(
            lambda **_: {"candidates": [{**GEMINI["candidates"][0], "finish_reason": "SAFETY"}]}
        ),
        gemini(lambda **_: {"candidates": []}),
        bedrock(lambda **_: {**CONVERSE, "stopReason": "max_tokens"}),
        bedrock(lambda **_: None),
    ],
)
async def test_what_is_no_summary(client: object) -> None:
    """An answer that was cut off or blocked, or that says nothing, is none."""
    with pytest.raises(SummarizerError):
        await written(client)


def test_names_and_windows() -> None:
    """A summarizer has the vendor's name before the model's, by which its window is known."""
    google, amazon = gemini(print), bedrock(print)

    assert summarizer_from(google, "gemini-2.5-flash").name == "google:gemini-2.5-flash"
    assert summarizer_from(google, "gemini-2.5-flash").context_window == 1_048_576
    assert summarizer_from(amazon, "own", window=9_000).context_window == 9_000
    with pytest.raises(ConfigError, match="model must name the model that SimpleNamespace asks"):
        summarizer_from(amazon)


class APIError(Exception):
    """What Google's SDK raises."""

    code, status = 400, "INVALID_ARGUMENT"
    message = "The input token count (12) exceeds the maximum number of tokens allowed (9)."


class BotoCoreError(Exception):
    """What boto3 raises before it has an answer."""


class ClientError(Exception):
    """What boto3 raises for an answer."""

    def __init__(self, code: str, text: str) -> None:
        error = {"Code": code, "Message": text}
        self.response = {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}


@pytest.fixture(autouse=True)
def _sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load modules of the names of the SDKs, with their errors."""
    for name, errors in (
        ("google.genai.errors", (APIError,)),
        ("botocore.exceptions", (BotoCoreError, ClientError)),
    ):
        module = ModuleType(name)
        vars(module).update({one.__name__: one for one in errors})
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize(
    ("make", "error", "kind", "says"),
    [
        (gemini, APIError(), ContextOverflowError, "google:m"),
        (bedrock, ClientError("ValidationException", "Input is too long for requested model."),
         ContextOverflowError, "bedrock:m"),
        (bedrock, ClientError("AccessDeniedException", "secret"), ModelError,
         "bedrock:m failed: status 400, AccessDeniedException"),
        (bedrock, BotoCoreError("secret"), ModelError, "bedrock:m could not be asked: BotoCoreError"),
    ],
)  # fmt: skip
async def test_failures(
    make: Callable[..., Any], error: Exception, kind: type[Exception], says: str
) -> None:
    """What their SDKs raise is an error of the model, without the vendor's text."""

    def ask(**_: object) -> object:
        raise error

    with pytest.raises(kind, match=says) as caught:
        await written(make(ask))

    assert "secret" not in f"{caught.value}"
