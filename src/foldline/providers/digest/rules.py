"""
The sentences in which the user forbids, demands or prefers, or says what holds of himself.

A rule is told to the assistant: a sentence that opens with an order or a prohibition, that is named a
rule, that is to hold from now on, or that says what its writer wants or is, or what something should
be. What only holds such a word is none: a report ("I don't have the number"), a question ("what if we
don't stream?"), a line of pasted code or of a log.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, groupby, zip_longest

from foldline.providers.digest.outline import Item
from foldline.providers.digest.prose import lines_of, sentence_in, split_sentences
from foldline.providers.digest.span import Speech
from foldline.providers.digest.text import ELLIPSIS, batches, distinct, letters_in, untypeset
from foldline.reduction.commands import NOW_ON
from foldline.reduction.quotes import TYPED


_MOST_RULES = 200
_LENGTHS = range(8, 241)

# Before Python 3.11.5 a group that is repeated without giving back (`*+`) loses its place, so that
# is written as: no further one follows.
_FIRST = (
    r"(?:(?:/\w{1,12}|and|also|but|so|then|no|ok|okay|yes|please|remember(?: to)?|note|rules?|important"
    r"|in particular|in general|from now on|for now|however|again|just|try to|let['’]?s|i said|actually"
    r"|really|that)\b[,:!]? +)"
)
_STEP = r"(?:\d{1,2}[.)] )?"
_LEAD = rf"{_STEP}{_FIRST}*(?!{_FIRST})"
# When and where the rule holds.
_CASE = (
    r"(?:(?:when|whenever|if|before|after|for|unless|until|while|once|in|on|as)\b"
    rf"[^.?!]{{1,160}}?[,:] (?:then )?{_LEAD})?"
)
_VERB = (
    r"(?:use|change|edit|touch|modify|run|write|add|read|do|send|call|show|answer|reply|return|fix|work"
    r"|look|include|output|respond|commit|test|delete|remove|create|import|accept|pay|book|count|keep|list"
    r"|leave|mention|put|take)\b"
)
_NOT = r"(?:do not|don['’]?t|dont)"
_REPORT = (
    r"(?:know|think|worry|mind|care|have|see|remember|understand|recall|believe|feel|seem|work|like|get"
    r"|exist|appear)\b"
)
_ORDER = (
    rf"(?:{_NOT} (?!{_REPORT})\w|never (?!mind|seen|been|had|heard|tried)\w|always \w|prefer\b|avoid\b"
    rf"|make (?:very )?sure\b|be sure\b|be careful\b|ensure\b|must not\b|only {_VERB}"
    rf"|{_VERB} (?:always|only)\b|(?:ask|consult|inform|notify|warn|check with|confirm with) (?:me|us) "
    r"(?:before|beforehand|every time|first|whenever)\b"
    # "Whenever you edit a file, format it", and no report: "Every time you start it, it fails"
    r"|(?:whenever|every time|each time) you [^,.?!]{1,80}, (?!i\b|it\b|that\b|the\b|there\b|this\b|we\b)\w"
    r"|(?:it is|\w{3,20}ing\b[^,.?!]{0,60} (?:is|are)) (?:strictly )?(?:forbidden|not allowed|prohibited)\b"
    r"|(?:answer|reply|respond|speak|talk)(?: to)?(?: me| us)? in "
    r"(?!a moment\b|case\b|detail\b|my\b|our\b|that\b|the\b|this\b|time\b|your\b)\w"
    r"|instead of\b|stop \w+ing\b|call me (?!a\b|at\b|back\b|if\b|later\b|on\b|when\b)\w"
    # "Use pnpm, not npm", "We don't use semicolons"
    rf"|(?:we )?{_VERB} [^,;:?!]{{1,80}}, (?:not (?!because\b|just\b|only\b|sure\b|that\b|yet\b)[`\w]"
    r"|no (?!hurry\b|matter\b|need\b|problem\b|rush\b|worr)\w)"
    rf"|{_VERB} [^,;:?!]{{1,80}} (?:after|before) (?:each|every) \w"
    rf"|we (?:{_NOT}|always|never|only) (?:allow|commit|deploy|log|merge|mix|mock|push|share|ship|store"
    r"|use|write)\b(?! (?:it|that|the|these|this|those)\b)|you (?:are not|aren['’]t) allowed\b"
    r"|you (?:must|should|shall|may|have to|need to)(?: not| only| always| never)\b|you can only\b|you are (?:always|never|only) to\b"
    r"|you (?:must|should|have to|cannot|can['’]?t|mustn['’]?t|shouldn['’]?t) (?!have\b|be\b|see\b))"
)
_MUCH = r"(?: (?:would|really|actually|still|definitely|just|also|much)|['’]d)"
_WANT = (
    r"(?:^|[,;:(-] ?|\b(?:and|but|as|since|because|so|that|no) )(?:i|we)"
    rf"{_MUCH}*(?!{_MUCH}) (?:prefer\b|rather\b|insist\b"
    rf"|(?:only|always|never|{_NOT}) (?:actually |really |even )?(?:want|need)\b"
    r"(?! to (?:know|wait|worry|do|make sure)\b)(?! (?:it|that|this|them|these|those)\W*$)"
    r"|(?:hate|dislike|can(?:no|['’]?)t stand) (?!how\b|it\b|that\b|this\b|to\b|when\b|you\b)\w"
    r"|(?:like|want|expect) (?:to (?:get|have|see) )?(?:all|each|every|everything) "
    r"(?!\d|four\b|my\b|of\b|the\b|these\b|this\b|those\b|three\b|to (?:be|pass|run|work)\b)\w"
    r"|(?:expect|like|need|want) you to (?:always|never|only|(?:answer|reply|respond) in)\b"
    r"|(?:like|love|want) (?:(?:my|your) )?(?:answers|replies|brief|concise|plain|short|simple)\b)"
)
# What holds of its writer.
_FACT = (
    r"(?:^|[,;:(-] ?|\b(?:and|but|as|since|so|because) )(?:"
    r"(?:i am|i['’]?m) (?:an? )?(?:(?:also|severely|strict|strictly|very) )?"
    r"(?:allergic|celiac|colou?r[ -]?blind|diabetic|dyslexic|vegan|vegetarian)\b"
    rf"|i (?:{_NOT}|can(?:no|['’]?)t|never|only) (?:drink|eat)\b(?! (?:it|that|this)\b)"
    r"|(?:i live|i am based|i['’]?m based) in (?!an? |the )\w"
    r"|my (?:first |full |real )?(?:name(?:['’]?s| is)|pronouns are|birthday is|time ?zone is)\b"
    r"|keep (?:it|that|this) in mind\b)"
)
# What has a new value: "The limit is now 7", "The port is 9191 now"
_VALUE = r"(?=[^\s\d]{0,20}\d)\S{1,60}"
_CHANGE = (
    rf"(?:the|our|my) (?:[\w./-]{{1,40}} ){{1,5}}?(?:(?:is|are) (?:now (?:at |set to )?{_VALUE}|{_VALUE} now\b)"
    r"|(?:moves?|shifts?|(?:is|are|has been|have been|was|were)(?: now)? (?:cut|increased|lowered|moved|postponed"
    rf"|raised|reduced|shifted)) (?:[a-z-]{{1,20}} ){{0,4}}?(?:[a-z-]{{1,20}}: )?{_VALUE})"
    rf"|(?:there are|we are|we have|it['’]?s|it is) (?:now (?:only )?{_VALUE}|{_VALUE}[^.?!]{{0,40}} now\b)"
    # "Set MAX to 50", "Mude o mínimo de 20 para 75"
    r"|(?:aument[ae]|bump|cambi[ae]|change[rz]?|decrease|erhöhe|increase|lower|make|mud[ae]|passe[rz]?|raise|reduce"
    r"|senke|set|setze|ändere) [^.?!]{1,60}? (?:a|à|at|auf|de|for|from|para|to|von) \S{0,12}\d"
)
# What takes a rule back, and what was decided: "You may edit it now", "English is fine again"
_BACK = (
    r"(?:you (?:may|can|are allowed to) (?:now |again )?(?:[^\s,.?!]{1,40} ){1,12}?(?:now|again|anyway|after all)\b"
    r"|you (?:may|can|are allowed to) (?:now|again) \w"
    r"|(?:[^\s,.?!]{1,40} ){1,8}?(?:is|are) (?:allowed|fine|good|ok|okay|welcome) (?:again|after all)\b"
    r"|(?:[^\s,.?!]{1,40} ){1,8}?no longer (?:appl(?:y|ies)|counts?|holds?|matters?|needed|necessary|valid)\b"
    r"|(?:you|we) (?:no longer (?:have|need) to\b|(?:do not|don['’]?t) (?:have|need) to (?:[^\s,.?!]{1,40} ){1,12}?"
    r"(?:any ?more|any longer)\b)"
    r"|(?:forget|ignore|drop|lift|scrap) (?:about )?(?:my|that|the|this) (?:[^\s,.?!]{1,40} ){0,4}?"
    r"(?:ban|limit|request|restriction|rule|wish)\b"
    r"|(?:i|we)(?: have|['’]ve)?(?: now| finally| just)? decided (?:against|for|not|on|to)\b)"
)
# What has no verb that tells something, and how it begins: "No flights before 8", "At most two retries"
_TELLS = (
    r"(?!.*\b(?:am|applied|are|can|did|do|does|fail(?:ed|s)?|found|had|has|have|he|i|is|it|left|passed|she|that|there"
    r"|they|this|was|we|were|will|yet|you)\b)"
)
_NONE = (
    r"(?:strictly |absolutely )?no (?!changes\b|errors\b|fixes\b|ideas\b|issues\b|longer\b|news\b|one\b|problems\b|dices\b|haces\b|puedes\b|quieres\b|sabes\b|tienes\b"
    rf"|results\b|thanks\b|worries\b){_TELLS}(?:[\w-]{{1,20}} ){{0,2}}[\w-]{{2,20}}s\b"
)
_BOUND = (
    r"(?:(?:at most|at least|max(?:imum|\.)?|not (?:before|later than|more than|over|until)) [`\w]"
    rf"|(?:nothing (?:above|below|over|under)|only (?:[\w-]{{1,20}} ){{0,2}}[\w-]{{2,20}}s (?:after|before|between|by|from"
    rf"|that|which|with)) {_TELLS}[`\w]"
    r"|no(?:body|thing| one) (?:but|except|(?:gets|goes|is|leaves|may)\b.* (?:before|unless|until|without))\b"
    r"|leave (?:the |my |our )?[^.?!]{1,40} (?:alone|untouched|as (?:it|they) (?:is|are))\b|hands off\b|we agreed (?:on|to)\b"
    r"|stick (?:to|with)\b|every (?!time\b)[\w-]{1,20} (?:gets|must|needs)\b|without (?:my|our) (?:approval"
    r"|consent|ok(?:ay)?|permission)\b|(?:give|list|report|show|write) (?:all|each|every|everything)\b[^.?!]{1,40} (?:as|in)\b)"
)
# What is named a rule.
_LABEL = (
    r"(?:(?:the|these|this|here|are|is|my|our|your|an?|one|two|three|some|few|first|second|another|new"
    r"|general|ground|house|basic|golden|hard|strict|important|standing|project|coding|only|following"
    r"|kleine|meine?|unsere?|mes|mis|minhas?|le mie) ){0,5}"
    r"(?:rules?|guidelines?|conventions?|preferences?|corrections?|change of plans?|(?:constraint|requirement)s?|(?:grund)?regeln?"
    r"|korrektur|règles?|reglas?|corrección|regras?|correção|regol[ae]|correzione)"
    r"(?: (?:about|for|from|here|in|of|on|für|pour|para|per)\b[^:.?!\n]{0,60})? ?:"
)
# What is said to be kept.
_KEPT = r"(?:remember|keep in mind|bear in mind)(?:,? that\b|:)|for future reference[,:]"
_PLACED = r"(?:the|this|that|these|those|it|they|all|every|each|everything|nothing|any|users?|your|answers|replies)"
_WISH = (
    r"(?:use \S{1,60} instead|keep (?!going|on\b|it up|trying|in mind))\b"
    # What something is to be: "The list should be sorted", "This plan must hold"
    rf"|(?:{_PLACED} )?(?:(?!(?:what|where|which|how|who|why|there)\b)[\w`'\"./()<>-]{{1,60}} ){{1,5}}"
    r"should (?!now\b|work\b|pass\b|have\b|be (?:fixed|fine|good|ok|okay|there|done|ready|able)\b)|"
    + _PLACED
    + r" (?:[\w`'\"./-]{1,60} ){0,4}must\b(?! have\b)"
    r"|(?:(?!it\b)[\w`'\"./-]{1,60} ){1,4}must (?:always|never|not|only)\b"
)
# The simplest marks of other languages.
_ABROAD = (
    r"(?:bitte |s['’]il (?:te|vous) pla[iî]t,? |por favor,? |per favore,? |пожалуйста,? )?(?:"
    r"niemals|immer |nie |auf keinen fall|vermeide|achte darauf|du darfst|sie dürfen|ich bevorzuge"
    r"|ich (?:will|möchte) (?:nicht|kein)|jamais|toujours|évite[rz]?\b|n['’]\w+ (?:pas|jamais|plus)"
    r"|ne (?:\w+ ){1,2}(?:pas|jamais|plus)|je préfère|je ne veux (?:surtout )?pas|nunca (?![^\W\d_]{1,20}(?:ó|é|aron|ieron|aba|ía)\b)|siempre|jamás|evita\b|prefiero"
    r"|no (?:quiero|uses|hagas|toques|borres|cambies|modifiques|escribas|olvides)\b"
    r"|sempre|evite\b|prefiro|não \w+|mai |preferisco|non \w+(?:are|ere|ire)\b"
    r"|non voglio|никогда|всегда|не \w+(?:й|йте|ь|ьте)\b"
    # "Antworte immer kurz", and no report: "Esto siempre falla"
    r"|(?!(?:ce|cela|das|dies|ele|ella?|es|est|eso|esto|falla|funciona|geht|heute|isso|ist|isto|noch|per"
    r"|quasi|quello|questo|schon|va|war|wie)\b)[^\W\d_]{2,20}(?:-moi|-me)?(?: bitte| mir| uns)? "
    r"(?:immer(?! noch\b)|nie(?:mals)?|stets|toujours|siempre|sempre)\b"
    r"|bitte (?:[^\W\d_]{1,20} ){0,4}(?:immer|keine?n?|nicht|nie(?:mals)?|nur)\b"
    r"|[^\W\d_]{2,20} (?:sie )?(?:mir )?bitte (?:keine?n?|nicht|nie(?:mals)?|nur)\b"
    r"|nicht (?:vor|nach|ohne|mehr als|über|unter) \S|kein(?:e[nrs]?)? (?!ahnung\b|frage\b|idee\b|problem|sorge|thema\b|wunder\b|zeit\b)"
    r"[^.?!]{1,60} bitte\b|[^\W\d_]{2,20}en sie (?:[^\W\d_]{1,20} ){1,4}(?:immer|keine?n?|nicht|nie(?:mals)?|nur)\b"
    r"|(?:höchstens|maximal|mindestens|ausschließlich|spätestens|frühestens|alles nur|am liebsten|nur (?!noch\b|so\b|weil\b|dass\b))\b"
    r"|(?:benutze|nimm|nutze|verwende)\w* [^.?!]{0,40}\b(?:nur|keine?n?)\b"
    r"|[^.?!]{1,80} (?:darf|dürfen) (?!ich\b|wir\b)(?:[^\s,]{1,20} ){0,4}(?:nicht|nie|nur|keine?n?)\b"
    r"|[^.?!]{1,60}\b(?:ne (?:doit|doivent|devez|peut|peuvent) (?:pas|jamais|plus)|non (?:deve|devono|può|possono)|não (?:pode|podem|deve|devem)) "
    r"|no (?:debe|deben|puede|pueden) (?:exceder|pasar|ser|superar)\b|no (?:me |nos |le |lo |la )?[^\W\d_]{2,20}[áé]is\b"
    r"|tienen? que [^\W\d_]{2,20}[aei]r\b|(?:solo|sólo|soltanto|somente|apenas|uniquement|seulement|únicamente) (?!una? vez\b)\S"
    r"|(?:como máximo|al massimo|au maximum|au plus|no máximo|nada de)\b|pas de (?!panique\b|problème|quoi\b|souci)\S"
    r"|ne [mtsl]['’]\w{2,20} (?:pas|jamais|plus)\b|non [^\W\d_]{2,20}(?:temi|telo|tela|teci)\b|только |не более "
    r"|no (?!(?:dices|haces|puedes|quieres|sabes|tienes)\b)[^\W\d_]{2,20}[ae]s (?:m[aá]s|nada|nunca)\b"
    r"|antworten?(?: sie)?(?: bitte| mir| uns){0,2} (?:auf|in)\b|réponde?[sz]?(?:-moi)? en\b"
    r"|(?:responde|contesta)(?:me)? en\b|respond[ae](?:-me)? em\b|rispondi(?:mi)? in\b"
    r"|frage?(?:n sie)? mich,? (?:bevor|vorher|zuerst)\b|demande[sz]?-moi (?:avant|d['’]abord)\b"
    r"|preg[uú]ntame (?:antes|primero)\b|pergunt[ae](?:-me)? antes\b|chiedimi prima\b"
    r"|ich heiße|ich bin (?:veganer|vegan|vegetarier|allergisch)|mein name ist|je m['’]appelle"
    r"|je suis (?:allergique|végan|végétari)|me llamo|mi nombre es|soy (?:alérgic|vegan|vegetarian)"
    r"|me chamo|meu nome é|sou (?:alérgic|vegan|vegetarian)|mi chiamo|sono (?:allergic|vegan|vegetarian))"
)
# These read sentences in lower case: to ignore the case in a pattern takes twice as long.
_ORDERED = re.compile(
    rf"{_LEAD}{_CASE}(?:{_ORDER}|{_BOUND})|{_NONE}|(?:(?:also|and|please) )?{_KEPT}"
).match
_LABELLED = re.compile(rf"{_LABEL} \S").match
_ORDERED_ABROAD = re.compile(rf"(?:(?:aber|e|et|ma|mais|mas|pero|und|y) )?{_STEP}{_ABROAD}").match
# What begins inside a sentence.
_INSIDE = re.compile(
    rf"(?:[(;–—-] ?|, (?:(?:but|and) )?(?:please )?)(?:{_NOT} (?!{_REPORT})\w|never (?!mind\b)|always )"
).search
_ENDING = re.compile(
    rf"\bplease (?:avoid|don['’]?t|do not|never) |(?<=\w )(?:and never {_VERB}|every time (?:i|we) )"
    r"|(?:has|have) to be (?:left out|removed|kept|excluded)\b"
).search
_ANYWHERE = re.compile(
    rf"\b(?:(?!\w{{2,3}} the following\b)(?:{NOW_ON})|under no circumstances?|until further notice|off[ -]limits"
    r"|for the rest of (?:our|the|this) (?:chat|conversation|day|project|session))\b|\bfrozen,? (?:so )?(?:don['’]?t|do not|no|until)\b"
    r"|(?:^|[,;:–—-] )(?:and |just |please |so )*be (?:as |very )?(?:brief|concise|polite|terse)\b"
    r"|\b(?:nicht|niemals|keine?n?)\b[^,]*!$"
).search
_ANYWHERE_BEYOND_ASCII = re.compile(
    r"不要|不得|禁止|必须|必須|务必|请勿|請勿|一定要|(?:^|[,,先请。])别(?![的人名处])|先别|只能|不能超过|不能用|统一为|请用|ないで(?!す)|ないこと|ること[。.]?$|で(?:書い|答え|返し)て(?:ください|下さい)|は\w{1,3}すな|지 ?말|てはいけない|必ず|常に|絶対に"
    r"|하지 ?마|마세요|항상|반드시|절대|[은는도면] 안 ?[돼됩되된]|(?:빼|제외해) ?주|[은는] 싫|지 ?않(?:게|도록)"
    r"|(?:^|[ ،])و?(?:لا [أن]ريد|لا يجوز|يجب|ممنوع|أبد[اًا]|إطلاق|مطلق|فقط)|(?:^|[،:;] ?)[فو]?لا ت"
    r"|(?:^|\s)(?:मत|हमेशा|अनिवार्य|कभी (?:न|नहीं|मत)|नहीं (?:चाहिए|होना|होनी|करना)|न \S{1,20}(?:ें|एँ|एं|ना|ाए|ाओ|िए))(?:[\s।]|$)"
).search
_PREFERENCE = re.compile(rf"{_LEAD}{_CASE}(?:{_WISH})").match
_WANTED = re.compile(f"{_WANT}|{_FACT}").search
_CHANGED = re.compile(rf"{_LEAD}(?:{_CHANGE})").match
_TAKEN_BACK = re.compile(_LEAD + _BACK).match
# A list of rules.
_LIST = re.compile(
    rf"(?im)^[ \t#*]{{0,9}}{_LABEL}[ \t*]{{0,9}}$((?:\n[ \t]*(?:(?:[-*+•]|\d{{1,2}}[.)])[ \t].*)?)+)"
).findall
# What is about the writer tells, and does not ask.
_OWN = re.compile(r"\b(?:i|my|me|we|our)\b").search


def _words(listed: str) -> frozenset[str]:
    # Some write them without the apostrophe; with it the sign is the `t`.
    return frozenset(listed.replace("'", "").split())


# What a rule is named, and for when it may be given.
_LABELS_ABROAD = _words(
    "correzione grundregel grundregeln korrektur regel regeln regla reglas regola regole regra regras"
)
_LABELS = _LABELS_ABROAD | _words(
    "constraint constraints convention conventions correction corrections guideline guidelines plan plans"
    " preference preferences requirement requirements rule rules"
)
_LATER = _words("following future later subsequent")
_OCCASIONS = _words(
    "answer answers call calls message messages replies run runs session sessions task tasks turn turns"
)
# "From here on"
_TIMES = _words("here now point today")
_ABROAD_NOW = _words(
    "agora ahora jetzt kein keine keinen keinn nicht niemals nu nun poi sofort sonra teraz"
)
# One of these is in every sentence of other languages written without accents that is taken here.
_SIGNS_ABROAD = (
    _LABELS_ABROAD
    | _ABROAD_NOW
    | _words(
        "achte antworte antworten appelle auf bevorzuge bin chamo chiamo chiedimi contesta contestame darfst"
        " demande demandez evita evite frag frage fragen ich immer jamais llamo mai n ne nie no nombre non"
        " nunca nur pergunta pergunte preferisco prefiero prefiro preguntame responda responde respondeme"
        " alles am apenas au al como ausschließlich benutze bitte deve devono dürfen höchstens maximal massimo"
        " mindestens nada nimm nutze pas possono puede pueden debe deben seulement solo soltanto somente tiene"
        " tienen uniquement verwende liebsten darf doivent doit"
        " rispondi rispondimi sempre siempre sono sou soy stets suis toujours vermeide vermeiden"
    )
)
# Most sentences have none of the signs of a pattern that searches them whole.
_NOWHERE = _ABROAD_NOW | _words(
    "brief circumstance circumstances concise forward frozen henceforth limits notice polite rest terse"
)
_WANTS = _words(
    "all allergic always answer answers based birthday blind brief celiac colorblind colourblind concise"
    " diabetic dislike drink dyslexic each eat every everything hate insist live mind name need never only"
    " plain prefer pronouns rather replies reply respond short simple stand timezone vegan vegetarian want zone"
)
_BOUNDS = _words(
    "agreed alone every everything excluded hands kept left max maximum most never nobody nothing"
    " please removed stick strictly until untouched without"
)
_ENDINGS = _words("every excluded kept left never please removed")
_DENIALS = _words("always don't never not t")
_WISHES = _words("instead keep must should")
_CHANGES = _words(
    "now move moves shift shifts cut increased lowered moved postponed raised reduced shifted aumenta aumente"
    " bump cambia cambie change changer changez decrease increase lower make muda mude passe passer passez raise reduce"
    " senke set setze"
)
_BACKS = _words(
    "again all anymore anyway decided longer more now ban limit request restriction rule wish"
)
# One of these is in every English sentence that a pattern here takes; all of them are whole words.
_SIGNS = _words(
    "allowed ask avoid cannot can't careful check confirm consult don't ensure forbidden have inform may"
    " mustn't not notify on prohibited remember shall shouldn't speak stop sure t talk time warn whenever"
).union(
    _SIGNS_ABROAD,
    _LABELS,
    _BOUNDS,
    _LATER,
    _OCCASIONS,
    _TIMES,
    _NOWHERE,
    _WANTS,
    _WISHES,
    _CHANGES,
    _BACKS,
)
# One of these is in each sentence that `_ORDERED` takes, if it has a sign at all.
_MORE = _words("least leave")
_ALL_SIGNS = _SIGNS | _MORE
_ORDERS = (
    _BOUNDS
    | _DENIALS
    | _MORE
    | _words(
        "all allowed answer ask call cannot can't careful check confirm consult don't each ensure forbidden future"
        " have inform instead keep may mind must mustn't need no notify only prefer prohibited remember reply"
        " respond shall should shouldn't speak stop sure talk time avoid warn whenever"
    )
)
# Signs that are none without a word beside them, and those words.
_WEAK = _words(
    "all allowed auf call calls cannot can't have ich may message messages mustn't name need no not on run"
    " runs session sessions shall shouldn't simple t task tasks turn turns want"
)
_BESIDE = _words(
    "borres cambies do don escribas expect hagas like mas me modifiques my nada olvides quiero toques use"
    " uses want you"
)
_FIRST_SIGNS = (_SIGNS - _WEAK) | _BESIDE
_QUOTED = re.compile(r"(?m)^[ \t]*>.*$")
_CODE = re.compile(r"[;{}]$|=>|\);|^\W*\d+[:\s]|\w(?:Error|Exception):|\x1b")


def _is_asked(sentence: str, signs: AbstractSet[str]) -> bool:
    if sentence.endswith(("?", "？", "؟", ELLIPSIS)):
        return False
    said = sentence.lower()
    is_asked = (
        _is_strict(said, signs)
        or (signs & _WANTS and ("mind" in signs or _OWN(said)) and _WANTED(said))
        or (signs & _CHANGES and _CHANGED(said))
    )
    is_wished = not is_asked and signs & _WISHES and _PREFERENCE(said)
    return bool(is_asked or (is_wished and not _OWN(said))) and not _CODE.search(sentence)


def _signed(lines: Sequence[str]) -> Iterator[tuple[str, AbstractSet[str]]]:
    """Yield those of *lines* that may be rules, and their signs; beyond ASCII each may be there."""
    joined = untypeset("\n".join(lines))
    letters = letters_in(joined).split("\n")
    for line, plain, read in zip(lines, joined.split("\n"), letters, strict=True):
        words = read.split()
        if not plain.isascii():
            yield line, _SIGNS
        elif (words[:1] == ["no"] or not _FIRST_SIGNS.isdisjoint(words)) and (
            not _SIGNS.isdisjoint(words)
        ):
            yield line, _ALL_SIGNS.intersection(words)


def _is_strict(said: str, signs: AbstractSet[str]) -> bool:
    is_likely = (
        signs & _NOWHERE
        or ("on" in signs and signs & _TIMES)
        or (signs & _LATER and signs & _OCCASIONS)
    )
    return bool(
        (signs & _ORDERS and _ORDERED(said))
        or (signs & _DENIALS and _INSIDE(said))
        or (signs & _ENDINGS and _ENDING(said))
        or (signs & _LABELS and _LABELLED(said))
        or (
            signs & _SIGNS_ABROAD
            # A rule may have a label in front.
            and any(map(_ORDERED_ABROAD, (said, *said.split(": ", 1)[1:])))
        )
        or (is_likely and _ANYWHERE(said))
        or (is_likely and not said.isascii() and _ANYWHERE_BEYOND_ASCII(said))
        or (signs & _BACKS and _TAKEN_BACK(said))
    )


def offer_rules(
    speeches: Iterable[Speech],
    *,
    prior: Sequence[str],
    asked: Iterable[str],
    shown: Collection[str] = (),
) -> list[Item]:
    """
    Offer the rules of the user, the strict ones first; those in texts that are *shown* are weak.

    Of equally strict ones the newest and the oldest alternate: a rule holds until it is withdrawn.
    """
    new = (speech.text for speech in speeches if speech.role == "user")
    texts = distinct([*rules_in(asked), *prior, *rules_in(new)])
    signs = dict(_signed(texts)) if texts else {}
    strict = [
        at for at, one in enumerate(texts) if one in signs and _is_strict(one.lower(), signs[one])
    ]
    others = sorted(set(range(len(texts))).difference(strict))
    ranked = _from_both_ends(strict) + _from_both_ends(others)
    return [
        Item(texts[place], place, is_weak=any(texts[place] in one for one in shown))
        for place in ranked[:_MOST_RULES]
    ]


def has_rule(text: str) -> bool:
    """Whether a person has typed *text*, and a rule in it."""
    if len(text) > TYPED:
        return False
    plain = untypeset(text)
    words = letters_in(plain).split()
    # Half of all texts have no sign: this saves their lines.
    is_likely = "no" in words or not (plain.isascii() and _FIRST_SIGNS.isdisjoint(words))
    return is_likely and any(rules_in([text]))


def rules_in(texts: Iterable[str]) -> Iterator[str]:
    """Yield the rules in *texts* of the user, word for word."""
    for is_typed, alike in groupby(texts, key=lambda text: len(text) <= TYPED):
        for batch in batches(_QUOTED.sub("", one) if ">" in one else one for one in alike):
            # A list has lines, and most texts have one.
            lists = map(_LIST, (text for text in batch if is_typed and "\n" in text))
            for one in chain.from_iterable(lists):
                yield from split_sentences(one, lengths=_LENGTHS)
            yield from _said(batch, is_typed=is_typed)


def _said(texts: Sequence[str], *, is_typed: bool) -> Iterator[str]:
    for line, signs in _signed(lines_of(texts)):
        sentence = sentence_in(line, _LENGTHS)
        is_asked = sentence and _is_asked(sentence, signs)
        if is_asked and (is_typed or _is_strict(sentence.lower(), signs)):
            yield sentence


def _from_both_ends(places: Sequence[int]) -> list[int]:
    pairs = zip_longest(reversed(places), places)
    return list(dict.fromkeys(place for pair in pairs for place in pair if place is not None))
