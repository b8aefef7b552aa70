"""
Every error that foldline raises on purpose.

```
FoldlineError
├── UsageError                 the caller has to change something
│   ├── ConfigError            a configuration value or key is not allowed
│   ├── FormatError            an input cannot be read as a conversation
│   │   ├── NewerFormatError   an input was written by a newer foldline
│   │   ├── UnknownFormatError no known format fits, or the named one does not exist
│   │   └── ViewGivenError     a view was given in place of the full history
│   ├── HistoryTooShortError   a reduction covers more messages than were given
│   ├── IntegrityError         a reduction covers other messages than those given
│   ├── MessagesNotLoadedError a message that is not in memory was asked for
│   ├── ThreadIdError          an id or a tenant has characters that are not allowed
│   ├── ThreadNotFoundError    there is no such thread
│   ├── ThreadExistsError      a thread of that id is there already
│   ├── ThreadConflictError    somebody else has changed the thread in the meantime
│   ├── CheckpointStaleError   a checkpoint and the history beside it do not agree
│   ├── CheckpointError        a checkpoint is missing, or cannot be made or used so
│   ├── RunStartError          a run has nothing to start from, or too much
│   │   └── TurnRunningError   somebody else runs a turn on the thread now
│   ├── TurnIdError            a turn has the id of another one
│   ├── ToolDecisionError      a tool call that a crash interrupted waits for a decision
│   ├── RequestTooLargeError   a request cannot be made to fit its ceiling
│   ├── TurnStoppedError       what comes of a turn was asked for, and it was stopped
│   └── BlockingCallError      a blocking call would have to wait inside a running event loop
└── ExternalError              something outside foldline failed
    ├── ModelError             a model or its vendor failed
    │   ├── ContextOverflowError   a request is longer than the window of the model
    │   └── ServiceThreadLostError a vendor knows a conversation that it held no more
    ├── SummarizerError        a summarizer failed or returned an unusable text
    ├── TurnFailedError        a worker has given a turn up
    ├── TurnPendingError       a turn has not ended in the time that was given
    ├── StoreError             a store failed; what was not acknowledged is not there
    │   ├── StoreBusyError     others kept the store locked for too long, or too many calls wait
    │   ├── StoreCorruptError  stored data is damaged
    │   ├── StoreKeyError      stored data needs another key, or one at all
    │   ├── StoreVersionError  a store was written by a newer foldline
    │   └── CommitUnknownError a connection broke in a commit: it may be there or not
    └── MissingExtraError      an optional dependency is not installed
```

Messages hold names, ids and sizes, never the text of a conversation or a secret.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class FoldlineError(Exception):
    """Something that foldline was asked to do could not be done."""

    code: ClassVar[str] = "foldline"
    """A stable identifier, the same in logs, `--json` output and documentation."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))

    def __reduce__(self) -> tuple[object, ...]:
        # An exception is pickled as a call with its message, but most of these are made of other
        # arguments; a pool of processes that cannot unpickle one stops.
        return _restored, (type(self), self.args, vars(self))


def _restored(
    kind: type[FoldlineError], args: tuple[object, ...], attributes: Mapping[str, object]
) -> FoldlineError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


class UsageError(FoldlineError):
    """The call cannot work as it was made."""

    code = "usage"


class ConfigError(UsageError, ValueError):
    """A configuration is not allowed."""

    code = "config_invalid"


class FormatError(UsageError, ValueError):
    """The input is not a conversation in a format that foldline reads."""

    code = "format_invalid"


class UnknownFormatError(FormatError):
    """No format that foldline knows fits the input."""

    code = "format_unknown"


class ViewGivenError(FormatError):
    """The messages are a view that was made before: pass the full history, and send the view."""

    code = "view_given"


class NewerFormatError(FormatError):
    """An input was written by a newer foldline."""

    code = "format_newer"

    def __init__(self, *, what: str, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{what} format {found} is newer than {known}, the newest that this foldline reads: "
            "upgrade foldline"
        )


class HistoryTooShortError(UsageError, ValueError):
    """A reduction covers more messages than the history holds."""

    code = "history_too_short"

    def __init__(self, *, count: int, index: int) -> None:
        self.count = count
        self.index = index
        super().__init__(
            f"Message count ({count}) is less than SummarizedUpToIndex ({index}): "
            "pass the full history that the reduction was made of"
        )


