"""Codec of model files, writing: values become JSON nodes and arrays.

A node is null, a truth value, an integer of at most 64 bits, a finite float, a string, a list, or an object with one
key that states its kind: ``array``, ``sparse``, ``objects``, ``points``, ``table``, ``scalar``, ``float`` (not
finite), ``bytes``, ``tuple``, ``set``, ``frozenset``, ``dict``, ``record``, ``partial``, ``expansion``, ``estimator``
or ``pipeline``.
"""

import functools
import inspect
import math
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from mercer._common import Array, shown
from mercer._compute.objects import Objects
from mercer._compute.profile import field_names
from mercer._compute.storable import name_in_files
from mercer._compute.table import Table
from mercer.expansion import Expansion
from mercer.formats import allowlist
from mercer.formats.files import WIDEST
from mercer.formats.metadata_requests import ATTRIBUTE, requests_of
from mercer.invariance import Flow, Thickening
from mercer.kernels.base import Kernel

# Far deeper than any model, and far from Python's recursion limit.
DEEPEST = 100
SCALARS = {code: np.dtype(code) for code in ("|b1", "|i1", "|u1", "<f4", "<f8")}
SCALARS |= {code: np.dtype(code) for kind in "iu" for size in "248" if (code := f"<{kind}{size}")}
# Records that move rows, of which a file may contain partial functions.
TRANSFORMS = (Flow, Thickening)
# Fitted attributes that hold points of input space outside of expansions.
_POINTS = ("support_vectors_", "landmarks_")
_INTEGERS = range(-(2**63), 2**64)
_IS_CODE = (
    "which is code; a model file holds data only. Use a kernel of closed form (mercer.Gaussian, ...), save the part "
    "that predicts (estimator_ of VirtualSupportVectors, best_estimator_ of a search), or use joblib for functions of "
    "a module and your own files."
)
# What to do about parameters of a fitted model, which need not be those of the fit.
_SEED = " Use an integer or None as random_state."
_SPLITTER = " Save best_estimator_, or leave out the splitter, which predictions do not need: model.set_params(cv=5)."


class Unstorable(TypeError):
    """A value that model files cannot hold; the message names its place."""


class Encoder:
    """Turns values into nodes and collects the arrays they refer to, each array once.

    Attributes
    ----------
    arrays : list of ndarray
        Contiguous in C or Fortran order, little-endian.
    points : list of points
        Every container of points of input space.
    """

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.points: list[Any] = []
        self._serials = {}
        self._kept = []
        self._path = []

    def node(self, value: object, name: str) -> object:
        """Return the node of a value, called ``name`` in error messages, or raise `Unstorable`."""
        self._path.append(name)
        if len(self._path) > DEEPEST:
            raise Unstorable(
                f"{'.'.join(self._path[:4])}...: values must not be nested more than {DEEPEST} deep."
            )
        try:
            return _encode(value, self)
        finally:
            self._path.pop()

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error that names the place of the current value."""
        raise Unstorable(f"{'.'.join(self._path)}: {reason}")

    def array(self, array: Array) -> int:
        """Return the serial number of a numeric array; views of the same memory share one."""
        place = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
        if place not in self._serials:
            self._serials[place] = len(self.arrays)
            # keep the array alive, so that no other array gets its memory
            self._kept.append(array)
            if not (array.flags.c_contiguous or array.flags.f_contiguous):
                array = array.copy(order="K")
            self.arrays.append(array.astype(array.dtype.newbyteorder("<"), order="K", copy=False))
        return self._serials[place]

    def each(self, items: Iterable[Any]) -> list[Any]:
        """Return the nodes of the items of a list."""
        return [self.node(item, str(i)) for i, item in enumerate(items)]

    def fields(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return the nodes of named values."""
        return {name: self.node(value, name) for name, value in values.items()}


@functools.singledispatch
def _encode(value, into):
    name = type(value).__name__
    if allowlist.is_storable_estimator(value):
        return _encode_estimator(value, into)
    if isinstance(value, Kernel) or name_in_files(type(value)):
        return _encode_record(value, into)
    if callable(value) and not hasattr(value, "get_params"):
        into.refuse(f"{name} is a Python function, {_IS_CODE}")
    if hasattr(value, "get_params"):
        into.refuse(
            f"a model file cannot hold {type(value).__module__}.{name}; save a part that it can hold, such as the last "
            "step of a pipeline or the mercer_ of a patched model, or keep the whole with joblib, whose files run code "
            f"when loaded. A file can hold {allowlist.listed_estimators()}."
        )
    seed = _SEED if name in ("RandomState", "Generator") else ""
    remedy = _SPLITTER if hasattr(value, "get_n_splits") else seed
    return into.refuse(
        f"a model file cannot hold the type {type(value).__module__}.{name}; it holds numbers, strings, arrays, "
        f"kernels, expansions and records of Mercer.{remedy}"
    )


@_encode.register(type(None))
@_encode.register(bool)
@_encode.register(str)
def _encode_itself(value, into):  # noqa: ARG001
    # a subclass of str becomes a plain string
    return str(value) if isinstance(value, str) else value


