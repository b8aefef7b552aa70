"""
Writes the table of numbers in README.md from what `foldline demo` measures.

```
python tools/readme_numbers.py           # rewrites the table
python tools/readme_numbers.py --check   # fails where it is not current
```
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- numbers begin -->\n", "<!-- numbers end -->\n"


def measured() -> dict[str, Any]:
    """Return what the demo prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "foldline", "demo", "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def table(figures: dict[str, Any]) -> str:
    """Return the rows of *figures* as Markdown."""
    (played,) = figures["sessions"]
    rows = played["replays"]
    count, calls = played["session"]["messages"], rows[0]["totals"]["calls"]
    lines = [
        f"`make demo` plays a session of ours: {count} messages, {calls} model calls, no key.",
        "",
        "| | summarizer calls | tokens they read | tokens sent | largest view | prefix kept |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        totals = row["totals"]
        lines.append(
            f"| {row['name']} | {totals['summarizer_calls']} | {totals['summarizer_tokens']:,} "
            f"| {totals['sent_tokens']:,} | {totals['peak_tokens']:,} "
            f"| {totals['prefix_share']:.0%} |"
        )
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> int:
    """Write the table, or with `--check` compare it; return the exit code."""
    page = README.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    current = before + BEGIN + table(measured()) + END + after
    if "--check" in arguments:
        return int(current != page)
    README.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
