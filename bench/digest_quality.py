"""
How much of what matters the offline digest keeps, on recorded conversations and without a judge.

Five measures, each beside baselines of the same budget; run `python bench/digest_quality.py`.
Weights and shares were set while looking at the even half of the tau conversations, at the pi
session and at the meetings; nothing was chosen by the odd half or by the SWE-agent set.
"""

import json
import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.summarizer import write_digest
from foldline.reduction.request import SummaryRequest


DATA = Path(__file__).resolve().parents[1] / "../shared/data"
ESTIMATOR = TokenEstimator()
SEED = 7
CUT = 0.6
SHARE = 0.15
FOLDS = (0, 3, 9)
SPEED_RUNS = 5
Summary: TypeAlias = Callable[[Sequence[Message], int], str]
Scores: TypeAlias = tuple[float, float, float]


# ---- reading the shared data ----


def lines(path: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / path).read_text("utf-8").splitlines()]


def chat_message(item: dict[str, Any]) -> Message:
    content = item.get("content")
    text = (
        content if isinstance(content, str) else "".join(p.get("text", "") for p in content or ())
    )
    if item["role"] == "tool":
        ids = item.get("tool_call_ids") or [item.get("tool_call_id", "")]
        return Message.tool(ids[0], text)
    if item["role"] == "assistant":
        calls = [
            ToolCallPart(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in item.get("tool_calls") or ()
        ]
        return Message.assistant(text, tool_calls=calls)
    return Message.user(text)


def tau() -> list[list[Message]]:
    return [
        [chat_message(item) for item in row["traj"] if item["role"] != "system"]
        for row in lines("tau-airline/conversations.jsonl")
    ]


def swe() -> list[list[Message]]:
    files = sorted((DATA / "swe-agent").glob("*.json"))
    histories = (json.loads(path.read_text("utf-8"))["history"] for path in files)
    return [[chat_message(i) for i in rows if i["role"] != "system"] for rows in histories]


def pi_message(item: dict[str, Any]) -> Message:
    content = item.get("content") or ""
    if item["role"] == "bashExecution":
        return Message.user(f"{item['command']}\n{item['output']}")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    if item["role"] == "toolResult":
        return Message.tool(item["toolCallId"], text)
    calls = [
        ToolCallPart(block["id"], block["name"], json.dumps(block["arguments"]))
        for block in blocks
        if block["type"] == "toolCall"
    ]
    return (
        Message.user(text) if item["role"] == "user" else Message.assistant(text, tool_calls=calls)
    )


def pi_folds(*, folded_only: bool) -> list[tuple[list[Message], str]]:
    """
    Return, for each recorded compaction, the messages before it and the text that it wrote.

    Args:
        folded_only: Leave out what the compaction kept verbatim, as a fold of ours does; else
            take all that was said until then.
    """
    entries = lines("pi-coding-agent/before-compaction.jsonl")
    folds, start = [], 0
    for index, entry in enumerate(entries):
        if entry["type"] == "compaction":
            end = entry["firstKeptEntryIndex"] if folded_only else index
            span = [e["message"] for e in entries[start:end] if e["type"] == "message"]
            folds.append(([pi_message(item) for item in span], entry["summary"]))
            start = end
    return folds


def meetings(*, everything: bool) -> list[tuple[list[Message], str]]:
    """
    Return each meeting with its general human summary, or with *everything* that humans answered.
    """
    found = []
    for row in lines("qmsum-meetings/meetings.jsonl"):
        turns = [Message.assistant(turn["content"]) for turn in row["meeting_transcripts"]]
        queries = row["general_query_list"][:1]
        if everything:
            queries = row["general_query_list"] + row["specific_query_list"]
        found.append((turns, " ".join(query["answer"] for query in queries)))
    return found


# ---- texts, needs, scores ----


def count(text: str) -> int:
    return ESTIMATOR.count(text)


def plain(message: Message) -> str:
    calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
    results = [str(part.response) for part in message.tool_call_responses]
    return "\n".join([message.text, *calls, *results])


def plain_all(messages: Iterable[Message]) -> str:
    return "\n".join(map(plain, messages))


def spelled_out(text: str) -> str:
    """
    Return *text* with the directories that the digest writes once put before each of their files.
    """

    def spell(match: re.Match[str]) -> str:
        return ", ".join(match[1] + name for name in match[2].split(", "))

    return re.sub(r"(?m)^- (\S*/): (.+)$", spell, text)


def holds(text: str, value: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(value)}(?![A-Za-z0-9_])", text) is not None


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield value


_NEEDED = re.compile(r"(?=.*[A-Za-z-])(?:.*\d.*|.*\w[/@.]\w.*)")
_CODE = re.compile(r"[A-Z]{3,8}")


def needed_values(messages: Iterable[Message]) -> list[str]:
    """Return the ids, dates, codes and files among the arguments of the calls of *messages*."""
    found: dict[str, None] = {}
    calls = chain.from_iterable(message.tool_calls for message in messages)
    for text in chain.from_iterable(leaves(json.loads(call.arguments)) for call in calls):
        if _CODE.fullmatch(text):
            found[text] = None
        tokens = re.findall(r"[\w./@#-]+", text)
        found.update((token.strip("."), None) for token in tokens if _NEEDED.fullmatch(token))
    return [value for value in found if len(value) > 2]


def needs(messages: Sequence[Message], cut: int) -> list[str]:
    before = plain_all(messages[:cut])
    user_later = "\n".join(m.text for m in messages[cut:] if m.role == "user")
    return [
        value
        for value in needed_values(messages[cut:])
        if holds(before, value) and not holds(user_later, value)
    ]


# ---- baselines ----


def sentences_of(messages: Iterable[Message]) -> list[str]:
    return [
        s for m in messages for s in re.split(r"(?<=[.!?])\s+|\n+|(?<=\}), ", plain(m)) if s.strip()
    ]


def fill(sentences: Sequence[str], order: Iterable[int], budget: int) -> str:
    taken: list[int] = []
    spent = 0
    for index in order:
        cost = count(sentences[index] + "\n")
        if spent + cost <= budget:
            spent += cost
            taken.append(index)
    return "\n".join(sentences[index] for index in sorted(taken))


def first(messages: Sequence[Message], budget: int) -> str:
    found = sentences_of(messages)
    return fill(found, range(len(found)), budget)


def last(messages: Sequence[Message], budget: int) -> str:
    found = sentences_of(messages)
    return fill(found, reversed(range(len(found))), budget)


def chance(messages: Sequence[Message], budget: int) -> str:
    found = sentences_of(messages)
    order = list(range(len(found)))
    random.Random(SEED).shuffle(order)
    return fill(found, order, budget)


def textrank(messages: Sequence[Message], budget: int) -> str:
    """Return the plain algorithm's choice: every sentence, every word, no sampling."""
    found = sentences_of(messages)
    words = [sorted(set(re.findall(r"\w+", sentence.lower()))) for sentence in found]
    postings: dict[str, list[int]] = {}
    for place, known in enumerate(words):
        for word in known:
            postings.setdefault(word, []).append(place)
    graph: list[list[tuple[int, float]]] = []
    for place, known in enumerate(words):
        shared = Counter(other for word in known for other in postings[word] if other != place)
        log = math.log(len(known) + 1)
        graph.append([(o, n / (log + math.log(len(words[o]) + 1))) for o, n in shared.items()])
    totals = [sum(weight for _, weight in edges) or 1.0 for edges in graph]
    scores = [1.0] * len(found)
    for _ in range(15):
        scores = [
            0.15 + 0.85 * sum(weight / totals[other] * scores[other] for other, weight in edges)
            for edges in graph
        ]
    return fill(found, sorted(range(len(found)), key=lambda i: (-scores[i], i)), budget)


def digest(messages: Sequence[Message], budget: int, earlier: tuple[str, ...] = ()) -> str:
    request = SummaryRequest(messages=tuple(messages), earlier=earlier, prompt="", budget=budget)
    return write_digest(request)


WAYS: dict[str, Summary] = {
    "first": first,
    "last": last,
    "random": chance,
    "textrank": textrank,
    "digest": digest,
}


# ---- measures ----


def recall(conversations: Sequence[Sequence[Message]], way: Summary) -> str:
    """Measure which values that later calls need, and no later user says, the summary has."""
    kept = asked = 0
    for messages in conversations:
        cut = int(len(messages) * CUT)
        wanted = needs(messages, cut)
        if wanted:
            budget = int(count(plain_all(messages[:cut])) * SHARE)
            text = spelled_out(way(messages[:cut], budget))
            kept += sum(holds(text, value) for value in wanted)
            asked += len(wanted)
    return f"{kept / asked:.3f} of {asked}"


def against_model(way: str, budget: int, *, folded_only: bool) -> str:
    """Measure which file names and ids of a model's own summary ours has; the digest rolls."""
    shares: list[str] = []
    earlier: tuple[str, ...] = ()
    for span, summary in pi_folds(folded_only=folded_only):
        if way == "digest":
            text = digest(span, budget, earlier)
            earlier = (text,)
        else:
            text = WAYS[way](span, budget)
        wanted = [name for name in sorted(names_in(summary)) if holds(plain_all(span), name)]
        shares.append(f"{sum(holds(text, name) for name in wanted) / len(wanted):.2f}")
    return " / ".join(shares)


def rouge(reference: str, text: str) -> Scores:
    """Return ROUGE-1, -2 and -L as F1, without stemming."""
    known, given = (re.findall(r"\w+", t.lower()) for t in (reference, text))
    pairs = Counter(pairwise(known))
    shared = pairs & Counter(pairwise(given))
    words = Counter(known) & Counter(given)
    size = max(len(known) + len(given), 1)
    return (
        2 * words.total() / size,
        2 * shared.total() / max(size - 2, 1),
        2 * _common_length(known, given) / size,
    )


def _common_length(first_words: Sequence[str], second_words: Sequence[str]) -> int:
    row = [0] * (len(second_words) + 1)
    for word in first_words:
        diagonal = 0
        for place, other in enumerate(second_words, 1):
            above = row[place]
            row[place] = diagonal + 1 if word == other else max(above, row[place - 1])
            diagonal = above
    return row[-1]


def rouge_mean(way: Summary, budget: int, *, everything: bool) -> str:
    scores = [rouge(ref, way(turns, budget)) for turns, ref in meetings(everything=everything)]
    return " ".join(f"{sum(column) / len(scores):.3f}" for column in zip(*scores, strict=True))


def names_in(text: str) -> set[str]:
    files = re.findall(r"[\w-]+(?:\.[\w-]+)*\.(?:ts|md|json|js|tsx|html|py|sh)\b", text)
    return {*files, *re.findall(r"\b[A-Z]{2,}\d+\b", text)}


def survival(conversations: Sequence[list[Message]], budget: int, *, together: int) -> str:
    """
    Measure which call arguments of a fold are still there after further rolling folds.

    Args:
        together: How many conversations make one fold.
    """
    size = len(conversations)
    spans = [list(chain(*conversations[i : i + together])) for i in range(0, size, together)]
    kept = dict.fromkeys(FOLDS, 0)
    asked = 0
    for start in range(0, len(spans) - max(FOLDS), 2):
        wanted = needed_values(spans[start])
        asked += len(wanted)
        text = ""
        for age, span in enumerate(spans[start : start + max(FOLDS) + 1]):
            text = digest(span, budget, (text,) if text else ())
            if age in kept:
                kept[age] += sum(holds(spelled_out(text), value) for value in wanted)
    return " ".join(f"{kept[age] / asked:.3f}" for age in FOLDS) + f" of {asked}"


def seconds(size: int) -> str:
    """Return the CPU time of the digest of the first *size* characters of the pi session."""
    span: list[Message] = []
    for message in pi_folds(folded_only=False)[0][0]:
        room = size - len(plain_all(span))
        if room <= 0:
            break
        is_short = len(plain(message)) <= room
        span.append(message if is_short else Message.tool("", plain(message)[:room]))
    times = []
    for _ in range(SPEED_RUNS):
        start = time.process_time()
        digest(span, 1_000)
        times.append(time.process_time() - start)
    return f"{min(times):.3f} s"


# ---- the table ----


Row: TypeAlias = tuple[str, str, str]


def table() -> Iterator[Row]:
    """Yield the rows: what is measured, of what, and the figure."""
    conversations = tau()
    sets = {
        "tau even": conversations[0::2],
        "tau odd, held out": conversations[1::2],
        "SWE-agent, held out": swe(),
    }
    for title, chosen in sets.items():
        for name, way in WAYS.items():
            yield f"needed-later recall, {title}, 15 %", name, recall(chosen, way)
    yield from model_rows()
    yield from rouge_rows()
    for together in (1, 3):
        for budget in (600, 1_200):
            title = f"survival after 0/3/9 folds of {together} conversation(s), {budget}"
            yield title, "digest", survival(conversations, budget, together=together)
    for size in (15_000, 300_000):
        yield f"CPU, {size} characters", "digest", seconds(size)


def model_rows() -> Iterator[Row]:
    for folded_only, span in ((True, "folded span"), (False, "all until then")):
        for budget in (1_000, 1_500):
            for name in WAYS:
                shares = against_model(name, budget, folded_only=folded_only)
                yield f"names of the model's 2 summaries, {span}, {budget}", name, shares


def rouge_rows() -> Iterator[Row]:
    for everything, budget, reference in ((False, 200, "summary"), (True, 1_000, "all answers")):
        for name, way in WAYS.items():
            scores = rouge_mean(way, budget, everything=everything)
            yield f"ROUGE-1/2/L, 14 meetings, {reference}, {budget}", name, scores


def main() -> int:
    """Print the table; return 1 where the data is absent."""
    if not DATA.is_dir():
        print(f"no data in {DATA}", file=sys.stderr)
        return 1
    seen = ""
    for title, way, figure in table():
        if title != seen:
            print(f"\n{title}")
            seen = title
        print(f"  {way:<10}{figure}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
