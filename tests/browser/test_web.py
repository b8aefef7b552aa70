"""The example of a web page in a real browser: closed tabs, double clicks and killed workers."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Browser, Page, browser_path, started


pytestmark = [
    pytest.mark.browser,
    pytest.mark.posix,
    pytest.mark.skipif(browser_path() is None, reason="needs chromium on the path"),
    pytest.mark.timeout(300),
]

_END = "That is all."
_PROCESS = re.compile(r"Process (\d+) answers").match
# Resolves once the last answer has what is wanted, and if that is its end, once the page knows that it
# is stored; an observer tells.
_SHOWN = """
new Promise(resolve => {
  const look = () => {
    const said = [...document.querySelectorAll("li")].map(one => one.textContent)
    const last = said[said.length - 1] || ""
    const isStored = "WANTED" != "That is all." || !localStorage.length
    if (said.length == COUNT && last.includes("WANTED") && isStored) { watch.disconnect(); resolve(last) }
  }
  const watch = new MutationObserver(look)
  const all = {childList: true, subtree: true, characterData: true, attributes: true}
  watch.observe(document.body, all)
  look()
})
"""
_SEND = """
document.querySelector("input").value = "TEXT"
for (let click = 0; click < CLICKS; click++) document.querySelector("button").click()
"""


@pytest.fixture(scope="module")
def site(root: Path) -> Generator[str]:
    """Return the address of the example, started by its one command."""
    # PostgreSQL runs as another user where the tests run as root, and pytest closes its folders to others.
    folder = tempfile.mkdtemp(prefix="foldline-web-")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = f"{root / 'examples' / 'web'}"
    command = [sys.executable, place, "--port", f"{port}", "--folder", f"{folder}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        ready = ["Uvicorn running", *["a worker of queue"] * 3]
        told = []
        for line in process.stderr:
            told.append(line)
            ready = ready[1:] if ready and ready[0] in line else _without(ready, line)
            if not ready:
                break
        assert not ready, "".join(told)
        yield f"http://127.0.0.1:{port}"
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 0
    shutil.rmtree(folder)


def _without(wanted: list[str], line: str) -> list[str]:
    found = next((one for one in wanted if one in line), None)
    if found is not None:
        wanted.remove(found)
    return wanted


@pytest.fixture
def browser(tmp_path: Path) -> Generator[Browser]:
    """Return a browser that ends with the test."""
    with started(tmp_path / "profile") as one:
        yield one


def shown(page: Page, count: int, wanted: str) -> str:
    """Return the last of *count* messages, as soon as it has *wanted*."""
    found: str = page.value(_SHOWN.replace("COUNT", f"{count}").replace("WANTED", wanted))
    return found


def send(page: Page, text: str, *, clicks: int = 1) -> None:
    """Type *text* and click so often."""
    page.value(_SEND.replace("TEXT", text).replace("CLICKS", f"{clicks}"))


def test_each_turn_is_answered_once(site: str, browser: Browser) -> None:
    """A tab clicks twice and closes, another one shows the answer; a killed worker is replaced."""
    first, second = Page(browser), Page(browser)
    for page in (first, second):
        page.go(f"{site}/?thread=tabs")

    send(first, "one", clicks=2)
    shown(first, 2, "answers 'one'")
    first.close()
    whole = shown(second, 2, _END)
    assert "answers 'one'" in whole

    send(second, "two")
    half = shown(second, 4, "answers 'two'")
    assert _END not in half
    killed = _worker(half)
    os.kill(killed, signal.SIGKILL)
    answer = shown(second, 4, _END)

    assert _worker(answer) != killed
    said: list[dict[str, Any]] = second.value("fetch('/threads/tabs').then(it => it.json())")
    assert [one["role"] for one in said] == ["user", "assistant"] * 2
    assert [one["text"] for one in said] == ["one", whole, "two", answer]


def test_a_tab_that_comes_back_reads_on(site: str, browser: Browser) -> None:
    """Opened again in the middle of an answer, a page shows the rest of it."""
    page = Page(browser)
    page.go(f"{site}/?thread=back")
    send(page, "one")
    shown(page, 2, "answers 'one'")
    page.go(f"{site}/?thread=back")
    whole = shown(page, 2, _END)
    page.go(f"{site}/?thread=back")

    assert shown(page, 2, _END) == whole


def _worker(text: str) -> int:
    found = _PROCESS(text)
    assert found is not None, text
    return int(found[1])
