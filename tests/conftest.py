"""
What every test needs: no vendor key, no network, own servers, the profile of the generators.
"""

import asyncio
import os
import re
import signal
import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest
from hypothesis import settings

from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.reduction.request import SummaryRequest
from foldline.threads.store import ThreadStore


pytest_plugins = ["tests.offline", "tests.servers.fixtures", "foldline.testing.prefix_watch"]

_ROOT = Path(__file__).resolve().parents[1]

# Keys of vendors, and what would colour or widen the output of a program under test.
_HIDDEN = re.compile(
    r".*_API_KEY|.*_(ACCESS|AUTH|SECRET)_.*|.*_TOKEN|(ANTHROPIC|AWS|AZURE|GOOGLE|OPENAI)_.*"
    r"|FOLDLINE_.*|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR.*|PY_COLORS|GITHUB_ACTIONS"
)

# `make test` runs `fast`, `make test-all` `thorough`, `make test-long` `long`.
for _profile, _examples in {"fast": 15, "thorough": 50, "long": 2000}.items():
    settings.register_profile(
        _profile,
        deadline=None,
        derandomize="CI" in os.environ and _profile != "long",
        max_examples=_examples,
        print_blob=True,
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that fork first, while this process has no thread but its own."""
    items.sort(key=lambda item: not item.path.is_relative_to(_ROOT / "tests" / "faults"))
    items.sort(key=lambda item: "crashes" not in item.path.parts)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine, with the stores among its arguments open."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}

    async def run() -> None:
        async with AsyncExitStack() as stores:
            for one in given.values():
                if isinstance(one, ThreadStore):
                    await stores.enter_async_context(one)
            await pyfuncitem.obj(**given)

    asyncio.run(run())
    return True


@pytest.fixture(scope="session", autouse=True)
def _clean_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(_HIDDEN.fullmatch, tuple(os.environ)):
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients of vendors read one certificate: all of the machine's take each of them 50 ms."""
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    with pytest.MonkeyPatch.context() as patch:
        if known:
            file = tmp_path_factory.mktemp("certificates") / "one.pem"
            file.write_text(ssl.DER_cert_to_PEM_cert(known[0]))
            patch.setenv("SSL_CERT_FILE", f"{file}")
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """
    Hear Ctrl-C, and let programs under test hear it, also where all of this was started deaf to it.
    """
    # What a shell puts in the background ignores the signal, and hands that on.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the top folder of the project."""
    return _ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of recorded conversations beside the checkout; skip where it is absent."""
    folder = _ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("recorded conversations are absent: no folder ../shared/data")
    return folder


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep requests to the loopback address off any proxy of this machine."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the offline digest write nothing, so that no summarizer is left where others fail."""

    async def silent(_: DigestSummarizer, __: SummaryRequest) -> str:
        return ""

    monkeypatch.setattr(DigestSummarizer, "summarize", silent)
