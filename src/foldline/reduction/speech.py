"""Whether a text tells of a conversation, or is the next turn of it."""

import re
from collections.abc import Sequence

from foldline.reduction.code_lines import is_code
from foldline.reduction.language import LANGUAGES, SIDES, TELLING, Language, profile, words
from foldline.reduction.statements import is_listed, statements


# What is asked for, or an office, and nobody.
_LABELS = re.compile(
    r"\b(?:user|customer)(?:[ _-]?(?:ids?|names?|accounts?|data|service|support)\b|['’]s\b)",
    re.IGNORECASE,
)
# What is written before a side, as one word with it.
_ARTICLE = re.compile(r"\b(?:dell|all|l|d)['’]", re.IGNORECASE)
# With a capital inside of a sentence, German speaks to somebody.
_ADDRESSES = re.compile(
    "你|您|あなた|당신|我可以|お手伝い|承知|かしこまり|了解しました|ますね|ましょう|好的|明白了|让我|我来|알겠습니다|드릴"
    r"|\b[Ll]et['’]s\b|(?:(?<=[^\W\d_] )|(?<=, ))(?<!\bper )(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b"
)
# Who ends so asks his reader for something, or offers it.
_BEGINS = r"(?:^|[.!?:;] )\W{0,9}(?:(?:now|so|next|then|first|okay|ok|please|to proceed|for (?:this|that))\W{1,3}){0,2}"
_ASKS = re.compile(
    r"\blet['’]s\b|¿(?:desea|quiere|le gustaría|puede|podría)\b"
    r"|\b(?:(?:souhaitez|voulez|pouvez|pourriez)-vous|(?:möchten|könnten|können) sie|soll ich|darf ich|wilt u|zal ik)\b"
    rf"|{_BEGINS}(?:(?:lets|(?:just )?let (?:me|us)|feel free|i(?:['’]d| would) (?:be (?:happy|glad)|suggest|recommend|like)"
    r"|please (?:provide|confirm|let|share|tell|send|reply|enter|choose))\b"
    r"|(?:(?:would|could|can|will|do|did|are|have|should) you|(?:shall|should|may|can|could) (?:i|we)"
    r"|what would you|which (?:one|option)s? (?:do|would) you|how would you)\b[^?]{0,300}\?)",
    re.IGNORECASE,
).search
# Who ends so goes on working, or tells last what comes next.
_GOES_ON = re.compile(
    rf"\bi['’]ll\b|{_BEGINS}(?:we['’]ll|(?:i|we) (?:will|can|should|need to|am going to|are going to) now|now (?:i|we)"
    r"|i will (?:now|start|begin|help|take)|(?:running|calling|executing) (?:this|it|that) now)\b",
    re.IGNORECASE,
).search
# Who ends so takes leave.
_WISHES_WELL = re.compile(
    r"\W{0,9}(?:have an? (?:nice|good|great|lovely|wonderful|safe|pleasant)|enjoy (?:the|your)|good luck|take care|see you"
    r"|viel (?:erfolg|spaß|glück)|schöne[nsr]? (?:abend|tag|wochenende|feierabend|grüße)|bis (?:bald|morgen|dann)\b|mucha suerte|suerte con"
    r"|hasta (?:luego|pronto|mañana)|bonne (?:journée|soirée|chance)|à bientôt|buona (?:giornata|serata|fortuna)|boa sorte)\b[^\n]{0,80}[!.]\W*\Z",
    re.IGNORECASE,
).match
_LEAST_TOLD = 2
_QUESTIONS = ("?", "？", "؟")
_LABELLED = re.compile(r"^(?:[#*]|[^.!?。\n]{0,80}[:\uff1a])|:\*\*|\*\*:", re.MULTILINE).search
# What is open, or comes next, is an item under its label.
_IS_AHEAD = re.compile(
    r"\W{0,9}(?:[\w'’]+ ){0,4}(?:open|next|pending|remaining|to-?do|offen\w*|nächst\w*|en suspens|à faire|prochain\w*"
    r"|pendientes?|próxim\w*|por hacer|apert[oaie]|da fare|prossim\w*|pendentes?|openstaand\w*)\b[\w ]{0,30}:(?!.*\byou\b)",
    re.IGNORECASE | re.DOTALL,
).match
# A line that is a heading, or a label alone.
_HEADINGS = re.compile(
    r"^(?:#{1,6} [^\n?]+|\*\*[^*\n?]{1,60}\*\*:?|(?:\d{1,2}[.)] )?[^\W\d_][^.!?:\n]{1,60}:)[ \t]*$",
    re.MULTILINE,
).findall
_LEAST_HEADINGS = 2
_YES = (
    r"(?:sure|of course|certainly|absolutely|understood|got it|great|perfect|will do|on it|sounds (?:good|great)|my pleasure|no worries|good (?:question|point|idea|catch)"
    r"|okay|ok|alright|all right|no problem|thanks|thank you|you['’]re (?:welcome|right)|i see|yes|sorry|klar|gerne"
    r"|natürlich|verstanden|bien sûr|d['’]accord|claro|por supuesto|certo|natuurlijk|конечно|хорошо)[,.!—–]"
)
_AGREES = re.compile(
    rf"\W{{0,9}}{_YES}"
    r"|\W{0,9}(?:もちろん|はい、|(?:わか|分か|かしこま)りました|(?:承知|了解)(?:いた)?しました|ありがとうございます|当然可以|没问题|물론|네, )"
    r"|\W{0,9}(?:thank(?:s| you) for\b|danke (?:für|dass)\b|vielen dank\b|merci (?:de|pour)\b|gracias por\b"
    r"|grazie (?:per|di)\b|obrigad[oa] por\b|done[.!]"
    r"|(?:(?:first|now|next|ok(?:ay)?),? )?(?:i['’]ll|i will|let me|i(?:['’]m| am) going to)\b|i['’]?m sorry|i am sorry|i apologi[sz]e|i can(?:not|['’]t)\b)",
    re.IGNORECASE,
).match
# A sentence that says only that a summary follows.
_ANNOUNCES = re.compile(
    rf"\W{{0,9}}(?:{_YES}\s{{1,3}}\W{{0,3}}|(?=let me\b|i['’]ll\b|i will\b|i(?:['’]m| am) going to\b))[^\n.:]{{0,40}}\bsummar(?:y|i[sz]e)\b"
    r"(?: (?:of|this|the|our|your|you|we|have|whole|entire|conversation|chat|discussion|session|so|far|until|now|below|requested|asked|for))*"
    r"(?::|[.!](?=\s*\n))[*_]*\s*",
    re.IGNORECASE,
).match
# What a model thinks before it writes; of some the first mark is in the request.
_THINKS = re.compile(
    r"(?:<(analysis|think(?:ing)?|reasoning|scratchpad)>.*?</\1>|[^<]*+(?:<(?!/?think)[^<]*+)*(?<![^\n])</think>)\s*",
    re.DOTALL,
).match
# Who says what he or his reader did, in a past that is over, tells of it.
_RETOLD = re.compile(
    r"\b(?:i|you|we|he|she|they) (?:(?:then|also|first|only|just|never|later|finally|soon|next|at first|has|have|had|not|yet|did not|didn['’]t) ){0,3}"
    r"(?:(?!(?:need|proceed)\b)[a-z]{2,}ed|asked|told|gave|said|wrote|ran|made|found|got|went|put|took|began|came|did|had|saw|sent|set|kept"
    r"|left|read|let|chose|(?:re)?built|rewrote|reran|bought|sold|held|felt|drew|taught|caught|broke|was|were|knew|thought|cut|hit|lost|met|paid|brought|spoke|understood|withdrew|(?:could|did|was|were|had)(?: not|n['’]t))\b"
    r"|\byou (?:are [a-z]+ing|(?:have|had) (?:just|already) [a-z]+)\b"
    r"|\b(?:my|your|our) (?:[\w'’-]+ ){1,4}(?:[a-z]{2,}ed|gave|went|came|ran|got|(?:was|were|had|did|could)(?:n['’]t)?)\b|\b[a-z]{2,}ed (?:me|you|us)\b",
    re.IGNORECASE,
).search
# Who answers does not name himself so.
_NAMES_HIMSELF = re.compile(
    r"\b(?:the assistant|der assistent|l['’]assistant|el asistente|l['’]assistente|o assistente|de assistent|assistenten"
    r"|asystent|asistan|ассистент)\b",
    re.IGNORECASE,
).search
_SAYING = TELLING - SIDES
_LEAST_RETOLD = 3
_MOST_OTHER = 0.5
# An instruction that asks for a person.
_ASKS_FOR_PERSON = re.compile(
    r"\b(?:first|second)[ -]person\b|\baddress(?:ing)? (?:me|the user|the reader)\b|\bto yourself\b|[\"“']I asked you"
    r"|\bas (?:if you were )?the user\b",
    re.IGNORECASE,
).search
# A letter has its greeting in a line of its own.
_GREETS = re.compile(
    r"\A(?:[^\n]{0,200}\n++){0,3}?\W{0,3}(?:dear|hi|hello|liebe[rs]?|sehr geehrte[rs]?|guten tag|bonjour|chers?|chères?"
    r"|estimad[oa]s?|querid[oa]s?|gentile|car[oa]|prezad[oa]s?|beste|geachte) [^\n.]{1,60}[,!:][ \t]*\n",
    re.IGNORECASE,
).match
_BEGINNING = 2
_BEGINNING_OF_TELLING = 4
_LEAST_SHARE = 0.05
_MOST_ADDRESSED = 0.25
_LEAST_SPOKEN = 2
_NOT_SAID = re.compile(
    r"(?i:\bi\.\s?e\.)|(?<!\S)(?=[!#-_a-~]{0,60}[\d_/])[!#-_a-~]*[\w/]"
    r"|(?i:\b(?:my|mein|mi|ma|il mio|meu|mijn|mitt|mój|мой) (?:next|nächster|próximo|prochaine|prossimo|volgende"
    r"|nästa|następny|следующий)\b)|```.*?(?:```|\Z)|`[^`\n]{0,400}`|\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”"
    r"|«[^»\n]{0,400}»|「[^」\n]{0,400}」",
    re.DOTALL,
)
_EXCLAIMED = re.compile(r"[!！][\s\"'”’)*_]*\Z").search
_WORDS_OF_A_WISH = 4

