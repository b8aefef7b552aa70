"""
Recordings to chat with.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


__all__ = ["FIRST", "SECOND", "break_off", "recording"]


FIRST = " ".join(["Parcel 0 is on its way."] * 4)
"""The first answer of the recording of the parcels."""

SECOND = " ".join(["Parcel 1 is on its way."] * 4)
"""The second one."""


def recording(path: Path, *answers: str) -> Path:
    """
    Write a recording with *answers*, each to a request of its own.
    """
    messages: list[dict[str, str]] = []
    for number, answer in enumerate(answers):
        messages.append({"role": "user", "content": f"request {number}"})
        messages.append({"role": "assistant", "content": answer})
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def break_off(run: Callable[..., Any], chat: Path) -> Any:
    """
    Chat with a recording that ends in the middle of a turn, behind its first tool call.
    """
    messages = json.loads(chat.read_text(encoding="utf-8"))["messages"]
    file = chat.with_name("broken.json")
    file.write_text(json.dumps(messages[:4]), encoding="utf-8")
    return run("chat", "--model", "scripted:broken.json", "--message", "Where is it?")
