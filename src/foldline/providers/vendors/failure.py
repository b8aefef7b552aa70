"""
What went wrong at a vendor, as an error of foldline.

A vendor's error may repeat the request, and with it the conversation or a key. Its status and its
codes are kept; its text is only read for the numbers of an overflow.
"""

import re
import ssl
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from email.utils import mktime_tz, parsedate_tz
from socket import gaierror
from types import MappingProxyType
from typing import Any, cast

from foldline.errors import ContextOverflowError, FormatError, ModelError, ServiceThreadLostError
from foldline.history.formats.fields import Object, maybe_object, maybe_text
from foldline.providers.vendors.overflow import read_overflow


__all__ = [
    "LONGEST_WAIT",
    "error_of",
    "limit_waits",
    "model_error",
    "raise_if_failed",
    "sdk_errors",
]


LONGEST_WAIT = 60.0
"""How many seconds a client waits at a vendor's request (`Retry-After`) before it asks again."""


_FAILURE = 400
_STATUSES = range(_FAILURE, 600)
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}").fullmatch
_LOST = "previous_response_not_found"
_LOST_TEXT = re.compile(r"previous response .{0,200}not found", re.IGNORECASE | re.DOTALL).search

# The first kind found in the chain of causes is reported. Some are compared by name, since the
# classes of a vendor's HTTP client may not be loaded yet.
_CAUSES: tuple[tuple[type[BaseException] | str, str], ...] = (
    (ssl.SSLCertVerificationError, "TLS failed: the certificate is not trusted"),
    (ssl.SSLError, "TLS failed"),
    (gaierror, "the host name was not found"),
    (ConnectionRefusedError, "the connection was refused"),
    ("ProxyError", "the proxy failed"),
    (TimeoutError, "the connection timed out"),
    ("TimeoutException", "the connection timed out"),
    (ConnectionError, "the connection was dropped"),
    ("RemoteProtocolError", "the connection was dropped, or the server does not speak HTTP"),
    ("NetworkError", "the connection was dropped"),
)
_SDKS = ("openai", "anthropic")
_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})
_MOST_CAUSES = 32

# An error inside an open stream has no status of its own.
_STATUS_OF: Mapping[str, int] = MappingProxyType(
    {
        "api_error": 500,
        "authentication_error": 401,
        "billing_error": 402,
        "context_length_exceeded": 400,
        "insufficient_quota": 429,
        "invalid_request_error": 400,
        "not_found_error": 404,
        "overloaded_error": 529,
        "permission_error": 403,
        "rate_limit_error": 429,
        "rate_limit_exceeded": 429,
        "request_too_large": 413,
        "server_error": 500,
        "timeout_error": 504,
    }
)


def model_error(name: str, *, status: int | None, error: Object) -> ModelError:
    """Return the error for *error*, the object in which the vendor of the model *name* reports it."""
    codes = _codes(error)
    if status is None or status < _FAILURE:
        status = _status_of(codes)
    if _LOST in codes or _LOST_TEXT(maybe_text(error.get("message"))):
        return ServiceThreadLostError(model=name, status=status)
    overflow = read_overflow(status=status, codes=codes, error=error)
    if overflow is not None:
        return ContextOverflowError(
            model=name, window=overflow.window, tokens=overflow.tokens, status=status
        )
    said = [] if status is None else [f"status {status}"]
    said += [code for code in codes if code != f"{status}"]
    return ModelError(f"{name} failed: {', '.join(said) or 'no reason given'}", status=status)


def _codes(error: Object) -> tuple[str, ...]:
    found = dict.fromkeys(
        f"{error[key]}"
        for key in ("code", "type")
        if isinstance(error.get(key), str | int) and _CODE(f"{error[key]}")
    )
    return tuple(code for code in found if code != "error")


def _status_of(codes: tuple[str, ...]) -> int | None:
    for code in codes:
        if code.isdecimal() and int(code) in _STATUSES:
            return int(code)
        if code in _STATUS_OF:
            return _STATUS_OF[code]
    return None


def error_of(body: object) -> Object:
    """Return the object in *body* that says what went wrong; empty if there is none."""
    if isinstance(body, str):
        return {"message": body}
    fields = maybe_object(body)
    inner = fields.get("error") or maybe_object(fields.get("response")).get("error")
    if inner:
        return {"message": inner} if isinstance(inner, str) else maybe_object(inner)
    return fields if fields.get("type") == "error" else {}


