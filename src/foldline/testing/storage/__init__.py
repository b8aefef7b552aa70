"""Whether a storage of threads keeps its promises."""

from foldline.testing.storage.check import StorageCheck
from foldline.testing.storage.conformance import (
    CheckOutcome,
    CheckResult,
    StorageConformance,
    StorageReport,
)


__all__ = ["CheckOutcome", "CheckResult", "StorageCheck", "StorageConformance", "StorageReport"]
