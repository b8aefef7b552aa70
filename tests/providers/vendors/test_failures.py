"""How failures of a vendor are reported."""

import socketserver
from collections.abc import Generator
from contextlib import contextmanager
from socket import gaierror
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
import pytest

from foldline.errors import ContextOverflowError, ModelError, ServiceThreadLostError
from foldline.history.messages import Message
from foldline.providers.vendors.failure import sdk_errors
from foldline.providers.vendors.opening import open_model
from foldline.reduction.config import ProviderConfig
from tests.providers.vendors.asking import KEY, ask, ask_stream, opened, request_of
from tests.servers.vendor import Answer, VendorServer


CHAT, RESPONSES, CLAUDE = "openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-sonnet-4-6"
CANARY = "canary words of the conversation"
SPECS = (CHAT, RESPONSES, CLAUDE)


def failure(
    vendor: VendorServer, spec: str, answer: Answer, *, streams: bool = False
) -> ModelError:
    """Return the error that *answer* becomes."""
    vendor.answers = [answer]
    asking: Any = ask_stream if streams else ask
    with pytest.raises(ModelError) as caught:
        asking(opened(vendor, spec), request_of(Message.user(CANARY)))
    return caught.value


def error_body(spec: str, code: str) -> dict[str, Any]:
    """Return an error as the vendor of *spec* writes it, with text that must go no further."""
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
def test_statuses_are_reported(
    vendor: VendorServer, spec: str, status: int, code: str, streams: bool
) -> None:
    """The error names the model, the status and the code, and neither a word nor the key."""
    answer = Answer.of(error_body(spec, code), status=status)

    error = failure(vendor, spec, answer, streams=streams)

    assert type(error) is ModelError
    assert error.status == status
    assert f"{error}" == f"{spec} failed: status {status}, {code}"
    assert error.__suppress_context__


@pytest.mark.parametrize("spec", [*SPECS, "deepseek:x"])
@pytest.mark.parametrize(
    "headers",
    [
        {"retry_after": "99999999"},
        {"retry_after": "60.5"},
        {"retry_after": "inf"},
        {"retry_after": "nan"},
        {"retry_after_ms": "99999999"},
        {"retry_after": "Fri, 31 Dec 2999 23:59:59 GMT"},
    ],
)
def test_a_long_wait_is_a_failure(vendor: VendorServer, spec: str, headers: dict[str, str]) -> None:
    """A vendor that asks to wait longer than a minute is not asked again."""
    error = failure(vendor, spec, Answer.of({}, status=429, **headers))

    assert error.status == 429
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "headers", [{"retry_after_ms": "1"}, {"retry_after": "0.001"}, {"retry_after": "soon"}]
)
def test_a_short_wait_is_waited_for(
    vendor: VendorServer, spec: str, headers: dict[str, str]
) -> None:
    """A vendor that asks for a short wait, or for none that can be read, is asked again."""
    error = Answer.of({"error": {"message": "prompt is too long"}}, status=400)
    vendor.answers = [Answer.of({}, status=429, **headers), error]

    with pytest.raises(ContextOverflowError):
        ask(opened(vendor, spec), request_of(Message.user("x")))

    assert len(vendor.asked) == 2


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[]", b"null", b'{"a": 1}'])
def test_answers_that_are_none(vendor: VendorServer, spec: str, body: bytes) -> None:
    """An answer that is no response is an error that does not quote it."""
    error = failure(vendor, spec, Answer(body=body))

    assert f"{error}" == f"{spec} broke off its answer, or sent one that cannot be read"


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("body", [b"<html>oops</html>", b"", b'"text"'])
def test_errors_without_a_body(vendor: VendorServer, spec: str, body: bytes) -> None:
    """An error whose body says nothing is reported by its status."""
    error = failure(vendor, spec, Answer(body=body, status=502))

    assert f"{error}" == f"{spec} failed: status 502"


