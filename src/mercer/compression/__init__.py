"""Fitted kernel machines made small: a few vectors in place of thousands, and a report of what that costs."""

from mercer.compression._compress import compress
from mercer.compression.report import CompressionReport

__all__ = ["CompressionReport", "compress"]