# What tools begin with that are written as tags.
_CALLED = "apply|ask|browser|create|delete|edit|execute|fetch|insert|list|open|read|replace|run|search|update|use|write"
_CALL = re.compile(
    r"(?:^|\n)[ \t]{0,20}(?:```\w{0,20}[ \t]{0,20}\n\s{0,20})?(?:"
    r"<(?:tool_call|function_call|function=|invoke|tool_use)\b|<\|(?:tool|python_tag)|\*\*\* Begin Patch\b"
    rf"|<(?:{_CALLED})_[a-z_]{{2,30}}>\s{{0,20}}<[a-z_]{{2,30}}>"
    r"|[\[{]\s{0,20}\{?\s{0,20}\"(?:tool_calls|function_call|(?:function|tool|tool_name|action)\"\s{0,20}:"
    r"\s{0,20}(?:\{|\"[\w.:-]{1,80}\")|name\"\s{0,20}:\s{0,20}\"[\w.:-]{1,80}\"\s{0,20}(?:[}\]]|,\s{0,20}"
    r"\"(?:arguments|parameters|input|args|kwargs|id|type)\"))"
    r"|\[[Tt]ool[ _][Cc]all\b|Action:[^\n]{1,400}\n\s{0,20}Action Input:)"
)
_WORDS_BEFORE_CALL = 40
# Nothing follows the call that was meant.
_ENDS_CALL = re.compile(
    r"\s*(?:<(?:tool_call|function_call|invoke|tool_use)\b[^\n]*\n?[^<]{0,2000}</[^<]{2,40}>\s*\Z)"
).match
_LEAST_LINES = 3
# A block with little before it is a program, or was to be run.
_IS_CODE = re.compile(
    r"((?:(?!```).){0,600})```(?:(?!(?:json|ya?ml|xml|toml|md|markdown|te?xt|plain\w*)?\s)[^`]{1,20000}"
    r"|\s{0,9}[^`\n]{1,200}\n)```\s*\Z",
    re.DOTALL,
).match


