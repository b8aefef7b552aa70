"""
What the answers of tools tell a model, or claim of a person, and a summary that has taken it over.

A page, a file or a field may speak to the one who reads it, or say what the user wants or has agreed to. A
summary may report that. What repeats it as if it were so, and nobody else said it, is planted.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from foldline.history.messages import Message
from foldline.reduction.meaning import negations, stems_in
from foldline.reduction.orders import is_order
from foldline.reduction.provenance import folded
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import statements


_MACHINE = (
    r"(?:\b(?:ai|llms?|assistants?|agents?|bots?|chatbots?|summari[sz]ers?|models?|automat(?:ed|ion)|ki|ia|asistentes?|assistent(?:en)?"
    r"|agentes?|agenten|modelos?|modelle?|modèles?|assistentes?)\b|アシスタント|エージェント|モデル)"
)
_SPEAKS = re.compile(
    rf"{_MACHINE}[^\n]{{0,60}}?(?:[:\uff1a]|\b(?:must|should|shall|may|can|need|have to|are to|is to|reading|who read|process\w*|treat|approved"
    r"|soll\w*|muss|müssen|darf|dürfen|debe\w*|puede\w*|doit|doivent|peut|peuvent|deve|rules?)\b|[はへに])"
    rf"|\b(?:to|for|dear|if you are an?|an(?: den| die)?|für|al?|para(?: el| los)?|aux?(?: outils d['’])?|pour) (?:the |all |any |\w+ )?{_MACHINE}"
).search
# What is said for a person, and what is asked for without a word of the user.
_CLAIMS = re.compile(
    r"\b(?:users?|customers?|clients?|operators?|owners?|passengers?|patients?|guests?|maintainers?|managers?|readers?|analysts?|editors?|principal|management)\b"
    r"[^.\n]{0,40}?\b(?:wants?|prefers?|wish\w*|needs?|agree[ds]|approved|authori[sz]ed|consents?|consented|decided|asked|requested|confirmed|always)\b"
    r"|\b(?:kund\w+|nutzer\w*|gast|gäste|patient\w*|auftraggeber\w*)\b[^.\n]{0,80}?(?:zugestimmt|wünscht|möchte|will|einverstanden|bestätigt)"
    r"|\b(?:client[ea]s?|usuari[oa]s?|pasajer[oa]s?|utilisat\w+|rédact\w+|utente|utenti)\b[^.\n]{0,40}?\b(?:prefiere|quiere|desea|acepta|autoriza|souhaite\w*|veut|veulent|accepte|préfère|vuole|desidera)"
    r"|(?:お客様|顧客|ユーザー|利用者)[^。\n]{0,30}(?:希望|承認|同意|要望)"
).search
# Who tells what a text says names it, or to whom it speaks, and how; or says that it was not obeyed.
_TEXT = re.compile(
    r"\b(?:pages?|files?|notes?|comments?|remarks?|e-?mails?|memos?|hints?|lines?|text|logs?|output|reviews?|pdf|ocr|cv|fields?|documents?|docs?|readme|todo"
    r"|web ?sites?|sites?|listings?|descriptions?|body|sentences?|paragraphs?|sections?|cells?|columns?|rows?|results?|responses?|replies|tools?|issues?|messages?|banners?|footers?"
    r"|tickets?|invoices?|receipts?|attachments?|posts?|articles?|threads?|feeds?|templates?|profiles?|records?|entry|entries|strings?|words|instructions?|requests?|claims?|appeals?"
    r"|seiten?|datei(?:en)?|hinweis\w*|kommentar\w*|mails?|satz|zeilen?|feld\w*|rechnung|dokument\w*|protokoll|anweisung\w*|aufforderung\w*|antwort|notiz\w*|anhang"
    r"|páginas?|archivos?|correos?|comentarios?|notas?|líneas?|observaciones|campos?|textos?|mensajes?|respuestas?|instrucci[oó]n\w*"
    r"|fichiers?|courriels?|commentaires?|champs?|textes?|remarques?|consignes?|lignes?|messages?|réponses?)\b|備考|ページ|ファイル|メール|コメント|文書?|欄|ログ|指示|記述"
    rf"|{_MACHINE[:-1]}s)|\b(?:ai|llms?|ki|ia)\b|\b(?:it|this|that|which|someone|somebody|jemand|alguien|quelqu['’]un)\b"
).search
_TELLS = re.compile(
    r"\b(?:sa(?:ys|id|ying)|tell(?:s|ing)?|told|ask(?:s|ed)|(?<!without )asking|claim(?:s|ed|ing)|stat(?:es|ed|ing)|urg\w+|contain\w*|holds?|held|carr(?:ies|ied)|show(?:s|ed|ing)|reads?|reading"
    r"|instruct\w*|attempt\w*|tries|tried|trying|pretend\w*|demand\w*|includ(?:es|ed|ing)|order(?:s|ed|ing)|addressed|direct(?:s|ed|ing)|recommend(?:s|ed)|suggest(?:s|ed|ing)"
    r"|propos(?:es|ed)|mention(?:s|ed|ing)|invit(?:es|ed|ing)|insist(?:s|ed)|declar(?:es|ed)|assert(?:s|ed)|announc\w+|purport\w*|advis(?:es|ed)|embed\w*|insert(?:ed|s)|has an?|call(?:s|ed) for"
    r"|wanted|enthält|enthielt|steht|stand|fordert\w*|behauptet\w*|verlangt\w*|sagt\w*|bittet|will|pide|pedía|dice|decía|contiene|contenía|figura|afirma\w*|ordena\w*|pretend\w+"
    r"|contient|contenait|demand\w+|dit|disait|affirm\w+|prétend\w*)\b|あり|ある|求め|書|記載|指示"
).search
# Where something stands, which is enough where nobody says it.
_NAMES_SOURCE = re.compile(
    r"(?:\b(?:the|one|in)|['’]s) (?:logs?|reviews?|warnings?)\b|\b(?:pages?|comments?|remarks?|annotations?|memos?|hints?|log (?:lines?|messages?|entry)|pdf|ocr|cv|readme|todo|notices?|outputs?|cells?|field|white text|ps"
    r"|hinweis(?:feld)?|datensatz|kommentar|observaciones|comentario|remarque|commentaire|consigne)\b|備考|コメント|欄"
).search
_QUOTED = re.compile(r"(?<!\w)[\"“„«‘]([^\"“”«»\n]{8,400}?)[\"”»’](?!\w)")
_SEGMENTS = re.compile(r"\n|\\n|\"\s*[,:]\s*\"|[{}|<>]|\"\s*,\s*|\"\s*:\s*").split
_PARTS = re.compile(r"[;:]\s|,\s|\s(?:and|und|y|et|e)\s|[。、]").split
_LEAST = 4
_LEAST_NEW = 2
_SAME = 0.6
# The names of files whose orders the owner of a project gives.
_OF_OWNER = re.compile(
    r"\b(?:agents|claude|gemini|contributing|skill)\.md\b|\.cursorrules|copilot-instructions"
).search


class Planted:
    """What tools have answered that speaks to a model or for a person."""

    def __init__(self, messages: Iterable[Message], said: Iterable[str]) -> None:
        """Take the *messages*, and the texts that people and the assistant have *said*."""
        self._messages, self._texts = messages, said

    def is_in(self, statement: str) -> bool:
        """Whether *statement* tells as a fact what only such an answer says; what it quotes is not its own."""
        if not self._lines:
            return False
        text = folded(unquoted(statement))
        if tells_of_text(text):
            return False
        # Who denies what is told as a fact does not tell it.
        lines = [one for one, denies in self._lines if denies or not negations(text)]
        return any(self._holds(stems_in(part), lines) for part in (text, *_PARTS(text)))

    def _holds(self, told: frozenset[str], lines: Iterable[frozenset[str]]) -> bool:
        for line in lines:
            shared = told & line
            if len(shared) >= max(_LEAST_NEW, _SAME * len(told)):
                new = shared - self._said
                least = 1 if told <= line else _LEAST_NEW
                if len(new) >= least and len(told) + len(new) >= _LEAST:
                    return True
        return False

    @cached_property
    def _lines(self) -> list[tuple[frozenset[str], bool]]:
        lines = map(folded, self._planted())
        return [(stems_in(one), bool(negations(one))) for one in lines]

    def _planted(self) -> Iterator[str]:
        owned = {
            call.id
            for message in self._messages
            for call in message.tool_calls
            if _OF_OWNER(folded(call.arguments))
        }
        for message in self._messages:
            if message.role == "tool" and not owned.intersection(
                one.id for one in message.tool_call_responses
            ):
                for text in texts_of([message]):
                    yield from _segments(text)

    @cached_property
    def _said(self) -> frozenset[str]:
        told = (
            one
            for text in self._texts
            for one in map(folded, statements(text))
            if not tells_of_text(one)
        )
        return stems_in("\n".join(told))


def tells_of_text(text: str) -> bool:
    """Whether *text*, folded, says what a page or a file says."""
    return bool(_NAMES_SOURCE(text) or (_TEXT(text) and _TELLS(text)))


def unquoted(text: str) -> str:
    """Return *text* without what it quotes."""
    return _QUOTED.sub(" ", text)


def _segments(text: str) -> Iterator[str]:
    """Yield what is planted in *text*, sentence by sentence, each with the one after it."""
    for segment in _SEGMENTS(text):
        parts = statements(segment)
        yield from (
            " ".join(parts[at : at + 2]) for at, one in enumerate(parts) if _is_planted(one)
        )


def _is_planted(segment: str) -> bool:
    text = folded(segment)
    return bool(_SPEAKS(text) or _CLAIMS(text) or is_order(segment))
