"""What was said in a session beside what the model was told, as a part of a page of HTML."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from foldline.history.messages import Message
from foldline.reduction.shortening import shown
from foldline.replay.inspection import Inspection, Inspector
from foldline.replay.numbers import counted, plain_text
from foldline.replay.player import Replay, Stretch, spans
from foldline.replay.quality.identifiers import said
from foldline.replay.tape import Tape


MOST_TEXT = 4_000_000
"""How many characters of conversations a page has at most, about half of them in summaries."""

MOST_ROWS = 1_000
"""How many messages of a session are listed, the newest ones."""

_SHORTEST, _LONGEST = 80, 4_000
_MOST_LINES, _LONGEST_LINE = 300, 2_000
_MOST_LOST, _LONGEST_LOST = 100, 300


class Spoken(Struct, frozen=True, kw_only=True):
    """A session with its text, and its replays by the name of their configuration."""

    tape: Tape
    replays: Mapping[str, Replay]


def telling(spoken: Spoken, *, room: int = MOST_TEXT) -> Iterator[str]:
    """Yield what was said and what each configuration told the model, in *room* characters."""
    messages = spoken.tape.said
    inspector = Inspector(messages)
    yield '<div class="told"><label class="pick" hidden>configuration <select></select></label>'
    yield '<div class="beside"><div class="column"><h3>What was said</h3>'
    yield from _said(spoken, room // 2)
    yield '</div><div class="column"><h3>What the model was told</h3>'
    share = room // 2 // max(1, len(spoken.replays))
    for name, replay in spoken.replays.items():
        yield f'<details class="config" data-name="{plain_text(name)}">'
        yield f"<summary>{plain_text(name)}</summary>"
        yield from _told(replay, messages, inspector, share)
        yield "</details>"
    yield '<ol class="tail"></ol></div></div></div>'


def _said(spoken: Spoken, room: int) -> Iterator[str]:
    tape = spoken.tape
    listed = tape.messages[-MOST_ROWS:]
    left = len(tape.messages) - len(listed)
    if left:
        yield f"<p>The first {counted(left, 'message')} are not listed, to keep the page small.</p>"
    most = min(_LONGEST, max(_SHORTEST, room // max(1, len(listed))))
    number = sum(one.role != "system" for one in tape.messages[:left])
    yield '<ol class="said">'
    for place, message in enumerate(listed, left):
        is_system = message.role == "system"
        where = "" if is_system else f"{number:,} · "
        yield (
            f'<li class="{message.role}" data-place="{place}" data-at="{number}"><b>{message.role}</b> '
            f"<small>{where}{counted(tape.size(message), 'token')}</small> <i></i>"
            f"<pre>{_clipped(said(message), most)}</pre></li>"
        )
        number += not is_system
    yield "</ol>"


def _told(
    replay: Replay, messages: Sequence[Message], inspector: Inspector, room: int
) -> Iterator[str]:
    """Yield the stretches of *replay*; the newest ones in full, as far as there is room."""
    written: list[list[str]] = []
    for stretch in reversed(replay.stretches):
        pieces = list(_stretch(stretch, messages, inspector, is_full=room > 0))
        room -= sum(map(len, pieces))
        written.append(pieces)
    for pieces in reversed(written):
        yield from pieces


def _stretch(
    stretch: Stretch, messages: Sequence[Message], inspector: Inspector, *, is_full: bool
) -> Iterator[str]:
    state = stretch.state
    cut = 0 if state is None else state.summarized_up_to_index
    whole = _sent_whole(stretch, messages, cut)
    after = range(cut, stretch.said)
    short = () if state is None else [one for one in state.shortened if one.index < stretch.said]
    changed = set(after).difference(whole)
    quotes = () if state is None else state.quotes
    quoted = {one.index for one in quotes if one.text}
    marks = {
        "cut": str(cut),
        "whole": _ranges(whole.difference(after)),
        "short": _ranges(changed),
        "quoted": _ranges(quoted.difference(whole)),
    }
    places = " ".join(f'data-{name}="{value}"' for name, value in marks.items())
    yield (
        f'<details class="stretch" data-first="{stretch.first}" data-last="{stretch.last}" {places}>'
        f"<summary>{_calls(stretch)}</summary><p>{_overview(stretch, cut, len(changed))}</p>"
    )
    if state is not None and not is_full:
        yield "<p>Its text is left out, to keep the page small.</p>"
    elif state is not None:
        if state.front_messages():
            yield from inspected(inspector.inspect(state, stretch.view))
        items = [
            f'<li data-short="{one.index}">message {one.index:,}: '
            f"<q>{_clipped(said(shown(messages[one.index], one)), _SHORTEST * 4)}</q></li>"
            for one in short
        ]
        if items:
            yield f"<details><summary>Shown shortened: {counted(len(items), 'message')}</summary>"
            yield from ("<ul>", *items, "</ul></details>")
    yield "</details>"


def _sent_whole(stretch: Stretch, messages: Sequence[Message], cut: int) -> set[int]:
    """Return which messages the model was sent as they were said."""
    sent = set(map(id, stretch.view))
    whole = {at for at in range(stretch.said) if id(messages[at]) in sent}
    missing = [at for at in range(cut, stretch.said) if at not in whole]
    if missing:
        # A repaired message may say the same under another id.
        texts = {(one.role, said(one)) for one in stretch.view}
        whole.update(at for at in missing if (messages[at].role, said(messages[at])) in texts)
    return whole


def _calls(stretch: Stretch) -> str:
    if stretch.first == stretch.last:
        return f"Call {stretch.first:,}"
    return f"Calls {stretch.first:,}–{stretch.last:,}"


def _overview(stretch: Stretch, cut: int, changed: int) -> str:
    state = stretch.state
    if state is None and not changed:
        return "Everything, as it was said."
    texts = [f"messages {cut:,} and later as they were said"]
    if state is not None and cut:
        instead = "as a summary" if state.front_messages() else "left out"
        texts.insert(0, f"messages 0–{cut - 1:,} {instead}")
    if changed:
        texts.append(f"{counted(changed, 'message')} of them shortened or changed")
    text = "; ".join(texts)
    return f"{text[0].upper()}{text[1:]}."


def _ranges(indexes: Iterable[int]) -> str:
    return ",".join(f"{start}-{stop}" for start, stop in spans(indexes))


def _clipped(text: str, most: int) -> str:
    left = len(text) - most
    more = f"… {left:,} more characters" if left > 0 else ""
    return plain_text(text[:most], keeps_lines=True) + more


def inspected(found: Inspection) -> Iterator[str]:
    """Yield the lines of a summary beside their messages, and what it lost."""
    yield '<div class="scroll"><table><thead><tr><th scope="col">line</th>'
    yield '<th scope="col">messages</th></tr></thead><tbody>'
    for line in found.lines[:_MOST_LINES]:
        where = ", ".join(f"{number:,}" for number in line.messages)
        mark = " =" if line.is_verbatim else ""
        yield f"<tr><td>{plain_text(line.text[:_LONGEST_LINE])}</td><td>{where}{mark}</td></tr>"
    yield "</tbody></table></div>"
    if len(found.lines) > _MOST_LINES:
        yield f"<p>and {len(found.lines) - _MOST_LINES:,} more lines</p>"
    yield "<details><summary>What was lost</summary>"
    lost = [f"{one.text} (message {one.message:,})" for one in found.identifiers]
    yield from _list(f"{len(lost):,} of {found.known:,} identifiers are lost", lost)
    for name, told in (("user messages", found.requests), ("rules", found.rules)):
        gone = [f"message {one.message:,}: {one.text}" for one in told if not one.is_kept]
        yield from _list(f"{len(gone):,} of {len(told):,} {name} are not there word for word", gone)
    yield "</details>"


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    items = list(items)
    yield f"<p>{title}{':' if items else ''}</p><ul>"
    for text in items[:_MOST_LOST]:
        yield f"<li>{plain_text(text[:_LONGEST_LOST])}{'…' if len(text) > _LONGEST_LOST else ''}</li>"
    if len(items) > _MOST_LOST:
        yield f"<li>and {len(items) - _MOST_LOST:,} more</li>"
    yield "</ul>"
