"""How failures of a vendor are reported."""

import asyncio
import logging
import socketserver
from collections.abc import Generator
from contextlib import contextmanager
from socket import gaierror
from threading import Thread
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from foldline.errors import ContextOverflowError, ModelError, ServiceThreadLostError
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.formats.openai_chat import from_openai_chat
from foldline.history.messages import Message
from foldline.providers.vendors.failure import sdk_errors
from foldline.providers.vendors.opening import open_model
from foldline.reduction.provider import ProviderConfig
from tests.providers.vendors.asking import KEY, errors, opened, request_of, streamed
from tests.servers.vendor import Answer, VendorServer


CHAT, RESPONSES, CLAUDE = "openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-sonnet-4-6"
CANARY = "canary words of the conversation"
SPECS = (CHAT, RESPONSES, CLAUDE)


STATUSES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
REQUEST = request_of(Message.user(CANARY))


def error_body(spec: str, code: str) -> dict[str, Any]:
    """Return an error as the vendor of *spec* writes it, with text that must go no further."""
    error = {"type": code, "message": f"{CANARY} {KEY}"}
    return (
        {"type": "error", "error": error} if spec == CLAUDE else {"error": {**error, "code": code}}
    )


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("streams", [False, True])
async def test_statuses_are_reported(vendor: VendorServer, spec: str, streams: bool) -> None:
    """The error names the model, the status and the code, and neither a word nor the key."""
    answers = [Answer.of(error_body(spec, code), status=n) for n, code in STATUSES.items()]

    found = await errors(vendor, spec, REQUEST, *answers, streams=streams)

    assert {type(error) for error in found} == {ModelError}
    assert [error.status for error in found] == [*STATUSES]
    assert [f"{error}".partition(";")[0] for error in found] == [
        f"{spec} failed: status {status}, {code}" for status, code in STATUSES.items()
    ]
    advised = [error.status for error in found if "; check the name of the model" in str(error)]
    assert advised == [404]
    assert all(error.__suppress_context__ for error in found)


@pytest.mark.parametrize("spec", [*SPECS, "deepseek:x"])
async def test_a_long_wait_is_a_failure(vendor: VendorServer, spec: str) -> None:
    """A vendor that asks to wait longer than a minute is not asked again."""
    waits = ("99999999", "60.5", "inf", "nan", "Fri, 31 Dec 2999 23:59:59 GMT")
    answers = [Answer.of({}, status=429, retry_after=wait) for wait in waits]
    answers.append(Answer.of({}, status=429, retry_after_ms="99999999"))

    found = await errors(vendor, spec, REQUEST, *answers)

    assert [error.status for error in found] == [429] * len(answers)
    assert len(vendor.asked) == len(answers)


@pytest.mark.parametrize("spec", SPECS)
async def test_a_short_wait_is_waited_for(
    vendor: VendorServer, spec: str, waits: list[float]
) -> None:
    """A vendor that asks for a short wait, or for none that can be read, is asked again."""
    error = Answer.of({"error": {"message": "prompt is too long"}}, status=400)
    async with opened(vendor, spec) as model:
        for headers in ({"retry_after_ms": "1500"}, {"retry_after": "60"}, {"retry_after": "soon"}):
            vendor.answers = [Answer.of({}, status=429, **headers), error]
            with pytest.raises(ContextOverflowError):
                await model.respond(REQUEST)

    assert waits[:2] == [1.5, 60]
    assert 0 < waits[2] < 60
    assert len(vendor.asked) == 6


@pytest.mark.parametrize("spec", SPECS)
async def test_answers_that_are_none(vendor: VendorServer, spec: str) -> None:
    """An answer that is no response is an error that does not quote it, with the status of one."""
    bodies = (b"<html>bad gateway</html>", b"", b"[]", b"null", b'{"a": 1}', b'"text"')

    fine = await errors(vendor, spec, REQUEST, *(Answer(body=body) for body in bodies))
    bad = await errors(vendor, spec, REQUEST, *(Answer(body=body, status=502) for body in bodies))

    assert {f"{error}" for error in fine} == {
        f"{spec} broke off its answer, or sent one that cannot be read"
    }
    assert {f"{error}" for error in bad} == {f"{spec} failed: status 502"}