class IntegrityError(UsageError, ValueError):
    """A reduction covers other messages than those that were given."""

    code = "integrity"

    def __init__(self, *, index: int) -> None:
        self.index = index
        super().__init__(
            f"reduction integrity check failed: the first {index} messages are not "
            "those it was made of, so make a new reduction"
        )


class MessagesNotLoadedError(UsageError, LookupError):
    """A message was asked for that lies in the store and not in memory."""

    code = "messages_not_loaded"

    def __init__(self, *, index: int, start: int) -> None:
        self.index = index
        self.start = start
        super().__init__(
            f"message {index} is not in memory, which begins at {start}: "
            "read it with `await thread.get_messages()`"
        )


class ThreadIdError(UsageError, ValueError):
    """An id or a tenant has characters that are not allowed."""

    code = "thread_id_invalid"

    def __init__(self, *, name: str, value: str, index: int | None) -> None:
        self.name = name
        self.index = index
        problem = f"of {len(value)} characters is not allowed"
        if index is not None:
            problem = f"must not have {value[index]!r}, its character {index + 1}"
        advice = (
            ", or `foldline.storage.ThreadKey.named(text)` for any text"
            if name == "thread id"
            else ""
        )
        super().__init__(f"{name} {problem}: use 1 to 200 of A-Z a-z 0-9 . _ : -{advice}")


class ThreadNotFoundError(UsageError, LookupError):
    """There is no such thread."""

    code = "thread_not_found"

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"no thread {thread_id!r}: check the id and the tenant")


class ThreadExistsError(UsageError):
    """A thread of that id is there already."""

    code = "thread_exists"

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"thread {thread_id!r} is there already: choose another id or delete it")


class ThreadConflictError(UsageError):
    """Somebody else has changed the thread in the meantime, so that nothing was written."""

    code = "thread_conflict"

    def __init__(self, *, thread_id: str, expected: int, actual: int) -> None:
        self.thread_id = thread_id
        self.expected = expected
        self.actual = actual
        problem = f"is at revision {actual}, not {expected}"
        if actual == expected:
            problem = "was rewound, or another reduction was stored"
        super().__init__(
            f"thread {thread_id!r} {problem}: `await thread.refresh()`, then decide again"
        )


class CheckpointStaleError(UsageError):
    """A checkpoint and the history beside it do not agree."""

    code = "checkpoint_stale"

    def __init__(self, *, count: int, expected: int, iteration: int, advice: str = "") -> None:
        self.count = count
        self.expected = expected
        self.iteration = iteration
        state = "conversation has progressed" if count > expected else "messages are missing"
        super().__init__(
            f"Checkpoint is stale. Conversation has {count} messages but checkpoint expects "
            f"{expected}. This checkpoint was created at iteration {iteration} but {state}."
            f"{advice and f' {advice}.'}"
        )


class CheckpointError(UsageError):
    """A checkpoint is missing, or cannot be made or used so."""

    code = "checkpoint"


class RunStartError(UsageError):
    """A run has nothing to start from, or too much."""

    code = "run_start"


class TurnRunningError(RunStartError):
    """Somebody else runs a turn on the thread now; nothing was stored, and no model was asked."""

    code = "turn_running"

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            f"a turn is running on thread {thread_id!r}: try again later. With `on_conflict` at "
            "'wait' its end is waited for, as long as `turn_wait` of the store says"
        )


class TurnIdError(UsageError):
    """A turn was given the id of another one: the same id with other content."""

    code = "turn_id_taken"

    def __init__(self, *, thread_id: str, turn_id: str) -> None:
        self.thread_id = thread_id
        self.turn_id = turn_id
        problem = f"turn {turn_id!r} of thread {thread_id!r} had another message"
        super().__init__(f"{problem}: give each message an id of its own, and the same one again")


class ToolDecisionError(UsageError):
    """A tool call that a crash interrupted waits for somebody to say what became of it."""

    code = "tool_decision"

    def __init__(self, *, thread_id: str, call_ids: Sequence[str]) -> None:
        self.thread_id = thread_id
        self.call_ids = tuple(call_ids)
        super().__init__(
            f"thread {thread_id!r} waits for a decision on the interrupted tool calls "
            f"{', '.join(call_ids)}: `await thread.answer_tool(call_id, text)` for each, then resume"
        )


