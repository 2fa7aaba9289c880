"""Values of fitted models as JSON and arrays, and back: a closed grammar, checked where it is read.

A node is null, a truth value, a whole number of at most 64 bits, a finite float, a string, a list, or an object with
one key, which says what it is: ``array``, ``sparse``, ``objects``, ``scalar``, ``float`` (one that is not finite),
``tuple``, ``dict``, ``record``, ``expansion``, ``estimator``, ``pipeline``.
"""

import functools
import inspect
import math

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from mercer.expansion import Expansion
from mercer.formats import allowlist as known
from mercer.formats.consistency import require_agreement
from mercer.kernels.shorthand import as_kernel

# Nested deeper than any model is; recursion stays far from Python's limit.
_DEEPEST = 100
# The mean of rows with more columns would take more than half a gigabyte.
_WIDEST = 2**26
# Fitted attributes that are points of input space outside of expansions.
_POINTS = ("support_vectors_", "landmarks_")
_WHOLE = range(-(2**63), 2**64)
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SCALARS = {code: np.dtype(code) for code in ("|b1", "|i1", "|u1", "<f4", "<f8")}
_SCALARS |= {code: np.dtype(code) for kind in "iu" for size in "248" if (code := f"<{kind}{size}")}


class Unstorable(TypeError):
    """A value that no model file holds; the message says where it is."""


# --- writing ---------------------------------------------------------------------------------------------------------


class Encoder:
    """Turns values into nodes, and gathers the arrays they refer to, each once.

    Attributes
    ----------
    arrays : list of ndarray
        Contiguous in C or Fortran order, little-endian.
    points : list of points
        Every container of points of input space.
    """

    def __init__(self):
        self.points = []
        self.arrays, self._serials, self._kept, self._path = [], {}, [], []

    def node(self, value, name):
        """Return the node of a value.

        Parameters
        ----------
        value : object
        name : str
            What it is called inside of the value around it.

        Raises
        ------
        Unstorable
        """
        self._path.append(name)
        if len(self._path) > _DEEPEST:
            raise Unstorable(f"{'.'.join(self._path[:4])}...: nested more than {_DEEPEST} deep; model files end there.")
        try:
            return _encode(value, self)
        finally:
            self._path.pop()

    def refuse(self, reason):
        """Raise for the value under way."""
        raise Unstorable(f"{'.'.join(self._path)}: {reason}")

    def array(self, array):
        """Return the serial number of a numeric array; views of the same memory share one."""
        place = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
        if place not in self._serials:
            self._serials[place] = len(self.arrays)
            # memory that is let go could be given to the next array
            self._kept.append(array)
            if not (array.flags.c_contiguous or array.flags.f_contiguous):
                array = array.copy(order="K")
            self.arrays.append(array.astype(array.dtype.newbyteorder("<"), order="K", copy=False))
        return self._serials[place]

    def each(self, items):
        """Return the nodes of a list."""
        return [self.node(item, str(i)) for i, item in enumerate(items)]

    def fields(self, values):
        """Return the nodes of named values."""
        return {name: self.node(value, name) for name, value in values.items()}


@functools.singledispatch
def _encode(value, into):
    name = type(value).__name__
    if known.is_kernel(value) or name in known.RECORDS:
        return _encode_record(value, into)
    if known.is_storable_estimator(value):
        return _encode_estimator(value, into)
    if callable(value) and not hasattr(value, "get_params"):
        into.refuse(f"{name} is a Python function, which is code; a model file holds data only. Use a kernel of "
                    "closed form (mercer.Gaussian, ...), or pickle for yourself alone.")  # fmt: skip
    if hasattr(value, "get_params"):
        into.refuse(f"{type(value).__module__}.{name} is none of {known.listed_estimators()}.")
    return into.refuse(
        f"a value of type {type(value).__module__}.{name} has no place in a model file; it takes numbers, strings, "
        "arrays, kernels, expansions and records of Mercer (for random_state a whole number or None)."
    )


