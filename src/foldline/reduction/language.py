"""
Which language a text is in, and the little words that give it and its speaker away.

Every list holds words that are frequent in its language; a text of some length has many of them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct


class Language(Struct, frozen=True, kw_only=True):
    """What is known of one language."""

    little: frozenset[str]
    """Articles, pronouns, prepositions and auxiliary verbs."""

    names: frozenset[str]
    """What the language is called, so that an instruction can ask for it."""

    own: frozenset[str]
    """How a speaker names himself."""

    others: frozenset[str]
    """How he names whom he speaks to."""

    telling: frozenset[str]
    """How one tells of a conversation, its sides and what they said."""


def _language(names: str, little: str, *, own: str, others: str, telling: str) -> Language:
    return Language(
        names=_set(names),
        # In code, a single letter is a name.
        little=frozenset(one for one in little.split() if len(one) > 1 or not one.isascii()),
        own=_set(own),
        others=_set(others),
        telling=_set(telling),
    )


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


LANGUAGES = {
    "en": _language(
        "english",
        "the a an and or but of to in on at by for from with is are was were be been has have had it "
        "this that these which who not as they he she their his her will would should could can into "
        "than then there also about after before because when where what while been more some",
        own="i i'm i'll i'd i've me my",
        others="you your you're you'll you've you'd yours yourself",
        telling="user users assistant conversation summary summarized customer agent client person "
        "asked asks requested wants wanted said says told discussed discussion talked spoke meeting "
        "decided explained suggested mentioned proposed thought group team record participants",
    ),
    "de": _language(
        "german deutsch",
        "der die das den dem des ein eine einen einem einer und oder aber von zu im in mit auf für ist "
        "sind war waren wurde wurden hat haben nicht auch sich er sie es als an bei nach aus dass wird "
        "werden noch nur über um so wie bis durch",
        own="ich mir mich mein meine",
        others="du dir dich dein deine deinen deinem deiner euch euer eure",
        telling="nutzer benutzer assistent gespräch unterhaltung zusammenfassung kunde kundin fragte "
        "wollte bat gebeten sagte möchte wünschte besprochen erklärte schlug gesprochen nutzerin",
    ),
    "fr": _language(
        "french français francais",
        "le la les un une des du de et ou mais à au aux en dans sur par pour avec est sont était étaient "
        "a ont été il elle ils elles ce cette ces qui que ne pas se son sa ses leur plus comme aussi",
        own="je j'ai me moi mon ma mes",
        others="tu te toi vous votre vos",
        telling="utilisateur utilisatrice assistant conversation résumé client cliente demandé demande "
        "voulait souhaite discuté expliqué proposé échange",
    ),
    "es": _language(
        "spanish español espanol castellano",
        "el la los las un una unos unas de del y o pero a al en con por para es son era eran fue fueron "
        "ha han ser se su sus lo que no como más este esta también sobre cuando",
        own="yo me mi mis voy puedo debo necesito",
        others="tú tu tus te usted ustedes",
        telling="usuario usuaria asistente conversación resumen cliente clienta pidió pidieron preguntó quería "
        "quiere dijo explicó propuso habló",
    ),
    "it": _language(
        "italian italiano",
        "il lo la i gli le un uno una di del della dei delle e o ma a al alla in nel con per da dal è "
        "sono era erano stato stata ha hanno non che si suo sua come più anche questo questa",
        own="io mi mio mia miei vado posso devo",
        others="tu ti tuo tua voi vostro",
        telling="utente assistente conversazione riassunto cliente chiesto chiede voleva vuole detto "
        "spiegato proposto discusso",
    ),
    "pt": _language(
        "portuguese português portugues",
        "o a os as um uma uns umas de do da dos das e ou mas ao à em no na nos nas com por para é são "
        "era foram foi tem têm ser se seu sua não que como mais também este esta",
        own="eu me meu minha vou posso preciso",
        others="tu te teu você vocês",
        telling="usuário usuária utilizador assistente conversa resumo cliente pediu pediram perguntou queria "
        "quer disse explicou propôs",
    ),
    "nl": _language(
        "dutch nederlands",
        "de het een en of maar van naar in op aan bij met voor door is zijn was waren heeft hebben had "
        "wordt werd werden niet ook die dat dit deze er om als te uit over nog zich",
        own="ik mij mijn",
        others="jij je jou jouw u uw",
        telling="gebruiker assistent gesprek samenvatting klant vroeg vraagt wilde wil zei legde besprak",
    ),
    "sv": _language(
        "swedish svenska",
        "en ett och eller men av till i på vid med för från är var har hade inte som att det den de han "
        "hon om så kan ska skulle också sig blev blir",
        own="jag mig mitt mina",
        others="du dig din ditt dina",
        telling="användaren assistenten samtalet sammanfattning kunden frågade ville bad sade",
    ),
    "da": _language(
        "danish dansk norwegian norsk",
        "og i at er en et den det til på de som med for ikke der af av har var ble blev blir fra også vil kan skal "
        "men om etter efter ved eller så seg sig vi alle han hun",
        own="jeg meg mig mitt mine",
        others="du deg dig din ditt dine jeres dere",
        telling="brugeren brukeren assistenten samtalen sammendrag opsummering kunden spurgte spurte bad sagde "
        "ønsker ønskede ønsket",
    ),
    "pl": _language(
        "polish polski polsku",
        "i w na z do od po za przez dla o u ze nie się jest są był była było były został została to ten "
        "ta te tego tej jego jej ich że jak ale oraz lub już także",
        own="ja mnie mi mój moja",
        others="ty cię twój twoja",
        telling="użytkownik użytkownika asystent rozmowa rozmowy podsumowanie klient poprosił poproszono zapytał "
        "chciał chce powiedział",
    ),
    "tr": _language(
        "turkish türkçe turkce",
        "bir ve veya ama bu şu o ile için de da mi mı ne gibi daha çok en olan olarak olduğu kadar sonra "
        "önce var yok değil her ki ya",
        own="ben bana benim beni",
        others="sen sana senin siz size sizin",
        telling="kullanıcı asistan konuşma özet müşteri sordu istedi istiyor dedi",
    ),
    "ru": _language(
        "russian русский русском",
        "и в на с к по из от за для о у не что это как он она они его её их но или был была было были "
        "быть есть же бы также если при так уже до",
        own="я мне меня мой моя",
        others="ты тебе тебя вы вам вас ваш ваши",
        telling="пользователь пользователя ассистент разговор разговора резюме сводка клиент попросил попросили "
        "спросил хотел хочет сказал обсудили",
    ),
}
"""The languages that are told apart by their words, by code."""

FUNCTION_WORDS = frozenset(word for one in LANGUAGES.values() for word in one.little)
"""The little words of all of them."""

_CODES = {
    word: [code for code, one in LANGUAGES.items() if word in one.little] for word in FUNCTION_WORDS
}

TELLING = frozenset(word for one in LANGUAGES.values() for word in one.telling)
"""The words of telling of all of them."""

ANSWERING = _set("assistant assistent asistente assistente assistenten asystent asistan ассистент")
"""What the side is called that answers."""

SIDES = ANSWERING | _set(
    "user users customer nutzer nutzerin benutzer kunde kundin utilisateur utilisatrice usuario usuaria utente "
    "usuário usuária utilizador gebruiker användaren brugeren brukeren użytkownik użytkownika kullanıcı "
    "пользователь пользователя"
)
"""What the two sides of a conversation are called."""

DANGLING = _set(
    "the an to be been does was were would should could not if and or but because that which whose whether of into from with than der das und oder weil le les et ou el los il gli het een och или и"
)
"""Words that no sentence and no line ends with."""

_OTHER_NAMES = _set(
    "chinese mandarin japanese korean arabic hebrew greek hindi thai vietnamese ukrainian czech "
    "finnish hungarian romanian persian indonesian bengali tamil language"
)
_NAMES = _OTHER_NAMES | {name for one in LANGUAGES.values() for name in one.names}
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""The characters of Chinese, Japanese, Thai and their neighbours, which write no spaces between words."""

