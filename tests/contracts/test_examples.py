"""What the pages show is what happens."""

from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

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
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


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

    with VendorServer(otherwise=Answer.of(SAID)) as vendor:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{vendor.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-a-test")
        for example in sybil.parse(page).examples():
            example.evaluate()


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

    assert [len(asked.body["messages"]) for asked in vendor.asked] == [1, 3]
    assert {asked.path for asked in vendor.asked} == {"/v1/chat/completions"}
    assert capsys.readouterr().out == "It is in Lisbon.\n"
