"""
What went wrong at a vendor, as an error of foldline.

A vendor's error may repeat the request, and with it the conversation or a key. Its status and its
codes and the parameter that it names are kept; its text is only read for what it says about an
overflow, and logged at DEBUG.

Source: the error references of the vendors, and the texts of vLLM, SGLang, llama.cpp, LM Studio,
Ollama, LiteLLM and OpenRouter.
"""

import logging
import re
import sys
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from email.utils import mktime_tz, parsedate_tz
from typing import Any, TypeAlias, cast

from foldline.errors import ContextOverflowError, FormatError, ModelError, ServiceThreadLostError
from foldline.history.formats.wire import Object, maybe_count, maybe_object, maybe_text


LONGEST_WAIT = 60.0
"""How many seconds a client waits at a vendor's request (`Retry-After`) before it asks again."""

_LOG = logging.getLogger("foldline")
_FAILURE = 400
_STATUSES = range(_FAILURE, 600)
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}").fullmatch
_PARAM = re.compile(r"[A-Za-z0-9_.\[\]-]{1,64}").fullmatch
_LOST = "previous_response_not_found"
_LOST_TEXT = re.compile(r"previous response .{0,200}not found", re.IGNORECASE | re.DOTALL).search
_UNREADABLE = "invalid_encrypted_content"
# Not every server gives it as a code. What is bound to another conversation is never sent.
_UNREADABLE_TEXT = re.compile(
    r"encrypted.content.{0,200}(?:could not be (?:verified|decrypted)|not issued to this caller)"
    r"|invalid .?signature.? in .?thinking(?!.{0,40}bound to)",
    re.IGNORECASE | re.DOTALL,
).search
_TURNS = "roles_must_alternate"
# The words of chat templates, of DeepSeek and of Perplexity.
_TURNS_TEXT = re.compile(
    r"roles must alternate|should alternate with assistant|successive user or assistant messages",
    re.IGNORECASE,
).search
# What may raise errors: the SDKs, and the HTTP clients of newer and of older ones.
_SOURCES = ("openai", "anthropic", "httpx2", "httpx")

_OVERFLOW = re.compile(
    "(?:context|context_length|context_window|model_context_window)_exceeded"
    "|exceed_context_size_error|model_max_prompt_tokens_exceeded|request_too_large"
).fullmatch
_TOO_LARGE = 413
_NOT_FOUND = 404
_ADVICE = (
    "; check the name of the model, and the `base_url` if there is one: most end in /v1, and most"
    " servers speak Chat Completions, the vendor 'openai-chat'"
)
# Statuses of other failures, such as a rate limit in tokens.
_UNRELATED = frozenset({401, 402, 403, 404, 429})
_T = r"(?:about )?(?P<tokens>\d[\d,]{0,14})"
_W = r"(?P<window>\d[\d,]{0,14})"
_SENT = rf"\b(?:request|requested|prompt|input)\b[^.\d]{{0,20}}{_T}(?: tokens)?\)?"
_MOST = rf"(?:maximum|reached) context length (?:is|of) {_W} tokens"
_NUMBERED = tuple(
    re.compile(text, re.IGNORECASE | re.DOTALL)
    for text in (
        rf"prompt is too long: {_T}(?: tokens > |, model maximum context length: ){_W}",
        rf"input token count \(?{_T}\)? exceeds the maximum number of tokens allowed \(?{_W}",
        rf"{_SENT} (?:exceeds?|is longer than) [^.,\d]{{0,30}}(?:context|length)[^.,\d]{{0,15}}{_W}",
        rf"(?:prompt token count of|number of tokens) {_T} exceeds the (?:limit of|maximum) {_W}",
        rf"prompt \(length {_T}\) is longer than the maximum model length of {_W}",
        rf"prompt contains {_T} tokens.{{0,60}} too large for model with {_W} maximum",
        rf"current length is {_T} while limit is {_W}",
        rf"keep the first {_T} tokens when context.{{0,120}}context length of only {_W}",
        rf"n_keep:? \(?{_T}\)? ?>= n_ctx:? \(?{_W}",
        rf"{_MOST}.{{0,80}}(?:in|requested|has|total of) {_T} (?:input )?tokens",
        rf"limit of {_W} tokens\. your messages resulted in {_T} tokens",
        rf"model token limit: {_W} \(requested: {_T}",
        rf"tokens per minute \(TPM\): limit {_W}, requested {_T}",
        rf"must have less than {_W} tokens\. given: {_T}",
        rf"maximum prompt length is {_W} but the request contains {_T} tokens",
        rf"max input tokens: {_W}, request input token count: {_T}",
        rf"cannot exceed {_W} - received {_T}",
        rf"must be <= {_W}\. given: {_T}",
        rf"exceed context limit: {_T} \+ (?P<more>\d{{1,15}}) > {_W}",
        # How long the request was is not said, or where counting has stopped.
        rf"{_MOST}.{{0,40}}requested (?P<answer>\d{{1,15}}) output tokens",
        _MOST,
        rf"exceeds the maximum number of tokens allowed \({_W}",
        rf"model token limit: {_W}",
        rf"range of input length should be \[1, {_W}\]",
    )
)
_NUMBERLESS = re.compile(
    r"prompt is too long|prompt too long|prompt exceeds max length|input is too long for requested model"
    r"|exceeds? the (?:available )?context (?:size|window|length)|maximum context length"
    r"|exceed(?:ed|s)? (?:the )?max(?:imum)? context length|too many input tokens"
    r"|exceeds the maximum number of (?:input )?tokens|context window exceeds limit"
    r"|number of input tokens exceeds maximum length"
    r"|context size has been exceeded|greater than the context length|ContextWindowExceededError"
    r"|reduce the length of the (?:messages|prompt|input)"
    # Ollama has cut the beginning of the request, its user message too (ollama issue 18107).
    r"|no user query found in messages",
    re.IGNORECASE,
).search

