"""The record that code writes beside the text of a model."""

from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.material import read_material
from foldline.providers.digest.summarizer import read_record
from foldline.providers.digest.work import EXTRACTORS
from foldline.reduction.record import Artefact, Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from tests.providers.test_digest_work import used


COUNT = TokenEstimator().count


def test_code_adds_nothing_to_a_small_talk() -> None:
    """Where there is little to read, a record would cost more than it tells."""
    talk = (Message.user("Hello there"), Message.assistant("Hello"))
    request = SummaryRequest(messages=talk, prompt="", budget=600)

    assert read_record(read_material(request, count=COUNT, extractors=EXTRACTORS)) == SummaryRecord(
        Counts(user=1, assistant=1), {}
    )


def test_a_record_has_what_the_text_of_a_model_leaves() -> None:
    """Beside a short text of a model code has more of the budget than before it was written."""
    calls = [one for number in range(99) for one in used("look", {"id": f"ORDER-{number:05}"})]
    request = SummaryRequest(messages=tuple(calls), prompt="", budget=600)
    material = read_material(request, count=COUNT, extractors=EXTRACTORS)
    before, after = read_record(material), read_record(material, text="They looked at orders.")
    long = read_record(material, text="They looked at orders. " * 100)
    assert len(after.identifiers) > len(before.identifiers) == len(long.identifiers)


def test_a_small_record_holds_what_must_not_be_lost() -> None:
    """Beside a model's text a small budget goes to rules, edited files and commits, through folds."""
    said = [
        Message.user("Never push to main. Now fix the tax."),
        *used("write_file", {"path": "src/tax.py", "content": "x = 1"}),
        *used("bash", {"command": "git commit -m 'Fix tax'"}, "[work 3fa9c21] Fix tax\n 2 files"),
        Message.assistant("Done, it is fixed."),
    ]
    first = SummaryRequest(messages=tuple(said), prompt="", budget=73)
    text = "The user asked for a fix of the tax."
    record = read_record(read_material(first, count=COUNT, extractors=EXTRACTORS), text=text)
    later = SummaryRequest(
        messages=tuple(used("look", {"id": "ORDER-00001"})),
        earlier=(record.render(),),
        prompt="",
        budget=110,
    )
    again = read_record(read_material(later, count=COUNT, extractors=EXTRACTORS), text=text)

    for one in (record, again):
        assert one.lines(Section.RULES) == ("Never push to main.",)
        assert one.artefacts == (Artefact(path="src/tax.py", action="created"),)
        assert one.lines(Section.COMMITS) == ("3fa9c21 Fix tax",)
        assert not one.lines(Section.REQUESTS)
    assert (record.counts.total(), again.counts.total()) == (6, 8)
