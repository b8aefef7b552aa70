"""What a turn tells, for programs: one JSON object a line."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec

from foldline.agent.events import AgentEvent
from foldline.agent.result import TurnResult
from foldline.apps.cli.chat_session import Chat
from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document
from foldline.apps.cli.notes import tell
from foldline.errors import FoldlineError
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.loop_state import CurrentMessages


__all__ = ["STOPPED", "Failure", "JsonLines"]


STOPPED = "interrupted"
"""The code of what Ctrl-C has stopped."""


class JsonLines:
    """Prints a turn while it runs, each event as a JSON object with its `type`."""

    def hear(self, event: AgentEvent) -> None:
        """Print *event*."""
        fields = msgspec.to_builtins(event, enc_hook=_plain)
        if isinstance(event, HistoryReductionEvent):
            fields = {"type": "history_reduction", **fields}
        print_document(json_document(fields))

    def end(self, result: TurnResult) -> None:
        """Print what came of the turn."""
        fields = {
            "type": "result",
            "thread_id": result.thread.id,
            "text": result.text,
            "termination_reason": result.termination_reason,
            "is_complete": result.is_complete,
            "iterations": result.iterations,
            "message_count": result.thread.count,
            "usage": msgspec.structs.asdict(result.usage),
        }
        print_document(json_document(fields))

    def note(self, text: str, *, style: str = "dim") -> None:  # noqa: ARG002 - a screen has styles
        """Print *text* on the standard error."""
        tell(text)

    def close(self) -> None:
        """Do nothing: every line is whole."""


class Failure:
    """Prints as the last line what went wrong, where that is what is wanted."""

    def __init__(self, thread_id: str, *, is_shown: bool) -> None:
        self._thread_id = thread_id
        self._is_shown = is_shown
        self.talk: Chat | None = None
        """The chat, once there is one."""

    @contextmanager
    def watched(self) -> Generator[None]:
        """
        Print each error of foldline that is raised in the context.

        Raises:
            FoldlineError: It was raised there.
        """
        try:
            yield
        except FoldlineError as error:
            # What a person is told in other words still is what it was.
            cause = error.__cause__
            found = cause if isinstance(cause, FoldlineError) else error
            self.tell(found.code, str(error))
            raise

    def tell(self, code: str, message: str) -> None:
        """Print that it failed with *code*."""
        if not self._is_shown:
            return
        fields = {
            "type": "error",
            "code": code,
            "message": " ".join(message.split()),
            "thread_id": self._thread_id,
            "resumable": self.talk is not None and self.talk.has_open_run,
        }
        print_document(json_document(fields))


def _plain(value: object) -> Any:
    if isinstance(value, CurrentMessages):
        return {"count": len(value), "digest": value.digest.hex()}
    raise NotImplementedError
