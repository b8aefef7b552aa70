"""What the page of a framework shows is what happens."""

from importlib import import_module
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser


PAGES = Path(__file__).resolve().parents[2] / "docs" / "guests"


def test_the_examples_of_the_page_run(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its blocks run with a model of the framework that answers from a script."""

    def compare(example: Example) -> None:
        assert capsys.readouterr().out.strip() == str(example.parsed).strip()

    name = request.config.getoption("--guest")
    sybil = Sybil(parsers=[PythonCodeBlockParser(), CodeBlockParser("output", compare)])
    document = sybil.parse(PAGES / f"{name}.md")
    # What a framework calls its model is the client in a loop of one's own.
    document.namespace["model"] = document.namespace["client"] = import_module(
        f"tests.integrations.players.{name}"
    ).model()

    for example in document.examples():
        example.evaluate()
