"""The record of a reduction, in one step from what is stored."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.layered import files_of, record_of
from foldline.reduction.record import Artefact, Counts, Section, SummaryRecord, Task
from foldline.reduction.spans import SummaryLayer
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.linearity import is_linear


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def layers(*texts: str) -> list[SummaryLayer]:
    return [
        SummaryLayer(summary=text, start=place * 3, end=place * 3 + 3, message_hash="")
        for place, text in enumerate(texts)
    ]


def joined(*records: SummaryRecord) -> SummaryRecord:
    texts = [one.render() for one in records]
    record = record_of(len(texts) * 3, summary="\n\n".join(texts), layers=layers(*texts))
    assert record is not None
    return record


def record(sections: dict[Section, Sequence[str]]) -> SummaryRecord:
    return SummaryRecord(Counts(user=3), {name: tuple(found) for name, found in sections.items()})


def test_a_summary_is_its_record() -> None:
    """What is written as a record is read; without a summary there is none."""
    written = record({Section.SEEN: ["codes: A-1"]})

    assert record_of(3, summary=written.render(), layers=()) == written
    assert joined(written) == written
    assert record_of(3, summary="", layers=()) is None


def test_a_free_text_is_narrative() -> None:
    """What somebody wrote freely stands for as many messages as it replaces."""
    free = record_of(7, summary="They met.\n\n  It rained.", layers=())
    last = layers(record({Section.SEEN: ["codes: A-1"]}).render(), "It rained.")
    both = record_of(6, summary="both", layers=last)

    assert free is not None
    assert (free.narrative, free.counts) == ("They met.\nIt rained.", Counts(other=7))
    assert both is not None
    assert (both.narrative, both.identifiers) == ("It rained.", ("A-1",))
    assert both.counts == Counts(user=3, other=3)


def test_layers_are_one_record() -> None:
    """Counts are added, lists follow one another, and of values and of ends the newest stays one."""
    older = record(
        {
            Section.RULES: ["Use tabs."],
            Section.SEEN: ["codes: A-1, B-2"],
            Section.VALUES: ["total: 4", "state: new"],
            Section.TOOLS: ["counts: look_up 2", "look_up a: 1"],
            Section.SAID: ["user: none"],
            Section.LAST: ["user: one"],
        }
    )
    newer = record(
        {
            Section.RULES: ["Use tabs.", "No spaces."],
            Section.SEEN: ["codes: B-2, C-3"],
            Section.VALUES: ["total: 5"],
            Section.TOOLS: ["counts: look_up 2", "look_up a: 1"],
            Section.SAID: ["user: more"],
            Section.LAST: ["user: two"],
        }
    )
    found = joined(older, newer)

    assert found.counts == Counts(user=6)
    assert found.lines(Section.RULES) == ("Use tabs.", "No spaces.")
    assert found.identifiers == ("A-1", "B-2", "C-3")
    assert found.lines(Section.VALUES) == ("total: 5", "state: new")
    assert found.lines(Section.TOOLS) == ("counts: look_up 4", "look_up a: 1")
    assert found.lines(Section.SAID) == ("user: none", "user: one", "user: more")
    assert found.lines(Section.LAST) == ("user: two",)
    assert SummaryRecord.read(found.render()) == found


def test_a_file_of_several_layers_is_listed_once() -> None:
    """The newest change decides; a file that is only read again stays changed."""
    older = record(
        {Section.CREATED: ["a/: x.py, y.py"], Section.EDITED: ["a/: z.py"], Section.READ: ["./: r"]}
    )
    newer = record(
        {
            Section.EDITED: ["a/: x.py (last call failed)"],
            Section.DELETED: ["a/: y.py"],
            Section.READ: ["a/: z.py"],
        }
    )

    assert joined(older, newer).artefacts == (
        Artefact(path="a/x.py", action="edited", failed=True),
        Artefact(path="a/z.py", action="edited"),
        Artefact(path="a/y.py", action="deleted"),
        Artefact(path="./r", action="read"),
    )


def paths(*named: str) -> list[str]:
    return [one.path for one in files_of(Artefact(path=path, action="read") for path in named)]


def test_two_files_of_one_name_stay_apart() -> None:
    """A name alone is that of its own file, as is an end that several files have."""
    assert paths("web/a.json", "a.json", "./a.json") == ["web/a.json", "a.json"]
    assert paths("/r/a.json", "a.json") == ["/r/a.json", "a.json"]
    several = ["/one/src/a.py", "/two/src/a.py", "src/a.py", "/three/src/a.py"]
    assert paths(*several) == several


def test_a_path_is_the_end_of_a_whole_one() -> None:
    """A relative path with a folder and the absolute path that ends with it are one file."""
    assert paths("/r/src/a.py", "./src/a.py", "/r/src/a.py") == ["/r/src/a.py"]
    assert paths("src/a.py", "/r/src/a.py", "/other/src/a.py") == ["/r/src/a.py", "/other/src/a.py"]
    assert paths("C:\\r\\src\\a.py", "src/a.py") == ["C:\\r\\src\\a.py"]


def test_files_are_joined_in_linear_time() -> None:
    """Four times as many files take about four times as long."""

    def join(text: str) -> None:
        files_of(
            Artefact(path=f"{folder}/src/{at}.py", action="read")
            for at in range(len(text))
            for folder in ("/r", ".")
        )

    assert is_linear(join, "", "x")


def test_a_file_that_was_read_and_written_again_was_edited() -> None:
    """In layers as in one digest: what was there before it was written is not created."""
    older = record({Section.READ: ["a/: x.py"], Section.EDITED: ["a/: y.py"]})
    newer = record({Section.CREATED: ["a/: x.py, y.py"]})

    assert {one.action for one in joined(older, newer).artefacts} == {"edited"}


def test_tasks_of_several_layers_have_ids_of_their_own() -> None:
    """A task that a later layer names keeps its first id, and is done if that layer says so."""
    older = record(
        {Section.OPEN: ["[t1] Write it", "as it was written"], Section.DONE: ["[t2] Plan"]}
    )
    newer = record({Section.OPEN: ["[t1] Ship it"], Section.DONE: ["[t2] Write it"]})
    found = joined(older, newer)

    assert found.open_tasks == (
        Task(id="", text="as it was written"),
        Task(id="t3", text="Ship it"),
    )
    assert found.done_tasks == (Task(id="t2", text="Plan"), Task(id="t1", text="Write it"))


async def test_a_stored_reduction_has_its_record(tmp_path: Path) -> None:
    """A thread that is opened again gives the record of its reduction."""
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=2, summarization_threshold=1
    )
    said = [Message.user(f"Send order AB{n}CD99 to Oslo, please.") for n in range(9)]
    path = tmp_path / "threads.db"
    for single in (True, False):
        reducer = HistoryReducer(
            replace(config, use_single_summary=single), clock=lambda: NOW, summary_budget=80
        )
        made = (await reducer.reduce(said[:5])).state
        made = (await reducer.reduce(said, state=made)).state
        assert made is not None
        async with SQLiteStore(path) as store:
            thread = await store.thread(f"orders-{single}")
            await thread.append(said)
            await thread.save_reduction(made)
        async with SQLiteStore(path) as store:
            stored = (await store.thread(f"orders-{single}")).last_reduction
            assert stored is not None
            assert stored.record == made.record
        assert made.record is not None
        assert made.record.counts.total() == made.summarized_up_to_index == 7
