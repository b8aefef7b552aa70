"""
A model or a summarizer on a client that a program has already: that of an SDK, or a function.

No package of a vendor is loaded: a client is known by the methods that it has. One whose methods
block is called in a thread of its own.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any
from urllib.parse import urlsplit

from foldline.checks import expect, expect_whole
from foldline.errors import ConfigError, ModelError
from foldline.history.formats.objects import dumped
from foldline.history.formats.wire import Object, as_object, is_list, is_object
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.providers.summarizer import ModelSummarizer
from foldline.providers.vendors.failure import sdk_errors
from foldline.providers.vendors.text_model import TextModel, text_model
from foldline.providers.vendors.vendor_model import PerLoop, WireModel
from foldline.providers.vendors.wire_formats import AnthropicMessages, OpenAIChat, OpenAIResponses
from foldline.providers.worker import asked


# Where each of them asks the vendor itself.
_HOSTS = ((".openai.com", "openai"), (".anthropic.com", "anthropic"))


def summarizer_from(
    client: object,
    model: str | None = None,
    *,
    name: str | None = None,
    window: int | None = None,
    settings: Mapping[str, object] | None = None,
) -> ModelSummarizer:
    """
    Return a summarizer that asks *model* through *client*; no extra has to be installed.

    It is asked, and its text is judged, as `ModelSummarizer` does. The client stays yours: nothing of
    it is changed or closed. One that is async belongs to the event loop it is used in.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `Anthropic` or `AsyncAnthropic`, or what has their method
            `create` (`chat.completions`, `responses` or `messages`); a `Client` of `google.genai`,
            its `aio`, or a client of `bedrock-runtime`; or a function, async or not, from the whole
            prompt to the answer of a model. What needs no prompt implements `Summarizer`.
        model: The model, by the name that the client's vendor has for it, at OpenAI's or Anthropic's
            own address also behind `openai:` or `anthropic:`; a function needs none.
        name: The identity of the summarizer; by default the model's, or the function's. What one has
            summarized is used for all of its name, and every lambda is called `<lambda>`: name it.
        window: How many tokens the model reads at once, if the book of models does not know it.
        settings: Other fields of each request, such as `temperature`, by the vendor's names; none for a
            function.

    Raises:
        ConfigError: *client* is nothing of the kind, or an argument is wrong.
    """
    expect("model", model, str | None)
    expect("name", name, str | None)
    expect_whole("window", window, 1, optional=True)
    wire = wire_of(client)
    asks: ClientModel | FunctionModel | TextModel | None = text_model(client, model, window)
    if wire is not None:
        asks = ClientModel(client, named_model(client, model), wire=wire, window=window)
    elif asks is not None:
        named_model(client, model)
    else:
        asks = function_model(client, model, settings, window)
    return ModelSummarizer(asks, name=name, settings=settings, rides=False)


def named_model(client: object, model: str | None) -> str:
    """Return *model* as the vendor of *client* calls it; ConfigError if there is none."""
    # As `openai:` is written everywhere else; a server of one's own may have such names.
    name = (model or "").removeprefix(f"{vendor_at(client)}:")
    if not name:
        message = f"model must name the model that {type(client).__name__} asks, got {model!r}"
        raise ConfigError(message)
    return name


def vendor_at(client: Any) -> str:
    """Return the vendor that *client* sends to; empty if it is another, or not known."""
    # A server of another may refuse what only the vendor itself knows.
    address = urlsplit(str(getattr(getattr(client, "client", client), "base_url", "")))
    host = address.hostname or ""
    return next((vendor for end, vendor in _HOSTS if host.endswith(end)), "")


def wire_of(client: object) -> type[WireModel] | None:
    """Return the format that *client* speaks; None if it has no method for any."""
    kinds: tuple[type[WireModel], ...] = (OpenAIChat, OpenAIResponses, AnthropicMessages)
    if vendor_at(client) == "openai":
        # Some of its models answer there alone.
        kinds = (OpenAIResponses, OpenAIChat, AnthropicMessages)
    return next((kind for kind in kinds if callable(kind.method(client))), None)


class ClientModel:
    """A `ChatModel` behind a client of somebody else."""

    def __init__(
        self,
        client: Any,
        model: str,
        *,
        wire: type[WireModel],
        window: int | None = None,
        caches_prompt: bool = False,
        **options: Any,
    ) -> None:
        """Ask *model* through *client*; *options* is what the binding *wire* takes besides."""
        vendor = vendor_at(client)
        self._client = client
        # With its vendor if the client asks that vendor itself.
        self.name = f"{vendor}:{model}" if vendor else model
        self._wire = wire(
            self.name, model=model, clients=PerLoop(client), caches_prompt=caches_prompt, **options
        )
        self.context_window = window
        """The window in tokens; None leaves it to the book of models."""

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return what the model says to *request*; raise what `ChatModel.respond` raises."""
        return await self._wire.taught(
            request, lambda: self.answered(self._wire.arguments(request))
        )

    async def answered(self, given: Object, *, method: str = "create") -> ChatResponse:
        """Return what *method* of the client answers to the arguments *given*."""
        call = self._wire.method(self._client, method)
        if (timeout := getattr(self._client, "timeout", None)) is not None:
            # Without it an SDK refuses a long answer that is not streamed.
            given = {"timeout": timeout, **given}
        with sdk_errors(self.name):
            answer = await asked(partial(call, **given), name=self.name)
            return self._wire.read(as_object(_plain(answer), "the response"))


class FunctionModel:
    """A `ChatModel` behind a function from a prompt to an answer."""

    def __init__(
        self, function: Callable[[str], object], name: str, *, window: int | None = None
    ) -> None:
        """Ask *function*, which returns the answer, or what can be awaited for it."""
        self._function = function
        self.name = name
        self.context_window = window
        """The window in tokens; None leaves it to the book of models."""

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return what the function says to the texts of *request*; ModelError if it is no text."""
        prompt = "\n\n".join(message.text for message in request.messages)
        said = await asked(partial(self._function, prompt), name=self.name)
        if not isinstance(said, str):
            raise ModelError(f"{self.name} must return a str, got {type(said).__name__}")
        return ChatResponse(messages=(Message.assistant(said),))


def function_model(
    function: object, model: str | None, settings: object = None, window: int | None = None
) -> FunctionModel:
    """Return the model behind *function*, or raise ConfigError if it is nothing to ask."""
    if not callable(function) or isinstance(function, type):
        kind = f"the class {function.__name__}" if isinstance(function, type) else type(function)
        raise ConfigError(
            "client must be a client of OpenAI or Anthropic, or a function from a prompt to a text, "
            f"got {getattr(kind, '__name__', kind)}"
        )
    if settings:
        raise ConfigError("settings have no effect with a function")
    name = model or str(getattr(function, "__name__", type(function).__name__))
    try:
        signature(function).bind("")
    except TypeError:
        raise ConfigError(f"{name} must take the prompt as its one argument") from None
    except ValueError:
        # What is written in C need not say what it takes.
        pass
    return FunctionModel(function, name, window=window)


def _plain(value: Any) -> Any:
    """Return *value*, an answer of an SDK or what looks like one, as it was sent."""
    if hasattr(value, "model_dump"):
        return dumped(value)
    if is_list(value):
        return [_plain(one) for one in value]
    fields = value if is_object(value) else getattr(value, "__dict__", None)
    return value if fields is None else {key: _plain(one) for key, one in fields.items()}
