"""What a store of your own implements, and the stored side of threads."""

from foldline.threads.checkpoint import Checkpoint
from foldline.threads.cipher import AesCipher, Cipher
from foldline.threads.moment import ThreadMoment
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.start import run_start
from foldline.threads.storage import ThreadStorage
from foldline.threads.tool_run import ToolRun


__all__ = [
    "AesCipher",
    "Checkpoint",
    "Cipher",
    "ReadOnlyThread",
    "ThreadMoment",
    "ThreadStorage",
    "ToolRun",
    "run_start",
]