@pytest.mark.parametrize(
    ("spec", "body"),
    [
        (
            CHAT,
            {
                "error": {
                    "code": "context_length_exceeded",
                    "message": "This model's maximum context length is 128000 tokens. However, "
                    "your messages resulted in 130000 tokens.",
                }
            },
        ),
        *(
            (
                spec,
                {
                    "code": "Client specified an invalid argument",
                    "error": "This model's maximum prompt length is 128000 but the request "
                    "contains 130000 tokens.",
                },
            )
            for spec in SPECS
        ),
        *(
            (
                spec,
                {
                    "error": "Trying to keep the first 130000 tokens when context the overflows. "
                    "However, the model is loaded with context length of only 128000 tokens."
                },
            )
            for spec in SPECS
        ),
        (CLAUDE, {"error": {"message": "prompt is too long: 130000 tokens > 128000 maximum"}}),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_an_overflow_has_the_window(
    vendor: VendorServer, spec: str, body: dict[str, Any], streams: bool
) -> None:
    """A request that is too long is an error of its own, with the window and the size."""
    found = failure(vendor, spec, Answer.of(body, status=400), streams=streams)

    assert isinstance(found, ContextOverflowError)
    assert (found.window, found.tokens, found.status) == (128000, 130000, 400)


def test_an_overflow_of_responses(vendor: VendorServer) -> None:
    """Responses names an overflow by its code alone, also inside a stream that was already open."""
    error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}
    failed = {"id": "r", "object": "response", "status": "failed", "error": error, "output": []}
    event = {"type": "response.failed", "response": failed}

    whole = failure(vendor, RESPONSES, Answer.of({"error": error}, status=400))
    inside = failure(vendor, RESPONSES, Answer.of(failed))
    streamed = failure(vendor, RESPONSES, Answer.stream([event]), streams=True)

    assert isinstance(whole, ContextOverflowError)
    assert isinstance(inside, ContextOverflowError)
    assert isinstance(streamed, ContextOverflowError)
    assert [one.status for one in (whole, inside, streamed)] == [400, None, None]


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
def test_errors_inside_a_stream(
    vendor: VendorServer, spec: str, event: dict[str, Any], said: str
) -> None:
    """An error inside a stream is reported by its codes, one of which may be a status."""
    error = failure(vendor, spec, Answer.stream([event]), streams=True)

    assert f"{error}" == f"{spec} failed: {said}"
    assert error.status == (429 if said == "status 429" else None)


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
    """A conversation that the vendor does not know any more is an error of its own."""
    vendor.answers = [Answer.of({"error": error}, status=status)]
    model = opened(vendor, RESPONSES, holds_history=True)

    with pytest.raises(ServiceThreadLostError) as caught:
        ask(model, request_of(Message.user("x"), thread="resp_1"))

    assert caught.value.status == status


@pytest.mark.parametrize("spec", [CHAT, CLAUDE])
def test_a_conversation_nobody_holds(vendor: VendorServer, spec: str) -> None:
    """A format that holds no conversation refuses to continue one before any request."""
    with pytest.raises(ServiceThreadLostError, match="no longer holds"):
        ask(opened(vendor, spec), request_of(Message.user("x"), thread="resp_1"))

    assert vendor.asked == []


def unreachable(base_url: str, spec: str = CHAT) -> str:
    """Return the error where nobody answers at *base_url*."""
    vendor, _, name = spec.partition(":")
    config = ProviderConfig(provider_key=vendor, model_name=name, api_key=KEY, base_url=base_url)
    with pytest.raises(ModelError) as caught:
        ask(open_model(config), request_of(Message.user(CANARY)))
    assert caught.value.status is None
    assert caught.value.__suppress_context__
    return f"{caught.value}"


@pytest.mark.parametrize("spec", SPECS)
def test_an_unreachable_vendor(spec: str) -> None:
    """If no server listens, the error has the host, the port and the class of the cause."""
    with VendorServer() as gone:
        address = urlsplit(gone.url)

    error = unreachable(f"http://user:{KEY}@{address.netloc}/path?query=secret", spec)

    where = f"{address.hostname}:{address.port}"
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
        ("https", b"", "SSL"),
        ("https", b"HTTP/1.1 400 no\r\n\r\n", "SSL"),
    ],
)
def test_why_a_vendor_is_unreachable(scheme: str, said: bytes, kind: str) -> None:
    """What ended the connection is reported by its class."""
    with talking(said) as port:
        error = unreachable(f"{scheme}://127.0.0.1:{port}/v1")

    assert error.startswith(f"{CHAT} could not be reached at 127.0.0.1:{port}: {kind}")


def failed(error: Exception) -> str:
    """Return the message for *error*, raised while a vendor is asked."""
    with pytest.raises(ModelError) as caught, sdk_errors(CHAT):
        raise error
    return f"{caught.value}"


def caused(error: openai.APIConnectionError, cause: BaseException) -> openai.APIConnectionError:
    """Return *error*, which came of *cause*."""
    error.__cause__ = cause
    return error


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

    assert failed(caused(error, cause)) == f"{CHAT} could not be reached at [::1]:8080: {kind}"


def test_an_error_without_a_request() -> None:
    """If the client gives no request, the error has no address."""
    assert failed(httpx2.ReadTimeout("no")) == f"{CHAT} did not answer in time"


@pytest.mark.parametrize("spec", SPECS)
def test_a_slow_vendor(vendor: VendorServer, spec: str) -> None:
    """
    A vendor that does not answer within the timeout of the settings is an error without a status.
    """
    vendor.answers = [Answer(body=b'{"id"', end="hang")]

    with pytest.raises(ModelError, match="did not answer in time"):
        ask(
            opened(vendor, spec),
            request_of(Message.user("x"), timeout=httpx2.Timeout(60, read=0.2)),
        )

    assert vendor.left.wait(10)