_Overflow: TypeAlias = tuple[int | None, int | None]
"""The context window and the size of the request in tokens, if the vendor said so."""


def model_error(name: str, *, status: int | None, error: Object) -> ModelError:
    """Return the error for *error*, the object in which the vendor of the model *name* reports it."""
    codes, param = _codes(error), maybe_text(error.get("param"))
    _LOG.debug("%s failed, status %s: %s", name, status, error.get("message"))
    if status is None or status < _FAILURE:
        # An error inside an open stream has no status of its own.
        numbers = (int(code) for code in codes if code.isdecimal())
        status = next((number for number in numbers if number in _STATUSES), None)
    if _LOST in codes or _LOST_TEXT(maybe_text(error.get("message"))):
        return ServiceThreadLostError(model=name, status=status)
    overflow = read_overflow(status=status, codes=codes, error=error)
    if overflow is not None:
        window, tokens = overflow
        return ContextOverflowError(model=name, window=window, tokens=tokens, status=status)
    text = maybe_text(error.get("message")) + _passed_on(error)
    if _UNREADABLE_TEXT(text):
        codes = tuple(dict.fromkeys((*codes, _UNREADABLE)))
    if _TURNS_TEXT(text):
        codes = (*codes, _TURNS)
    said = [] if status is None else [f"status {status}"]
    said += [code for code in codes if code != f"{status}"]
    said += [f"param {param}"] if _PARAM(param) else []
    advice = _ADVICE if status == _NOT_FOUND else ""
    return ModelError(
        f"{name} failed: {', '.join(said) or 'no reason given'}{advice}", status=status
    )


def refuses_reasoning(error: ModelError) -> bool:
    """Whether a vendor cannot read reasoning that it is sent back: of another account, region or vendor."""
    return _UNREADABLE in f"{error}"


def refuses_turns(error: ModelError) -> bool:
    """Whether a vendor refuses two messages of one speaker in a row."""
    return _TURNS in f"{error}"


def _codes(error: Object) -> tuple[str, ...]:
    given = (error.get(key) for key in ("code", "type"))
    found = dict.fromkeys(f"{code}" for code in given if isinstance(code, str | int))
    return tuple(code for code in found if code != "error" and _CODE(code))


