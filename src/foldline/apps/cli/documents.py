"""The JSON that `--json` and `--output` write."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from foldline.checks import expect_choice
from foldline.history.codec import encode_history, encode_json
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message
from foldline.replay.columns import describe
from foldline.replay.record import ReplayReport


__all__ = [
    "TARGETS",
    "left_out_note",
    "replay_document",
    "target_format",
    "view_document",
]


_DEFAULT_TARGET = "openai-chat"
# Reasoning that nothing of the model follows is not written.
_ANSWER = Message.assistant("answer")


def _anthropic(view: Sequence[Message]) -> bytes:
    rendered = render_anthropic(view)
    system = {"system": rendered.system} if rendered.system else {}
    return encode_json({**system, "messages": rendered.messages})


TARGETS: Mapping[str, Callable[[Sequence[Message]], bytes]] = MappingProxyType(
    {
        "openai-chat": lambda view: encode_json(render_openai_chat(view)),
        "openai-responses": lambda view: encode_json(render_openai_responses(view)),
        "anthropic": _anthropic,
        "foldline": encode_history,
    }
)
"""What writes a view in each format."""


def target_format(wanted: str | None, *, source: str) -> str:
    """
    Return the format to write in: the *wanted* one, else that of the *source* if it is a target.
    """
    if wanted is None:
        return source if source in TARGETS else _DEFAULT_TARGET
    expect_choice("--to", wanted, tuple(TARGETS))
    return wanted


def view_document(view: Sequence[Message], target: str) -> bytes:
    """Return *view* as JSON in the format *target*, valid for its vendor."""
    return TARGETS[target](view)


def left_out_note(view: Sequence[Message], target: str) -> tuple[int, str]:
    """Return how many messages of *view* the format *target* has no place for, and a note of it."""
    nothing = view_document([_ANSWER], target)
    left = [one for one in view if view_document([one, _ANSWER], target) == nothing]
    if not left:
        return 0, ""
    held = " and ".join(sorted({kind for one in left for kind in _held(one)}))
    which = "1 message is" if len(left) == 1 else f"{len(left):,} messages are"
    return len(left), f"{which} left out: {target} has no place for {held} alone"


def _held(message: Message) -> set[str]:
    kinds = {str(part.__struct_config__.tag) for part in message.parts}
    # Any other text is written everywhere.
    return kinds - {"text"} or {"blank text"}


def replay_document(sessions: Sequence[Sequence[ReplayReport]]) -> dict[str, Any]:
    """Return the reports of each session as one value, with the figures derived from others."""
    return {
        "sessions": [
            {
                "session": reports[0].session,
                "replays": [_replay(report) for report in reports],
            }
            for reports in sessions
        ]
    }


def _replay(report: ReplayReport) -> dict[str, Any]:
    totals = report.totals
    derived = {
        "mean_tokens": totals.mean_tokens,
        "fresh_tokens": totals.fresh_tokens,
        "prefix_share": totals.prefix_share,
    }
    return {
        "name": report.name,
        "kind": report.kind,
        "description": describe(report),
        "config": report.config,
        "totals": {**msgspec.structs.asdict(totals), **derived},
        "calls": report.calls,
    }
