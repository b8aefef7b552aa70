"""
Where a history may be cut.

Theory of operation
-------------------

A cut at index `i` divides a history into `[0, i)`, which a reduction will represent, and `[i, n)`,
which the model still reads. Three things must not be torn apart:

1. **A call and its results.** Each message that answers calls knows the earliest of them, its
   *reach* (`History.reach`). A cut at `i` is torn exactly where some message at `q >= i` reaches
   below `i`. What is torn once stays torn, so a history crosses those indexes out when the message
   is appended and keeps the whole ones (`History.whole_indexes`). Parallel calls need no rule of
   their own: the last of their results reaches back to them all. Nor does a program that the
   vendor runs: what it returns reaches back over all that it calls.
2. **A call that still waits.** The newest exchange may hold calls whose results will come; no cut
   lies above the first of them. A call that an older exchange left without a result will never get
   one: it may be folded away, and the view repairs what is left of it.
3. **One answer.** Neighboring messages of one assistant, or of one agent of several, are one answer: whether reasoning, text and
   calls are one item or several depends on the vendor, and so must no cut. Also, vendors refuse a
   sealed reasoning item without the item that followed it. A history crosses these indexes out, too.
   A text right after a text is another answer, so that a log of many is not one message.

Everything moves *backward*, toward the start: what moves a cut can only keep more, never less. The
search begins at the lowest index that keeps no more than was asked for. From the first safe index
it looks further back, within the slack, for one just before a user message, since a view that opens
with a question reads better than one that opens with half an answer. With exchanges as the unit
only such an index will do.

Every caller uses `safe_cut`; no strategy has a rule of its own.
"""

from foldline.history.history import History
from foldline.history.units import CountingUnit


def safe_cut(
    history: History, *, unit: CountingUnit, keep: int, slack: int = 0, above: int = 0
) -> int | None:
    """Return where to cut to keep *keep* units, and up to *slack* more; None if nowhere."""
    wished = history.index_keeping(unit, keep)
    if wished <= above:
        return None
    candidates = history.whole_indexes(min(wished, history.first_open_call()), above)
    if unit == "exchanges":
        return next((index for index in candidates if _opens_exchange(history, index)), None)
    first = next(candidates, None)
    if first is None or _opens_exchange(history, first):
        return first
    earliest = history.index_keeping(unit, keep + slack)
    for index in candidates:
        if index < earliest:
            break
        if _opens_exchange(history, index):
            return index
    return first


def _opens_exchange(history: History, index: int) -> bool:
    return index < len(history) and history[index].is_from_user
