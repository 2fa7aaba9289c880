"""Compression of fitted kernel models: fewer vectors, and a report of the accuracy lost."""

from mercer.compression._compress import compress
from mercer.compression._from_expansion import from_expansion
from mercer.compression.report import CompressionReport

__all__ = ["CompressionReport", "compress", "from_expansion"]