TOO_LONG = (
    {
        "error": {
            "code": "context_length_exceeded",
            "message": "This model's maximum context length is 128000 tokens. However, your "
            "messages resulted in 130000 tokens.",
        }
    },
    {
        "code": "Client specified an invalid argument",
        "error": "This model's maximum prompt length is 128000 but the request contains 130000 "
        "tokens.",
    },
    {
        "error": "Trying to keep the first 130000 tokens when context the overflows. However, the "
        "model is loaded with context length of only 128000 tokens."
    },
    {"error": {"message": "prompt is too long: 130000 tokens > 128000 maximum"}},
)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("streams", [False, True])
async def test_an_overflow_has_the_window(vendor: VendorServer, spec: str, streams: bool) -> None:
    """A request that is too long is an error of its own, with the window and the size."""
    answers = [Answer.of(body, status=400) for body in TOO_LONG]

    for found in await errors(vendor, spec, REQUEST, *answers, streams=streams):
        assert isinstance(found, ContextOverflowError)
        assert (found.window, found.tokens, found.status) == (128000, 130000, 400)


async def test_an_overflow_of_responses(vendor: VendorServer) -> None:
    """Responses names an overflow by its code alone, also inside a stream that was already open."""
    error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}
    failed = {"id": "r", "object": "response", "status": "failed", "error": error, "output": []}
    event = {"type": "response.failed", "response": failed}

    answers = [Answer.of({"error": error}, status=400), Answer.of(failed)]
    found = await errors(vendor, RESPONSES, REQUEST, *answers)
    found += await errors(vendor, RESPONSES, REQUEST, Answer.stream([event]), streams=True)

    assert {type(error) for error in found} == {ContextOverflowError}
    assert [error.status for error in found] == [400, None, None]


async def test_the_reason_of_a_refusal_is_found(
    vendor: VendorServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The error has the vendor's codes and parameter, only the log at DEBUG its text."""
    caplog.set_level(logging.DEBUG, "foldline")
    refusal = {"message": CANARY, "type": "invalid", "param": "input[0].top", "code": "unsupported"}
    for param, said in (("input[0].top", ", param input[0].top"), (CANARY, "")):
        answer = Answer.of({"error": {**refusal, "param": param}}, status=400)
        (error,) = await errors(vendor, CHAT, REQUEST, answer)

        assert f"{error}" == f"{CHAT} failed: status 400, unsupported, invalid{said}"
    ours = [one for one in caplog.records if one.name == "foldline"]
    assert [(one.levelname, CANARY in one.getMessage()) for one in ours] == [("DEBUG", True)] * 2


@pytest.mark.parametrize(
    ("spec", "event", "said"),
    [
        (CHAT, {"error": {"code": 429, "message": CANARY}}, "status 429"),
        (CHAT, {"error": {"type": "server_error", "message": CANARY}}, "server_error"),
        (CHAT, {"error": CANARY}, "no reason given"),
        (CLAUDE, {"type": "error", "error": {"type": "busy", "message": CANARY}}, "busy"),
        (RESPONSES, {"type": "error", "code": "rate_limit", "message": CANARY}, "rate_limit"),
    ],
)
async def test_errors_inside_a_stream(
    vendor: VendorServer, spec: str, event: dict[str, Any], said: str
) -> None:
    """An error inside a stream is reported by its codes, one of which may be a status."""
    (error,) = await errors(vendor, spec, REQUEST, Answer.stream([event]), streams=True)

    assert f"{error}" == f"{spec} failed: {said}"
    assert error.status == (429 if said == "status 429" else None)


async def test_an_unknown_previous_response(vendor: VendorServer) -> None:
    """A conversation that the vendor does not know any more is an error of its own."""
    answers = {
        400: {"code": "previous_response_not_found", "message": "?"},
        404: {"message": "Previous response with id 'resp_1' not found."},
    }
    vendor.answers = [Answer.of({"error": one}, status=status) for status, one in answers.items()]
    async with opened(vendor, RESPONSES, holds_history=True) as model:
        for status in answers:
            with pytest.raises(ServiceThreadLostError) as caught:
                await model.respond(request_of(Message.user("x"), thread="resp_1"))
            assert caught.value.status == status


UNREADABLE = (
    {"code": "invalid_encrypted_content", "message": "?"},
    {"code": None, "message": "The encrypted content gAAA...wXBV could not be verified."},
    {"message": "`encrypted_content` was not issued to this caller"},
)


def answered(number: int) -> Answer:
    """Return an answer with reasoning, as another organization has it."""
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "s"}
    said = [{"type": "output_text", "text": "so", "annotations": []}]
    text = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": said}
    return Answer.of({"output": [thought, text]})