# Letters beside digits are of a code: "HAT136" is no German word.
_WORD = re.compile(
    rf"(?<![^\W_{UNSPACED}])[^\W\d_{UNSPACED}]++(?!\d)(?:['’][^\W\d_{UNSPACED}]+)?|[{UNSPACED}]"
)
# In lower case, with spaces for what is in no word.
_SPACED = bytes(
    ord(" ") if chr(code).isascii() and not (chr(code).isalnum() or chr(code) == "'") else code
    for code in range(256)
).lower()
_IS_UNSPACED = re.compile(rf"[{UNSPACED}]").match
_LETTERS_OF_A_STEM = 6
_LEAST_LETTERS = 4
_LEAST_LETTERS_ELSEWHERE = 2

# How many words decide, and how large a part of them little words of a language are at least.
_LEAST_WORDS = 12
_LEAST_SHARE = 0.12
# How much more of one language than of any right one there is.
_TIMES = 2.0
# What has so much of the most frequent language is another language of the same text.
_SOME = 0.25
_LEAST_OF_SCRIPT = 0.05
# One sentence has to have so many words, and so many different little ones.
_LEAST_OF_SENTENCE = 8
_LEAST_LITTLE = 3
# Names and code stay in their own script.
_MUCH_OF_SCRIPT = 0.2


class Profile(Struct, frozen=True, kw_only=True):
    """How much of each script and language a text has."""

    count: int
    scripts: dict[str, float]
    languages: dict[str, float]

    beside: dict[str, float]
    """How much of each language there is in words that the most frequent one lacks."""


def words(text: str) -> list[str]:
    """Return the words of *text*, folded; where no spaces are written, its characters."""
    spaced = text.encode(errors="surrogatepass").translate(_SPACED)
    runs = spaced.decode(errors="surrogatepass").split()
    # A pattern is several times as slow, and most runs are a word.
    different = set(runs)
    whole = filter(str.isascii, filter(str.isalpha, different))
    others = {run: _words_in(run) for run in different.difference(whole)}
    if not others:
        return runs
    said: list[str] = []
    for run in runs:
        inner = others.get(run)
        if inner is None:
            said.append(run)
        else:
            said += inner
    return said


