"""
Every error that foldline raises on purpose.

```
FoldlineError
├── UsageError                 the caller has to change something
│   ├── ConfigError            a configuration value or key is not allowed
│   ├── FormatError            an input cannot be read as a conversation
│   │   └── UnknownFormatError no known format fits, or the named one does not exist
│   ├── HistoryTooShortError   a reduction covers more messages than were given
│   ├── IntegrityError         a reduction stands for other messages than those given
│   └── BlockingCallError      a blocking call was made inside a running event loop
└── ExternalError              something outside foldline failed
    ├── SummarizerError        a summarizer failed or returned an unusable text
    └── MissingExtraError      an optional dependency is not installed
```

Messages hold names, ids and sizes, never the text of a conversation or a secret.
"""

from typing import ClassVar


__all__ = [
    "BlockingCallError",
    "ConfigError",
    "ExternalError",
    "FoldlineError",
    "FormatError",
    "HistoryTooShortError",
    "IntegrityError",
    "MissingExtraError",
    "SummarizerError",
    "UnknownFormatError",
    "UsageError",
]


class FoldlineError(Exception):
    """
    Something that foldline was asked to do could not be done.
    """

    code: ClassVar[str] = "foldline"
    """A stable identifier, the same in logs, `--json` output and documentation."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))


class UsageError(FoldlineError):
    """
    The call cannot work as it was made.
    """

    code = "usage"


class ConfigError(UsageError, ValueError):
    """
    A configuration is not allowed.
    """

    code = "config_invalid"


class FormatError(UsageError, ValueError):
    """
    The input is not a conversation in a format that foldline reads.
    """

    code = "format_invalid"


class UnknownFormatError(FormatError):
    """
    No format that foldline knows fits the input.
    """

    code = "format_unknown"


class HistoryTooShortError(UsageError, ValueError):
    """
    A reduction covers more messages than the history holds.
    """

    code = "history_too_short"

    def __init__(self, *, count: int, index: int) -> None:
        self.count = count
        self.index = index
        super().__init__(
            f"Message count ({count}) is less than SummarizedUpToIndex ({index}): "
            "pass the full history that the reduction was made of"
        )


class IntegrityError(UsageError, ValueError):
    """
    A reduction stands for other messages than those that were given.
    """

    code = "integrity"

    def __init__(self, *, index: int) -> None:
        self.index = index
        super().__init__(
            f"reduction integrity check failed: the first {index} messages are not "
            "those it was made of, so make a new reduction"
        )


class BlockingCallError(UsageError, RuntimeError):
    """
    A blocking call was made inside a running event loop; await the method without `_sync`.
    """

    code = "blocking_call"


class ExternalError(FoldlineError):
    """
    Something outside foldline failed.
    """

    code = "external"


class SummarizerError(ExternalError):
    """
    A summarizer failed or returned an unusable text.
    """

    code = "summarizer"


class MissingExtraError(ExternalError, ImportError):
    """
    An optional dependency is not installed.
    """

    code = "missing_extra"

    def __init__(self, *, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install 'foldline[{extra}]'")
