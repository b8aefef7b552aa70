"""The days that a text names, however they are written."""

import re
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace


# Each month in many languages, by its full name and the short one, twelve of them.
_NAMES = """
january jan januar jänner janvier enero ene gennaio gen janeiro januari stycznia ocak января
ledna ιανουαρίου tammikuuta ianuarie január січня;
february feb februar février fevrier febrero febbraio fevereiro fev februari lutego şubat февраля
února φεβρουαρίου helmikuuta februarie február лютого;
march mar märz mär mars marzo março maart marca mart марта
marts března μαρτίου maaliskuuta martie március березня;
april apr avril avr abril abr aprile kwietnia nisan апреля
dubna απριλίου huhtikuuta aprilie április квітня;
may mai mayo maggio mag maio mei maj maja mayıs мая
května μαΐου toukokuuta május травня;
june jun juni juin junio giugno giu junho czerwca haziran июня
června ιουνίου kesäkuuta iunie június червня;
july jul juli juillet julio luglio lug julho lipca temmuz июля
července ιουλίου heinäkuuta iulie július липня;
august aug août aout agosto ago augustus augusti sierpnia ağustos августа
srpna αυγούστου elokuuta augusztus серпня;
september sept sep septembre septiembre settembre setembro września eylül сентября
září σεπτεμβρίου syyskuuta septembrie szeptember вересня;
october oct oktober okt octobre octubre ottobre outubro października ekim октября
října οκτωβρίου lokakuuta octombrie október жовтня;
november nov novembre noviembre novembro listopada kasım ноября
listopadu νοεμβρίου marraskuuta noiembrie листопада;
december dec dezember dez décembre diciembre dic dicembre dezembro grudnia aralık декабря
desember prosince δεκεμβρίου joulukuuta decembrie грудня
"""
MONTHS = {
    name: number for number, names in enumerate(_NAMES.split(";"), 1) for name in names.split()
}
"""The number of each month by its names, folded."""

# Not in a longer name, and without marks only as eight digits of a likely year.
_YEAR_FIRST = re.compile(
    r"(?<![0-9A-Za-z_])(?=\d{4}[-/.]|(?:19|20)\d{6}(?!\d))(\d{4})([-/.]?)(\d{1,2})\2(\d{1,2})(?!\d)"
)
_YEAR_LAST = re.compile(r"(?<![\d.])(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?![\d.]*\d)")
_EAST = re.compile(
    r"(?:(\d{4})\s?[年년]\s?)?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]"
    r"(?:[^\d\n]{0,3}(\d{1,2})\s?[日일])?"
)
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª)?"
_MONTH_FIRST = re.compile(
    rf"([^\W\d_]{{3,12}})\.?[ -](\d{{1,2}}){_ORDINAL}(?![\d:])"
    rf"(?:\s?(?:-|to|and|&|or|until)\s?(\d{{1,2}}){_ORDINAL}(?![\d:]))?(?:,?\s(\d{{4}})(?!\d))?"
)
_DAY_FIRST = re.compile(
    rf"(?<![\d:])(?:(\d{{1,2}}){_ORDINAL}\s?(?:-|to|and|&|or|bis|au|al)\s?)?(\d{{1,2}}){_ORDINAL}"
    r"[ -](?:(?:of|de) )?([^\W\d_]{3,12})(?:\.?,?[ -](?:de )?(\d{4})(?!\d))?"
)
_SHORT_DAY = re.compile(r"(?<![\d.,])(\d{1,2})\.\s?(\d{1,2})\.(?!\d)")
_CENTURY = 2000
_SHORT_YEAR = 100
_LAST_MONTH = 12
_LAST_DAY = 31


class Day(Struct, frozen=True, kw_only=True):
    """
    A day in a text, and where it is written.

    Where the month could be the day, both readings are at one place. The days of a range begin apart.
    """

    start: int
    end: int
    year: int | None
    month: int
    day: int


def days_of(text: str) -> Iterator[Day]:
    """Yield the days that *text*, folded, names."""
    found = chain(_numeric(text), _named(text))
    return (one for one in found if 1 <= one.month <= _LAST_MONTH and 1 <= one.day <= _LAST_DAY)


def years_of(text: str) -> dict[tuple[int, int], set[int | None]]:
    """Return the days in *text* by month and day, each with its years, or None if it has none."""
    days: dict[tuple[int, int], set[int | None]] = {}
    for one in days_of(text):
        days.setdefault((one.month, one.day), set()).add(one.year)
    for match in _SHORT_DAY.finditer(text):
        days.setdefault((int(match[2]), int(match[1])), set()).add(None)
    return days


def _numeric(text: str) -> Iterator[Day]:
    for match in _YEAR_FIRST.finditer(text):
        yield _day(match, match[1], match[3], match[4])
    for match in _YEAR_LAST.finditer(text):
        # A version has as few digits.
        if match[2] != "." or len(match[4]) > 2:  # noqa: PLR2004 - the digits of a short year
            yield _day(match, match[4], match[1], match[3])
            yield _day(match, match[4], match[3], match[1])
    for match in _EAST.finditer(text):
        for day in (3, 4):
            if match[day] is not None:
                yield replace(_day(match, match[1], match[2], match[day]), start=match.start(day))


def _named(text: str) -> Iterator[Day]:
    found = [(match, match[3], (1, 2)) for match in _DAY_FIRST.finditer(text)]
    # What follows a whole day, such as "30. Oktober 15 Uhr", is no day of its month.
    taken = {match.start(3) for match, name, _ in found if name in MONTHS}
    months = (match for match in _MONTH_FIRST.finditer(text) if match.start(1) not in taken)
    found += [(match, match[1], (2, 3)) for match in months]
    for match, name, days in found:
        for day in days:
            if name in MONTHS and match[day] is not None:
                one = _day(match, match[4], str(MONTHS[name]), match[day])
                yield replace(one, start=match.start(day))


def _day(match: re.Match[str], year: str | None, month: str, day: str) -> Day:
    known = None if year is None else int(year)
    if known is not None and known < _SHORT_YEAR:
        known += _CENTURY
    return Day(start=match.start(), end=match.end(), year=known, month=int(month), day=int(day))
