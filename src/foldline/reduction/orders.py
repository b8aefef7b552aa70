"""
Lines of a summary that would not stay text: forged roles, fences and templates, and orders.

A record reports what was said. A line that speaks to the model which reads it, or looks like a part of
the request around it, is not part of a record. That somebody gave such an order may be reported.
"""

import re

from foldline.reduction.provenance import folded


POLITE = (
    r"(?:(?:please|now|then|also|and|so|first|next|kindly|just|you (?:must|should|will|shall|have to"
    r"|need to)|must|should|immediately|simply|directly|quietly|silently|automatically|right away|at once"
    r"|bitte|por favor|s'il vous plaît|per favore)\W+){0,3}"
)
"""What may stand before an order."""

# What chat templates write around a turn, and what a request writes around a record.
_TEMPLATE = re.compile(
    r"<\|[^|\n]{1,40}\|>|\[/?(?:inst|sys|system|assistant|user|available_tools|tool_calls|tool_results)\]"
    r"|<</?\s?sys\s?>>|</?(?:start|end)_of_turn>|<\s?/?\s?s>|<[\uff5c▁|][^>\n]{1,40}>"
    r"|</?(?:system|user|human|assistant|developer|instructions?|system[_-](?:prompt|reminder|message)"
    r"|transcript|tool_results?|function_(?:calls|results?)|tool_response|antml:\w+)\b[^>\n]{0,80}>"
    r"|\bbegin_?of_?text\b|\bim_(?:start|end)\b"
)
_FENCE = re.compile(
    r"[\s>*_-]*={3,}(?=[^\n=]*[^\s=])|[\W_]*(?:begin(?:ning)?|start|end)(?:s)? of (?:the |this )?(?:earlier |previous )?"
    r"(?:summary|record|transcript|conversation|context|document|data|prompt|system prompt|user input|input)\b"
    r"[^a-z]{0,12}\Z|[\W_]*\[?(?:end (?:transcript|summary|record)|summary of the earlier part of this)\b"
    r"|```\s*(?:system|user|assistant|developer|instructions?)\b"
).match
# After the name of a side: what it did or wants.
_TELLS = (
    r"\W*(?:[a-z]{2,20}ed|asks|wants|found|made|says?|said|told|will|was|is|has|plans|gives|gave|writes|wrote|ran|needs"
    r"|prefers|explains|suggests|provides|offers|recommends|confirms|agrees)\b"
)
# A list may tell of a system, but not in capitals, and a line of what a side did or wants.
_ROLE = re.compile(
    rf"[#>*_`|\[(\"' ]*(?:(?:developer|human(?!\s?:{_TELLS})|administrator|root|instructions?|prompt)"
    r"|(?:system|tool|model|function)(?=.*\b(?:you\w*|must|shall|should|may|can|now|always|never|all|every|any)\b)"
    r"|(?:system|developer|admin) (?:prompt|message|note|override|instructions?|update|notice|alert)"
    r"|override|new (?:system )?(?:instructions?|task|prompt|rules?)"
    r"|(?:important|urgent|critical)(?: new)? (?:instructions?|system message))\s?[\])*_`\"']*\s?:"
).match
# Who writes to the next reader tells of no conversation.
_READER = re.compile(
    r"[\W_]*(?:[a-zà-ÿ]{2,12} ){0,2}(?:to|for|an|für|à|pour|a|al|para|per|aan|voor|till|alla|all['’])\s?(?:(?:the|any|every|all|future|next|other|das|den|die|der|"
    r"nächste[nrs]?|l['’]|le|el|il|prochain|próximo|prossimo) ?){0,3}(?:assistant|assistent(?:en)?|asistente|assistente|model|modell|"
    r"modèle|modelo|modello|summari[sz]er|agent|ai|ki|llm|bot|reader|who(?:ever))s?\b[^:\n]{0,40}:\s*\w"
    r"|[\W_]*(?:dear|attention),? (?:the |all |any )?(?:assistant|model|summari[sz]er|agent|ai|llm|bot)s?\b"
    r"|[\W_]*(?:ai|llm|model|agent|assistant|bot)s? (?:reading|who reads?|that reads?|processing) this\b"
).match
_RULES = re.compile(r"[#>*_ -]*instructions?[*_ ]*:", re.IGNORECASE).match
_LOUD = re.compile(
    r"[\W\d]*(?:SYSTEM|DEVELOPER|HUMAN|INSTRUCTIONS?|ADMIN|ROOT"
    r"|(?:NOTE|NOTICE|MESSAGE|ORDER|UPDATE|ALERT) (?:FROM|BY|OF)(?: THE)? [A-Z]+)\b[^:\n]{0,20}:"
).match
_TURN = re.compile(
    r"[\W_]*role[\W_]{1,6}(?:system|developer|user|assistant)\b|[*_`]*(?:user|assistant|ai|bot)[*_`]*\s?:"
    rf"(?!{_TELLS})"
).match

