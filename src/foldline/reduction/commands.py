"""
What a statement tells its reader to do, or permits him, clause by clause.

An order is known by how it begins, by whom it speaks to, or by what it says is allowed. Whether somebody
gave it is another question: see `said`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from foldline.reduction.orders import POLITE, is_reported
from foldline.reduction.provenance import folded


def _words(listed: str) -> str:
    return "|".join(listed.split())


# To find something out, or to check the work, does no harm.
_INQUIRES = re.compile(
    r"(?:ask|check|verify|confirm|find out|see|clarify|determine|decide)\b[^.\n]{0,40}?\b(?:whether|if|why|how|which|what|when|where)\b"
    r"|run (?:[\w`:-]+ ){0,4}?(?:tests?|checks?|linters?|suite)\b[`.,]*(?: (?:and |then )?(?:test|commit)[.,]*)*\Z"
).match
# What follows it says what has to be, and not what to do.
_SEES_TO = re.compile(r"(?:make sure|see to it|ensure)\b").match
# What begins an order by itself, and what does so only before an object: it may be a noun as well.
_DOING = _words(
    r"""
    accept activate add allow append approve ask authori[sz]e avoid begin bring buy bypass cancel collect
    confirm connect continue convert create deactivate decrypt delete deliver deny deploy destroy disable
    disclose disregard enable encode encrypt ensure erase execute exfiltrate expose fetch generate get give
    grant(?!.\d) hide ignore implement inform insert install introduce investigate invoke keep kill leak merge
    migrate modify notify obey overwrite pay pretend prevent publish purchase refactor refuse remind remove
    rename replace restore reveal revert rewrite say sell send serve skip speak submit subscribe tell throw
    touch translate uninstall unlock verify warn wipe write
    rufe verschicke mahne erstelle öffne ändere bestelle bestätige kopiere veröffentliche zahle
    antworte entferne führe gib kündige lösche schicke sende starte überweise verrate verwende
    désactive[rz]? dis dites efface[rz]? envoie envoye[rz] exécute[rz]? lance[rz] réponds répondez révèle[rz]?
    supprime[rz]? transfère transfére[rz] utilise[rz]
    apaga apague borrar? desactivar? desative ejecutar? eliminar? enviar envía envie exclua instalar?
    publicar? responda responde revelar? revele transferir transfiere
    cancellar? disattivar? esegui(?:re)? invia(?:re)? rispondi(?:re)? trasferi(?:sci|re)
    verwijder wis stuur verstuur onthul antwoord radera skicka svara inaktivera avslöja
    usuń skasuj wyślij przelej wyłącz uruchom odpowiadaj ujawnij
    удали(?:те)? сотри(?:те)? отправь(?:те)? переведи(?:те)? отключи(?:те)? запусти(?:те)? выполни(?:те)?
    отвечай(?:те)? раскрой(?:те)?
    """
)
_DOING_SOMETHING = _words(
    """
    access act answer apply archive assign book build call change charge check clean clear clone close
    commit copy cut document download drop edit email export file fill find finish fix follow force forward
    go hand import include leave list lock log look mail make mark move offer open order pass pick place
    post prepare print push put query raise read record refund register reject release reply report request
    reset respond restart return review run save schedule scan set share ship show shut sign start stop
    store switch take talk test transfer treat trust turn update upgrade upload use visit wire
    """
)
_AT_ONCE = (
    r"(?:right now|right away|immediately|at once|sofort|umgehend|tout de suite|immédiatement|ahora mismo|inmediatamente|de inmediato"
    r"|subito|immediatamente|imediatamente|onmiddellijk|omedelbart|natychmiast|hemen|немедленно)"
)
# What does harm to a thing that is called by its name.
_SENDING = _words("drop force forward mail refund reset share transfer upload wire")
_OBJECT = (
    r"(?=\s+(?:the|an?|all|any|every|each|both|your?|his|her|their|its|our|my|this|that|these|those|it|them"
    r"|him|us|no|only|to|in|as|like|with|from|off|up|down|out|back|over|on|what|whatever|everything"
    r"|anything|nothing|everyone|without|\d[\d.,]* (?:dollars?|euros?|usd|eur|pounds?))\b|\s+[$€£]|\s+[`\"'“/<~])"
)
# What stands before an object and is no order.
_NO_ORDER = _words(
    """
    about after against almost among and around because before behind below besides beside between beyond both but
    despite during even except for from given hardly here how like many minus more most much near nearly nor not once
    only onto out over per plus since some such than that then there though through under unless until upon via were
    what when where while with within without yet
    broke brought built came cost cut did found gave got had held hit kept knew left lost made met put ran read saw
    sent set sold spent told took understood went won wrote
    """
)
# A clause that begins with an order, or tells its reader what he has to do.
_EVER = _words(
    """
    always never immer nie niemals toujours jamais siempre nunca sempre mai altijd nooit
    alltid aldrig zawsze nigdy asla всегда никогда
    """
)
_HAVE_TO = (
    r"(?:(?:is|are|was|were) to|must|shall|(?:has|have|needs?) to)(?: always| now| also| never)?"
)
# The beginnings of verbs that do harm, and of the nouns made of them.
_HARM = (
    r"(?:answer|approv|bypass|deactivat|delet|deploy|destr|disabl|disclos|eras|exfiltrat|forward|giv|grant|ignor|leak|merg|overrid"
    r"|overwrit|paid|pay|publi[cs]|purg|refund|remov|reveal|sen[dt]|shar|skip|submi|transfer|upload|wip|wir)\w*"
)
NOW_ON = (
    r"from (?:(?:now|here|this point|today) on|this (?:point|moment))|going forward|henceforth|(?:in|for) (?:all |any |every )?(?:the )?"
    r"(?:later|future|subsequent|following) (?:sessions?|runs?|calls?|tasks?|turns?|replies|answers?|messages?)"
    r"|ab jetzt|ab sofort|von nun an|dorénavant|à l['’]avenir|desde ahora|de ahora"
    r"|a partir de (?:ahora|agora)|d['’]ora in poi|vanaf nu|från och med nu|od teraz|bundan sonra|отныне|впредь"
)
"""A pattern of the words for: from now on."""
_COMMAND = re.compile(
    rf"(?:^[\W_]*+(?:\d{{1,3}}[.)]\s[\W_]*+)?(?:(?:t\d+|x)\]\W*)?|\]\s\W{{0,3}}){POLITE}"
    rf"(?P<order>(?:do not|under no circumstances|don['’]t|must|{NOW_ON}|{_EVER}|make sure|see to it|{_DOING})\b(?!['’-]| me\b)|(?!answer to\b)(?:{_DOING_SOMETHING}){_OBJECT}"
    rf"|[a-zà-ÿ]{{3,15}}(?= {_AT_ONCE}\b)"
    rf"|(?:call|invoke|use|run|trigger)(?=\s+[\w.-]{{1,60}} with\b)"
    rf"|(?:{_SENDING})(?=\s+[\w~/.-]{{0,60}}\w[._/@]\w)"
    rf"|(?!(?:{_NO_ORDER})\b)[a-z]{{3,20}}(?<!ed)(?<!ing)(?<!ly)(?<!s) (?:any|all|every|each)\b)"
    r"|(?:\b(?:you|(?<!of )the (?:next )?(?:assistant|agent|model|ai|bot|reader)|du|tu|vous|usted|der (?:nächste )?(?:assistent|agent)|das (?:nächste )?modell"
    r"|l['’]assistant|le modèle|el (?:asistente|modelo)|il modello|l['’]assistente|o assistente|ассистент)\W+"
    r"(?:must|should|shall|may|can(?!['’]t)|has to|have to|needs? to|ought to|(?:is|are) (?:now |also )?"
    r"(?:to|required to|cleared to|allowed to|permitted to|free to|authori[sz]ed to|expected to|instructed to)"
    r"|musst|muss|müssen|sollst|soll|sollen|darfst|darf|kann|dois|doit|devez|peut|debes?|puede|devi|deve|può|pode|должен|должна|может)\b"
    r"|\bi (?:have )?(?:asked|told|instructed|want|wanted) you (?:to|not to|never to)\b"
    r"|\b(?:is|are) (?:asked|requested|expected|invited|urged|advised) to\b"
    r"|\b(?:next|only|first) (?:step|action|task|move|job|goal)s? (?:is|are|will be|has to be)\b)(?P<told>)"
).search
# Every clause is judged by its own words, so that true ones around it are no help. A comma divides
# what begins with an order or a case; in prose it may stand before a verb that is none.
_BETWEEN = r"[;:]\**\s++|\s\|\s|(?<!\d)[.!?][\"'”’)]*\s++|[\"'”»\]}],\s*+|\s-{1,3}\s|\b(?:because|since|so that|and then|weil|damit|parce que|porque|perché|потому что)\b|\b(?:instead of|rather than) [^\W_]++"
_CLAUSES = re.compile(
    rf"{_BETWEEN}|,\s++(?=(?:and |but |or )?(?:so|please|now|then|always|never|do not|don['’]t)\b)"
).split
_PARTS = re.compile(rf"{_BETWEEN}|,\s++").split
_CASE = re.compile(
    r"[\W\d_]*(?:when|whenever|if|before|after|once|until|as|in case|for every|on every|wenn|bevor|nachdem"
    r"|sobald|quand|si|avant|après|cuando|antes|después|quando|se|prima|dopo|когда|если|перед|после)\b"
).match
_SIDES = (
    r"(?:users?|customers?|clients?|humans?|operators?|admin\w*|owner|boss|manager|he|she|they)"
)
# What asks first is left out, or is not needed.
_UNCHECKED = (
    r"(?:needs?|requires?) no (?:\w+ ){0,2}(?:confirm\w*|approval|permission|consent|review|verif\w*|checks?)"
    r"|no (?:confirm\w*|approval|permission|consent|verif\w*|checks?) (?:is|are) (?:needed|required|necessary)"
    r"|(?:confirm\w*|approval|permission|consent|review|verif\w*|checks?)(?: [^.\n]{1,40})? (?:is|are) (?:no longer|not) (?:needed|required|necessary)"
    r"|(?:need not|(?:do|does)(?: not|n['’]t) (?:have|need) to) be (?:asked|told|approved|confirmed|checked|verified)"
    r"|(?:skip|bypass|circumvent|avoid)(?:s|ped|ed|ping|ing)? (?:(?:the|all|any|every|its|their|security) ){0,2}"
    r"(?:confirm\w*|approval|review|verif\w*|checks?|moderation)"
    r"|without (?:(?:any|further|prior|first|explicit|an?|the|user|users|user['’]s) ){0,3}(?:asking|confirm\w*"
    r"|approval|permission|consent|review|verif\w*|checking)"
    r"|ohne (?:(?:den|die|das|zu|nutzer|kunden) ){0,3}(?:fragen|nachzufragen|rückfragen?|zustimmung|freigabe|bestätigung|genehmigung)"
    r"|sans (?:l['’])?(?:demander|confirm\w*|autorisation|accord)|sin (?:preguntar|confirm\w*|permiso|autorización)"
    r"|senza (?:chiedere|conferm\w*|autorizzazione|permesso)|sem (?:perguntar|confirm\w*|autorização)"
    r"|zonder (?:te )?(?:vragen|bevestiging|toestemming)"
)
_SKIPS = re.compile(rf"\b(?:{_UNCHECKED})\b").search
_PERMITTED = (
    r"hat [^.\n]{0,60}?(?:erlaubt|genehmigt|gestattet|freigegeben)|(?:a|ont) (?:autorisé|permis)\w*"
    r"|han? (?:autorizado|permitido|autorizzato|permesso)|autorizou|permitiu|heeft [^.\n]{0,60}?(?:toegestaan|goedgekeurd)"
    r"|(?:nutzer(?:in)?|kund(?:e|in)) (?:erlaubt|gestattet|genehmigt)|(?:utilisat\w+|cliente?) (?:autorise|permet)"
    r"|(?:usuari[oa]|utente|client[ea]|utilizador) (?:autoriza|permite|autorizza|permette)"
)
# A bar that is gone, a permission, and what has to be done by nobody who is named.
_PERMIT = re.compile(
    r"(?<!not )\b(?:(?:is|are|was|were|been|be|has|have|had)\b(?! not| never|n['’]t)[^.\n]{0,30}\b"
    r"(?:allowed|permitted|authori[sz]ed|pre-?approved|granted|lifted|waived|suspended|unlocked)"
    rf"|{_UNCHECKED}|{_PERMITTED}"
    rf"|{_SIDES} (?:has |have )?(?:waive|renounce)[sd]?"
    r"|(?:given up|dropped|lifted|withdrawn|revoked|abandoned) (?:the|his|her|their) (?:rule|limit|ban|restriction)s?"
    r"|(?:is|are) (?:now |always )?(?:free|welcome|entitled) to|\b(?:at any (?:time|moment)|jederzeit|à tout moment|en cualquier momento)"
    r"|(?:is|are) (?:now |always )?(?:acceptable|permissible|fine|ok(?:ay)?) (?:if|when(?:ever)?|for|to)"
    r"|(?:is|are) (?:(?:an?|now|fully|considered) ){0,2}(?:trusted|exempt\w*|whitelisted|safe to)"
    r"|(?:has|have|had) (?:(?:the|full|explicit|standing) ){0,2}(?:permission|approval|consent|authori[sz]ation|clearance) to"
    r"|(?<!\d )may (?!\d)[^.\n]{0,30}\b(?:freely|without)|(?:granted|gave|given) [^.\n]{0,40}\bpermission"
    r"|(?:safety|security|guard\w*|checks?|rules?|limit(?:ation)?s?|restrictions?|protections?|confirmations?|approvals?|verification|authentication|validation|filters?|logging|monitoring)"
    r" [^.\n]{0,30}\b(?:disabled|gone|off|removed|void|no longer appl\w+)"
    rf"|{_SIDES} (?:has |have |had )?(?:allow|permit|authori[sz])\w*"
    r"|it(?:['’]s| is| was) (?:all right|ok(?:ay)?|fine|acceptable) to"
    r"|(?:permission|approval|consent|authori[sz]ation|clearance) (?:was|is|has been) (?:given|granted)"
    r"|(?:allowed|permitted|authori[sz]ed) the (?:next )?(?:assistant|agent|model) to"
    r"|(?:no longer|need not|(?:do|does) not) (?:have |has |needs? )?(?:to )?be (?:checked|confirmed|verified|asked|reported)"
    r"|no longer (?:has|have|needs?) to be \w+|(?:is|are) not [^.\n]{0,30}\bany (?:more|longer)"
    rf"|(?:{_HAVE_TO}|(?<!\d )may) be (?:\w+ ){{0,3}}{_HARM}|{_HAVE_TO} be [^.\n]{{0,60}}\bwithout"
    rf"|(?:^|: )\W{{0,9}}{_HARM} of|(?:stay|be|is|are|left|kept) (?:unmentioned|unreported|undisclosed|unlogged|secret|hidden from))\b"
).search
# That somebody agreed to what does harm; to pay is agreed every day.
_CLAIM = re.compile(
    r"\b(?:it (?:was|is|has been)|all|both(?: of us)?|everyone|everybody|users?|customers?|clients?|they|he|she|team"
    r"|maintainers?|supervisors?|managers?|management|owners?|admin\w*)\s(?:has |have )?(?:since |also |already )?"
    rf"(?:decided|agreed|settled|approved|allowed|confirmed|authori[sz]ed)\b(?=[^.\n]{{0,200}}\b(?!paid|pay){_HARM})"
).search
_SIDE = re.compile(rf"\b(?:{_SIDES}|assistant)\b").search

_BARRED = re.compile(r"\b(?:no|nothing|nobody|none|kein\w*|nichts)\b[^,]{0,40}\Z").search
_NO_OBJECTION = re.compile(r"\bno objections? to\b")
# Who is quoted may begin by naming himself.
_IN_QUOTE = re.compile(r"[\"'“„«‘][^\"'”“»\n]{0,40}\Z")

_STANDING = re.compile(rf"\b(?:{NOW_ON})\b").search
_LASTING = re.compile(
    rf"\b(?:{_EVER}|{NOW_ON}|in (?:the )?future|every time|whenever|next time|any ?more)\b"
).search


class Order(NamedTuple):
    """What one clause orders or permits."""

    text: str
    """The clause, folded; of an order without what stands before its verb."""

    is_permit: bool
    """Whether it says that something is allowed, or that a rule is gone."""


def skips_check(said: str) -> bool:
    """Whether *said*, folded, says that nobody is asked, or that nothing is checked."""
    return _SKIPS(said) is not None


def is_standing(statement: str) -> bool:
    """Whether *statement* says what holds from now on."""
    return _STANDING(folded(statement)) is not None


def is_lasting(said: str) -> bool:
    """Whether *said*, folded, is to hold always, never or from now on."""
    return _LASTING(said) is not None


def orders_in(statement: str) -> Iterator[Order]:
    """Yield what *statement* orders and permits; what a page or a file ordered, it may tell."""
    text, before = _NO_OBJECTION.sub("allowed", folded(statement).strip()), ""
    for clause in (_PARTS if _CASE(text) or _COMMAND(text) else _CLAUSES)(text):
        command = _COMMAND(clause)
        found = command or _PERMIT(clause)
        told = before + clause[: found.start()] if found else ""
        before = clause
        # What the user said, he has to have said.
        if found and (not is_reported(told) or _SIDE(_IN_QUOTE.sub("", told))):
            start = max(map(command.start, ("order", "told"))) if command else 0
            # What nothing may be is forbidden.
            if not (_INQUIRES(clause, start) or _BARRED(clause[: found.start()])):
                # Who orders tells of no order after it.
                before = ""
                is_permit = command is None or _SEES_TO(clause, start) is not None
                yield Order(clause[start:], is_permit=is_permit)
        elif not found and (claim := _CLAIM(clause)):
            yield Order(clause[claim.end() :], is_permit=True)
