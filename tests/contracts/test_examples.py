"""What the pages show is what happens."""

from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser


ROOT = Path(__file__).resolve().parents[2]
# The pages of the frameworks run where those are installed.
GUESTS = ROOT / "docs" / "guests"
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {*GUESTS.glob("*.md")})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every `python` block of a page runs, and an `output` block below it holds what it printed."""

    def compare(example: Example) -> None:
        assert capsys.readouterr().out.strip() == str(example.parsed).strip()

    monkeypatch.chdir(tmp_path)
    sybil = Sybil(parsers=[PythonCodeBlockParser(), CodeBlockParser("output", compare)])

    for example in sybil.parse(page).examples():
        example.evaluate()
