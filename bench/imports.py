"""
What `import foldline` costs, in a new process each time.

Goal: at most 0.1 s of processor time.
"""

import os
import statistics
import subprocess
import sys
from typing import Any


SCRIPT = """
import resource, time
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.process_time()
import {module}
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _cost(module: str) -> tuple[float, float]:
    # Without byte code every import compiles, which is not what a user sees.
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    lines = []
    for _ in range(8):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(module=module)],
            capture_output=True,
            check=True,
            env=environment,
            text=True,
        )
        lines.append(tuple(map(float, done.stdout.split())))
    seconds, kilobytes = zip(*lines[1:], strict=True)
    return statistics.median(seconds), statistics.median(kilobytes) / 1024


def run() -> dict[str, Any]:
    """Measure foldline and, for orientation, the heaviest thing it loads."""
    seconds, megabytes = _cost("foldline")
    alone, _ = _cost("msgspec, asyncio, hashlib")
    return {"foldline_s": seconds, "foldline_mb": megabytes, "msgspec_and_asyncio_s": alone}
