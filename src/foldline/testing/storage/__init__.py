"""Whether a storage of threads keeps its promises."""

from foldline.testing.report import CheckOutcome, CheckResult
from foldline.testing.storage.check import StorageCheck
from foldline.testing.storage.conformance import StorageConformance, StorageReport


__all__ = ["CheckOutcome", "CheckResult", "StorageCheck", "StorageConformance", "StorageReport"]
