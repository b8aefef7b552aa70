"""
What each section of a digest offers: what was said, the central sentences, calls and failures.

The most central sentences are found by TextRank on a sparse graph (Mihalcea and Tarau, "TextRank:
Bringing Order into Text", 2004). Two sentences are neighbors if they share words; the weight of the
edge is the number of shared words over the logarithms of both lengths. Time is linear in the length
of the text: at most `_MAX_SENTENCES` enter the graph, the longest of each of as many equal strata,
and a word in more than `_MAX_POSTINGS` of them makes no edges.

Whether a call failed is judged by how its result begins and ends: only its first and its last lines
are a tool's own words. The middle may be a file that was read, where `except Error as error:` says
nothing about the call; so an error named inside a text never counts. What the record itself marks
as an error is one, whatever its text says.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, pairwise, zip_longest
from typing import TypeAlias

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.providers.digest.outline import Item
from foldline.providers.digest.span import Call, Span, Speech
from foldline.providers.digest.text import ELLIPSIS, attribute, bare, one_line, shorten


__all__ = [
    "failure_of",
    "focused",
    "offer_calls",
    "offer_quotes",
    "offer_requests",
    "offer_rules",
    "offer_sentences",
    "offer_tail",
    "rank_sentences",
    "split_sentences",
    "words_of",
]


_MOST_REQUESTS = 200
_MOST_LAST = 6
_MOST_SENTENCES = 120
_RULE = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|prefer\w*|only|should(?:n['’]?t| not)?|avoid"
    r"|make sure|instead of|no longer|not allowed|insist|require\w*|cannot|can['’]t)\b",
    re.IGNORECASE,
)
# Orders come before preferences.
_STRICT = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|no longer|not allowed|insist|make sure)\b",
    re.IGNORECASE,
)
_RULE_LENGTH = 240


def offer_requests(speeches: Iterable[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """
    Offer the beginnings of user messages: the newest first, then the very first, then the rest.

    The newest may have *detail* characters, the very first two thirds of it, the others a third.
    """
    new = [one_line(speech.text) for speech in speeches if speech.role == "user"]
    texts = _distinct([*prior, *new])
    newest = len(texts) - 1
    ranked = [newest, 0, *range(newest - 1, 0, -1)][:_MOST_REQUESTS] if texts else []
    limits = {0: detail * 2 // 3, newest: detail}
    items = (
        Item(shorten(texts[place], limit=limits.get(place, detail // 3)), place)
        for place in dict.fromkeys(ranked)
    )
    return [item for item in items if item.text]


def offer_rules(
    speeches: Iterable[Speech], *, prior: Sequence[str], asked: Iterable[str]
) -> list[Item]:
    """
    Offer the sentences in which the user forbids, demands or prefers, the strict ones first.

    Of equally strict ones the newest and the oldest alternate: a rule holds until it is withdrawn.
    """
    new = (speech.text for speech in speeches if speech.role == "user")
    texts = _distinct([*_rules(asked), *prior, *_rules(new)])
    strict = [place for place, text in enumerate(texts) if _STRICT.search(text)]
    others = sorted(set(range(len(texts))).difference(strict))
    ranked = _from_both_ends(strict) + _from_both_ends(others)
    return [Item(texts[place], place) for place in ranked[:_MOST_REQUESTS]]


def _rules(texts: Iterable[str]) -> Iterator[str]:
    for sentence in chain.from_iterable(map(split_sentences, texts)):
        is_whole = len(sentence) <= _RULE_LENGTH and not sentence.endswith(ELLIPSIS)
        if is_whole and _RULE.search(sentence):
            yield sentence


def _from_both_ends(places: Sequence[int]) -> list[int]:
    pairs = zip_longest(reversed(places), places)
    return list(dict.fromkeys(place for pair in pairs for place in pair if place is not None))


def _distinct(texts: Iterable[str]) -> list[str]:
    """Keep the last of equal *texts*, in order."""
    return list(dict.fromkeys(reversed([text for text in texts if text])))[::-1]


def words_of(text: str) -> set[str]:
    """Return the words of *text* that say what it is about, in lower case."""
    return set(_WORD.findall(text.lower())) - _STOPWORDS


def focused(items: Sequence[Item], focus: AbstractSet[str]) -> list[Item]:
    """Return *items* with those first that have the most words of *focus*."""
    return sorted(items, key=lambda item: -len(focus & words_of(item.text)))


def offer_sentences(
    speeches: Iterable[Speech],
    *,
    prior: Sequence[str],
    shown: str,
    focus: AbstractSet[str] = frozenset(),
) -> list[Item]:
    """
    Offer new and *prior* sentences by their centrality, but none that is *shown* elsewhere.

    Those with words of *focus* come first.
    """
    new = [
        attribute(speech.role, sentence)
        for speech in speeches
        for sentence in split_sentences(speech.text)
    ]
    texts = list(dict.fromkeys([*prior, *new]))
    fresh = [text for text in texts if bare(text) not in shown]
    items = [Item(text, index) for index, text in enumerate(fresh)]
    wanted = [item for item in items if focus & words_of(item.text)] if focus else []
    ranked = [items[index] for index in rank_sentences(fresh)]
    return list(dict.fromkeys([*focused(wanted, focus), *ranked]))[:_MOST_SENTENCES]


def offer_quotes(foreign: Iterable[str], *, prior: Sequence[str]) -> list[Item]:
    """Offer the sentences of *foreign* summaries in their order, after the *prior* quotes."""
    quoted = [sentence for text in foreign for sentence in split_sentences(text)]
    texts = list(dict.fromkeys([*prior, *quoted]))[:_MOST_SENTENCES]
    return [Item(text, place) for place, text in enumerate(texts)]


def offer_tail(speeches: Sequence[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """Offer the beginnings of the last messages with text, or of *prior* ones, the last first."""
    new = [attribute(speech.role, one_line(speech.text)) for speech in speeches[-_MOST_LAST:]]
    texts = new or list(prior[-_MOST_LAST:])
    newest = len(texts) - 1
    items = (
        Item(shorten(texts[place], limit=detail if place == newest else detail // 2), place)
        for place in range(newest, -1, -1)
    )
    return [item for item in items if item.text]


_MAX_SENTENCES = 400
_MAX_POSTINGS = 60
_DAMPING = 0.85
_ROUNDS = 15
_SENTENCE_LENGTHS = range(20, 401)
_MARKUP = " \t#>*-•|"
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W_]{3,40}")
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "about after all also and any are because been but can could did does don for from get"
        " going had has have here how into its just know let like more mean not now okay one our"
        " out really say should some something than that the their them then there these they"
        " thing think this those uhhuh very want was way well were what when where which who will"
        " with would yeah yep yes you your",
    )
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of *text*, without code and those too short or too long."""
    if "```" in text:
        text = _FENCE.sub("\n", text)
    for piece in _SENTENCE_END.split(text):
        sentence = " ".join(piece.strip(_MARKUP).split())
        if len(sentence) in _SENTENCE_LENGTHS:
            yield sentence


