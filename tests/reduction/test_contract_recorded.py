"""Recorded summaries by models and humans, written for other prompts: how many would be refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.reduction.contract import Review, reviewed
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest


Cases = Iterator[tuple[list[Message], str]]


def judge(messages: list[Message], text: str) -> Review:
    request = SummaryRequest(messages=tuple(messages), prompt=DEFAULT_PROMPT, budget=10**6)
    return reviewed(text, request, count=lambda said: len(said) // 4, room=10**9)


def meetings(folder: Path) -> Cases:
    for line in (folder / "qmsum-meetings" / "meetings.jsonl").read_text("utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        said = [
            Message(role="assistant", parts=(TextPart(turn["content"]),), name=turn["speaker"])
            for turn in row["meeting_transcripts"]
        ]
        for query in row["general_query_list"] + row["specific_query_list"]:
            yield said, query["answer"]


@pytest.mark.slow
def test_few_human_answers_are_refused(shared_data: Path) -> None:
    """Of 92 answers about meetings at most one in fifty, and few lose a sentence."""
    reviews = [judge(said, answer) for said, answer in meetings(shared_data)]

    assert len(reviews) > 90
    assert sum(bool(one.defects) for one in reviews) <= len(reviews) / 50
    assert sum(one.dropped for one in reviews) <= len(reviews) / 10


@pytest.mark.slow
def test_recorded_compactions_stand(shared_data: Path) -> None:
    """A model's two compactions of a coding session lose nothing."""
    lines = (
        (shared_data / "pi-coding-agent/before-compaction.jsonl").read_text("utf-8").splitlines()
    )
    messages: list[Message] = []
    reviews: list[Review] = []
    for entry in map(json.loads, lines):
        if entry["type"] == "message":
            messages.append(Message.user(json.dumps(entry["message"], ensure_ascii=False)))
        elif entry["type"] == "compaction":
            reviews.append(judge(messages, entry["summary"]))

    assert [(one.defects, one.dropped) for one in reviews] == [((), 0)] * 2
