"""The page of a replay in a real browser: three widths, light and dark, with and without its script."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from foldline.apps.cli.replay import DEMO_CONFIGS, recorded_session
from foldline.replay.comparison import compare
from foldline.replay.report import html_page
from foldline.replay.tape import Tape
from foldline.replay.telling import Spoken
from tests.browser.chromium import Page, browser_path, opened


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser_path() is None, reason="needs chromium on the path"),
]

WIDTHS = (375, 800, 1440)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the packaged session, with its text."""
    tape = Tape(recorded_session())
    compared = compare(tape, DEMO_CONFIGS, check=False)
    spoken = [Spoken(tape=tape, replays=compared.replays)]
    target = tmp_path_factory.mktemp("report") / "report.html"
    target.write_text(html_page([compared.reports], spoken=spoken), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Generator[Page]:
    """Return a page of a browser that ends with the tests."""
    with opened(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(
    page: Page, file: Path, width: int, dark: bool, script: bool
) -> None:
    """The page fits every window, and its pictures are kept beside it to look at."""
    page.open(file, width=width, dark=dark, script=script)
    page.picture(file.with_name(f"{width}-{'dark' if dark else 'light'}-{script}.png"))

    assert page.value("innerWidth") == width
    assert page.value("document.documentElement.scrollWidth") <= width


def test_it_is_dark_where_people_want_it(page: Page, file: Path) -> None:
    """The paper follows the wish of the reader."""
    paper = "getComputedStyle(document.body).backgroundColor"
    page.open(file, width=800)
    light = page.value(paper)
    page.open(file, width=800, dark=True)

    assert (light, page.value(paper)) == ("rgb(251, 251, 250)", "rgb(20, 24, 27)")


def test_the_slider_moves_what_is_shown(page: Page, file: Path) -> None:
    """At an early call little was said and all of it is told; later a summary stands for the rest."""
    page.open(file, width=1440)
    last = _shown(page)
    _move(page, to=4)
    first = _shown(page)

    assert first["call"] == "5"
    assert last["call"] == "82"
    assert 0 < first["said"] < last["said"]
    assert first["folded"] == 0 < last["folded"]
    assert first["said"] == first["told"]
    assert last["told"] < last["said"]
    assert first["cursor"] < last["cursor"]
    assert first["tokens"] != last["tokens"]
    assert (first["stretches"], last["stretches"]) == (1, 1)


def test_another_configuration_is_told_otherwise(page: Page, file: Path) -> None:
    """The select shows what the model was told under the configuration that it names."""
    page.open(file, width=375)
    before = _shown(page)
    page.value(
        "const one = document.querySelector('.told select'); one.value = 'foldline rolling';"
        "one.dispatchEvent(new Event('input'))"
    )

    assert _shown(page)["folded"] > before["folded"]


def test_without_a_script_everything_is_there(page: Page, file: Path) -> None:
    """All messages and configurations are listed, and nothing is shown that would do nothing."""
    page.open(file, width=800)
    everything = page.value("document.querySelectorAll('.said > li').length")
    page.open(file, width=800, script=False)

    assert everything == 296
    html = file.read_text(encoding="utf-8")
    assert html.count("hidden>") == 2
    assert html.count('<details class="config"') == len(DEMO_CONFIGS)


def _move(page: Page, *, to: int) -> None:
    page.value(
        f"const one = document.querySelector('.stepper input'); one.value = {to};"
        "one.dispatchEvent(new Event('input'))"
    )


def _shown(page: Page) -> dict[str, Any]:
    """Return what can be seen of the call where the slider stands."""
    found: dict[str, Any] = page.value(
        "(() => { const all = name => [...document.querySelectorAll(name)]"
        ".filter(one => one.checkVisibility()); return {"
        "call: document.querySelector('.stepper output').textContent,"
        "said: all('.said > li').length,"
        "told: all('.tail > li').length,"
        "folded: all('.said > li[data-told=\"folded away\"]').length,"
        "stretches: all('.stretch').length,"
        "cursor: Number(document.querySelector('.cursor').getAttribute('x1')),"
        "tokens: document.querySelector('.stepper td').textContent } })()"
    )
    return found