def calls_tool(text: str) -> bool:
    """Whether *text* is a tool call, perhaps with a sentence or a fence before it, or a program."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) >= _LEAST_LINES and sum(map(is_code, lines)) > len(lines) / 2:
        return True
    code = _IS_CODE(text)
    return (code is not None and len(words(code[1])) < _WORDS_BEFORE_CALL) or any(
        len(words(text[: call.start()])) < _WORDS_BEFORE_CALL or _ENDS_CALL(text, call.start())
        for call in _CALL.finditer(text)
    )


def without_quotes(text: str) -> str:
    """Return *text* without what is quoted, and without code."""
    # What a sentence began with still begins it.
    return _NOT_SAID.sub("'", text)


def unannounced(text: str) -> str:
    """Return *text* without what its model thought first, and a first sentence that only announces a summary."""
    if found := _THINKS(text):
        text = text[found.end() :]
    return text[found.end() :] if (found := _ANNOUNCES(text)) else text


def begins_turn(text: str) -> bool:
    """Whether *text* begins as an answer does: it greets, agrees, thanks, is sorry, or says what comes next."""
    if _GREETS(text.lstrip()):
        return True
    first = next(iter(statements(without_quotes(text))), "")
    return _AGREES(first) is not None


def retells(text: str) -> bool:
    """Whether *text* says of anybody that he said or did something."""
    named = (word.removesuffix("'s") for word in words(text))
    return _RETOLD(text) is not None or not TELLING.isdisjoint(named)


def is_turn(text: str, instruction: str = "") -> bool:
    """
    Whether *text* answers somebody: it begins or ends by speaking to him, or does so often.

    Who tells of a conversation names its sides or what they did, and speaks to nobody, unless the
    *instruction* asks for that. What is quoted, code and lists are not judged.
    """
    found = statements(without_quotes(text))
    said = [one for one in found if not (is_listed(one) or _IS_AHEAD(one))]
    if not said:
        return False
    told = sum(bool(_RETOLD(one) or SIDES.intersection(words(one))) for one in found[:-1])
    if _asks(said[-1]) or (_GOES_ON(said[-1]) and told < _LEAST_TOLD):
        return True
    # A question that is open is under a label or a heading, or said to be somebody's.
    is_labelled = _LABELLED(text) or _IS_AHEAD(said[-1].rpartition(". ")[2])
    is_bare = said[-1].endswith(_QUESTIONS) and not is_labelled
    if is_bare and TELLING.isdisjoint(words(said[-1])):
        return True
    if _ASKS_FOR_PERSON(instruction) or any(map(_NAMES_HIMSELF, said)):
        return False
    if len(_HEADINGS(text)) >= _LEAST_HEADINGS:
        return False
    likely = _likely(said)
    others = frozenset(word for one in likely for word in one.others)
    persons = others.union(*(one.own for one in likely))
    praises = bool(_EXCLAIMED(said[0])) and _addresses(said[-1], others)
    return (
        praises
        or _turns_to(said, others)
        or (not _narrates(said, persons, others) and _speaks(said, persons))
    )


def _asks(sentence: str) -> bool:
    """Whether *sentence* asks its reader for something, or takes leave of him."""
    return bool(_ASKS(sentence) or _WISHES_WELL(sentence))


def _likely(said: Sequence[str]) -> list[Language]:
    """Return the languages that *said* may be in."""
    shares = profile(words(" ".join(said))).languages
    least = max(_LEAST_SHARE, max(shares.values()) / 2)
    return [LANGUAGES[code] for code in shares if shares[code] >= least]


def _turns_to(said: Sequence[str], others: frozenset[str]) -> bool:
    """Whether *said* speaks often to *others*, and is an answer however it begins."""
    spoken = sum(_addresses(one, others) and not (_RETOLD(one) or _names_side(one)) for one in said)
    return spoken >= _LEAST_SPOKEN and spoken > _MOST_ADDRESSED * len(said)


def _narrates(said: Sequence[str], persons: frozenset[str], others: frozenset[str]) -> bool:
    """Whether *said* begins by telling of a conversation, or tells what both sides did."""
    # One sentence may be an answer that tells what somebody wanted; more begin with that.
    is_long = len(said) > 1 and not _EXCLAIMED(said[0])
    begins = is_long and not _SAYING.isdisjoint(words(said[0]))
    # Nobody tells the user what "the user" asked.
    retold = [one for one in said if _RETOLD(one)]
    is_to_nobody = not any(_addresses(one, others) for one in said)
    names = any(map(_names_side, retold)) or any(
        _is_of_side(one, is_alone=is_to_nobody) for one in said
    )
    if begins or names or any(_tells(one, persons) for one in said[:_BEGINNING]):
        return True
    spoken = sum(_addresses(one, persons) for one in said if one not in retold)
    # Who speaks to nobody at all may be short.
    least = 1 if is_to_nobody else _LEAST_RETOLD
    return len(retold) >= least and spoken <= _MOST_OTHER * len(retold)


def _speaks(said: Sequence[str], persons: frozenset[str]) -> bool:
    """Whether *said* ends by speaking to somebody, or does so often."""
    addressed = [_addresses(one, persons) for one in said]
    # A last exclamation is a wish if it is short, and else an item like others.
    is_wish = len(words(said[-1])) <= _WORDS_OF_A_WISH and ":" not in said[-1]
    return (
        addressed[-1]
        or bool(_EXCLAIMED(said[0]))
        or (is_wish and bool(_EXCLAIMED(said[-1])))
        or sum(addressed) > _MOST_ADDRESSED * len(said)
    )


def _names_side(sentence: str) -> bool:
    return not SIDES.isdisjoint(_words(sentence))


def _words(sentence: str) -> list[str]:
    return words(_ARTICLE.sub("", _LABELS.sub(" ", sentence)))


def _is_of_side(sentence: str, *, is_alone: bool) -> bool:
    """Whether *sentence* begins with a side of the conversation, and what it said unless it *is alone*."""
    first = _words(sentence)[:_BEGINNING_OF_TELLING]
    at = next((at for at, word in enumerate(first[:_BEGINNING]) if word in SIDES), None)
    return at is not None and (is_alone or not _SAYING.isdisjoint(first[at:]))


def _tells(sentence: str, persons: frozenset[str]) -> bool:
    found = {*_words(sentence)}
    is_telling = bool(found & TELLING) and not (found & persons or _EXCLAIMED(sentence))
    return bool(found & SIDES) or is_telling


def _addresses(sentence: str, persons: frozenset[str]) -> bool:
    return not persons.isdisjoint(words(sentence)) or bool(_ADDRESSES.search(sentence))