@pytest.mark.parametrize("error", UNREADABLE)
@pytest.mark.parametrize("streams", [False, True])
async def test_reasoning_that_the_vendor_cannot_read_is_left_out(
    vendor: VendorServer, error: dict[str, Any], streams: bool
) -> None:
    """What another organization or region has sealed is refused once; what is new stays with its ids."""
    refused = Answer.of({"error": error}, status=400)
    vendor.answers = [answered(1), refused, answered(2), answered(3)]
    said = [Message.user("x")]
    async with opened(vendor, "openai:gpt-5.2") as model:
        for _ in range(3):
            request = request_of(*said)
            if streams:
                response = (await streamed(model, request)).response
            else:
                response = await model.respond(request)
            said += [*response.messages, Message.user("and?")]

    sent = [[one.get("id") for one in asked.body["input"]] for asked in vendor.asked]
    assert sent == [
        [None],
        [None, "rs_1", "msg_1", None],
        [None, None, None],
        [None, None, None, "rs_2", "msg_2", None],
    ]


async def test_reasoning_that_was_refused_is_left_out_in_every_conversation(
    vendor: VendorServer,
) -> None:
    """One model answers many: a refusal in the second is not the end of what the first has taught."""
    refused = Answer.of({"error": UNREADABLE[0]}, status=400)
    vendor.answers = [answered(1), answered(2), refused, answered(3), refused, *[answered(4)] * 2]
    async with opened(vendor, "openai:gpt-5.2") as model:
        first, second = [await model.respond(request_of(Message.user("x"))) for _ in "12"]
        for response in (first, second, first):
            said = (Message.user("x"), *response.messages, Message.user("and?"))
            await model.respond(request_of(*said))

    assert [one.get("id") for one in vendor.asked[-1].body["input"]] == [None, None, None]
    assert len(vendor.asked) == 7


async def test_a_request_without_what_was_refused_is_sent_once(vendor: VendorServer) -> None:
    """The same again would be refused again."""
    refused = Answer.of({"error": UNREADABLE[0]}, status=400)
    vendor.answers = [answered(1), refused, refused, refused]
    async with opened(vendor, "openai:gpt-5.2") as model:
        response = await model.respond(request_of(Message.user("x")))
        request = request_of(Message.user("x"), *response.messages, Message.user("and?"))
        for _ in range(2):
            with pytest.raises(ModelError):
                await model.respond(request)

    assert len(vendor.asked) == 4