@_encode.register(type(None))
@_encode.register(bool)
@_encode.register(str)
def _encode_itself(value, into):  # noqa: ARG001
    # a subclass of str is written as the text it is
    return str(value) if isinstance(value, str) else value


@_encode.register
def _encode_whole(value: int, into):
    if value not in _WHOLE:
        into.refuse(f"{value} has more than 64 bits.")
    return int(value)


@_encode.register
def _encode_float(value: float, into):  # noqa: ARG001
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


@_encode.register
def _encode_scalar(value: np.generic, into):
    dtype = value.dtype.newbyteorder("<").str
    if dtype not in _SCALARS:
        into.refuse(f"a scalar of dtype {value.dtype} has no place in a model file.")
    return {"scalar": [dtype, into.node(value.item(), "value")]}


@_encode.register
def _encode_list(value: list, into):
    return into.each(value)


@_encode.register
def _encode_tuple(value: tuple, into):
    return {"tuple": into.each(value)}


@_encode.register
def _encode_dict(value: dict, into):
    pairs = [[into.node(key, "key"), into.node(item, str(key))] for key, item in value.items()]
    return {"dict": pairs}


@_encode.register
def _encode_array(value: np.ndarray, into):
    if isinstance(value, np.ma.MaskedArray):
        into.refuse("a masked array has no place in a model file; fill it.")
    if value.dtype.kind == "O":
        return {"objects": [list(value.shape), into.each(value.ravel().tolist())]}
    if value.dtype.kind not in "biufU" or value.dtype.itemsize > 8 and value.dtype.kind != "U" or value.dtype == "f2":
        into.refuse(f"an array of dtype {value.dtype} has no place in a model file.")
    return {"array": into.array(np.asarray(value))}


@_encode.register(sp.csr_matrix)
@_encode.register(sp.csr_array)
def _encode_sparse(value, into):
    if value.shape[1] > _WIDEST:
        into.refuse(f"{value.shape[1]} columns of sparse rows; model files take up to {_WIDEST}.")
    if not value.has_canonical_format:
        value = value.copy()
        value.sum_duplicates()
    parts = [into.node(part, name) for name, part in _parts(value).items()]
    return {"sparse": [type(value).__name__, list(value.shape), *parts]}


@_encode.register
def _encode_expansion(value: Expansion, into):
    into.points.append(value.points)
    return {"expansion": into.fields({"kernel": value.kernel, "points": value.points, "coef": value.coef})}


def _encode_record(value, into):
    name = type(value).__name__
    if known.RECORDS.get(name) is not type(value):
        into.refuse(
            f"{name} is defined by a Python function, which is code, or outside of Mercer; a model file holds data "
            "only. Use a kernel of closed form (mercer.Gaussian, ...), or pickle for yourself alone."
        )
    return {"record": [name, into.fields({field: getattr(value, field) for field in known.field_names(value)})]}


def _encode_estimator(value, into):
    cls, own = type(value), value.get_params(deep=False)
    params = own
    if known.is_foreign(cls.__name__):
        # of another library what its own defaults say may be renamed in its next version
        defaults = {name: each.default for name, each in inspect.signature(cls).parameters.items()}
        params = {name: each for name, each in own.items() if not _is_same(each, defaults[name])}
    state = {name: each for name, each in vars(value).items() if name not in own and name not in known.LEFT_OUT}
    if known.is_foreign(cls.__name__):
        state = {name: each for name, each in state.items() if known.is_fitted_attribute(cls, name)}
    into.points += [state[name] for name in _POINTS if name in state]
    for name in state:
        if not known.is_fitted_attribute(cls, name):
            into.refuse(f"{name} is no attribute that a fit sets; delete it before saving.")
    return {"estimator": [cls.__name__, into.fields(params), into.fields(state)]}


