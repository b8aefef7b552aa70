"""The same script under different hash seeds."""

import os
import subprocess
import sys
from pathlib import Path


SRC = Path(__file__).resolve().parents[1] / "src"


def outputs_of(script: str) -> list[bytes]:
    """Return what two interpreters with different hash seeds print for *script*."""
    command, texts = [sys.executable, "-c", script], list[bytes]()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{SRC}"}
        texts.append(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    return texts
