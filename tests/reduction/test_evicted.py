"""What a summary left out: how much it was, and where `recall` finds it."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from foldline.agent.recall import recall_tool
from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.material import read_material
from foldline.providers.digest.summarizer import read_record, write_digest
from foldline.providers.digest.work import EXTRACTORS
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.delta import merged
from foldline.reduction.evicted import LEAST_BUDGET, evicted, noted, sizes
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest


COUNT = TokenEstimator().count
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LAYERED = HistoryReductionConfig(
    counting_unit="messages", target_count=4, summarization_threshold=4, use_single_summary=False
)


def work(count: int, start: int = 0) -> list[Message]:
    """Return calls that each edit a file for an order of its own."""
    messages: list[Message] = []
    for n in range(start, start + count):
        arguments = f'{{"path": "src/part{n}.py", "order": "AB{n:03d}CD"}}'
        call = ToolCallPart(id=f"c{n}", name="edit_file", arguments=arguments)
        answer = ToolCallResponsePart(id=f"c{n}", response=f"edited, invoice INV-{n:05d}")
        messages += [
            Message.user("Go on."),
            Message(role="assistant", parts=(call,)),
            Message(role="tool", parts=(answer,)),
        ]
    return messages


def asked(messages: list[Message], **fields: object) -> SummaryRequest:
    made = SummaryRequest(
        messages=tuple(messages), prompt="", budget=400, recallable=(0, len(messages) - 1)
    )
    return replace(made, **fields)


def read(text: str) -> SummaryRecord:
    record = SummaryRecord.read(text)
    assert record is not None
    return record


def listed(record: SummaryRecord) -> Counter[str]:
    return Counter(file=len(record.artefacts), id=len(record.identifiers))


@pytest.mark.parametrize("budget", [LEAST_BUDGET, 331, 352, 407, 500, 900, 1_200])
def test_a_digest_says_what_it_left_out(budget: int) -> None:
    """What is listed and what is left out are together what there was, within the budget."""
    text = write_digest(asked(work(90), budget=budget))
    whole = read(write_digest(asked(work(90), budget=40_000)))
    record = read(text)

    assert COUNT(text) <= budget
    assert text.endswith(" of messages 0-269; recall finds them")
    assert record.left_out["id"] > 0
    assert listed(record) + record.left_out == listed(whole) + whole.left_out


def test_counts_of_earlier_records_are_added() -> None:
    """A digest of a digest has left out what both have."""
    first = write_digest(asked(work(60)))
    second = read(write_digest(asked(work(60, 60), earlier=(first,), recallable=(0, 359))))
    merge = read(write_digest(asked([], earlier=(first, first))))

    total = listed(second) + second.left_out
    assert {kind: total[kind] for kind in ("file", "id")} == {"file": 120, "id": 240}
    assert second.lines(Section.LEFT)[0].endswith(" of messages 0-359; recall finds them")
    assert merge.left_out["id"] >= 2 * read(first).left_out["id"] > 0


def test_nothing_is_said_without_need() -> None:
    """There is no such line if nothing was left out, nobody can recall it, or there is no room."""
    assert "recall" not in write_digest(asked(work(3)))
    assert "recall" not in write_digest(asked(work(90), recallable=None))
    assert "recall" not in write_digest(asked(work(90), budget=LEAST_BUDGET - 1))


def test_a_record_beside_a_model_says_it_too() -> None:
    """What gives way to the model's text is counted like what never had room."""
    request = asked(work(90), budget=600)
    record = read_record(read_material(request, count=COUNT, extractors=EXTRACTORS), count=COUNT)
    text = merged(record, "## Narrative\n" + "It went on. " * 60, request, count=COUNT, most=420)
    known = listed(record) + record.left_out

    assert record.left_out["id"] > 0
    assert COUNT(text) <= 420
    assert read(text).left_out["id"] > record.left_out["id"]
    assert (listed(read(text)) + read(text).left_out)["id"] == known["id"]


def test_each_layer_names_its_own_messages() -> None:
    """In a view whose model has the tool, a layer says which messages it stands for."""
    reducer = HistoryReducer(LAYERED, clock=lambda: NOW, summary_budget=330)
    tools = [recall_tool()]
    first = reducer.reduce_sync(work(60), tools=tools)
    second = reducer.reduce_sync(work(120), state=first.state, tools=tools)
    without = HistoryReducer(LAYERED, summary_budget=330).reduce_sync(work(60))

    assert second.state is not None
    one, two = second.state.layers
    assert f"of messages 0-{one.end - 1};" in one.summary
    assert f"of messages {two.start}-{two.end - 1};" in two.summary
    assert second.state.record is not None
    assert second.state.record.left_out == read(one.summary).left_out + read(two.summary).left_out
    assert without.state is not None
    assert "recall" not in without.state.summary_content


def test_how_items_are_counted() -> None:
    """A line of a list counts its items, any other line is one; sentences are not counted."""
    lines = {Section.USED: ("id: A, B", "no: C"), Section.OPEN: ("[t1] a, b: c, d",)}
    one = SummaryRecord(
        Counts(), {Section.LEFT: ("1 id, 2 tasks of messages 3-9; recall finds them",)}
    )

    assert sizes(Section.USED, lines[Section.USED]) == Counter(id=3)
    assert sizes(Section.OPEN, lines[Section.OPEN]) == Counter(task=1)
    assert sizes(Section.SAID, ("user: hello",)) == Counter()
    assert one.left_out == Counter(id=1, task=2)
    offered = {Section.USED: "ABCD", Section.OPEN: "", Section.SAID: "ABCD"}
    assert evicted(offered, lines, before=[one]) == Counter(id=2, task=2)
    assert noted({}, one.left_out, (3, 9)) == one.sections
    assert noted({}, one.left_out, None) == noted({}, Counter(), (3, 9)) == {}
