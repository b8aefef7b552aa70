"""
What a turn tells, for programs: one JSON object a line.
"""

from typing import Any

import msgspec

from foldline.agent.events import AgentEvent
from foldline.agent.result import TurnResult
from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document
from foldline.apps.cli.notes import tell
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.current import CurrentMessages


__all__ = ["JsonLines"]


class JsonLines:
    """
    Prints a turn while it runs, each event as a JSON object with its `type`.
    """

    def hear(self, event: AgentEvent) -> None:
        """
        Print *event*.
        """
        fields = msgspec.to_builtins(event, enc_hook=_plain)
        if isinstance(event, HistoryReductionEvent):
            fields = {"type": "history_reduction", **fields}
        print_document(json_document(fields))

    def end(self, result: TurnResult) -> None:
        """
        Print what came of the turn.
        """
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
        """
        Print *text* on the standard error.
        """
        tell(text)

    def close(self) -> None:
        """
        Do nothing: every line is whole.
        """


def _plain(value: object) -> Any:
    if isinstance(value, CurrentMessages):
        return {"count": len(value), "digest": value.digest.hex()}
    raise NotImplementedError
