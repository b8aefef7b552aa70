"""What the pages show is what happens."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from anthropic import Anthropic
from openai import OpenAI
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer
from sybil.typing import Parser

from tests.servers.vendor import Answer, VendorServer


ROOT = Path(__file__).resolve().parents[2]
# What a vendor's server says to whom asks it for a chat.
SAID = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "It is in Lisbon.", "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26},
}
# The pages of the frameworks run where those are installed.
GUESTS = ROOT / "docs" / "guests"
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {*GUESTS.glob("*.md")})


PROGRAM = re.compile(r'python title="(?P<name>\w+\.py)"\n')


def _programs(document: Document) -> Iterable[Region]:
    """Find the blocks that are saved as a file: their language is followed by a title."""
    for region in RawFencedCodeBlockLexer(PROGRAM)(document):
        region.parsed = region.lexemes
        region.evaluator = _save
        yield region


def _save(example: Example) -> None:
    Path(example.parsed["name"]).write_text(example.parsed["source"], encoding="utf-8")


def _type(example: Example) -> None:
    """Run what follows each `$` of a block, and compare what it prints."""
    beside = Path(sys.executable).parent
    for command, *printed in map(str.splitlines, re.split(r"(?m)^\$ ", example.parsed)[1:]):
        name, *arguments = shlex.split(command)
        done = subprocess.run(
            [shutil.which(name, path=beside) or name, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines() == printed, command


def _close_clients(namespace: Mapping[str, object]) -> None:
    """Close what a program of a page leaves open until it ends."""
    for value in namespace.values():
        if isinstance(value, Anthropic | OpenAI):
            value.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Every `python` block of a page runs, and an `output` block below it holds what it printed.

    One with a title is saved under that name, and what a `console` block types prints what it shows.
    """

    def compare(example: Example) -> None:
        assert capsys.readouterr().out.strip() == str(example.parsed).strip()

    monkeypatch.chdir(tmp_path)
    parsers: list[Parser] = [
        PythonCodeBlockParser(),
        CodeBlockParser("output", compare),
        CodeBlockParser("console", _type),
        _programs,
    ]
    sybil = Sybil(parsers=parsers)

    with VendorServer(otherwise=Answer.of(SAID)) as vendor:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{vendor.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-a-test")
        # Of a database that no page asks here: `tests/docs/test_workers.py` has one.
        monkeypatch.setenv("FOLDLINE_STORE", "postgresql://localhost/app")
        document = sybil.parse(page)
        for example in document.examples():
            example.evaluate()
        _close_clients(document.namespace)


def test_the_first_program_asks_the_vendor_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The loop at the top of the README sends its history to OpenAI's API and prints the answer."""
    first = next(
        iter(Sybil(parsers=[PythonCodeBlockParser()]).parse(ROOT / "README.md").examples())
    )
    with VendorServer(otherwise=Answer.of(SAID)) as vendor:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{vendor.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-a-test")
        first.evaluate()
        _close_clients(first.namespace)

    assert [len(asked.body["messages"]) for asked in vendor.asked] == [1, 3]
    assert {asked.path for asked in vendor.asked} == {"/v1/chat/completions"}
    assert capsys.readouterr().out == "It is in Lisbon.\n"