@pytest.mark.parametrize("is_client", [False, True])
async def test_thinking_that_claude_has_not_signed_is_left_out(
    vendor: VendorServer, is_client: bool
) -> None:
    """After another vendor of the same format, or another account, a thread goes on; new thinking stays."""
    error = {"type": "invalid_request_error", "message": "Invalid `signature` in `thinking` block"}
    refused = Answer.of({"type": "error", "error": error}, status=400)
    done = Answer.of({"content": [{"type": "text", "text": "so"}]})
    vendor.answers = [refused, done, done]
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "glm"}
    own = [{**thought, "signature": "own"}, {"type": "text", "text": "yes"}]
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "so"}]},
        {"role": "user", "content": [{"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "glm2"}]},
        {"role": "user", "content": "go on"},
    ]
    async with (
        anthropic.AsyncAnthropic(api_key=KEY, base_url=vendor.url) as client,
        opened(vendor, CLAUDE) as own_client,
    ):
        model = open_model("claude-sonnet-4-6", client=client) if is_client else own_client
        await model.respond(request_of(*from_anthropic(items)))
        items += [{"role": "assistant", "content": own}, {"role": "user", "content": "?"}]
        await model.respond(request_of(*from_anthropic(items)))

    sent = [[one["content"] for one in asked.body["messages"]] for asked in vendor.asked]
    kinds = [[block["type"] for one in said if type(one) is list for block in one] for said in sent]
    assert [one.count("thinking") + one.count("redacted_thinking") for one in kinds] == [2, 0, 1]
    assert len(sent[1]) == len(sent[0]) - 1


async def test_reasoning_behind_openrouter_is_left_out(vendor: VendorServer) -> None:
    """There another vendor may answer each time, and one does not read what the other has sealed."""
    raw = '{"message":"messages.1.content.0: Invalid signature in thinking block"}'
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    done = Answer.of({"choices": [{"message": {"role": "assistant", "content": "so"}}]})
    vendor.answers = [Answer.of({"error": error}, status=400), done, done]
    items: list[dict[str, Any]] = [{"role": "user", "content": "x"}]
    requests = []
    for seal in ("signature", "data"):
        details = [{"type": "reasoning.text", "text": "Hm."}, {"type": "reasoning.x", seal: seal}]
        thought = {"reasoning": "Hm.", "reasoning_details": details}
        items += [
            {"role": "assistant", "content": "so", **thought},
            {"role": "user", "content": "?"},
        ]
        requests.append(request_of(*from_openai_chat(items)))
    async with opened(vendor, CHAT) as model:
        for request in requests:
            await model.respond(request)

    sent = [asked.body["messages"] for asked in vendor.asked]
    thoughts = [[one["reasoning_details"] for one in said if len(one) > 2] for said in sent]
    assert thoughts == [[items[1]["reasoning_details"]], [], [items[3]["reasoning_details"]]]


async def test_what_is_refused_without_reasoning_is_refused(vendor: VendorServer) -> None:
    """Nothing is left to leave out, so the request is not sent twice."""
    refused = Answer.of({"error": UNREADABLE[0]}, status=400)

    (error,) = await errors(vendor, "openai:gpt-5.2", REQUEST, refused)

    assert "invalid_encrypted_content" in f"{error}"
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("spec", SPECS)
async def test_a_conversation_nobody_holds(vendor: VendorServer, spec: str) -> None:
    """What holds no conversation, or no longer does, refuses to continue one before any request."""
    with pytest.raises(ServiceThreadLostError, match="no longer holds"):
        await opened(vendor, spec).respond(request_of(Message.user("x"), thread="resp_1"))

    assert vendor.asked == []


async def unreachable(base_url: str, spec: str = CHAT) -> str:
    """Return the error if nobody answers at *base_url*."""
    vendor, _, name = spec.partition(":")
    config = ProviderConfig(provider_key=vendor, model_name=name, api_key=KEY, base_url=base_url)
    with pytest.raises(ModelError) as caught:
        await open_model(config).respond(REQUEST)
    assert caught.value.status is None
    assert caught.value.__suppress_context__
    return f"{caught.value}"


@pytest.mark.parametrize("spec", SPECS)
async def test_an_unreachable_vendor(spec: str) -> None:
    """If no server listens, the error has the host, the port and the class of the cause."""
    with VendorServer() as gone:
        where = f"127.0.0.1:{gone.port}"

    error = await unreachable(f"http://user:{KEY}@{where}/path?query=secret", spec)

    assert error == f"{spec} could not be reached at {where}: ConnectionRefusedError"


@contextmanager
def talking(said: bytes) -> Generator[int]:
    """Give the port of a server that says *said* to everybody and hangs up."""

    class _Talk(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            # What is left unread would end the connection in another way.
            self.request.recv(65_536)
            self.request.sendall(said)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Talk) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("scheme", "said", "kind"),
    [
        ("http", b"", "RemoteProtocolError"),
        ("http", b"SSH-2.0-x\r\n\r\n", "RemoteProtocolError"),
        ("https", b"HTTP/1.1 400 no\r\n\r\n", "SSL"),
    ],
)
async def test_why_a_vendor_is_unreachable(scheme: str, said: bytes, kind: str) -> None:
    """What ended the connection is reported by its class."""
    with talking(said) as port:
        error = await unreachable(f"{scheme}://127.0.0.1:{port}/v1")

    assert error.startswith(f"{CHAT} could not be reached at 127.0.0.1:{port}: {kind}")


def failed(error: Exception) -> str:
    with pytest.raises(ModelError) as caught, sdk_errors(CHAT):
        raise error
    return f"{caught.value}"


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (gaierror(-2, "no"), "gaierror"),
        (httpx2.ProxyError("no"), "ProxyError"),
        (ExceptionGroup("", [OSError(), ConnectionRefusedError()]), "ConnectionRefusedError"),
    ],
)
def test_causes_are_reported_by_their_kind(cause: Exception, kind: str) -> None:
    """The class of the first cause is reported, without a path or a query of the address."""
    request = httpx2.Request("POST", "http://[::1]:8080/v1?key=secret")
    error = openai.APIConnectionError(request=request)
    error.__cause__ = cause

    assert failed(error) == f"{CHAT} could not be reached at [::1]:8080: {kind}"


def test_an_error_without_a_request() -> None:
    """If the client gives no request, the error has no address."""
    assert failed(httpx2.ReadTimeout("no")) == f"{CHAT} did not answer in time"


@pytest.mark.parametrize("spec", SPECS)
async def test_a_slow_vendor(vendor: VendorServer, spec: str) -> None:
    """A vendor that does not answer within the timeout is an error without a status."""
    # On a slow machine even the beginning may come too late, and the client asks again.
    vendor.otherwise = Answer(body=b'{"id"', end="hang")
    request = request_of(Message.user("x"), timeout=httpx2.Timeout(60, read=0.1))

    async with opened(vendor, spec) as model:
        with pytest.raises(ModelError, match="did not answer in time"):
            await model.respond(request)

    assert await asyncio.to_thread(vendor.left.wait, 60)
