"""Fitted models in files: Mercer's own format, LIBSVM, C and ONNX, and readers of other libraries' models."""

from mercer._compute.devices import anywhere
from mercer._elsewhere import explain_names
from mercer.formats._as_expansion import as_expansion
from mercer.formats.c import Exported, to_c
from mercer.formats.files import ModelFileError
from mercer.formats.fitted_expansion import FittedExpansion
from mercer.formats.libsvm_writer import write_libsvm
from mercer.formats.model_file import load, model_card, save
from mercer.formats.onnx import register_onnx_converters, to_onnx

__all__ = [
    "Exported",
    "FittedExpansion",
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
explain_names(__name__, anywhere)
