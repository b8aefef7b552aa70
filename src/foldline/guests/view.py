"""A view of a framework's own messages, in the framework's own messages."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import lru_cache, partial, wraps
from operator import attrgetter
from typing import Generic, ParamSpec, TypeVar, Unpack, cast

from msgspec.structs import replace

from foldline.agent.arguments import RequestOptions
from foldline.agent.known import KNOWN_BYTES, Conversion, KnownList, KnownLists
from foldline.agent.portal import PORTAL
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect, expect_whole
from foldline.errors import BlockingCallError, ConfigError, FormatError
from foldline.guests.codec import GuestCodec
from foldline.history.formats.renderings.sending import OPENING_NOTE, turn_note
from foldline.history.formats.wire import is_object
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.unnamed import identified
from foldline.reduction.event import Reason


_Arguments = ParamSpec("_Arguments")
_Object = TypeVar("_Object")
_Result = TypeVar("_Result")

_PLACE = "__place__"
"""The metadata key for the place of a message: one that a view changes still has it."""


def blocking(
    method: Callable[_Arguments, Coroutine[object, object, _Result]],
) -> Callable[_Arguments, _Result]:
    """
    Return a method that waits for what *method* returns, as `call_sync` does.

    Inside a running event loop it blocks that loop, as everything else does that such a caller
    waits for.
    """

    @wraps(method)
    def waiting(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        return PORTAL.run(partial(method, *args, **kwargs), blocks_loop=True)

    return waiting


def opened(view: list[_Object], role: Callable[[_Object], object], note: _Object) -> list[_Object]:
    """Return *view* with *note* after its system messages if the model would speak first."""
    first = next((at for at, one in enumerate(view) if role(one) != "system"), None)
    if first is None or role(view[first]) != "assistant":
        return view
    return [*view[:first], note, *view[first:]]


def taking_turns(view: list[Message]) -> list[Message]:
    """Return *view* with user notes where the model would speak first, or go on after a summary."""
    made = list[Message]()
    for message in opened(view, attrgetter("role"), Message.user(OPENING_NOTE)):
        if made and (note := turn_note(made[-1], message)):
            made.append(Message.user(note))
        made.append(message)
    return made


class GuestView(Generic[_Object]):
    """
    Reduces a framework's own list of messages, the guest's, and gives the view in its own objects.

    What is unchanged in a view is the very object that was given. The list is never changed. A view
    in which the model would speak first opens with a short user note, since some vendors refuse it,
    and one comes between a summary and an answer.

    Beside each list a `History` is kept, and recognized by what its objects hold: of a list that has
    grown only the new ones are read, hashed and counted, and one that was changed in place or
    made again by a store of the guest is noticed. One instance serves any number of conversations
    and threads.
    """

    def __init__(
        self,
        reducer: HistoryReducer,
        codec: GuestCodec[_Object],
        *,
        known_bytes: int = KNOWN_BYTES,
    ) -> None:
        """
        Create a view.

        Args:
            reducer: What reduces. As long as it lives it remembers, without a state.
            codec: Reads and writes the guest's objects.
            known_bytes: About how much memory what was read may take; 0 for none.

        Raises:
            ConfigError: An argument is wrong.
        """
        expect("reducer", reducer, HistoryReducer)
        expect_whole("known_bytes", known_bytes, 0)
        self.reducer = reducer
        self._codec = codec
        self._known_by: Callable[[_Object], object] = getattr(codec, "known_by", _named)
        self._known = KnownLists(known_bytes)
        self._of_window = lru_cache(reducer.for_window)

    async def reduce(
        self,
        messages: Iterable[_Object],
        *,
        window: int | None = None,
        **request: Unpack[RequestOptions],
    ) -> ReducedHistory[_Object]:
        """
        Return the view of *messages* with its reduction; see `HistoryReducer.reduce`.

        Args:
            messages: The guest's full history.
            window: What the guest tells of the model's window, for a reducer that knows none.
            request: What `HistoryReducer.reduce` takes beside them.

        Raises:
            FormatError: The codec does not know an object; the error names its place.
            RequestTooLargeError: See `HistoryReducer.reduce`.
        """
        given = list(messages)
        read = self._read(given)
        reducer = self._told(window)
        return self._shown(given, read, await reducer.reduce(read.history, **request))

    def reduce_sync(
        self,
        messages: Iterable[_Object],
        *,
        window: int | None = None,
        **request: Unpack[RequestOptions],
    ) -> ReducedHistory[_Object]:
        """
        Do the same as `reduce`, for hooks of a framework that cannot await.

        Inside a running event loop a fold that has to be awaited blocks that loop, as everything else
        does that such a hook waits for.
        """
        given = list(messages)
        read, reducer = self._read(given), self._told(window)
        try:
            reduced = reducer.reduce_sync(read.history, **request)
        except BlockingCallError:
            reduced = blocking(reducer.reduce)(read.history, **request)
        return self._shown(given, read, reduced)

    def arranged(self, view: list[_Object], _: list[_Object], /) -> list[_Object]:
        """Return *view*; a subclass returns it as its vendor takes it, and gets what was given too."""
        return view

    def _told(self, window: int | None) -> HistoryReducer:
        return self._of_window(window) if window else self.reducer

    def _read(self, given: list[_Object]) -> Conversion:
        named = list(map(self._known_by, given))
        known = self._known.find(named, None)
        if known is not None and known.size == len(given):
            return known.conversion
        read = partial(self._grown, known, given)
        return self._known.keeping(named, None, read, grown_from=known)

    def _grown(
        self, known: KnownList | None, given: list[_Object], _: Sequence[object] | None
    ) -> Conversion:
        """Return what *given* are, of which the beginning is *known*."""
        history = History(counter=self.reducer.counter)
        places = array("q")
        if known is not None:
            old = known.conversion
            history = old.history.copy()
            places.extend(old.places)
        for at in range(0 if known is None else known.size, len(given)):
            self._append(history, given[at], at)
            places.extend([at] * (history.total - len(places)))
        return Conversion(history=history, places=places)

    def _append(self, history: History, item: _Object, at: int) -> None:
        """Append what *item*, the one at the place *at*, says to *history*."""
        try:
            for message in self._codec.read(item):
                named = identified(message, history.total, history.at)
                marked = {**(named.metadata or {}), _PLACE: history.total}
                history.append(replace(named, metadata=marked))
        except (ConfigError, FormatError) as error:
            text = f"messages[{at}]: {error}"
            raise FormatError(text) from error

    def _shown(
        self, given: list[_Object], read: Conversion, reduced: ReducedHistory[Message]
    ) -> ReducedHistory[_Object]:
        # Without a change all are the same, which is a comparison of identities.
        is_off = reduced.verdict.reason is Reason.DISABLED
        own = reduced.messages
        view = own if is_off else taking_turns(own)
        is_whole = is_off or view == read.messages
        written = given if is_whole else list(self._written(given, read, view))
        written = self.arranged(written, given)
        return cast(
            "ReducedHistory[_Object]",
            replace(cast("ReducedHistory[object]", reduced), messages=written),
        )

    def _written(
        self, given: list[_Object], read: Conversion, view: Iterable[Message]
    ) -> Iterator[_Object]:
        messages, places = read.messages, read.places
        run: list[int] = []
        for message in view:
            index = cast("int | None", (message.metadata or {}).get(_PLACE))
            own = index if index is not None and messages[index] is message else None
            if run and (own is None or own != run[-1] + 1 or places[own] != places[run[0]]):
                yield self._whole_or_part(given, places, run)
                run = []
            if own is not None:
                run.append(own)
            else:
                yield self._codec.write(message, None if index is None else given[places[index]])
        if run:
            yield self._whole_or_part(given, places, run)

    def _whole_or_part(
        self, given: list[_Object], places: Sequence[int], run: list[int]
    ) -> _Object:
        at = places[run[0]]
        first = bisect_left(places, at)
        is_whole = first == run[0] and (run[-1] + 1 == len(places) or places[run[-1] + 1] > at)
        item = given[at]
        return item if is_whole else self._codec.part(item, [index - first for index in run])


def _named(item: object) -> object:
    """Return what *item* is known by, whichever of its fields a store of the guest has filled in."""
    kind = type(item).__qualname__
    # It is compared with a copy, which is faster than to write it.
    if kind == "dict" and is_object(item):
        return item
    if hasattr(item, "__pydantic_fields_set__"):
        return kind, vars(item), getattr(item, "__pydantic_extra__", None)
    # A dataclass is compared by its fields, and does not say of which class it is.
    return kind, item