class RequestTooLargeError(UsageError):
    """A request cannot be made to fit its ceiling, whatever is folded, cleared or clipped."""

    code = "request_too_large"

    def __init__(self, *, parts: Mapping[str, int], ceiling: int) -> None:
        self.parts = dict(parts)
        self.ceiling = ceiling
        listed = ", ".join(f"{name} {tokens:,}" for name, tokens in parts.items() if tokens)
        super().__init__(
            f"a request of {sum(parts.values()):,} tokens ({listed}) does not fit its ceiling of "
            f"{ceiling:,}: shorten the largest part, or raise the ceiling or the window"
        )


class TurnStoppedError(UsageError):
    """What comes of a turn was asked for, and it was stopped before its end."""

    code = "turn_stopped"

    def __init__(self) -> None:
        super().__init__("the turn was stopped before its end: resume it if `thread.has_open_run`")


class BlockingCallError(UsageError, RuntimeError):
    """A blocking call that has to wait was made inside a running event loop."""

    code = "blocking_call"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(
            message
            or "a blocking call has to wait inside a running event loop: await the method without "
            "`_sync`, or block the loop with `call_sync(method, …)`"
        )


class ExternalError(FoldlineError):
    """Something outside foldline failed."""

    code = "external"


class ModelError(ExternalError):
    """A model or its vendor failed; the turn stays open and can be resumed."""

    code = "model"

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


class ContextOverflowError(ModelError):
    """A request is longer than the window of the model."""

    code = "context_overflow"

    def __init__(
        self,
        message: str | None = None,
        *,
        model: str = "the model",
        window: int | None = None,
        tokens: int | None = None,
        status: int | None = None,
    ) -> None:
        self.window = window
        self.tokens = tokens
        size = "" if tokens is None else f" of {tokens} tokens"
        room = "" if window is None else f" of {window} tokens"
        text = f"a request{size} does not fit the window{room} of {model}, and its view cannot be "
        text += "folded further: enable history reduction, lower its target or the summary budget"
        super().__init__(message or text, status=status)


class ServiceThreadLostError(ModelError):
    """A vendor no longer knows a conversation that it held."""

    code = "service_thread_lost"

    def __init__(self, *, model: str, status: int | None = None) -> None:
        super().__init__(f"{model} no longer holds the conversation", status=status)


class SummarizerError(ExternalError):
    """A summarizer failed or returned an unusable text."""

    code = "summarizer"

    def __init__(self, message: str | None = None, *, defect: str = "") -> None:
        self.defect = defect
        super().__init__(message)


class TurnFailedError(ExternalError):
    """A worker has given a turn up; its message is kept, and posting it again tries again."""

    code = "turn_failed"

    def __init__(self, message: str, *, reason: str) -> None:
        self.reason = reason
        super().__init__(message)


class TurnPendingError(ExternalError):
    """A turn has not ended in the time that was given; it goes on, and can be waited for again."""

    code = "turn_pending"


class StoreError(ExternalError):
    """A store failed; what was not acknowledged is not there."""

    code = "store"


class StoreBusyError(StoreError):
    """Others kept the store locked for too long, or too many calls wait; nothing was written."""

    code = "store_busy"


class StoreCorruptError(StoreError):
    """Stored data is damaged; `foldline verify` shows what."""

    code = "store_corrupt"


class StoreKeyError(StoreError):
    """
    Stored data was encrypted with another key, or with one where none is given; or it was not.
    """

    code = "store_key"


class StoreVersionError(StoreError):
    """A store was written by a newer foldline."""

    code = "store_version"

    def __init__(self, *, what: str, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{what} has format {found}, and this foldline reads up to {known}: upgrade foldline"
        )


class CommitUnknownError(StoreError):
    """
    A connection broke in a commit: it may be there or not.

    If it has a `commit_id`, call `refresh` and commit the same change again under that id: it is
    stored once at most, as long as fewer than eight others have written since. Otherwise `refresh`
    shows what is stored, or `find` if a thread was to be made.
    """

    code = "commit_unknown"

    def __init__(self, message: str | None = None, *, commit_id: bytes | None = None) -> None:
        self.commit_id = commit_id
        self.may_arrive = False  # Set if a server that was lost sight of may still make it.
        super().__init__(message)


class MissingExtraError(ExternalError, ImportError):
    """An optional dependency is not installed."""

    code = "missing_extra"

    def __init__(self, *, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install 'foldline[{extra}]'")