def _stratify(sentences: Sequence[str], *, limit: int) -> list[int]:
    size = len(sentences)
    if size <= limit:
        return list(range(size))
    edges = [stratum * size // limit for stratum in range(limit + 1)]
    return [
        max(range(start, end), key=lambda index: len(sentences[index]))
        for start, end in pairwise(edges)
    ]


def rank_sentences(sentences: Sequence[str]) -> list[int]:
    """Return the indexes of the sentences that entered the graph, the most central first."""
    chosen = _stratify(sentences, limit=_MAX_SENTENCES)
    words = [sorted(words_of(sentences[index])) for index in chosen]
    scores = _page_rank(_graph(words))
    order = sorted(range(len(chosen)), key=lambda place: (-scores[place], place))
    return [chosen[place] for place in order]


def _graph(words: Sequence[Sequence[str]]) -> list[list[tuple[int, float]]]:
    postings: dict[str, list[int]] = {}
    for place, known in enumerate(words):
        for word in known:
            postings.setdefault(word, []).append(place)
    lengths = [math.log(len(known) + 1) for known in words]
    graph: list[list[tuple[int, float]]] = []
    for place, known in enumerate(words):
        shared = Counter(_neighbors(postings, known))
        del shared[place]
        graph.append(
            [(other, n / (lengths[place] + lengths[other])) for other, n in shared.items()]
        )
    return graph


def _neighbors(postings: dict[str, list[int]], known: Iterable[str]) -> Iterator[int]:
    for word in known:
        linked = postings[word]
        if len(linked) <= _MAX_POSTINGS:
            yield from linked


def _page_rank(graph: Sequence[Sequence[tuple[int, float]]]) -> list[float]:
    totals = [sum(weight for _, weight in edges) or 1.0 for edges in graph]
    shares = [[(other, weight / totals[other]) for other, weight in edges] for edges in graph]
    scores = [1.0] * len(graph)
    for _ in range(_ROUNDS):
        scores = [
            (1 - _DAMPING) + _DAMPING * sum(weight * scores[other] for other, weight in edges)
            for edges in shares
        ]
    return scores


_MOST = 40
_COUNTS = "counts: "
_FAILED = "failed: "
_ARROW = " -> "
_VALUE_LENGTH = 100
_CALL_LENGTH = 200


def offer_calls(span: Span, *, prior: Sequence[str]) -> list[Item]:
    """Offer the counts, then last calls and failures alternately, the newest first."""
    counts = _prior_counts(prior) + Counter(call.name for call in span.calls)
    failed = [line for line in prior if line.startswith(_FAILED)]
    failed += _failures(span)
    called = [line for line in prior if not line.startswith((_FAILED, _COUNTS))]
    called += [_describe(call) for call in span.calls[-_MOST:]]
    pairs = zip_longest(_newest(called), _newest(failed))
    lines = [line for pair in pairs for line in pair if line]
    items = [Item(line, _MOST * 2 - rank) for rank, line in enumerate(lines)]
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    listed = _COUNTS + ", ".join(f"{name} {count}" for name, count in ranked)
    return [Item(listed, 0), *items] if counts else items


def _newest(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed([line for line in lines if line])))[: _MOST // 2]


def _prior_counts(prior: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in prior:
        if line.startswith(_COUNTS):
            for pair in line.removeprefix(_COUNTS).split(", "):
                name, _, count = pair.rpartition(" ")
                counts[name] += int(count) if count.isdecimal() else 0
    return counts


def _describe(call: Call) -> str:
    pairs = (
        f"{argument.label}: {shorten(one_line(argument.value), limit=_VALUE_LENGTH)}"
        for argument in call.arguments
    )
    return shorten(one_line(f"{call.name} {'; '.join(pairs)}"), limit=_CALL_LENGTH)


def _failures(span: Span) -> Iterator[str]:
    calls = iter(span.calls)
    coming = next(calls, None)
    open_calls: dict[str, Call] = {}
    for result in span.results:
        # An id may come again: a result answers the last call with its id before it.
        while coming is not None and coming.position < result.position:
            open_calls[coming.id] = coming
            coming = next(calls, None)
        error = failure_of(result.text, is_marked=result.is_error)
        if error:
            call = open_calls.get(result.id) if result.id else None
            yield f"{_FAILED}{_describe(call)}{_ARROW}{error}" if call else _FAILED + error


_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | float | bool | None"

_LENGTH = 160
_EDGE = 4_000
_JOINED = " … "


def _any_of(*forms: str) -> str:
    return f"(?:{'|'.join(forms)})"


# Empty lines, three spaces at most, and what tools put in front. A first line that is indented
# further is the middle of a file. The group is not possessive: Python before 3.11.5 does not go back
# to where such a group began (gh-106052).
_OPENING = r"(?:[ \t]*+\r?\n)* {0,3}(?:\[|<(?:error|tool_use_error|stderr)>\s{0,4}|[❌✗]\s?)?"
_PLACE = r"[^\s:(]{1,200}(?:\(\d+,\d+\)|:\d+:\d+): (?:fatal )?error\b"
_BEGIN = re.compile(
    _OPENING
    + _any_of(
        # Error: …, ValueError: …, some.module.OddException: …, error[E0308]: …
        r"(?:[A-Za-z_][\w.]{0,80}?)?(?:[Ee]rror|ERROR|Exception)(?:\[\w{1,20}\])?:(?=\s|$)",
        r"Error (?:calling|executing|running|reading|writing|opening|parsing|fetching|while|during"
        r"|code)\b",
        r"(?:Unexpected|Fatal|Internal|Unknown|Runtime|Syntax|System|Server|Tool|API|Validation"
        r"|Network|Connection)(?: [a-z]+)? [Ee]rror:",
        r"An? (?:\w+ )?(?:error|exception) occurred",
        r"Traceback \(most recent call last\)",
        r"(?:fatal|FATAL|panic|Uncaught [\w.]{1,80}):\s",
        r"npm (?:error|ERR!) ",
        r"Your proposed edit has introduced new syntax error",
        r"HTTP(?:/\d(?:\.\d)?)?(?: [Ee]rror)?:? [45]\d\d\b",
        r"[Ss]tatus(?: [Cc]ode)?: [45]\d\d\b",
        r"(?:400 Bad Request|401 Unauthorized|403 Forbidden|404 Not Found|405 Method Not Allowed"
        r"|409 Conflict|422 Unprocessable|429 Too Many Requests|500 Internal Server Error"
        r"|502 Bad Gateway|503 Service Unavailable|504 Gateway Time)",
        _PLACE,
    )
).match
# What counts only in a short text: a longer one may be what the tool was asked for.
_SHORT = 600
_SHORT_LINES = 8
_COMPLAINT = re.compile(
    _OPENING
    + _any_of(
        r"(?:[Cc]ould not|[Cc]annot|[Cc]an['’]t|[Uu]nable to|[Ff]ailed to)\b",
        r"(?:[A-Z][a-z]+ )?(?:[Cc]ommand|[Oo]peration|[Rr]equest|[Tt]ool|[Pp]rocess|[Ee]xecution)"
        r" (?:was |has |call )?(?:aborted|cancelled|failed|interrupted|killed|rejected|timed out"
        r"|denied|not found)\b",
        r"(?:[Pp]ermission|[Aa]ccess) denied|[Nn]o such file|[Tt]imed out\b",
        r"(?:File|Path|Directory|Module|Tool) (?:does not exist|not found)\b",
        r"No (?:changes made to|replacement was performed)\b",
        # bash: ponyc: command not found, ls: cannot access 'x': No such file or directory
        r"[\w./+-]{1,120}: (?:[^\s:][^\n:]{0,200}: ){0,3}(?:[Nn]o such file or directory"
        r"|[Pp]ermission denied|(?:command )?not found|cannot |can't |[Nn]ot a directory"
        r"|[Ii]s a directory|unrecognized |invalid |illegal |missing )",
    )
).match
_EXIT = re.compile(
    r"[\[(<]?(?:[A-Za-z]{1,20} ){0,5}(?:[Ee]xit(?:ed with)?[ _]?(?:code|status)|[Rr]eturn ?code)"
    r"(?: of|:|>)? ?(-?\d{1,10})(?:[.\])]{0,2}|</returncode>)"
).fullmatch
_EXIT_LINES = 4
_END = re.compile(
    _any_of(
        _PLACE,
        r"make(?:\[\d+\])?: \*\*\* ",
        r"npm (?:error|ERR!) ",
        r"=++(?= )(?>.*? \d++ (?:failed|errors?)\b)(?>.*? in \d)",
        r"FAILED \((?:failures|errors)=",
        r"Command (?:aborted|cancelled|timed out)\b",
    )
).match
_TRACE = "Traceback (most recent call last):"
_RAISED = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)(?:: .*)?"
).fullmatch
# In code, a line with one of these at its end continues.
_CODE_ENDINGS = (",", ";", "{", "(", "[")
_HINT = re.compile(r'"(?:is_error|isError|error|exit_code|exitCode|returncode)"')
_MARKS = ("is_error", "isError")
_CODES = ("exit_code", "exitCode", "returncode")
_UNSAID = "error"


