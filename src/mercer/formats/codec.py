"""Codec of model files: values become JSON nodes and arrays, and these become values, of which every part is checked.

A node is null, a truth value, an integer of at most 64 bits, a finite float, a string, a list, or an object with one
key that states its kind: ``array``, ``sparse``, ``objects``, ``points``, ``table``, ``scalar``, ``float`` (not
finite), ``bytes``, ``tuple``, ``set``, ``frozenset``, ``dict``, ``record``, ``partial``, ``expansion``, ``estimator``
or ``pipeline``.
"""

import functools
import inspect
import math
from collections.abc import Hashable, Iterable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer._common import Array, shown
from mercer._compute.objects import Objects, Table, as_objects
from mercer._compute.points import owned
from mercer._compute.profile import field_names
from mercer._compute.register import name_in_files
from mercer.expansion import Expansion
from mercer.formats import allowlist
from mercer.formats.consistency import require, require_consistent, require_fields
from mercer.formats.files import WIDEST
from mercer.invariance import Flow, Thickening
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import as_kernel

# Far deeper than any model, and far from Python's recursion limit.
DEEPEST = 100
# Rows of an array without entries: they take no bytes of the file, and memory where they are read one by one.
_EMPTY = 2**20
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
# Kinds of values that are points, which expansions share.
_SHARED = ("sparse", "points", "table")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