@_encode.register
def _encode_integer(value: int, into):
    if value not in _INTEGERS:
        into.refuse(f"{value} must be an integer of at most 64 bits.")
    return int(value)


@_encode.register
def _encode_float(value: float, into):  # noqa: ARG001
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


@_encode.register
def _encode_scalar(value: np.generic, into):
    dtype = value.dtype.newbyteorder("<").str
    if dtype not in SCALARS:
        into.refuse(f"a model file cannot hold a scalar of dtype {value.dtype}.")
    return {"scalar": [dtype, into.node(value.item(), "value")]}


@_encode.register
def _encode_list(value: list, into):
    return into.each(value)


@_encode.register
def _encode_points(value: Objects, into):
    return {"points": into.each(value)}


@_encode.register
def _encode_table(value: Table, into):
    return {"table": [into.each(value.columns), into.node(value.names, "names")]}


@_encode.register(set)
@_encode.register(frozenset)
def _encode_set(value, into):
    # in an order that does not depend on hashes
    return {
        type(value).__name__: into.each(
            sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        )
    }


@_encode.register
def _encode_bytes(value: bytes, into):  # noqa: ARG001
    return {"bytes": value.hex()}


@_encode.register
def _encode_tuple(value: tuple, into):
    return {"tuple": into.each(value)}


@_encode.register
def _encode_dict(value: dict, into):
    return {
        "dict": [[into.node(key, "key"), into.node(item, str(key))] for key, item in value.items()]
    }


@_encode.register
def _encode_array(value: np.ndarray, into):
    if isinstance(value, np.ma.MaskedArray):
        into.refuse("a model file cannot hold a masked array; fill it.")
    if value.dtype.kind == "O":
        return {"objects": [list(value.shape), into.each(value.ravel().tolist())]}
    if (
        value.dtype.kind not in "biufU"
        or value.dtype.itemsize > 8
        and value.dtype.kind != "U"
        or value.dtype == "f2"
    ):
        into.refuse(f"a model file cannot hold an array of dtype {value.dtype}.")
    return {"array": into.array(np.asarray(value))}


@_encode.register(sp.csr_matrix)
@_encode.register(sp.csr_array)
def _encode_sparse(value, into):
    if value.shape[1] > WIDEST:
        into.refuse(f"sparse rows have {value.shape[1]} columns; they must have at most {WIDEST}.")
    if not value.has_canonical_format:
        value = value.copy()
        value.sum_duplicates()
    parts = [into.node(getattr(value, name), name) for name in ("data", "indices", "indptr")]
    return {"sparse": [type(value).__name__, list(value.shape), *parts]}


@_encode.register
def _encode_expansion(value: Expansion, into):
    into.points.append(value.points)
    return {
        "expansion": into.fields(
            {"kernel": value.kernel, "points": value.points, "coef": value.coef}
        )
    }


def _encode_record(value, into):
    name = name_in_files(type(value))
    if name is None:
        into.refuse(
            f"{type(value).__name__} contains a Python function or is defined outside of Mercer, {_IS_CODE}"
        )
    fields = {field: getattr(value, field) for field in field_names(type(value))}
    return {"record": [name, into.fields(fields)]}


def _encode_estimator(value, into):
    cls = type(value)
    own = params = value.get_params(deep=False)
    state = {
        name: each
        for name, each in vars(value).items()
        if name not in own and name not in allowlist.LEFT_OUT
    }
    if cls.__name__ in allowlist.SCIKIT_LEARN:
        # parameters at their defaults are left out, because scikit-learn may rename them
        defaults = {name: each.default for name, each in inspect.signature(cls).parameters.items()}
        params = {name: each for name, each in own.items() if not _is_same(each, defaults[name])}
        state = {
            name: each for name, each in state.items() if allowlist.is_fitted_attribute(cls, name)
        }
    into.points += [state[name] for name in _POINTS if name in state]
    if ATTRIBUTE in state:
        state[ATTRIBUTE] = requests_of(value)
    for name in state:
        if not allowlist.is_fitted_attribute(cls, name):
            into.refuse(f"{name} is not an attribute that fit sets; delete it before saving.")
    return {"estimator": [cls.__name__, into.fields(params), into.fields(state)]}


@_encode.register
def _encode_partial(value: functools.partial, into):
    if type(value) is not functools.partial or not isinstance(value.func, TRANSFORMS):
        into.refuse(f"{shown(value.func)} is a Python function, {_IS_CODE}")
    return {
        "partial": [
            into.node(value.func, "func"),
            into.each(value.args),
            into.fields(value.keywords),
        ]
    }


@_encode.register
def _encode_pipeline(value: Pipeline, into):
    if type(value) is not Pipeline or value.memory is not None:
        into.refuse("a pipeline must be of scikit-learn's class Pipeline, with memory=None.")
    return {"pipeline": [[name, into.node(step, name)] for name, step in value.steps]}


def _is_same(value, default):
    return type(value) is type(default) and bool(np.array_equal(value, default))
