"""An answer on a terminal as it comes."""

import io
import re

import pytest
from rich.console import Console

from foldline.agent.events import ReasoningDeltaEvent, TextDeltaEvent, TextEndEvent
from foldline.apps.cli.chat.flow import Flow, as_markdown, as_note
from foldline.apps.cli.chat.screen import Screen


_ANSWER = """\
The parametrized cases count as separate tests, so **all seven** of them are named in turn.
A second line.

1. one

2. two

```python
import os

def first():
    return 1
```

| name | size |
|---|---|
| a | 1 |
"""


def _console(*, width: int = 40, terminal: bool = True) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        height=20,
        force_terminal=terminal,
        color_system=None,
        legacy_windows=False,
    )


def _printed(console: Console) -> str:
    """Return what a terminal shows in the end, as it obeys what is written to it."""
    file = console.file
    assert isinstance(file, io.StringIO)
    lines, row, column = [""], 0, 0
    for sign in re.findall(r"\x1b\[\??[\d;]*[A-Za-z]|.|\n", file.getvalue(), re.DOTALL):
        if sign == "\n":
            row, column = row + 1, 0
            lines += [""] * (row == len(lines))
        elif sign == "\r":
            column = 0
        elif sign == "\x1b[2K":
            lines[row] = ""
        elif sign.startswith("\x1b["):
            row -= int(sign[2:-1]) if sign.endswith("A") else 0
        else:
            lines[row] = lines[row][:column].ljust(column) + sign + lines[row][column + 1 :]
            column += 1
    return "\n".join(lines)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_lines_end_between_words(size: int) -> None:
    """However the pieces are cut, no word is broken, and Markdown is rendered, not shown."""
    console = _console()
    flow = Flow(console, as_markdown)
    for at in range(0, len(_ANSWER), size):
        flow.add(_ANSWER[at : at + size])
    flow.end()

    said = _printed(console)

    last = said
    assert said.startswith(
        "The parametrized cases count as separate\ntests, so all seven of them are named in\n"
    )
    assert said.count("A second line.") == 1
    assert "A second line.\n" in last
    assert "    return 1" in last
    assert not {"**", "```", "|---|"} & {sign for sign in ("**", "```", "|---|") if sign in last}
    assert "\n\n\n" not in last
    assert all(len(line) <= 40 for line in last.splitlines())


def test_what_is_complete_is_printed_once() -> None:
    """A paragraph is printed for good when the next one begins; a block of code is one whole."""
    console = _console(width=80)
    flow = Flow(console, as_note)

    flow.add("first\n\n")
    flow.add("second\n\n")
    flow.end()

    assert _printed(console).rstrip().endswith("first\n\nsecond")


def test_nothing_of_an_answer_is_obeyed() -> None:
    """Control characters are replaced, and a link shows where it leads."""
    console = _console(width=80)
    flow = Flow(console, as_markdown)

    flow.add("\x1b]0;title\x07 [here](https://example.org/x)")
    flow.end()

    said = _printed(console)
    assert "\x1b]" not in said
    assert "https://example.org/x" in said


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_gets_markdown(terminal: bool) -> None:
    """In a pipe or a file the answer is what the model wrote, sign by sign."""
    answer, notes = _console(terminal=terminal), _console(terminal=terminal)
    screen = Screen(answer, notes)

    screen.hear(ReasoningDeltaEvent(text="Let me *see*.", iteration=1))
    for piece in ("It is **here**", ", I think.\n- or ", "there"):
        screen.hear(TextDeltaEvent(text=piece, iteration=1))
    screen.hear(TextEndEvent(iteration=1))

    said = _printed(answer)
    assert ("**" in said) is not terminal
    assert said.endswith("there\n")
    assert "Let me *see*." in _printed(notes)
    if not terminal:
        assert said == "It is **here**, I think.\n- or there\n"