# --- writing ---------------------------------------------------------------------------------------------------------


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
        # with the arrays, so that no other array gets their memory
        self._serials = {}
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
            self._serials[place] = len(self.arrays), array
            if not (array.flags.c_contiguous or array.flags.f_contiguous):
                array = array.copy(order="K")
            self.arrays.append(array.astype(array.dtype.newbyteorder("<"), order="K", copy=False))
        return self._serials[place][0]

    def each(self, items: Iterable[Any]) -> list[Any]:
        """Return the nodes of the items of a list."""
        return [self.node(item, str(i)) for i, item in enumerate(items)]

    def fields(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return the nodes of named values."""
        return {name: self.node(value, name) for name, value in values.items()}


def _encode(value, into):
    """Return the node of a value; classes come before those that they are derived from."""
    match value:
        case None | bool():
            return value
        case str():
            # a subclass becomes a plain string
            return str(value)
        case bytes():
            return {"bytes": value.hex()}
        case np.generic():
            return _encode_scalar(value, into)
        case int():
            if value not in _INTEGERS:
                into.refuse(f"{value} must be an integer of at most 64 bits.")
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        case Objects():
            return {"points": into.each(value)}
        case list():
            return into.each(value)
        case tuple():
            return {"tuple": into.each(value)}
        case set() | frozenset():
            # in an order that does not depend on hashes
            members = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
            return {type(value).__name__: into.each(members)}
        case dict():
            pairs = [
                [into.node(key, "key"), into.node(each, str(key))] for key, each in value.items()
            ]
            return {"dict": pairs}
        case Table():
            return {"table": [into.each(value.columns), into.node(value.names, "names")]}
        case np.ndarray():
            return _encode_array(value, into)
        case sp.csr_matrix() | sp.csr_array():
            return _encode_sparse(value, into)
        case Expansion():
            into.points.append(value.points)
            fields = {"kernel": value.kernel, "points": value.points, "coef": value.coef}
            return {"expansion": into.fields(fields)}
        case functools.partial():
            return _encode_partial(value, into)
        case Pipeline():
            return _encode_pipeline(value, into)
    if allowlist.is_storable_estimator(value):
        return _encode_estimator(value, into)
    if isinstance(value, Kernel) or name_in_files(type(value)):
        return _encode_record(value, into)
    return _refuse(value, into)


def _refuse(value, into):
    """Raise an error that says why a file cannot hold a value, and what to do."""
    name = type(value).__name__
    if callable(value) and not hasattr(value, "get_params"):
        into.refuse(f"{name} is a Python function, {_IS_CODE}")
    if hasattr(value, "get_params"):
        into.refuse(
            f"a model file cannot hold {type(value).__module__}.{name}; save a part that it can hold, such as the last "
            "step of a pipeline or the mercer_ of a patched model, or keep the whole with joblib, whose files run code "
            "when loaded. A file can hold the estimators of Mercer and, of scikit-learn, Pipeline, "
            f"{', '.join(allowlist.SCIKIT_LEARN)}."
        )
    seed = _SEED if name in ("RandomState", "Generator") else ""
    remedy = _SPLITTER if hasattr(value, "get_n_splits") else seed
    into.refuse(
        f"a model file cannot hold the type {type(value).__module__}.{name}; it holds numbers, strings, arrays, "
        f"kernels, expansions and records of Mercer.{remedy}"
    )


def _encode_scalar(value, into):
    dtype = value.dtype.newbyteorder("<").str
    if dtype not in SCALARS:
        into.refuse(f"a model file cannot hold a scalar of dtype {value.dtype}.")
    return {"scalar": [dtype, into.node(value.item(), "value")]}


def _encode_array(value, into):
    if isinstance(value, np.ma.MaskedArray):
        into.refuse("a model file cannot hold a masked array; fill it.")
    if value.dtype.kind == "O":
        return {"objects": [list(value.shape), into.each(value.ravel().tolist())]}
    if value.dtype.kind != "U" and value.dtype.newbyteorder("<").str not in SCALARS:
        into.refuse(f"a model file cannot hold an array of dtype {value.dtype}.")
    return {"array": into.array(np.asarray(value))}


def _encode_sparse(value, into):
    if value.shape[1] > WIDEST:
        into.refuse(f"sparse rows have {value.shape[1]} columns; they must have at most {WIDEST}.")
    if not value.has_canonical_format:
        value = value.copy()
        value.sum_duplicates()
    parts = [into.node(getattr(value, name), name) for name in ("data", "indices", "indptr")]
    return {"sparse": [type(value).__name__, list(value.shape), *parts]}


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
    if allowlist.REQUESTS in state:
        state[allowlist.REQUESTS] = requests_of(value)
    for name in state:
        if not allowlist.is_fitted_attribute(cls, name):
            into.refuse(f"{name} is not an attribute that fit sets; delete it before saving.")
    return {"estimator": [cls.__name__, into.fields(params), into.fields(state)]}


def _encode_partial(value, into):
    if type(value) is not functools.partial or not isinstance(value.func, TRANSFORMS):
        into.refuse(f"{shown(value.func)} is a Python function, {_IS_CODE}")
    return {
        "partial": [
            into.node(value.func, "func"),
            into.each(value.args),
            into.fields(value.keywords),
        ]
    }


def _encode_pipeline(value, into):
    if type(value) is not Pipeline or value.memory is not None:
        into.refuse("a pipeline must be of scikit-learn's class Pipeline, with memory=None.")
    return {"pipeline": [[name, into.node(step, name)] for name, step in value.steps]}


def _is_same(value, default):
    return type(value) is type(default) and np.array_equal(value, default)


# --- reading ---------------------------------------------------------------------------------------------------------


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
        if kind not in _SHARED:
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
        plain = (str, int, float, type(None))
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
        n, d = shape_of(_list(shape, 2, "the shape of sparse rows"))
        data, indices, indptr = (self.value(node) for node in nodes)
        for part in (indices, indptr):
            require(part.dtype in (np.int32, np.int64), "indices of sparse rows must be integers")
        require(data.dtype.kind in "fiub", f"sparse rows have dtype {data.dtype}")
        require(d <= WIDEST, f"sparse rows have {d} columns; they must have at most {WIDEST}")
        # SciPy does not check it where there are no entries
        require((np.diff(indptr) >= 0).all(), "the rows of a sparse matrix overlap")
        kind = sp.csr_matrix if name == "csr_matrix" else sp.csr_array
        result = kind((data, indices, indptr), (n, d))
        result.check_format()
        require(result.nnz == len(data), "the rows of a sparse matrix do not add up")
        require(result.has_canonical_format, "columns of sparse rows repeat or descend")
        # SciPy copies parts that are small beside the file; expansions share what is owned
        return owned(result)

    def _read_points(self, content):
        return as_objects(self._each(content, "points"), "points")

    def _read_table(self, content):
        nodes, names = _list(content, 2, "a table")
        columns = self._each(nodes, "columns")
        names = self.value(names)
        require(len(set(map(len, columns))) == 1, "a table must have columns of one length")
        for column in columns:
            numbers = type(column) is np.ndarray and column.dtype == np.float64 and column.ndim == 1
            require(numbers or type(column) is Objects, "a column must hold numbers or objects")
        if names is not None:
            _list(names, len(columns), "names")
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
        return require_consistent(require_fields(cls(**self.fields(fields))))

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
        coef = fields["coef"]
        columns = coef is None or (
            type(coef) is np.ndarray and coef.ndim == 2 and coef.dtype.kind == "f"
        )
        require(columns, "the coefficients of an expansion must be columns of floats")
        return Expansion(**fields)

    def _read_estimator(self, content):
        name, params, state = _list(content, 3, "an estimator")
        require(isinstance(name, str), "an estimator must have a name")
        cls = allowlist.estimator(name)
        params = self.fields(params)
        state = self.fields(state)
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
        set_requests(model, state.pop(allowlist.REQUESTS, {}))
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
    rows = math.prod(node[: node.index(0)]) if 0 in node else 0
    require(rows <= _EMPTY, f"an array without entries has {rows} rows, more than {_EMPTY}")
    return tuple(node)


def _list(content, length, what):
    require(isinstance(content, list), f"{what} must be a list")
    require(
        length is None or len(content) == length,
        f"{what} has {len(content)} parts; it must have {length}",
    )
    return content


# --- metadata requests of scikit-learn's routing: dictionaries of texts and truth values -----------------------------


def requests_of(estimator: BaseEstimator) -> dict[str, dict[str, bool | str]]:
    """Return the requests that were set, as parameter and value by method."""
    serialised = estimator.get_metadata_routing()._serialize()  # noqa: SLF001 - no public way
    # None is the default of each parameter
    given = {
        method: {k: v for k, v in values.items() if v is not None}
        for method, values in serialised.items()
    }
    return {method: values for method, values in given.items() if values}


def set_requests(estimator: BaseEstimator, requests: dict[str, dict[str, bool | str]]) -> None:
    """Set requests on an estimator, or raise a ValueError."""
    with sklearn.config_context(enable_metadata_routing=True):
        try:
            for method, values in requests.items():
                getattr(estimator, f"set_{method}_request")(**values)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{type(estimator).__name__} cannot have the metadata requests {shown(requests)}."
            ) from error