_OF = r"(?:\W+\w+){0,4}?\W+"
_TARGET = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|commands?|polic(?:y|ies)|restrictions?"
    r"|safety|safeguards?|filters?|everything|above|anweisung(?:en)?|regeln|consignes?|règles"
    r"|instrucciones|reglas|istruzioni|regole|instruções|regras|instructies|regels|instruktioner"
    r"|instrukcj[ei]|zasady|talimat\w*|инструкци[июй]|указани[яй]|правила)"
)
_VERB = (
    r"(?:ignore|disregard|forget|override|bypass|discard|neglect|skip|drop|do not (?:follow|obey)"
    r"|don't (?:follow|obey)|stop following|ignoriere|ignorieren sie|vergiss|missachte|ignorez|oublie[zs]?"
    r"|ignora|ignore|olvida|ignorad|dimentica|esqueça|esquece|negeer|vergeet|ignorera|glöm|zignoruj"
    r"|zapomnij|yok say|unut|игнорируй(?:те)?|забудь(?:те)?)"
)
# Where a sentence begins, or what is said after a colon.
_START = r"(?:^[\W\d_]*|[.!?:;-]\s\W{0,3}|[\"“«„‘\[({`])"
_ORDER = re.compile(
    rf"{_START}{POLITE}{_VERB}{_OF}{_TARGET}\b"
    rf"|{_START}{POLITE}(?:ignore|disregard|forget) (?:everything|anything|all|what)\b"
    rf"|{_START}{POLITE}(?:ignoriere|vergiss|ignorez|oublie[zs]?|ignora|olvida|dimentica|esqueça|esquece|negeer|vergeet|ignorera"
    r"|glöm|zignoruj|zapomnij|unut|игнорируй(?:те)?|забудь(?:те)?) (?:alles|was|tout|ce que|todo|lo que|tutto|quello che|tudo"
    r"|o que|wat|allt|vad|wszystko|to co|her şeyi|вс[её]|что)\b"
    rf"|{_START}{POLITE}(?:you are (?:now|no longer|dan\b|free|a new|an unrestricted|in (?:developer|debug|admin|god))"
    r"|act as (?:an?|if|though|dan)\b|pretend (?:to be|you)|your new (?:task|role|goal|job|instructions?|purpose) (?:is|are)\b)"
    r"|(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|说明|說明|命令|一切)"
    r"|(?:以前|これまで|上記|前)[^。\n]{0,8}(?:指示|命令|ルール)[^。\n]{0,4}(?:無視|忘れ)"
    r"|(?:이전|위의|모든)[^.\n]{0,12}(?:지시|명령|규칙)[^.\n]{0,6}(?:무시|잊)"
    r"|(?:تجاهل|انس)[^.\n]{0,20}(?:التعليمات|الأوامر)"
).search
_ENDED = re.compile(r"[.!?。]\s")
_LEAST_WORDS = 4
# Who tells of an order names who gave it, before it.
_REPORTED = re.compile(
    r"\b(?:said|says?|saying|posted|told|tells|asked|asks|tried|tries|trying|attempt\w*|contain\w*|instruct\w*|claim\w*"
    r"|held|included?|includes|demanded|wrote|reads?|reading|had|with the (?:text|line|words)|wanted|ordered"
    r"|forderte|versuchte|sagte|demandait|pidió|chiese|pediu|vroeg)\b|试图|要求|声称"
).search


def frames(text: str) -> bool:
    """Whether a line of *text* looks like the edge of a record or of a turn, so that more belongs to it."""
    return any(
        _FENCE(one)
        or (_TEMPLATE.search(one) and len(_TEMPLATE.sub("", one).split()) < _LEAST_WORDS)
        for one in map(folded, text.split("\n"))
    )


def imitates(statement: str) -> bool:
    """Whether *statement* speaks as somebody else, or looks like a part of a request."""
    text = folded(statement).strip()
    return bool(_LOUD(statement) or _TEMPLATE.search(text) or _ROLE(text) or _TURN(text))


def speaks_to_reader(statement: str) -> bool:
    """Whether *statement* is labelled as a note to the model that reads it."""
    return _READER(folded(statement)) is not None


def lists_rules(statement: str) -> bool:
    """Whether *statement* has the label under which a summary lists what the user wants."""
    return _RULES(statement) is not None


def is_order(statement: str) -> bool:
    """Whether *statement* gives an order to who reads it."""
    text = folded(statement)
    found = _ORDER(text)
    return found is not None and not is_reported(_ENDED.split(text[: found.start() + 2])[-1])


def is_reported(before: str) -> bool:
    """Whether *before*, folded, names somebody who gave the order after it."""
    return _REPORTED(before) is not None
