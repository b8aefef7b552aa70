"""What the page of a framework shows is what happens."""

from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from tests.integrations.player import Guest


PAGES = Path(__file__).resolve().parents[2] / "docs" / "guests"


def test_the_examples_of_the_page_run(
    request: pytest.FixtureRequest, guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its blocks run with a model of the framework that answers from a script."""

    def compare(example: Example) -> None:
        assert capsys.readouterr().out.strip() == str(example.parsed).strip()

    sybil = Sybil(parsers=[PythonCodeBlockParser(), CodeBlockParser("output", compare)])
    document = sybil.parse(PAGES / f"{request.config.getoption('--guest')}.md")
    document.namespace["model"] = guest.model()

    for example in document.examples():
        example.evaluate()
