"""Fails where a file uses one of the words that no user of foldline says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final


ROOT: Final = Path(__file__).parent.parent
WORDS: Final = {
    r"mend(s|ed|ing)?": "fix, repair, correct",
    r"whoever": "the caller, anyone who",
    r"anew": "again, from scratch",
    r"allowed (is|are)": "must be",
    r"told of": "reported",
    r"goes on with": "continues with",
    r"stands on": "is, uses",
    r"in vain": "without effect",
    r"not to be had": "not available",
    r"see that (it|a|the)": "check that",
}
_PATTERN: Final = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
_ENDINGS: Final = {".py", ".pyi", ".md", ".sql", ".lua", ".toml", ".yml", ".yaml"}
# This file itself, and quotes of others.
_LEFT_OUT: Final = ("tools/plain_words.py", "src/foldline/apps/cli/data/", "requirements/")


def found_in(text: str) -> list[tuple[int, str]]:
    """Return the line number and the word of each place in *text*."""
    return [
        (number, match[0])
        for number, line in enumerate(text.splitlines(), start=1)
        for match in _PATTERN.finditer(line)
    ]


def _files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        name
        for name in listed.stdout.splitlines()
        if Path(name).suffix in _ENDINGS
        and not name.startswith(_LEFT_OUT)
        and (ROOT / name).is_file()
    ]


def main() -> int:
    """Print each place, and return 1 if there is any."""
    count = 0
    for name in _files():
        for number, word in found_in((ROOT / name).read_text(encoding="utf-8")):
            count += 1
            sys.stdout.write(f"{name}:{number}: {word!r}: say it in plain words\n")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
