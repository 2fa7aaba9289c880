"""Fitted models in files: read as data, written as data; nothing in them is executed."""

from mercer.formats import libsvm as libsvm  # registers the reader of text models
from mercer.formats.fitted import FittedScores, ModelFileError, as_expansion
from mercer.formats.libsvm_writer import write_libsvm
from mercer.formats.model_file import load, model_card, save

__all__ = ["FittedScores", "ModelFileError", "as_expansion", "load", "model_card", "save", "write_libsvm"]
