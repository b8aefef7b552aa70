"""Damage, for people and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from foldline.apps.cli.terminal import clean
from foldline.threads.fault import Fault


__all__ = ["INDEX_NOTE", "STRAY_NOTE", "fault_documents", "print_faults"]


INDEX_NOTE = (
    "no message is lost: `foldline repair --write` drops what is damaged of the index of words, and "
    "searches make it anew"
)
"""What to know of faults of the index."""

STRAY_NOTE = "what is stray belongs to nothing, harms no thread and stays as it is"
"""What to know of faults that are stray."""

_MOST_FAULTS = 20


def fault_documents(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """Return *faults* as values for JSON."""
    return [{"kind": one.kind, "name": one.name, "problem": one.problem} for one in faults]


def print_faults(console: Console, whose: str, faults: Sequence[Fault]) -> None:
    """Print *faults* below the name of what has them, the first ones in full."""
    console.print(Text(clean(whose), style="bold red"), soft_wrap=True)
    for one in faults[:_MOST_FAULTS]:
        console.print(Text(f"  {clean(str(one))}"), soft_wrap=True)
    if len(faults) > _MOST_FAULTS:
        console.print(f"  and {len(faults) - _MOST_FAULTS:,} more; --json lists them all")
