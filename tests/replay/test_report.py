"""The page of a replay."""

import re
from base64 import b64encode
from hashlib import sha256
from xml.etree import ElementTree as ET

import msgspec
import pytest

from foldline.reduction.prices import Prices
from foldline.replay.bill import Terms
from foldline.replay.comparison import USUAL, compare
from foldline.replay.numbers import shown_dollars
from foldline.replay.record import ReplayReport
from foldline.replay.report import MOST_SESSIONS, html_page
from tests.replay.tapes import ReadPage, chat_tape, tool_tape


Reports = tuple[ReplayReport, ...]

HOSTILE = "</title><script>alert(1)</script>\x1b[2J\x00 \ud800 & \"quoted\" 'single'"


@pytest.fixture(scope="module")
def reports() -> Reports:
    return compare(tool_tape(40), USUAL, check=False).reports


def test_the_page_needs_nothing_else(reports: Reports) -> None:
    """No address and no file beside the page, and of scripts the one whose digest it names."""
    page = html_page([reports])
    reader = ReadPage(page)
    (script,) = re.findall(r"<script>(.*)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()

    assert reader.tags.count("script") == 1
    assert f"script-src 'sha256-{digest}'\"" in page
    assert not {"link", "img", "iframe", "object", "base"} & set(reader.tags)
    assert not {"src", "href", "srcset", "style"} & reader.attributes
    assert not [name for name in reader.attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:|fetch|XMLHttp|innerHTML", page)


def test_every_picture_is_one_and_says_what_it_shows(reports: Reports) -> None:
    """Each picture is well-formed, with a title and a description that it is labelled by."""
    pictures = re.findall(r"<svg.*?</svg>", html_page([reports]), re.DOTALL)
    assert len(pictures) == len(reports)

    labels: list[str] = []
    for picture in pictures:
        element = ET.fromstring(picture)
        title, description = element.find("title"), element.find("desc")
        assert title is not None
        assert description is not None
        assert title.text
        assert re.search("tokens|marks", description.text or "")
        assert element.attrib["aria-labelledby"].split() == [title.get("id"), description.get("id")]
        labels.extend(element.attrib["aria-labelledby"].split())
    assert len(set(labels)) == len(labels)


def test_the_page_has_all_figures_as_a_table(reports: Reports) -> None:
    """Who cannot see the pictures finds every configuration and every fold in tables."""
    page = html_page([reports])

    assert all(f'<th scope="row">{report.name}<small>' in page for report in reports)
    assert page.count("<caption>") == 2
    assert f"{reports[2].name}: {reports[2].totals.folds:,} folds" in page


def test_nothing_in_a_session_can_speak_for_the_page(reports: Reports) -> None:
    """A hostile title, id or name is text of the page, whatever it holds."""
    session = msgspec.structs.replace(reports[0].session, id=HOSTILE, title=HOSTILE, format=HOSTILE)
    hostile = [
        msgspec.structs.replace(report, session=session, name=f"{number}{HOSTILE}")
        for number, report in enumerate(reports)
    ]

    page = html_page([hostile], title=HOSTILE)

    assert ReadPage(page).tags.count("script") == 1
    assert not {"\x1b", "\x00", "\ud800"} & set(page)
    assert page.encode()


def test_curves_have_few_points() -> None:
    """However long a session is, its curves have a few hundred points."""
    tape = chat_tape(330)
    page = html_page([compare(tape, {"counting": USUAL["counting"]}, check=False).reports])

    curves = re.findall(r'<polyline class="curve-. curve" points="([^"]*)"', page)
    assert len(curves) == 2
    assert all(100 < len(points.split()) <= 300 for points in curves)


def test_one_picture_has_every_configuration() -> None:
    """The views are drawn over one another, each named with its bill, and what needs none is."""
    prices = Prices(input=1, output=5, cached_read=0.1)
    terms = Terms(prices=prices, summarizer=prices)
    compared = compare(chat_tape(30), USUAL, check=False, terms=terms).reports

    page = html_page([compared])

    together = page[page.index("<article>") : page.index("</article>")]
    assert together.count("<polyline") == len(compared)
    for number, report in enumerate(compared, start=1):
        assert f'class="curve-{number} curve"' in together
        assert f"</span>{report.name}: {shown_dollars(report.totals.cost or 0)}<small>" in together
    assert "This session needs no folding" in page
    assert "best, $" in page


def test_only_the_longest_sessions_are_drawn() -> None:
    """Of very many sessions the longest are drawn, the page says so, and the table holds all."""
    configs = {"counting": USUAL["counting"]}
    turned = range(1, MOST_SESSIONS + 4)
    sessions = [compare(chat_tape(turns), configs, check=False).reports for turns in turned]

    page = html_page(sessions)

    assert page.count("<h2>") == MOST_SESSIONS
    assert f"The {MOST_SESSIONS} longest sessions are drawn; 3 are not." in page
    assert f"{len(sessions)} sessions, " in page


def test_violations_are_shown(reports: Reports) -> None:
    """An invalid request is named with its call."""
    calls = list(reports[1].calls)
    calls[4] = msgspec.structs.replace(calls[4], violations=("openai-chat: message 3: wrong",))
    report = msgspec.structs.replace(reports[1], calls=tuple(calls))

    page = html_page([[report]])

    assert "call 5: openai-chat: message 3: wrong" in page
    assert 'class="invalid"' in page


def test_a_session_without_a_call_is_a_page_too() -> None:
    """Nothing to draw is no error."""
    page = html_page([compare(chat_tape(0), USUAL).reports])

    assert "0 model calls" in page


def test_a_history_of_millions_has_short_labels(reports: Reports) -> None:
    """The scale of a picture is written in thousands and millions."""
    replace, report = msgspec.structs.replace, reports[1]
    calls = tuple(replace(one, full_tokens=one.full_tokens * 1000) for one in report.calls)

    page = html_page([[replace(report, calls=calls)]])

    assert re.search(r">\d+(\.5)?M</text>", page)
