"""Whether a text tells of a conversation, or is the next turn of it."""

import re

from foldline.reduction.language import LANGUAGES, SIDES, TELLING, profile, words
from foldline.reduction.statements import is_listed, statements


__all__ = ["calls_tool", "is_turn"]


# Who tells, in languages without spaces, or that write endings onto the word.
_TELLS = re.compile(
    "用户|用戶|助手|对话|對話|总结|總結|摘要|讨论|討論|ユーザー|アシスタント|会話|要約|사용자|대화|요약"
    r"|\b(?i:so far|bisher|jusqu['’]ici|hasta ahora|finora|até agora|tot nu toe|hittills|do tej pory|şimdiye kadar)\b"
)
# With a capital inside of a sentence, German speaks to somebody.
_ADDRESSES = re.compile(
    "你|您|あなた|당신|我可以|お手伝い"
    r"|(?:(?<=[^\W\d_] )|(?<=, ))(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b"
)
# Who begins so tells what he was asked or has to do, though he says "I" or "you".
_REPORTS = re.compile(
    r"\W{0,9}(?:i was (?:asked|told)|(?:earlier,? )?you (?:asked|wanted|want|told) me to|you requested that i"
    r"|my (?:task|job|assignment) (?:is|was)|my (?:notes|summary)|ich (?:wurde gebeten|sollte)|du hast mich gebeten"
    r"|sie haben mich gebeten|meine aufgabe (?:ist|war)|on m['’]a demandé|(?:tu m['’]as|vous m['’]avez) demandé"
    r"|ma tâche (?:est|était)|(?:se )?me (?:pidió|pidieron|pediste)|mi tarea (?:es|era)|(?:mi è stato|mi hai) chiesto"
    r"|il mio compito (?:è|era)|(?:você )?me pedi(?:u|ram|ste)|pedi(?:u|ram|ste)-me|minha tarefa (?:é|era)|mij werd gevraagd|je vroeg me"
    r"|mijn taak (?:is|was)|poproszono mnie|poprosił[ae]ś mnie|moim zadaniem (?:jest|było)|меня попросили"
    r"|(?:ты попросил\w?|вы попросили) меня|моя задача|benden istendi|görevim)\b",
    re.IGNORECASE,
).match
_BEGINNING = 2
_LEAST_SHARE = 0.05
_MOST_ADDRESSED = 0.25
_NOT_SAID = re.compile(
    r"(?i:\bi\.\s?e\.)|(?<!\S)(?=[!#-_a-~]{0,60}[\d_/])[!#-_a-~]*[\w/]"
    r"|(?i:\b(?:my|mein|mi|ma|il mio|meu|mijn|mitt|mój|мой) (?:next|nächster|próximo|prochaine|prossimo|volgende"
    r"|nästa|następny|следующий)\b)|```.*?(?:```|\Z)|`[^`\n]{0,400}`|\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”"
    r"|«[^»\n]{0,400}»|「[^」\n]{0,400}」",
    re.DOTALL,
)
_EXCLAIMED = re.compile(r"[!！][\s\"'”’)*_]*\Z").search
_WORDS_OF_A_WISH = 4

_CALL = re.compile(
    r"(?:^|\n)[ \t]{0,20}(?:```\w{0,20}[ \t]{0,20}\n\s{0,20})?(?:"
    r"<(?:tool_call|function_call|invoke|tool_use)\b|<\|(?:tool|python_tag)"
    r"|[\[{]\s{0,20}\{?\s{0,20}\"(?:tool_calls|function_call|(?:function|tool|tool_name|action)\"\s{0,20}:"
    r"\s{0,20}(?:\{|\"[\w.:-]{1,80}\")|name\"\s{0,20}:\s{0,20}\"[\w.:-]{1,80}\"\s{0,20}(?:[}\]]|,\s{0,20}"
    r"\"(?:arguments|parameters|input|args|kwargs|id|type)\"))"
    r"|Action:[^\n]{1,400}\n\s{0,20}Action Input:)"
)
_WORDS_BEFORE_CALL = 40


def calls_tool(text: str) -> bool:
    """Whether *text* is a tool call, perhaps with a sentence or a fence before it."""
    return any(
        len(words(text[: call.start()])) < _WORDS_BEFORE_CALL for call in _CALL.finditer(text)
    )


def is_turn(text: str) -> bool:
    """
    Whether *text* answers somebody: it begins or ends by speaking to him, or does so often.

    Who tells of a conversation names its sides or what they did, and speaks to nobody. What is
    quoted, code and lists are not judged.
    """
    said = [one for one in statements(_NOT_SAID.sub(" ", text)) if not is_listed(one)]
    if not said:
        return False
    shares = profile(words(" ".join(said))).languages
    least = max(_LEAST_SHARE, max(shares.values()) / 2)
    likely = [LANGUAGES[code] for code in shares if shares[code] >= least]
    persons = frozenset(word for one in likely for word in one.first | one.second)
    if _REPORTS(text) or any(_tells(one, persons) for one in said[:_BEGINNING]):
        return False
    addressed = [_addresses(one, persons) for one in said]
    # A last exclamation is a wish if it is short, and else an item like others.
    is_wish = len(words(said[-1])) <= _WORDS_OF_A_WISH and ":" not in said[-1]
    return (
        any(addressed[:_BEGINNING])
        or addressed[-1]
        or bool(_EXCLAIMED(said[0]))
        or (is_wish and bool(_EXCLAIMED(said[-1])))
        or sum(addressed) > _MOST_ADDRESSED * len(said)
    )


def _tells(sentence: str, persons: frozenset[str]) -> bool:
    found = {*words(sentence)}
    if found & SIDES or _TELLS.search(sentence):
        return True
    return bool(found & TELLING) and not found & persons


def _addresses(sentence: str, persons: frozenset[str]) -> bool:
    return not persons.isdisjoint(words(sentence)) or bool(_ADDRESSES.search(sentence))
