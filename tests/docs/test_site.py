"""The site of the documentation is whole, and loads nothing from others."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest


LINK = re.compile(r"(?:\]\(|^\[[^\]]+\]: )(?![a-z]+:)([^)\s#]+)", re.MULTILINE)
TAG = re.compile(r"<(?:script|img|iframe|link)\b[^>]*>")
ELSEWHERE = re.compile(r"\b(?:src|href)=[\"']?(?:https?:)?//")


def test_every_page_is_in_the_menu(root: Path) -> None:
    """The menu of the site names each page of `docs` once, and nothing else."""
    site = tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))
    docs = root / "docs"

    pages = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    assert sorted(_pages(site["project"]["nav"])) == pages


def test_a_link_outside_the_site_leads_somewhere(root: Path) -> None:
    """What the pages beside `docs` link to is there; the build looks at those in it."""
    links = {
        page.parent / target
        for page in root.glob("*.md")
        for target in LINK.findall(page.read_text(encoding="utf-8"))
    }

    assert links
    assert [path for path in links if not path.exists()] == []


def test_no_page_names_a_command_by_its_place(root: Path) -> None:
    """A user has `foldline` on the path."""
    pages = [root / "README.md", *root.glob("docs/**/*.md")]

    assert [page for page in pages if "bin/foldline" in page.read_text(encoding="utf-8")] == []


@pytest.mark.slow
@pytest.mark.source
def test_the_site_is_built_without_a_warning(root: Path, tmp_path: Path) -> None:
    """Each link and anchor leads somewhere, and a page is shown without a word to another host."""
    for name in ("docs", "src"):
        shutil.copytree(root / name, tmp_path / name)
    for name in ("README.md", "zensical.toml"):
        shutil.copy(root / name, tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    pages = [*tmp_path.glob("build/site/**/*.html")]
    tags = [tag for page in pages for tag in TAG.findall(page.read_text(encoding="utf-8"))]
    assert len(tags) > len(pages)
    assert [tag for tag in tags if ELSEWHERE.search(tag)] == []


def _pages(menu: object) -> Iterator[str]:
    if isinstance(menu, str):
        yield menu
    elif isinstance(menu, dict):
        yield from _pages([*menu.values()])
    elif isinstance(menu, Iterable):
        for one in menu:
            yield from _pages(one)
