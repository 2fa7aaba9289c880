"""Fitted kernel machines made small: a few vectors in place of thousands, and a report of what that costs."""

from mercer.compression.report import CompressionReport
from mercer.compression.shrink import compress

__all__ = ["CompressionReport", "compress"]
