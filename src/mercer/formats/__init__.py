"""Fitted models in files: read as data, written as data; nothing in them is executed."""

from mercer.formats import libsvm as libsvm  # registers the reader of text models
from mercer.formats._as_expansion import FittedScores, ModelFileError, as_expansion
from mercer.formats.c import to_c
from mercer.formats.libsvm_writer import write_libsvm
from mercer.formats.model_file import load, model_card, save
from mercer.formats.onnx import register_onnx_converters, to_onnx

__all__ = [
    "FittedScores",
    "ModelFileError",
    "as_expansion",
    "load",
    "model_card",
    "register_onnx_converters",
    "save",
    "to_c",
    "to_onnx",
    "write_libsvm",
]