@_encode.register
def _encode_pipeline(value: Pipeline, into):
    if type(value) is not Pipeline or value.memory is not None:
        into.refuse("of pipelines a model file takes scikit-learn's own, with memory=None.")
    # the decorator of scikit-learn's steps says which are fitted
    return {"pipeline": [[name, into.node(step, name)] for name, step in value.steps]}


def _is_same(value, default):
    return type(value) is type(default) and bool(np.array_equal(value, default))


def _parts(rows):
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}


# --- reading ---------------------------------------------------------------------------------------------------------


class Decoder:
    """Turns nodes back into values; whatever is not well formed is a ValueError or TypeError.

    Parameters
    ----------
    arrays : list of ndarray
    """

    def __init__(self, arrays):
        self._arrays, self._depth = arrays, 0

    def value(self, node):
        """Return the value of a node."""
        self._depth += 1
        _require(self._depth <= _DEEPEST, f"values are nested more than {_DEEPEST} deep")
        result = self._value(node)
        self._depth -= 1
        return result

    def _value(self, node):
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        _require(len(node) == 1, f"a node has {len(node)} keys; it must have the one that says what it is")
        (kind, content), = node.items()  # fmt: skip
        _require(kind in _KINDS, f"{_short(kind)} is no kind of value")
        return _KINDS[kind](self, content)

    def _float(self, word):
        _require(isinstance(word, str) and word in _NOT_FINITE, f"{_short(word)} must be one of {list(_NOT_FINITE)}")
        return _NOT_FINITE[word]

    def _scalar(self, content):
        dtype, node = _list(content, 2, "a scalar")
        _require(isinstance(dtype, str) and dtype in _SCALARS, f"{_short(dtype)} is no dtype of a scalar")
        value, dtype = self.value(node), _SCALARS[dtype]
        expected = {"b": bool, "f": float}.get(dtype.kind, int)
        _require(type(value) is expected, f"a scalar of dtype {dtype} must be a {expected.__name__}")
        _require(np.array(value).astype(dtype) == value or dtype.kind == "f", f"{value} is out of bounds of {dtype}")
        return dtype.type(value)

    def _array(self, serial):
        _require(type(serial) is int and 0 <= serial < len(self._arrays), f"there is no array {_short(serial)}")
        return self._arrays[serial]

    def _objects(self, content):
        shape, nodes = _list(content, 2, "an array of objects")
        values = [self.value(node) for node in _list(nodes, None, "objects")]
        plain = (str, int, float, bool, type(None))
        _require(all(isinstance(value, plain) for value in values), "objects in arrays must be strings or numbers")
        result = np.empty(len(values), object)
        result[:] = values
        return result.reshape(shape_of(shape))

    def _sparse(self, content):
        name, shape, *nodes = _list(content, 5, "sparse rows")
        _require(name in ("csr_matrix", "csr_array"), f"{_short(name)} is no kind of sparse rows")
        n, d = _list(list(shape_of(shape)), 2, "the shape of sparse rows")
        data, indices, indptr = parts = [self.value(node) for node in nodes]
        _require(all(type(part) is np.ndarray and part.ndim == 1 for part in parts), "parts of sparse rows are vectors")
        _require(all(part.dtype in (np.int32, np.int64) for part in parts[1:]), "places of sparse rows are integers")
        _require(data.dtype.kind in "fiub", f"sparse rows have dtype {data.dtype}")
        _require(d <= _WIDEST, f"sparse rows have {d} columns, at most {_WIDEST} are read")
        _require(len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] == len(data) == len(indices),
                 "the rows of a sparse matrix do not add up")  # fmt: skip
        _require(bool((np.diff(indptr) >= 0).all()), "the rows of a sparse matrix overlap")
        if len(indices):
            _require(indices.min() >= 0 and indices.max() < d, f"a column of sparse rows is outside of 0 to {d - 1}")
        result = (sp.csr_matrix if name == "csr_matrix" else sp.csr_array)((data, indices, indptr), (n, d))
        _require(bool(result.has_canonical_format), "columns of sparse rows repeat or descend")
        return result

    def _tuple(self, content):
        return tuple(self.value(node) for node in _list(content, None, "a tuple"))

    def _dict(self, content):
        pairs = [_list(pair, 2, "an entry") for pair in _list(content, None, "a dict")]
        keys = [self.value(key) for key, _ in pairs]
        plain = (str, int, float, bool, np.generic)
        _require(all(isinstance(key, plain) for key in keys), "keys must be strings or numbers")
        _require(len(set(keys)) == len(keys), "keys repeat")
        return dict(zip(keys, [self.value(node) for _, node in pairs], strict=True))

    def _fields(self, content):
        _require(isinstance(content, dict), "fields must be named")
        return {name: self.value(node) for name, node in content.items()}

    def _record(self, content):
        name, fields = _list(content, 2, "a record")
        _require(isinstance(name, str) and name in known.RECORDS, f"{_short(name)} is no record of Mercer")
        cls, fields = known.RECORDS[name], self._fields(fields)
        unknown = fields.keys() - known.field_names(cls)
        _require(not unknown, f"{name} has no field {_short(min(unknown, default=None))}")
        return require_agreement(cls(**fields))

    def _expansion(self, content):
        fields = self._fields(content)
        _require(fields.keys() == {"kernel", "points", "coef"}, "an expansion has a kernel, points and coef")
        _require(known.is_kernel(fields["kernel"]), "the kernel of an expansion must be a kernel")
        coef = fields["coef"]
        _require(coef is None or (type(coef) is np.ndarray and coef.ndim == 2 and coef.dtype.kind == "f"),
                 "the coefficients of an expansion must be columns of floats")  # fmt: skip
        return require_agreement(Expansion(**fields))

    def _estimator(self, content):
        name, params, state = _list(content, 3, "an estimator")
        _require(isinstance(name, str), "an estimator must have a name")
        cls = known.estimator(name)
        params, state = self._fields(params), self._fields(state)
        unknown = params.keys() - set(cls._get_param_names())
        _require(not unknown, f"{name} has no parameter {_short(min(unknown, default=None))}")
        if "kernel" in params:
            as_kernel(params["kernel"])
        for attribute in state:
            _require(known.is_fitted_attribute(cls, attribute) and attribute not in known.LEFT_OUT,
                     f"{name} has no attribute {_short(attribute)} that a file may set")  # fmt: skip
        model = cls(**params)
        vars(model).update(state)
        return require_agreement(model)

    def _pipeline(self, content):
        steps = [_list(step, 2, "a step") for step in _list(content, None, "a pipeline")]
        _require(all(isinstance(name, str) for name, _ in steps), "steps must have names")
        return require_agreement(Pipeline([(name, self.value(node)) for name, node in steps]))


_KINDS = {
    "float": Decoder._float,
    "scalar": Decoder._scalar,
    "array": Decoder._array,
    "objects": Decoder._objects,
    "sparse": Decoder._sparse,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "record": Decoder._record,
    "expansion": Decoder._expansion,
    "estimator": Decoder._estimator,
    "pipeline": Decoder._pipeline,
}


def shape_of(node):
    """Return the shape that a node tells, or raise a ValueError: at most eight whole numbers up to 2^48."""
    good = isinstance(node, list) and len(node) <= 8 and all(type(size) is int and 0 <= size < 2**48 for size in node)
    _require(good, f"{_short(node)} is no shape")
    return tuple(node)


def _list(content, length, what):
    _require(isinstance(content, list), f"{what} must be a list")
    _require(length is None or len(content) == length, f"{what} has {len(content)} parts; it must have {length}")
    return content


def _require(true, message):
    if not true:
        raise ValueError(message + ".")


def _short(thing):
    text = repr(thing)
    return text if len(text) <= 60 else text[:60] + "..."