def raise_if_failed(name: str, body: Object) -> None:
    """
    Check that *body*, an answer or an event of the model *name*, reports no failure.

    Raises:
        ContextOverflowError: The request is longer than the window.
        ServiceThreadLostError: The vendor no longer holds the conversation.
        ModelError: Anything else went wrong at the vendor.
    """
    error = error_of(body)
    if error:
        raise model_error(name, status=None, error=error)


def _where(error: Any) -> str:
    """Return the host and the port; a user, a path and a query may be secret."""
    try:
        url = error.request.url
    except (AttributeError, RuntimeError):
        # Some errors of the client have no request.
        return ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = url.port or _PORTS.get(url.scheme)
    return f" at {host}:{port}" if port else f" at {host}"


def _cause(error: BaseException) -> str:
    causes = list(_causes(error))
    for kind, text in _CAUSES:
        if any(_is(one, kind) for one in causes):
            return text
    return type(causes[-1]).__name__


def _is(error: BaseException, kind: type[BaseException] | str) -> bool:
    if isinstance(kind, str):
        return any(one.__name__ == kind for one in type(error).__mro__)
    return isinstance(error, kind)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield *error* and its causes, which may be several errors at once."""
    found: list[BaseException] = [error]
    for one in found:
        yield one
        if isinstance(one, BaseExceptionGroup):
            found.extend(cast("BaseExceptionGroup[BaseException]", one).exceptions)
        cause = one.__cause__ or one.__context__
        if cause is not None and len(found) < _MOST_CAUSES:
            found.append(cause)


def _raised(*names: str, also: tuple[type[Exception], ...] = ()) -> tuple[type[Exception], ...]:
    """Return *also* and the errors *names* of those SDKs that are loaded."""
    loaded = [sys.modules[sdk] for sdk in _SDKS if sdk in sys.modules]
    kinds = (getattr(sdk, name) for sdk in loaded for name in names if hasattr(sdk, name))
    return (*also, *kinds)


@contextmanager
def sdk_errors(name: str) -> Generator[None]:
    """
    Turn what the SDKs of OpenAI and Anthropic and their HTTP client raise into errors of foldline.

    Raises:
        ContextOverflowError: The request is longer than the window.
        ServiceThreadLostError: The vendor no longer holds the conversation.
        ModelError: Anything else went wrong at the vendor.
    """
    import httpx2  # noqa: PLC0415

    try:
        yield
    except _raised("APIStatusError") as error:
        said: Any = error
        body = error_of(said.body) or maybe_object(said.body)
        raise model_error(name, status=said.status_code, error=body) from None
    except _raised("APITimeoutError", also=(httpx2.TimeoutException,)) as error:
        message = f"{name} did not answer in time{_where(error)}"
        if any(isinstance(one, httpx2.ConnectTimeout) for one in _causes(error)):
            message = f"{name} could not be reached{_where(error)}: the connection timed out"
        raise ModelError(message) from None
    except _raised("APIConnectionError") as error:
        message = f"{name} could not be reached{_where(error)}: {_cause(error)}"
        raise ModelError(message) from None
    except _raised("OpenAIError", "AnthropicError", also=(httpx2.HTTPError,)) as error:
        message = f"{name} broke off: {type(error).__name__}"
        raise ModelError(message) from None
    except FormatError:
        message = f"{name} broke off its answer, or sent one that cannot be read"
        raise ModelError(message) from None


def limit_waits(client: Any) -> None:
    """
    Let *client*, an SDK, fail at once if the vendor asks it to wait longer than `LONGEST_WAIT`.

    Clients that do not use httpx2 are unchanged.
    """
    import httpx2  # noqa: PLC0415

    http = getattr(client, "_client", None)
    if isinstance(http, httpx2.AsyncClient):
        hooks = http.event_hooks
        http.event_hooks = {**hooks, "response": [*hooks["response"], _refuse_long_wait]}


async def _refuse_long_wait(response: Any) -> None:
    # Also refuses `nan`, which is not at most anything.
    if not _wait_asked(response.headers) <= LONGEST_WAIT:
        response.headers["x-should-retry"] = "false"


def _wait_asked(headers: Mapping[str, str]) -> float:
    for key, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers[key]) * unit
        except (KeyError, ValueError):
            pass
    try:
        date = parsedate_tz(headers.get("retry-after", ""))
        return mktime_tz(date) - time.time() if date else 0.0
    except (ValueError, OverflowError):
        return 0.0
