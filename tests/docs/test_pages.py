"""What is made from the code is current."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from foldline.agent.config import AgentOptions
from foldline.apps.cli.program import COMMANDS, THREAD_COMMANDS
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig


SCRIPTS = (
    "cli_reference",
    "configuration_page",
    "errors_page",
    pytest.param("public_names", marks=pytest.mark.source),
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_page_is_current(root: Path, name: str) -> None:
    """`make docs` would change nothing."""
    script = root / "tools" / f"{name}.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)

    assert done.returncode == 0, "run `make docs`"


def test_every_command_is_on_the_page(root: Path) -> None:
    """No command is left out, nor its option `--json`."""
    page = (root / "docs" / "cli.md").read_text(encoding="utf-8")

    assert all(f"## `foldline {name}`" in page for name in COMMANDS)
    assert all(f"## `foldline threads {name}`" in page for name in THREAD_COMMANDS)
    assert page.count("- `--json`: ") == len(COMMANDS) + len(THREAD_COMMANDS)


@pytest.mark.parametrize("kind", [HistoryReductionConfig, AgentRunConfig, AgentOptions])
def test_every_field_of_a_configuration_is_on_the_page(root: Path, kind: type[Struct]) -> None:
    """No field is left out, nor its default."""
    page = (root / "docs" / "configuration.md").read_text(encoding="utf-8")
    section = page.partition(f"## `{kind.__name__}`")[2].partition("\n## ")[0]

    for field in fields(kind):
        default = field.default_factory() if field.default is NODEFAULT else field.default
        assert f"- `{field.name}` (default `{default!r}`): " in section
