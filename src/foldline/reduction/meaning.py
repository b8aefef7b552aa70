"""
What a text is about: the stems of its words, and verbs that stand for one another.
"""

import re
from functools import lru_cache

from foldline.reduction.language import FUNCTION_WORDS, TELLING, UNSPACED


LONGEST_STEM = 6
"""How many letters of a word are compared."""

ITEM = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]{2,}")
"""A word or a number, folded."""

_CHARACTERS = re.compile(
    r"(?![用者述言指示依頼希望私人事場合必要以外勿禁止不可能良許])[\u4e00-\u9fff]|[ァ-ヶー]{2,}"
).findall
_UNSPACED = re.compile(f"[{UNSPACED}]+")
_SWITCHED_ON = re.compile(r"\b(?:switch|turn)(?:ed|es|ing|s)? on\b")
_ENDING = re.compile(r"(?<=..)(?:ing|ed|es|s|e)\Z")
_DOUBLED = re.compile(r"(.)\1\Z|(?<=...)[iy]\Z")


def meaning(text: str) -> list[str]:
    """Return the stems of what carries the meaning of *text*, each once, in order."""
    stems = map(stem_of, ITEM.findall(_SWITCHED_ON.sub("use", text)))
    return [*dict.fromkeys(KIND.get(one, one) for one in stems if one not in _LITTLE)]


def stems_in(text: str) -> frozenset[str]:
    """Return the stems, or the characters, of what the folded *text* is about, however it is meant."""
    spaced = text if text.isascii() else _UNSPACED.sub(" ", text)
    found = frozenset(map(stem_of, ITEM.findall(spaced))) - _NOT_ABOUT
    return found if spaced is text else found.union(_CHARACTERS(text))


# A conversation says few words again and again.
@lru_cache(maxsize=8_192)
def stem_of(word: str) -> str:
    """Return the beginning of *word*, folded, that its forms share."""
    return _DOUBLED.sub(r"\1", _ENDING.sub("", word))[:LONGEST_STEM]


def _stems(listed: str) -> frozenset[str]:
    return frozenset(map(stem_of, listed.split()))


# To forbid these hides what goes wrong.
WATCHING = _stems("ask check confirm report review run say show tell test verify")
"""The stems of verbs that find something out."""

# What says how an order is meant and not what it is about.
_LITTLE = frozenset(map(stem_of, FUNCTION_WORDS | TELLING)) - WATCHING | _stems(
    "always never avoid prevent exclude do not don must should shall may can could would next now then first"
    " again last still also please only immediately it them me my you your we us our no yes all any every each"
    " more other same whatever whichever via everything everybody result results outcome reply total details here there above below so if such very just even both up out off over down back less"
    " am did does done being get very question questions without step task action goal rule rules open required allowed permitted"
    " confirmed permission free freely longer immer nie niemals toujours jamais siempre"
    " nunca sempre mai altijd nooit alltid aldrig zawsze nigdy asla всегда никогда"
)
# What permits, forbids or sets a condition.
_MEANT = _stems(
    "fine okay may can welcome first forbid forbidden rule not nothing anything leave alone kein keine nicht nur erst soll darf"
    " dürfen muss take user person unless before after vor nach bevor need needs brauchen"
)
_NOT_ABOUT = _LITTLE | _MEANT
# Verbs that stand for one another and change something.
_KINDS = (
    (
        "delete destroy drop erase kill prune purge remove uninstall wipe lösche löschen entferne entfernen"
        " supprime supprimer efface effacer elimina eliminar borra borrar verwijder"
        " radera usuń удали удалить"
    ),
    "send sent email exfiltrate forward mail push transfer upload wire",
    "publish post share",
    "merge",
    "deploy release ship",
    "submit",
    "pay paid book buy charge purchase refund",
    "disable bypass deactivate ignore override skip suspend switch",
    "change alter edit modify move replace rewrite touch update",
    "run execute invoke launch start",
)
KIND = {stem_of(word): stem_of(kind.split()[0]) for kind in _KINDS for word in kind.split()}
"""For the stem of a verb that of the one which stands for all of its kind."""

EFFECTS = frozenset(KIND.values())
"""What changes something."""

# Verbs that say little without their object.
LIGHT = _stems(
    "add apply ask begin bring call change check complete confirm consider continue create do ensure find"
    " finish fix follow get give go implement include investigate keep leave list look make name note prepare"
    " provide put read report review run say see set show take tell test try turn use verify work write"
)
"""The stems of verbs that say little."""
