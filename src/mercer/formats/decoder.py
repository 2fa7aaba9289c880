"""Codec of model files, reading: JSON nodes and arrays become values, and every part is checked."""

import functools
import inspect
import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from mercer._common import shown
from mercer._compute.objects import Objects, as_objects
from mercer._compute.points import owned
from mercer._compute.profile import field_names
from mercer._compute.table import Table
from mercer.expansion import Expansion
from mercer.formats import allowlist
from mercer.formats.consistency import require, require_consistent, require_fields
from mercer.formats.encoder import DEEPEST, SCALARS, TRANSFORMS
from mercer.formats.files import WIDEST
from mercer.formats.metadata_requests import ATTRIBUTE, set_requests
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import as_kernel

# Kinds of values that are points.
_POINTS = ("sparse", "points", "table")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Decoder:
    """Turns the nodes that `Encoder` writes back into values; other nodes raise a ValueError or TypeError.

    Each kind of node has a method ``_read_<kind>``; there are no other kinds.
    """

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self._depth = 0
        self._shared = {}

    def value(self, node: object) -> Any:
        """Return the value of a node."""
        self._depth += 1
        require(self._depth <= DEEPEST, f"values are nested more than {DEEPEST} deep")
        result = self._value(node)
        self._depth -= 1
        return result

    def _value(self, node):
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        require(len(node) == 1, f"a node has {len(node)} keys; it must have one, its kind")
        [(kind, content)] = node.items()
        name = f"_read_{kind}"
        require(hasattr(self, name), f"{shown(kind)} is not a kind of value")
        read = getattr(self, name)
        if kind not in _POINTS:
            return read(content)
        # points that expansions share stay one object, with one set of values
        key = kind, repr(content)
        if key not in self._shared:
            self._shared[key] = read(content)
        return self._shared[key]

    def fields(self, content: dict[Any, Any]) -> dict[Any, Any]:
        """Return named values."""
        require(isinstance(content, dict), "fields must be named")
        return {name: self.value(node) for name, node in content.items()}

    def _each(self, nodes, what):
        """Return the values of a list of nodes."""
        return [self.value(node) for node in _list(nodes, None, what)]

    def _read_float(self, word):
        require(
            isinstance(word, str) and word in _NOT_FINITE,
            f"{shown(word)} must be one of {list(_NOT_FINITE)}",
        )
        return _NOT_FINITE[word]

    def _read_scalar(self, content):
        code, node = _list(content, 2, "a scalar")
        require(
            isinstance(code, str) and code in SCALARS, f"{shown(code)} is not a dtype of scalars"
        )
        value = self.value(node)
        dtype = SCALARS[code]
        expected = {"b": bool, "f": float}.get(dtype.kind, int)
        require(type(value) is expected, f"a scalar of dtype {dtype} must be a {expected.__name__}")
        require(
            np.array(value).astype(dtype) == value or dtype.kind == "f",
            f"{value} is out of range of {dtype}",
        )
        return dtype.type(value)

    def _read_array(self, serial):
        require(
            type(serial) is int and 0 <= serial < len(self.arrays),
            f"the file has no array {shown(serial)}",
        )
        return self.arrays[serial]

    def _read_objects(self, content):
        shape, nodes = _list(content, 2, "an array of objects")
        values = self._each(nodes, "objects")
        plain = (str, int, float, bool, type(None))
        require(
            all(isinstance(value, plain) for value in values),
            "objects in arrays must be strings or numbers",
        )
        result = np.empty(len(values), object)
        result[:] = values
        return result.reshape(shape_of(shape))

    def _read_sparse(self, content):
        name, shape, *nodes = _list(content, 5, "sparse rows")
        require(name in ("csr_matrix", "csr_array"), f"{shown(name)} is not a kind of sparse rows")
        n, d = _list(list(shape_of(shape)), 2, "the shape of sparse rows")
        data, indices, indptr = parts = [self.value(node) for node in nodes]
        require(
            all(type(part) is np.ndarray and part.ndim == 1 for part in parts),
            "parts of sparse rows must be vectors",
        )
        for part in (indices, indptr):
            require(part.dtype in (np.int32, np.int64), "indices of sparse rows must be integers")
        require(data.dtype.kind in "fiub", f"sparse rows have dtype {data.dtype}")
        require(d <= WIDEST, f"sparse rows have {d} columns; they must have at most {WIDEST}")
        add_up = len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
        require(add_up, "the rows of a sparse matrix do not add up")
        require(bool((np.diff(indptr) >= 0).all()), "the rows of a sparse matrix overlap")
        if len(indices):
            require(
                indices.min() >= 0 and indices.max() < d,
                f"a column of sparse rows is outside of 0 to {d - 1}",
            )
        result = (sp.csr_matrix if name == "csr_matrix" else sp.csr_array)(
            (data, indices, indptr), (n, d)
        )
        require(bool(result.has_canonical_format), "columns of sparse rows repeat or descend")
        # SciPy copies parts that are small beside the file; expansions share what is owned
        return owned(result)

    def _read_points(self, content):
        return as_objects(self._each(content, "points"), "points")

    def _read_table(self, content):
        nodes, names = _list(content, 2, "a table")
        columns = self._each(nodes, "columns")
        names = self.value(names)
        require(
            bool(columns) and len(set(map(len, columns))) == 1,
            "a table must have columns of one length",
        )
        for column in columns:
            numbers = type(column) is np.ndarray and column.dtype == np.float64 and column.ndim == 1
            require(numbers or type(column) is Objects, "a column must hold numbers or objects")
        require(
            names is None or len(_list(names, len(columns), "names")) == len(columns),
            "a table must have names",
        )
        return Table(columns, names)

    def _read_set(self, content):
        items = self._each(content, "a set")
        result = set(items)
        require(len(result) == len(items), "members of a set repeat")
        return result

    def _read_frozenset(self, content):
        return frozenset(self._read_set(content))

    def _read_bytes(self, digits):
        require(isinstance(digits, str), "bytes must be hexadecimal digits")
        return bytes.fromhex(digits)

    def _read_tuple(self, content):
        return tuple(self._each(content, "a tuple"))

    def _read_dict(self, content):
        pairs = [_list(pair, 2, "an entry") for pair in _list(content, None, "a dict")]
        keys = [self.value(key) for key, _ in pairs]
        # members of a multiset are of any hashable kind
        require(all(isinstance(key, Hashable) for key in keys), "keys must be hashable")
        require(len(set(keys)) == len(keys), "keys repeat")
        return dict(zip(keys, [self.value(node) for _, node in pairs], strict=True))

    def _read_record(self, content):
        name, fields = _list(content, 2, "a record")
        require(isinstance(name, str), "a record must have a name")
        cls = allowlist.record(name)
        fields = self.fields(fields)
        unknown = fields.keys() - field_names(cls)
        require(not unknown, f"{name} has no field {shown(min(unknown, default=None))}")
        return require_consistent(require_fields(cls(**fields)))

    def _read_partial(self, content):
        node, args, keywords = _list(content, 3, "a partial function")
        function = self.value(node)
        require(
            isinstance(function, TRANSFORMS),
            "a partial function must be of a transformation of images",
        )
        args = self._each(args, "arguments")
        return functools.partial(function, *args, **self.fields(keywords))

    def _read_expansion(self, content):
        fields = self.fields(content)
        require(
            fields.keys() == {"kernel", "points", "coef"},
            "an expansion must have a kernel, points and coef",
        )
        require(isinstance(fields["kernel"], Kernel), "the kernel of an expansion must be a kernel")
        coef = fields["coef"]
        columns = coef is None or (
            type(coef) is np.ndarray and coef.ndim == 2 and coef.dtype.kind == "f"
        )
        require(columns, "the coefficients of an expansion must be columns of floats")
        return require_consistent(Expansion(**fields))

    def _read_estimator(self, content):
        name, params, state = _list(content, 3, "an estimator")
        require(isinstance(name, str), "an estimator must have a name")
        cls = allowlist.estimator(name)
        params = self.fields(params)
        state = self.fields(state)
        unknown = params.keys() - inspect.signature(cls).parameters.keys()
        require(not unknown, f"{name} has no parameter {shown(min(unknown, default=None))}")
        if "kernel" in params:
            as_kernel(params["kernel"])
            if isinstance(params["kernel"], str) and "gamma" not in params:
                # files written before estimators had it
                params |= {"gamma": "scale", "degree": 3, "coef0": 0.0}
        for attribute in state:
            allowed = (
                allowlist.is_fitted_attribute(cls, attribute)
                and attribute not in allowlist.LEFT_OUT
            )
            require(allowed, f"{name} has no attribute {shown(attribute)} that a file may set")
        model = cls(**params)
        set_requests(model, state.pop(ATTRIBUTE, {}))
        if name in allowlist.SCIKIT_LEARN:
            # the arrays of a file are read-only, and those of scikit-learn are not
            vars(model).update(
                {
                    key: np.copy(each) if isinstance(each, np.ndarray) else each
                    for key, each in state.items()
                }
            )
        else:
            model.__setstate__(state)
        return require_consistent(model)

    def _read_pipeline(self, content):
        steps = [_list(step, 2, "a step") for step in _list(content, None, "a pipeline")]
        require(all(isinstance(name, str) for name, _ in steps), "steps must have names")
        return require_consistent(Pipeline([(name, self.value(node)) for name, node in steps]))


def shape_of(node: list[int]) -> tuple[Any, ...]:
    """Return the shape in a node, at most eight integers below 2^48, or raise a ValueError."""
    valid = (
        isinstance(node, list)
        and len(node) <= 8
        and all(type(size) is int and 0 <= size < 2**48 for size in node)
    )
    require(valid, f"{shown(node)} is not a shape")
    return tuple(node)


def _list(content, length, what):
    require(isinstance(content, list), f"{what} must be a list")
    require(
        length is None or len(content) == length,
        f"{what} has {len(content)} parts; it must have {length}",
    )
    return content
