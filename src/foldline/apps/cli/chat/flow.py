"""
Text on a terminal as it comes, in lines that end between words.

A paragraph, a list or a block of code is printed for good when the next one begins. Until then the
end of it is shown in place, so that the newest words are always to be seen.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from foldline.apps.cli.terminal import clean


_REFRESHES = 8
_LEFT = 2
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def as_markdown(text: str) -> RenderableType:
    """Return *text* rendered as Markdown; its own line breaks stay, and links show where they lead."""
    return Markdown(_broken(text), code_theme="ansi_dark", hyperlinks=False)


def as_note(text: str) -> RenderableType:
    """Return *text* as something beside the answer."""
    return Text(text.strip("\n"), style="dim italic")


class Flow:
    """One text on its way to a terminal."""

    def __init__(self, console: Console, render: Callable[[str], RenderableType]) -> None:
        """Print to *console* what *render* makes of each block."""
        self._console, self._render = console, render
        self._rest = ""
        self._is_first = True
        self._live = Live(
            console=console,
            get_renderable=self._tail,
            transient=True,
            refresh_per_second=_REFRESHES,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def add(self, text: str) -> None:
        """Show *text* after what there is."""
        self._rest += "\n".join(map(clean, text.split("\n")))
        *ended, self._rest = _blocks(self._rest)
        if ended and self._live.is_started:
            # What is printed above the end of the text must not be shown there as well.
            self._live.refresh()
        for block in ended:
            self._print(block)
        if not self._live.is_started:
            self._live.start(refresh=True)

    def end(self) -> None:
        """Print what is left."""
        rest, self._rest = self._rest, ""
        self._live.stop()
        self._print(rest)

    def _print(self, block: str) -> None:
        if not block.strip():
            return
        if not self._is_first:
            self._console.print()
        self._is_first = False
        self._console.print(_Lines(self._render(block)))

    def _tail(self) -> RenderableType:
        return _Lines(self._render(self._rest), most=max(1, self._console.height - _LEFT))


class _Lines:
    """The last lines of something, without blank ones around it and blanks at the ends of lines."""

    def __init__(self, shown: RenderableType, *, most: int | None = None) -> None:
        self._shown, self._most = shown, most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [_trimmed(one) for one in console.render_lines(self._shown, options, pad=False)]
        full = [at for at, line in enumerate(lines) if line] or [0]
        lines = lines[full[0] : full[-1] + 1]
        for line in lines[-self._most if self._most else 0 :]:
            yield from line
            yield Segment.line()


def _trimmed(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip() and not (kept[-1].style and kept[-1].style.bgcolor):
        kept.pop()
    if kept and not (kept[-1].style and kept[-1].style.bgcolor):
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


def _fenced(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each line of *text*, the mark of the code that it is in, and whether it has such a mark."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        yield line, fence, mark is not None
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
        elif mark:
            fence = mark[1]


def _blocks(text: str) -> list[str]:
    """Return the blocks of *text*, of which the last may still grow."""
    starts, place, is_blank = [0], 0, False
    for line, fence, _ in _fenced(text):
        if is_blank and not fence and not line[0].isspace():
            starts.append(place)
        is_blank = not line.strip()
        place += len(line)
    return [text[start:end] for start, end in pairwise([*starts, place])]


def _broken(text: str) -> str:
    """Return *text* with the line breaks of its paragraphs as breaks."""
    lines = [
        line if fence or is_mark or not line.strip() else line.removesuffix("\n") + "  \n"
        for line, fence, is_mark in _fenced(text)
    ]
    return "".join(lines)
