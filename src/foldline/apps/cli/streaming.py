"""
Large logs, folded while they are read, so that the memory they take does not grow with them.

Of what has been folded away only its digest and counts are kept, and the last user message, as of a
thread whose beginning stays in the store.
"""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

from msgspec import Struct

from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.files import STANDARD_INPUT
from foldline.apps.cli.options import RunOptions
from foldline.history.history import History
from foldline.logs.importer import Session
from foldline.logs.stream import Stream, stream_of
from foldline.reduction.active import active_reduction
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState


LARGE = 16 << 20
"""How many bytes a log has at least to be folded while it is read."""

_PORTION = 12 << 20
_STEP = 1 << 20


class FileLines:
    """The lines of a file, any number of times."""

    def __init__(self, path: Path, on_read: Callable[[int, int], None]) -> None:
        """Read *path*, and tell *on_read* from time to time how many of all bytes were read."""
        self._path, self._on_read = path, on_read
        self.size = path.stat().st_size
        """The bytes of the file."""
        self.read = 0
        """The bytes that were read, all times together."""

    def __iter__(self) -> Iterator[bytes]:
        told = self.read
        with self._path.open("rb") as file:
            for line in file:
                self.read += len(line)
                if self.read - told >= _STEP:
                    told = self.read
                    self._on_read(told, max(2 * self.size, told))
                yield line


class Folded(Struct, frozen=True, kw_only=True):
    """A log, which may have been folded while it was read."""

    session: Session
    """What it is; the messages of a folded one are in the history alone."""

    history: History
    state: HistoryReductionState | None

    folds: int = 0
    """How many folds were made on the way."""


def large_log(
    options: RunOptions,
    config: HistoryReductionConfig,
    given: HistoryReductionState | None,
    on_read: Callable[[int, int], None],
) -> Folded | None:
    """Return the log that *options* name, folded; None if it is small or has to be read as a whole."""
    path = Path(options.file)
    # The full history, and a stop at a fold, need all of it at once.
    folds = config.enabled and config.behavior == "continue" and not options.skip
    is_one = options.session is None and options.file != STANDARD_INPUT
    if not folds or not is_one or not path.is_file() or path.stat().st_size < LARGE:
        return None
    lines = FileLines(path, on_read)
    stream = stream_of(lines, format=options.format)
    if stream is None:
        return None
    reducer = HistoryReducer(config)
    name = stream.id or PurePath(options.file).name.partition(".")[0] or "session"
    known = folded(stream, lines, reducer, given, name=name)
    return known or folded(stream, lines, reducer, None, name=name)


def folded(
    stream: Stream,
    lines: FileLines,
    reducer: HistoryReducer,
    given: HistoryReductionState | None,
    *,
    name: str,
    portion: int = _PORTION,
) -> Folded | None:
    """Return the log, folded after each *portion*; None if what was *given* is of another log."""
    history, state, folds = History(), given, 0
    # So far nothing is needed but the digest, if the reduction is of this log.
    known = 0 if given is None else given.summarized_up_to_index
    end, step = lines.read + portion, portion
    for message in stream.messages():
        history.append(message)
        if lines.read < end:
            continue
        if len(history) <= known:
            history = _forgotten(history, known)
        else:
            if known and not _is_active(history, given, reducer):
                return None
            known = 0
            reduced = reducer.reduce_sync(history, state=state)
            state, before = reduced.state, history.start
            folds += reduced.event.status == "performed"
            cut = 0 if state is None else state.summarized_up_to_index
            history = history.after(cut) if cut > history.start else history
            # What could not be folded now is not looked at again and again.
            step = portion if history.start > before else 2 * step
        end = lines.read + step
    if known and not _is_active(history, given, reducer):
        return None
    session = Session(id=name, format=stream.format, messages=(), notes=stream.notes)
    return Folded(session=session, history=history, state=state, folds=folds)


def _is_active(
    history: History, given: HistoryReductionState | None, reducer: HistoryReducer
) -> bool:
    unit, made = reducer.config.unit, reducer.config_fingerprint
    found = active_reduction(history, given, unit=unit, config_fingerprint=made)
    return found is not None and given is not None and found.is_like(given)


def _forgotten(history: History, most: int) -> History:
    """Return *history* without what comes before a place up to *most* where nothing is torn."""
    place = next(history.whole_indexes(min(most, len(history) - 1), history.start), None)
    return history if place is None else history.after(place)
