"""
Turns that workers answer, in any number of processes: each turn once, and in order.

`Workers` needs the extra `workers`: its queue is procrastinate, in the PostgreSQL of the store. The
coroutines work with any queue, and need no extra.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from foldline.errors import MissingExtraError
from foldline.workers.handle import PostedTurn
from foldline.workers.retries import Retries, is_passing
from foldline.workers.turns import answer_turn, fold_thread, give_up_turn, post_turn, refold_tenant


if TYPE_CHECKING:
    from foldline.workers.metrics import WorkerMetrics
    from foldline.workers.status import FailedJob, QueueStatus, status_of
    from foldline.workers.workers import Workers


__all__ = [
    "FailedJob",
    "PostedTurn",
    "QueueStatus",
    "Retries",
    "WorkerMetrics",
    "Workers",
    "answer_turn",
    "fold_thread",
    "give_up_turn",
    "is_passing",
    "post_turn",
    "refold_tenant",
    "status_of",
]


_LATE: Mapping[str, str] = {
    "FailedJob": "foldline.workers.status",
    "QueueStatus": "foldline.workers.status",
    "WorkerMetrics": "foldline.workers.metrics",
    "status_of": "foldline.workers.status",
    "Workers": "foldline.workers.workers",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_LATE[name]), name)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"procrastinate", "psycopg", "psycopg_pool"}:
            raise
        raise MissingExtraError(package=package, extra="workers") from error