def failure_of(text: str, *, is_marked: bool = False) -> str:
    """
    Return the line in which a result says that its call failed; empty if it does not.

    It always has failed if the record itself marks it as an error.
    """
    lines = _edge_lines(text)
    said = _exit(lines)
    if said is None:
        said = _field(text) or _begin(text, lines) or _end(lines)
    if not said and not is_marked:
        return ""
    return shorten(one_line(said or "".join(lines[:1])), limit=_LENGTH) or _UNSAID


def _edge_lines(text: str) -> list[str]:
    edges = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    return [line.rstrip() for line in edges.splitlines() if line.strip()]


def _exit(lines: Sequence[str]) -> str | None:
    """Return the line of an exit code that is not zero, empty if it is zero, None without one."""
    for line in (*lines[-1:], *lines[:_EXIT_LINES]):
        match = _EXIT(line)
        if match:
            error = next(filter(_BEGIN, lines), line)
            said = line if error == line else f"{line}{_JOINED}{error}"
            return said if int(match[1]) else ""
    return None


def _field(text: str) -> str:
    """Return *text* if it is a JSON object with a field that says that the call failed."""
    if not text.lstrip().startswith(("{", "[")) or not _HINT.search(text):
        return ""
    try:
        value: _Json = decode_json(text)
    except FormatError:
        return ""
    if not isinstance(value, dict):
        return ""
    about = value.get("metadata")
    fields = about | value if isinstance(about, dict) else value
    is_failure = (
        any(value.get(name) is True for name in _MARKS)
        or any(isinstance(code, int | float) and code for code in map(fields.get, _CODES))
        # A long object with a field of this name may be anything.
        or (len(text) <= _SHORT and isinstance(value.get("error"), str | dict) and value["error"])
    )
    return text[:_EDGE] if is_failure else ""


def _begin(text: str, lines: Sequence[str]) -> str:
    is_short = len(text) <= _SHORT and len(lines) <= _SHORT_LINES
    if not lines or not (_BEGIN(text) or (is_short and _COMPLAINT(text))):
        return ""
    first, *others = lines
    if others and first.endswith(_CODE_ENDINGS):
        return ""
    if _TRACE in first and _RAISED(lines[-1]):
        return lines[-1]
    # A line such as `ERROR:` alone says nothing.
    return f"{first} {others[0]}" if others and first.endswith(":") else first


def _end(lines: Sequence[str]) -> str:
    # Compilers explain an error in lines that are indented.
    last = next((line for line in reversed(lines) if not line[0].isspace()), "")
    if _END(last) or (_TRACE in lines and _RAISED(last)):
        return last
    return ""
