"""What a store of your own implements, and the stored side of threads."""

from foldline.reduction.fold_rule import FoldRule
from foldline.threads.change import Change, Copy, Document, DocumentKind, Epoch
from foldline.threads.cipher import AesCipher, Cipher
from foldline.threads.key import ThreadKey
from foldline.threads.lease import Lease, lease_at
from foldline.threads.loop_state import Checkpoint
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.row import StoredRow
from foldline.threads.search import SearchPage, ThreadMatch
from foldline.threads.start import run_start
from foldline.threads.storage import StoredThread, ThreadStorage
from foldline.threads.store import DuePage, DueThread, ThreadPage
from foldline.threads.thread import ThreadMoment
from foldline.threads.tools import ToolRun
from foldline.threads.turns import TurnRecord


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
    "Lease",
    "ReadOnlyThread",
    "SearchPage",
    "StoredRow",
    "StoredThread",
    "ThreadKey",
    "ThreadMatch",
    "ThreadMoment",
    "ThreadPage",
    "ThreadStorage",
    "ToolRun",
    "TurnRecord",
    "lease_at",
    "run_start",
]