def _words_in(run: str) -> list[str]:
    return _WORD.findall(run.casefold().replace("’", "'"))


def is_unspaced(text: str) -> bool:
    """Whether *text* begins with a character of those that write no spaces between words."""
    return _IS_UNSPACED(text) is not None


def content(found: Iterable[str]) -> set[str]:
    """Return what carries the meaning among the words of a text: stems, or pairs of characters."""
    found = list(found)
    # A long text says the same few thousand words again and again.
    different = set(found)
    characters = set(filter(_IS_UNSPACED, different))
    if characters:
        pairs = {one + other for one, other in pairwise(found) if {one, other} <= characters}
        return _stems(different - characters) | pairs
    return _stems(different)


def _stems(different: Iterable[str]) -> set[str]:
    # Of an owner, and of what belongs to him.
    bare = {word.removesuffix("'s") for word in different}
    return {
        word[:_LETTERS_OF_A_STEM]
        for word in bare
        if len(word) >= (_LEAST_LETTERS if word < "\u0500" else _LEAST_LETTERS_ELSEWHERE)
        and word not in FUNCTION_WORDS
    }


def profile(found: Sequence[str]) -> Profile:
    """Return how much of each script and language the words *found* of a text have."""
    scripts, little = Counter[str](), Counter[str]()
    counts = Counter(found)
    for word, count in counts.items():
        for code in _CODES.get(word, ()):
            little[code] += count
        if word.isascii():
            scripts["LATIN"] += count * len(word)
        else:
            for character in word:
                scripts[_script(character)] += count
    letters = max(1, scripts.total())
    total = max(1, len(found))
    main = LANGUAGES[max(LANGUAGES, key=little.__getitem__)].little
    beside, most = Counter[str](), Counter[str]()
    for word in counts.keys() & FUNCTION_WORDS - main:
        for code in _CODES[word]:
            beside[code] += counts[word]
            most[code] = max(most[code], counts[word])
    return Profile(
        count=len(found),
        scripts={script: count / letters for script, count in scripts.items()},
        languages={code: little[code] / total for code in LANGUAGES},
        # One word makes no language: "departure_time_est" is no French.
        beside={code: (beside[code] - most[code]) / total for code in LANGUAGES},
    )


def mainly(one: Profile) -> Profile:
    """Return *one* with what it has most of: scripts, and a single language."""
    code = max(one.languages, key=lambda name: one.languages[name])
    scripts = {name: share for name, share in one.scripts.items() if share >= _MUCH_OF_SCRIPT}
    return Profile(
        count=one.count, scripts=scripts, languages={code: one.languages[code]}, beside={}
    )


def is_strange(found: Sequence[str], *known: Profile) -> bool:
    """Whether the words *found* of a sentence are in no script and no language of the *known* ones."""
    if len(found) < _LEAST_OF_SENTENCE:
        return False
    own = profile(found)
    if not is_foreign(own, *known, least=_LEAST_OF_SENTENCE):
        return False
    code = max(own.languages, key=lambda name: own.languages[name])
    is_latin = max(own.scripts, key=lambda name: own.scripts[name]) in known[0].scripts
    return not is_latin or len(LANGUAGES[code].little.intersection(found)) >= _LEAST_LITTLE


def is_foreign(text: Profile, *known: Profile, least: int = _LEAST_WORDS) -> bool:
    """Whether *text*, of so many words at *least*, is in script or language of none of the *known* ones."""
    scripts = [script for script, share in text.scripts.items() if share >= _MUCH_OF_SCRIPT]
    if any(
        all(one.scripts.get(script, 0) < _LEAST_OF_SCRIPT for one in known) for script in scripts
    ):
        return True
    own = text.languages
    best = max(own, key=lambda code: own[code])
    if text.count < least or own[best] < _LEAST_SHARE:
        return False
    # Languages of one family share their little words.
    right = {
        code
        for one in known
        if (most := max(one.languages.values()))
        for code, share in one.languages.items()
        if share == most or one.beside.get(code, 0) >= _SOME * most
    }
    return own[best] > _TIMES * max((own[code] for code in right), default=0.0)


def names_language(instruction: str) -> bool:
    """Whether *instruction* names a language that it may ask for."""
    return not _NAMES.isdisjoint(words(instruction))


def may_ask_for_any(instruction: str) -> bool:
    """Whether *instruction* names a language, or is in one that nobody knows."""
    # Of a short instruction the language may not be known.
    is_known = instruction.isascii() or any(profile(words(instruction)).languages.values())
    return not is_known or names_language(instruction)


def _script(character: str) -> str:
    name = unicodedata.name(character, "").partition(" ")[0]
    return "CJK" if name in {"HIRAGANA", "KATAKANA", "IDEOGRAPHIC"} else name
