"""Whether a storage of threads keeps its promises."""

from foldline.testing.report import CheckOutcome, CheckResult, ConformanceReport
from foldline.testing.storage.check import StorageCheck
from foldline.testing.storage.conformance import StorageConformance


__all__ = ["CheckOutcome", "CheckResult", "ConformanceReport", "StorageCheck", "StorageConformance"]
