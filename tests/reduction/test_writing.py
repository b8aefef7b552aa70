"""One text of a fold: a delta is merged with the record before it, or has to carry it itself."""

import asyncio

from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import Reply, SummaryRequest, Written, run_flow
from foldline.reduction.writing import Writing, write
from tests.reduction.talks import OLDER, TRAVEL


COUNT = TokenEstimator().count
BEFORE = SummaryRecord(
    Counts(user=9), {Section.OPEN: ("[t1] Order flour",), Section.NARRATIVE: (OLDER,)}
)
DELTA = (
    "## Open tasks\n- Charge the card if the window seat near the wing stays.\n"
    "## Narrative\nThe user moves the flight from Lisbon to Warsaw because of a violin recital."
)
LEFT_OUT = "The text leaves out an earlier summary."


def wrote(text: str, *, room: int, messages: tuple[Message, ...] = TRAVEL) -> Writing:
    request = SummaryRequest(
        messages=messages, earlier=(BEFORE.render(),), prompt="Tell of it.", budget=900
    )
    reply = Written(text=text, record=SummaryRecord(Counts(user=20), {}), budget=900)

    async def ask(_: SummaryRequest) -> Reply:
        return reply

    flow = write(request, count=COUNT, places=range(1), rooms=(room, room), source=2_000)
    return asyncio.run(run_flow(flow, ask, asyncio.to_thread))


def test_a_delta_after_another_subject_is_merged() -> None:
    """What it leaves out of the record is no defect: code keeps the tasks and the narrative."""
    writing = wrote(DELTA, room=2_000)
    record = SummaryRecord.read(writing.text or "")

    assert (writing.calls, writing.failures) == (1, ())
    assert record is not None
    assert [task.id for task in record.open_tasks] == ["t1", "t2"]
    assert record.lines(Section.EARLIER) == (OLDER,)


def test_a_plain_text_has_to_carry_the_summary_before_it() -> None:
    """Without headings it is refused, as it would be after a plain text."""
    assert wrote(DELTA.rpartition("\n")[2], room=2_000).failures == (LEFT_OUT, LEFT_OUT)


def test_a_delta_that_is_not_merged_has_to_carry_it_too() -> None:
    """Where a record has no room the text stands alone, and nobody keeps what it leaves out."""
    room = COUNT(DELTA) + 8

    assert wrote(DELTA, room=room).failures == (LEFT_OUT, LEFT_OUT)