def read_overflow(*, status: int | None, codes: tuple[str, ...], error: Object) -> _Overflow | None:
    """Return what *error*, the vendor's own, says about an overflow; None for other failures."""
    if status in _UNRELATED:
        return None
    text = maybe_text(error.get("message")) + _passed_on(error)
    for found in filter(None, (pattern.search(text) for pattern in _NUMBERED)):
        numbers = {key: int(said.replace(",", "")) for key, said in found.groupdict().items()}
        tokens = numbers.get("tokens", 0) + numbers.get("more", 0)
        # What an answer may have is no room for the request.
        return max(1, numbers["window"] - numbers.get("answer", 0)), tokens or None
    if status != _TOO_LARGE and not any(map(_OVERFLOW, codes)) and not _NUMBERLESS(text):
        return None
    # llama.cpp names both beside its text.
    window, tokens = maybe_count(error.get("n_ctx")), maybe_count(error.get("n_prompt_tokens"))
    return window or None, tokens or None


def _passed_on(error: Object) -> str:
    """Return what a gateway (OpenRouter) passes on of the vendor behind it."""
    raw = maybe_object(error.get("metadata")).get("raw")
    return f"\n{raw}" if raw else ""


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
    """Raise the error that *body*, an answer or an event of the model *name*, reports, if any."""
    if error := error_of(body):
        raise model_error(name, status=None, error=error)


def _where(error: Any) -> str:
    """Return the host and the port; a user, a path and a query may be secret."""
    try:
        url = error.request.url
    except (AttributeError, RuntimeError):
        # Some errors of the client have no request.
        return ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f" at {host}:{url.port}" if url.port else f" at {host}"


def _cause(error: BaseException) -> str:
    """Return the class of the first cause of *error*."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    if isinstance(error, BaseExceptionGroup):
        return _cause(cast("BaseExceptionGroup[BaseException]", error).exceptions[-1])
    return type(error).__name__


def _raised(*names: str, by: Iterable[str] = _SOURCES) -> tuple[type[Exception], ...]:
    # What is not loaded has raised nothing.
    loaded = [sys.modules[name] for name in by if name in sys.modules]
    kinds = [getattr(source, name, None) for source in loaded for name in names]
    return tuple(filter(None, kinds))


@contextmanager
def sdk_errors(name: str) -> Generator[None]:
    """Turn what the SDKs of OpenAI and Anthropic and their HTTP client raise into a `ModelError`."""
    try:
        yield
    except _raised("APIStatusError") as error:
        said: Any = error
        body = error_of(said.body) or maybe_object(said.body)
        raise model_error(name, status=said.status_code, error=body) from None
    except _raised("APITimeoutError", "TimeoutException") as error:
        message = f"{name} did not answer in time{_where(error)}"
    except _raised("APIConnectionError") as error:
        message = f"{name} could not be reached{_where(error)}: {_cause(error)}"
    except _raised("OpenAIError", "AnthropicError", "HTTPError") as error:
        message = f"{name} broke off: {type(error).__name__}"
    except FormatError:
        message = f"{name} broke off its answer, or sent one that cannot be read"
    else:
        return
    raise ModelError(message) from None


@contextmanager
def cloud_errors(name: str) -> Generator[None]:
    """Turn what the SDKs of Google and of AWS raise into a `ModelError`."""
    try:
        yield
    except _raised("APIError", by=("google.genai.errors",)) as error:
        said: Any = error
        told = {"message": said.message, "code": said.status}
        raise model_error(name, status=said.code, error=told) from None
    except _raised("ClientError", by=("botocore.exceptions",)) as error:
        said = error
        answer = maybe_object(said.response)
        status = maybe_count(maybe_object(answer.get("ResponseMetadata")).get("HTTPStatusCode"))
        fields = maybe_object(answer.get("Error"))
        told = {"message": fields.get("Message"), "code": fields.get("Code")}
        raise model_error(name, status=status or None, error=told) from None
    except _raised("BotoCoreError", by=("botocore.exceptions",)) as error:
        raise ModelError(f"{name} could not be asked: {type(error).__name__}") from None


def limit_waits(client: Any) -> None:
    """Let *client*, if it has httpx2, fail at once if it is to wait longer than `LONGEST_WAIT`."""
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
        with suppress(KeyError, ValueError):
            return float(headers[key]) * unit
    with suppress(ValueError, OverflowError):
        date = parsedate_tz(headers.get("retry-after", ""))
        return mktime_tz(date) - time.time() if date else 0.0
    return 0.0
