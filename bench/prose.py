"""
How many content words of what humans answered about a meeting a digest of it has.

A content word has four letters or more and is not one of the commonest. Only words that occur in the
meeting count. The first speaker is the user, as an importer would have it; a second figure takes every
turn as the assistant's.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.goals import Goal
from foldline import Message
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.reduction.request import SummaryRequest


BUDGETS = (1_000, 1_500)
DIGESTS = ("digest, roles as imported", "digest, every turn the assistant's")
_SEEDS = range(5)
_ESTIMATOR = TokenEstimator()
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = re.compile(
    r"about|after|also|because|been|before|being|both|could|does|done|from|have|having|here|into|just"
    r"|like|made|make|many|more|most|much|need|only|other|over|said|same|should|some|such|than|that"
    r"|their|them|then|there|these|they|thing|this|those|through|very|want|well|were|what|when|where"
    r"|which|while|will|with|would|your"
).fullmatch


def goals(data: Path) -> Iterator[Goal]:
    """Judge the digest against the longest turns and random lines of the same length."""
    text = (data / "qmsum-meetings/meetings.jsonl").read_text("utf-8")
    meetings = [json.loads(line) for line in text.splitlines()]
    for budget in BUDGETS:
        found: dict[str, list[float]] = {}
        other = ""
        for meeting in meetings:
            texts = _texts(meeting, budget) | {"another meeting's digest": [other]}
            wanted = _wanted(meeting)
            for way, each in texts.items():
                share = fmean(len(wanted & _words(one)) / len(wanted) for one in each)
                found.setdefault(way, []).append(100 * share)
            other = texts[DIGESTS[0]][0]
        yield from _judged(found, budget)


def _judged(found: dict[str, list[float]], budget: int) -> Iterator[Goal]:
    mean = {way: fmean(each) for way, each in found.items()}
    least = max(mean["longest turns"], mean["random lines"])
    for way, value in mean.items():
        is_judged = way == DIGESTS[0] and budget == BUDGETS[0]
        yield Goal(
            name=f"meetings, {budget:,} tokens, words of the answers: {way}",
            figure=value,
            least=least if is_judged else mean["random lines"] if way in DIGESTS else None,
            n=len(found[way]),
        )
    pairs = zip(found[DIGESTS[0]], found["random lines"], strict=True)
    worse = sum(ours < theirs for ours, theirs in pairs)
    yield Goal(name=f"meetings, {budget:,} tokens: below random lines in", figure=worse, most=0)


def _wanted(meeting: dict[str, Any]) -> set[str]:
    queries = meeting["general_query_list"] + meeting["specific_query_list"]
    said = _words(" ".join(turn["content"] for turn in meeting["meeting_transcripts"]))
    return _words(" ".join(query["answer"] for query in queries)) & said


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if not _COMMON(word)}


def _texts(meeting: dict[str, Any], budget: int) -> dict[str, list[str]]:
    turns = meeting["meeting_transcripts"]
    said = [turn["content"] for turn in turns]
    user = turns[0]["speaker"]
    imported = [
        Message.user(turn["content"])
        if turn["speaker"] == user
        else Message.assistant(turn["content"])
        for turn in turns
    ]
    by_length = sorted(range(len(said)), key=lambda at: (-len(said[at]), at))
    return {
        DIGESTS[0]: [_digest(imported, budget)],
        DIGESTS[1]: [_digest(list(map(Message.assistant, said)), budget)],
        "longest turns": [_filled(said, by_length, budget)],
        "random lines": [_by_chance(said, budget, seed) for seed in _SEEDS],
    }


def _digest(messages: Sequence[Message], budget: int) -> str:
    request = SummaryRequest(messages=tuple(messages), prompt="", budget=budget)
    return asyncio.run(DigestSummarizer().summarize(request))


def _by_chance(turns: Sequence[str], budget: int, seed: int) -> str:
    split = chain.from_iterable(map(_SENTENCE.split, turns))
    lines = [line for line in split if line.strip()]
    order = list(range(len(lines)))
    random.Random(seed).shuffle(order)
    return _filled(lines, order, budget)


def _filled(lines: Sequence[str], order: Sequence[int], room: int) -> str:
    taken: list[int] = []
    for at in order:
        cost = _ESTIMATOR.count(lines[at]) + 1
        if cost <= room:
            room -= cost
            taken.append(at)
    return "\n".join(lines[at] for at in sorted(taken))
