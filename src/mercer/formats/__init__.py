"""Fitted models from elsewhere, read as data: nothing in them is executed."""

from mercer.formats import libsvm as libsvm  # registers the reader of text models
from mercer.formats.fitted import FittedScores, ModelFileError, as_expansion

__all__ = ["FittedScores", "ModelFileError", "as_expansion"]
