"""What a store of your own implements, and the stored side of threads."""

from foldline.reduction.fold_rule import FoldRule
from foldline.threads.change import Change, Copy, Document, DocumentKind, Epoch
from foldline.threads.cipher import AesCipher, Cipher
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import Checkpoint
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.row import StoredRow
from foldline.threads.search import SearchPage, ThreadMatch
from foldline.threads.start import run_start
from foldline.threads.storage import StoredThread, ThreadStorage
from foldline.threads.store import DuePage, DueThread
from foldline.threads.thread import ThreadMoment
from foldline.threads.tools import ToolRun


__all__ = [
    "AesCipher",
    "Change",
    "Checkpoint",
    "Cipher",
    "Copy",
    "Document",
    "DocumentKind",
    "DuePage",
    "DueThread",
    "Epoch",
    "FoldRule",
    "ReadOnlyThread",
    "SearchPage",
    "StoredRow",
    "StoredThread",
    "ThreadKey",
    "ThreadMatch",
    "ThreadMoment",
    "ThreadStorage",
    "ToolRun",
    "run_start",
]
