"""What a caller says of a request beside its messages, and the sizes that follow."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import Final, cast

from msgspec import MsgspecError, Struct

from foldline.agent.log import log
from foldline.agent.wire import Items
from foldline.checks import expect, expect_whole, several
from foldline.errors import ConfigError
from foldline.history.codec import encode_json
from foldline.history.formats.wire import maybe_count
from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.providers.model import ChatRequest
from foldline.reduction.budget import Budget, token_ratio
from foldline.reduction.quotes import Pins
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_tokens


RECALL: Final = "recall"
"""The name of the tool that shows the model what its view shows no longer."""

FIXED_PARTS = ("instructions", "tools", "system messages")
"""The parts of a request that no fold makes smaller."""

# Others have a tool of that name, too.
_OF_RECALL = (f'"name":"{RECALL}"', '"message":', '"page":', '"search":')
# The vendors' fields for what a request has, with what they count beside it.
_INPUT_TOKENS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "input_tokens": ("cache_read_input_tokens", "cache_creation_input_tokens"),
        "prompt_tokens": (),
        "prompt_token_count": ("tool_use_prompt_token_count",),
        "inputTokens": ("cacheReadInputTokens", "cacheWriteInputTokens"),
    }
)


def offers_recall(schemas: Iterable[str]) -> bool:
    """Whether one of *schemas* is that of the tool `recall`."""
    return any(all(part in schema for part in _OF_RECALL) for schema in schemas)


class RequestFacts(Struct, frozen=True, kw_only=True):
    """What a caller says of a request beside its messages."""

    # The tokens that the vendor counted for the last request; 0 if unknown.
    reported: int
    instructions: str
    schemas: Sequence[str]
    pins: Sequence[int | tuple[int, Message]] | None

    def budget(
        self,
        budget_of: Callable[..., Budget],
        window: int | None,
        history: History,
        state: HistoryReductionState | None,
        model: str | None = None,
    ) -> Budget:
        """
        Return what the next request of *history* may hold, by *budget_of* of its reducer.

        If the server of *model* has read only the end of the last one, a warning in the log says so,
        and its count corrects nothing.
        """
        if self is _NOTHING:
            return budget_of(window=window, system=history.system_tokens)
        count = history.counter.count
        instructions = count(self.instructions)
        tools = sum(map(count, self.schemas))
        sent = _sent_before(history, state) if self.reported else 0
        estimated = instructions + tools + sent if sent else 0
        if self.reported * 2 < estimated and self._is_cut(history, state, model or "", estimated):
            estimated = 0
        ratio = token_ratio(
            reported=self.reported,
            estimated=estimated,
            ceiling=budget_of(window=window).ceiling,
        )
        return budget_of(
            window=window,
            instructions=instructions,
            tools=tools,
            system=history.system_tokens,
            ratio=ratio,
            recall=self.has_recall,
        )

    def _is_cut(
        self, history: History, state: HistoryReductionState | None, model: str, estimated: int
    ) -> bool:
        """Whether the server has read only the end of the last request, and say so."""
        from foldline.providers.cut_prompt import CUT, cut_window  # noqa: PLC0415 - it is rare

        end = _asked(history)
        cut = history.start if state is None else state.summarized_up_to_index
        window = cut_window(
            ChatRequest(messages=tuple(history[cut:end])),
            Usage(input_tokens=self.reported),
            model=model,
            counter=history.counter,
            estimated=estimated,
            fresh=history.tokens(_asked(history, end), end),
        )
        if window is not None:
            # The caller may have sent less, such as before he came to foldline.
            who = model or "the server, if all of the view was sent to it,"
            log().warning(CUT, who, self.reported, estimated, window, "window=")
        return window is not None

    @property
    def has_recall(self) -> bool:
        """Whether the model can read again what its view does not show."""
        return bool(self.schemas) and offers_recall(self.schemas)

    def pinned(self, items: Items) -> Pins | None:
        """Return the pins with their messages; those that are not in memory come with them."""
        if self.pins is None:
            return None
        history, found = items.history, list[tuple[int, Message]]()
        places = None if items.writing is None else items.writing.made.places
        everything = enumerate(history.everything()) if places and history.system else ()
        system = [at for at, one in everything if one.role == "system"]
        for place, one in enumerate(self.pins):
            at, message = one if isinstance(one, tuple) else (one, None)
            own = places if message is None else None
            count = len(history if own is None else items.kept)
            expect_whole(f"pins[{place}]", at, 0)
            if at >= count:
                text = f"pins[{place}] must be below {count}, the number of messages, got {at}"
                raise ConfigError(text)
            indexes = [at] if own is None else _indexes(at, own, system)
            found += [(index, message or history[index]) for index in indexes]
        return found


def _indexes(at: int, places: Sequence[int], system: Sequence[int]) -> Iterator[int]:
    """Yield the indexes of what the item *at* was read as; *system* messages are not counted."""
    first, end = bisect_left(places, at), bisect_right(places, at)
    # An item that is not the first of an answer is in the message of that.
    for place in range(min(first, end - 1), end):
        before = bisect_left(system, place)
        if place not in system[before : before + 1]:
            yield place - before


_NOTHING = RequestFacts(reported=0, instructions="", schemas=(), pins=None)


def described(
    usage: object,
    instructions: str | Sequence[object] | None,
    tools: Iterable[object] | None,
    pins: Iterable[int | tuple[int, Message]] | None,
) -> RequestFacts:
    """Return what a caller says of a request, checked."""
    if usage is None and instructions == "" and tools in (None, ()) and pins is None:
        return _NOTHING
    # A whole answer has it beside other things.
    counts = _said(usage, "usage", _said(usage, "usage_metadata", usage))
    listed = several("tools", () if tools is None else tools)
    return RequestFacts(
        reported=0 if counts is None else _reported(counts),
        instructions=_instructed(instructions),
        schemas=[_schema(at, tool) for at, tool in enumerate(listed)],
        pins=None if pins is None else several("pins", pins),
    )


def _instructed(given: str | Sequence[object] | None) -> str:
    """Return the text of what is *given*: that, or a list of blocks as Anthropic has it."""
    if not isinstance(given, list | tuple):
        expect("instructions", given, str | None, hint="a list of text blocks is taken too")
        return cast("str | None", given) or ""
    blocks = [one for one in given if _said(one, "cachePoint") is None]
    texts = [_said(block, "text") for block in blocks]
    for at, text in enumerate(texts):
        expect(f"instructions[{at}].text", text, str)
    return "\n".join(cast("list[str]", texts))


def _schema(at: int, given: object) -> str:
    if callable(given) or not issubclass(type(given), Mapping):
        from foldline.agent.tools.tool import Tool, as_tool  # noqa: PLC0415 - schemas need none

        if isinstance(given, Tool) or callable(given):
            return encode_json(as_tool(given).definition).decode()
    text = ""
    if not isinstance(given, str | bytes | int | float | None):
        try:
            dump = getattr(given, "model_dump", None)
            text = encode_json(dump(exclude_none=True) if dump else given).decode()
        except (TypeError, ValueError, MsgspecError):
            text = ""
    if not text:
        raise ConfigError(f"tools[{at}] must be a schema as it is sent, got {type(given).__name__}")
    return text


def _reported(usage: object) -> int:
    """Return all input tokens of *usage*: a number, a `Usage` or what a vendor calls its usage."""
    if isinstance(usage, int | float | str):
        expect_whole("usage", usage, 0)
        return cast("int", usage)
    for name, beside in _INPUT_TOKENS.items():
        if _said(usage, name) is not None:
            counts = {one: _said(usage, one) or 0 for one in (name, *beside)}
            for one, tokens in counts.items():
                expect_whole(f"usage.{one}", tokens, 0)
            total = sum(cast("Iterable[int]", counts.values()))
            # Some proxies do not count what came from a cache.
            cached = maybe_count(_said(_said(usage, f"{name}_details"), "cached_tokens"))
            return total + cached if cached > total else total
    wanted = "a whole number of at least 0, or a usage with input_tokens or prompt_tokens"
    raise ConfigError(f"usage must be {wanted}, got {type(usage).__name__}")


def _said(usage: object, name: str, default: object = None) -> object:
    if isinstance(usage, Mapping):
        return cast("Mapping[str, object]", usage).get(name, default)
    found: object = getattr(usage, name, default)
    return found


def _sent_before(history: History, state: HistoryReductionState | None) -> int:
    """Return the estimated tokens of the view of the newest answer; 0 if a fold has changed it."""
    end = _asked(history)
    if state is None:
        return history.system_tokens + history.tokens(0, end)
    return 0 if state.history_length > end else view_tokens(history, state) - history.tokens(end)


def _asked(history: History, before: int | None = None) -> int:
    """Return where the newest answer of *history*, or of what is *before* a place, begins."""
    end = len(history) if before is None else before
    while end > history.start and history[end - 1].role != "assistant":
        end -= 1
    while end > history.start and history[end - 1].role == "assistant":
        end -= 1
    return end


def parts_of(
    history: History, active: HistoryReductionState | None, budget: Budget
) -> dict[str, int]:
    """Return the sizes of the parts of a request, as the vendor counts them."""
    front = 0 if active is None else active.front_tokens
    parts = {
        "instructions": budget.instructions,
        "tools": budget.tools,
        "system messages": history.system_tokens,
        "summary and quotes": front,
        "messages": view_tokens(history, active) - history.system_tokens - front,
    }
    return {name: ceil(tokens * budget.ratio) for name, tokens in parts.items()}
