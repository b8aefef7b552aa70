"""
What becomes of everything that goes wrong at a vendor.
"""

import asyncio
from typing import Any

import pytest

from foldline.errors import ContextOverflowError, ModelError, ServiceThreadLostError
from foldline.history.messages import Message
from tests.providers.vendors.asking import KEY, ask, ask_stream, close, opened, request_of
from tests.servers.vendor import Answer, VendorServer


CHAT, RESPONSES, CLAUDE = "openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-sonnet-4-6"
CANARY = "canary words of the conversation"
SPECS = (CHAT, RESPONSES, CLAUDE)


def failure(
    vendor: VendorServer, spec: str, answer: Answer, *, streams: bool = False
) -> ModelError:
    """
    Return the error that *answer* becomes.
    """
    vendor.answers = [answer]
    asking: Any = ask_stream if streams else ask
    with pytest.raises(ModelError) as caught:
        asking(opened(vendor, spec), request_of(Message.user(CANARY)))
    return caught.value


def error_body(spec: str, code: str) -> dict[str, Any]:
    """
    Return an error as the vendor of *spec* writes it, with text that must go no further.
    """
    error = {"type": code, "message": f"{CANARY} {KEY}"}
    return (
        {"type": "error", "error": error} if spec == CLAUDE else {"error": {**error, "code": code}}
    )


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_statuses_are_told(
    vendor: VendorServer, spec: str, status: int, code: str, streams: bool
) -> None:
    """
    The error names the model, the status and the code, and neither a word nor the key.
    """
    answer = Answer.of(error_body(spec, code), status=status)

    error = failure(vendor, spec, answer, streams=streams)

    assert type(error) is ModelError
    assert error.status == status
    assert f"{error}" == f"{spec} failed: status {status}, {code}"
    assert error.__suppress_context__


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[]", b"null", b'{"a": 1}'])
def test_answers_that_are_none(vendor: VendorServer, spec: str, body: bytes) -> None:
    """
    An answer that is no response is an error that does not quote it.
    """
    error = failure(vendor, spec, Answer(body=body))

    assert f"{error}" == f"{spec} broke off its answer, or gave one that cannot be read"


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("body", [b"<html>oops</html>", b"", b'"text"'])
def test_errors_without_a_body(vendor: VendorServer, spec: str, body: bytes) -> None:
    """
    An error whose body says nothing is told by its status.
    """
    error = failure(vendor, spec, Answer(body=body, status=502))

    assert f"{error}" == f"{spec} failed: status 502"


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (
            CHAT,
            {
                "code": "context_length_exceeded",
                "message": "This model's maximum context length is 128000 tokens. However, your "
                "messages resulted in 130000 tokens.",
            },
        ),
        (CLAUDE, {"type": "x", "message": "prompt is too long: 130000 tokens > 128000 maximum"}),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_an_overflow_tells_the_window(
    vendor: VendorServer, spec: str, error: dict[str, str], streams: bool
) -> None:
    """
    A request that is too long is an error of its own, with the window and the size.
    """
    found = failure(vendor, spec, Answer.of({"error": error}, status=400), streams=streams)

    assert isinstance(found, ContextOverflowError)
    assert (found.window, found.tokens, found.status) == (128000, 130000, 400)


def test_an_overflow_of_responses(vendor: VendorServer) -> None:
    """
    Responses names an overflow by its code alone, also inside a stream that was already open.
    """
    error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}
    failed = {"id": "r", "object": "response", "status": "failed", "error": error, "output": []}
    event = {"type": "response.failed", "response": failed}

    whole = failure(vendor, RESPONSES, Answer.of({"error": error}, status=400))
    inside = failure(vendor, RESPONSES, Answer.of(failed))
    streamed = failure(vendor, RESPONSES, Answer.stream([event]), streams=True)

    assert isinstance(whole, ContextOverflowError)
    assert isinstance(inside, ContextOverflowError)
    assert isinstance(streamed, ContextOverflowError)
    assert [one.status for one in (whole, inside, streamed)] == [400, 400, 400]


@pytest.mark.parametrize(
    ("spec", "event", "status"),
    [
        (CHAT, {"error": {"code": 429, "message": CANARY}}, 429),
        (CHAT, {"error": {"type": "server_error", "message": CANARY}}, 500),
        (CHAT, {"error": CANARY}, None),
        (CLAUDE, {"type": "error", "error": {"type": "overloaded_error", "message": CANARY}}, 529),
        (RESPONSES, {"type": "error", "code": "rate_limit_exceeded", "message": CANARY}, 429),
    ],
)
def test_errors_inside_a_stream(
    vendor: VendorServer, spec: str, event: dict[str, Any], status: int | None
) -> None:
    """
    An error inside a stream has the status that it would have had before it.
    """
    error = failure(vendor, spec, Answer.stream([event]), streams=True)

    assert error.status == status
    assert CANARY not in f"{error}"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "previous_response_not_found", "message": "?"}),
        (404, {"message": "Previous response with id 'resp_1' not found."}),
    ],
)
def test_an_unknown_previous_response(
    vendor: VendorServer, status: int, error: dict[str, str]
) -> None:
    """
    A conversation that the vendor does not know any more is an error of its own.
    """
    vendor.answers = [Answer.of({"error": error}, status=status)]
    model = opened(vendor, RESPONSES, holds_history=True)

    with pytest.raises(ServiceThreadLostError) as caught:
        ask(model, request_of(Message.user("x"), thread="resp_1"))

    assert caught.value.status == status


@pytest.mark.parametrize("spec", [CHAT, CLAUDE])
def test_a_conversation_nobody_holds(vendor: VendorServer, spec: str) -> None:
    """
    Who asks a format that holds no conversation to go on with one is told so before any request.
    """
    with pytest.raises(ServiceThreadLostError, match="no longer holds"):
        ask(opened(vendor, spec), request_of(Message.user("x"), thread="resp_1"))

    assert vendor.asked == []


def test_an_unreachable_vendor() -> None:
    """
    A vendor that does not listen cannot be reached, and the error says no more.
    """
    with VendorServer() as gone:
        model = opened(gone, CHAT)

    with pytest.raises(ModelError, match=f"^{CHAT} could not be reached$"):
        ask(model, request_of(Message.user("x")))


@pytest.mark.parametrize("spec", SPECS)
def test_a_slow_vendor(vendor: VendorServer, spec: str) -> None:
    """
    A vendor that does not answer within the timeout of the settings is an error without a status.
    """
    vendor.answers = [Answer(body=b'{"id"', end="hang")]

    with pytest.raises(ModelError, match="did not answer in time"):
        ask(opened(vendor, spec), request_of(Message.user("x"), timeout=0.2))

    assert vendor.left.wait(10)


def test_a_failure_can_be_tried_again(vendor: VendorServer) -> None:
    """
    A binding whose last call has failed answers the next one.
    """
    whole = {"id": "c", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}
    vendor.answers = [Answer.of(error_body(CHAT, "x"), status=400), Answer.of(whole)]
    model = opened(vendor, CHAT)

    async def run() -> str:
        with pytest.raises(ModelError):
            await model.respond(request_of(Message.user("x")))
        response = await model.respond(request_of(Message.user("x")))
        await close(model)
        return response.messages[0].text

    assert asyncio.run(run()) == "yes"
