"""What of a conversation its views keep: measured on recordings, without a judge."""

from foldline.replay.quality.report import Cell, QualityReport, quality_of


__all__ = ["Cell", "QualityReport", "quality_of"]
