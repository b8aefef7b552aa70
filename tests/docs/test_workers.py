"""What a newcomer copies from the page of workers works as it is."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from starlette.requests import Request

from tests.servers.vendor import Answer, VendorServer


pytestmark = [pytest.mark.posix, pytest.mark.source]

_TEXT = "It is in Lisbon."
_OUTPUT = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": _TEXT, "annotations": [], "logprobs": []}],
}
_SAID = [
    {"type": "response.output_text.delta", "output_index": 0, "delta": _TEXT},
    {"type": "response.output_item.done", "item": _OUTPUT},
    {"type": "response.completed", "response": {"id": "resp_1", "output": [_OUTPUT]}},
]
_FILE = re.compile(r'```python title="(\w+\.py)"\n(.*?)```', re.DOTALL)
_SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
# A message that is sent twice, and its answer as it is streamed.
_TABS = """
from starlette.testclient import TestClient
from web import app

with TestClient(app) as client:
    codes = [client.post("/customer-42/click-2", content="And now?").status_code for _ in range(2)]
    print(*codes)
    print(client.get("/customer-42/click-2").text.strip().split("\\n\\n")[-1])
"""
MOST_LINES = 30


@pytest.mark.slow
# Five processes start at once, which takes minutes on a machine that does much else.
@pytest.mark.timeout(400)
def test_three_workers_answer(root: Path, tmp_path: Path, postgres_dsn: str) -> None:
    """With a program or a web page three workers that answer once are 30 lines, those of shell included."""
    page = (root / "docs" / "workers.md").read_text(encoding="utf-8")
    files = dict(_FILE.findall(page))
    shell = _SHELL.findall(page)[0]
    for front in ("ask.py", "web.py"):
        texts = (files["app.py"], files[front], shell)
        lines = [line for text in texts for line in text.splitlines() if line]
        assert len(lines) <= MOST_LINES
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    with VendorServer(otherwise=Answer.stream(_SAID)) as vendor:
        environment = {
            **os.environ,
            "FOLDLINE_STORE": postgres_dsn,
            "OPENAI_BASE_URL": f"{vendor.url}/v1",
            "OPENAI_API_KEY": "key-of-a-test",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        script = f"trap 'kill $(jobs -p); wait' EXIT\n{shell}python ask.py\npython -c '{_TABS}'\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=360,
            check=False,
        )

    assert sorted(files) == ["app.py", "ask.py", "web.py"]
    streamed = f'202 202\ndata: "{_TEXT}"\n'
    assert (done.returncode, done.stdout) == (0, f"{_TEXT}\n" * 2 + streamed), done.stderr
    assert done.stderr.count("a worker of queue foldline") == 3
    assert len(vendor.asked) == 2


async def test_a_page_connects_again_after_an_outage(
    root: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is away ends the stream of the example, and not the turn that the page waits for."""
    monkeypatch.setenv("FOLDLINE_STORE", postgres_dsn)
    monkeypatch.syspath_prepend(f"{root / 'examples' / 'web'}")
    for name in ("pages", "answering"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    pages = import_module("pages")
    request = Request({"type": "http", "path_params": {"thread": "t", "turn": "one"}})
    async with pages.workers as workers:
        await workers.answer("t", "hi", turn_id="one")
        await workers.store.close()
        response = await pages.stream(request)
        sent = [piece async for piece in response.body_iterator]

    assert sent == []
