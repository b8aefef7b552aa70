"""A real browser without a window, asked by pipes in the protocol of its own tools."""

import json
import os
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
)  # fmt: skip
_PIECE = 1 << 16


def browser_path() -> str | None:
    """Return where a browser is; None if there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Page:
    """One page in a browser."""

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self._target: str = browser.call(None, "Target.createTarget", url="about:blank")["targetId"]
        found = browser.call(None, "Target.attachToTarget", targetId=self._target, flatten=True)
        self._session: str = found["sessionId"]
        self._call("Page.enable")
        self._call("Page.setLifecycleEventsEnabled", enabled=True)

    def open(self, file: Path, *, width: int, dark: bool = False, script: bool = True) -> None:
        """Open *file* in a window of *width* pixels."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Emulation.setScriptExecutionDisabled", value=not script)
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.go(file.as_uri())

    def go(self, url: str) -> None:
        """Open *url*."""
        self._browser.loaded.clear()
        # The empty page from before may be loaded only now.
        self._browser.wait_for(self._call("Page.navigate", url=url)["loaderId"])

    def value(self, expression: str) -> Any:
        """Return what *expression* is on the page; a promise is awaited."""
        found = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, target: Path) -> None:
        """Write all of the page to *target* as a PNG."""
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        target.write_bytes(b64decode(shot["data"]))

    def close(self) -> None:
        """Close the tab."""
        self._browser.call(None, "Target.closeTarget", targetId=self._target)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(self._session, method, **params)


class Browser:
    """A browser, asked through one pipe and answering through another."""

    def __init__(self, asked: int, answered: int) -> None:
        self._asked, self._answered = asked, answered
        self._number = 0
        self._rest = b""
        self.loaded: set[str] = set()

    def call(self, session: str | None, method: str, **params: Any) -> dict[str, Any]:
        """Return what the browser answers to *method*."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            asked["sessionId"] = session
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self._asked, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def wait_for(self, loader: str) -> None:
        """Wait until what *loader* loads is there."""
        while loader not in self.loaded:
            self._read()

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._answered, _PIECE)
            assert piece, "the browser has ended"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        event = said.get("params", {})
        if said.get("method") == "Page.lifecycleEvent" and event["name"] == "load":
            self.loaded.add(event["loaderId"])
        return said


@contextmanager
def opened(profile: Path) -> Generator[Page]:
    """Start a browser whose files are in *profile*, give a page of it, and end it."""
    with started(profile) as browser:
        yield Page(browser)


@contextmanager
def started(profile: Path) -> Generator[Browser]:
    """Start a browser whose files are in *profile*, and end it."""
    browser = browser_path()
    assert browser is not None
    asking, asked = os.pipe()
    answered, answering = os.pipe()
    # The browser reads from file 3 and writes to file 4; the shell puts the pipes there.
    command = f'exec 3<&{asking} 4>&{answering}; exec "$0" "$@"'
    process = subprocess.Popen(
        ["bash", "-c", command, browser, *_OPTIONS, f"--user-data-dir={profile}"],
        pass_fds=(asking, answering),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(asking)
    os.close(answering)
    try:
        yield Browser(asked, answered)
    finally:
        process.terminate()
        process.wait(30)
        os.close(asked)
        os.close(answered)
