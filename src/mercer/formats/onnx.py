"""Fitted models as ONNX graphs of standard operators, in float32 or float64, vectors in 8 or 16 bits too."""

from __future__ import annotations

import functools
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array, PointsLike, shown
from mercer._compute.symbols import folded
from mercer.estimators.columns import decode
from mercer.formats.portable import of_one_length, portable, view_of
from mercer.formats.quantised import (
    CODED,
    Bytes,
    Exact,
    Halves,
    Quantised,
    accuracy,
    checked,
    decoded,
    quantise,
    rounded,
    uncoded,
)
from mercer.solvers.svm.multiclass import pair_columns, pair_places

if TYPE_CHECKING:
    from onnx import ModelProto

# Any runtime of this version or later has these operators.
_OPSET = 15


def to_onnx(model: object, dtype: str = "float32", X: PointsLike | None = None) -> ModelProto:
    r"""Return a fitted model as an ONNX graph of standard operators.

    .. math:: \text{scores}_j(x) = \sum_i A_{ij} k(x, z_i) + b_j

    Parameters
    ----------
    model : estimator, FittedExpansion, str or path
        Anything that `mercer.as_expansion` reads or `mercer.compress` returns: models of Mercer and scikit-learn, text
        models of LIBSVM; also a pipeline that scales columns before such a model. Kernels of inner products and
        Euclidean distances, their sums, products, multiples, powers, exponentials and normalised forms, also on
        linearly mapped inputs. skl2onnx converts other pipelines after `register_onnx_converters`.
    dtype : {"float32", "float64", "float16", "int8"}
        Of input, arithmetic and scores. "float16" and "int8" compute in float32 and store the vectors in 16 or 8 bits,
        with an offset, in 8 bits also a scale, for each column, and the coefficients in 16.
    X : rows (n, d), optional
        Points at which the error is measured; required for "float16" and "int8", whose coefficients are refitted to the
        scores at X. Give training points, and measure the accuracy on others.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(proto, path)`` writes it. Its input is "X" (n, d). Its outputs are "label" (n,), integers or
        strings, for SVC, NuSVC and one-class models, and "scores" (n, m): decision values in the column order of
        ``as_expansion``, predictions of a regressor, or coordinates of KernelPCA. Where ``decision_function`` turns the
        values of pairs into classes, "decision" (n, c) has its shape and values. "probabilities" (n, c) are those of
        ``predict_proba`` of an `SVCCV` with ``calibration``, of a `TableClassifier`, and of scikit-learn's
        ``CalibratedClassifierCV`` with ``ensemble=False``. With X its metadata hold "max_error",
        the largest error of a score at X, and "label_agreement", the share of equal labels.

    Raises
    ------
    TypeError
        For a model or kernel that cannot be exported.
    ValueError
        For another dtype, a dtype that needs X without it, numbers out of its range, labels that are neither integers
        nor strings, ``break_ties``, or several quantiles with ``crossing="sort"``.
    MemoryError
        Above 1 GB of numbers.
    ModuleNotFoundError
        Without the package onnx: ``pip install "mercer[onnx]"``.

    Warns
    -----
    UserWarning
        For the probabilities of LIBSVM (``probability=True`` of scikit-learn's SVC), which are left out.

    Notes
    -----
    Distances are computed on points centred at the mean of the vectors, as in Mercer. Scores have an error of about
    1e-5 of their scale in float32, where the sum over the vectors is in float64, and of 1e-12 in float64; more where
    terms of opposite sign exceed the scores a hundredfold. Labels differ only where two scores are that close. The
    graph holds several blocks of n by n_vectors numbers at a time, and blocks of n by n_vectors by d for kernels with a
    kink at x = z (Matern 1/2), those of a table n by 64 numbers for each column, so run large inputs in batches. A
    classifier by votes of pairs is stored as it is trained, with c - 1 coefficients for each vector; after
    `mercer.compress` each vector has one for each pair. Vectors that several kernels have in common are stored once,
    before the maps of the kernels, in models of tables as rows of the table. Operators are those of opset 15.

    References
    ----------
    ONNX, *Open standard for machine learning interoperability*, https://onnx.ai.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import to_onnx
    >>> model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(np.array([[0.0], [1.0]]), ["no", "yes"])
    >>> proto = to_onnx(model)
    >>> [output.name for output in proto.graph.output]
    ['label', 'scores']
    """
    if isinstance(dtype, os.PathLike) or str(dtype).endswith(".onnx"):
        raise ValueError(
            f"dtype = {shown(str(dtype))} is a path, and to_onnx returns a graph; use onnx.save(to_onnx(model), "
            f'"{dtype}").'
        )
    exported, X, expected = checked(model, dtype, X)
    exported = rounded(exported)
    onnx = _require_onnx()
    helper = onnx.helper
    codes = {}
    if dtype in CODED:
        exported, codes = decoded(exported, dtype)
        stored = quantise(exported, functools.partial(Exact, dtype="float32"), X, expected)
    else:
        stored = uncoded(exported, dtype)
    graph = _Graph(stored, codes)
    graph.model("X", exported.outputs)
    label = onnx.TensorProto.STRING if _are_strings(exported) else onnx.TensorProto.INT64
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "mercer",
            [helper.make_tensor_value_info("X", graph.number, ["n", exported.n_features])],
            [
                helper.make_tensor_value_info(
                    name, graph.number if width else label, ["n", width] if width else ["n"]
                )
                for name, width in exported.outputs.items()
            ],
            graph.constants,
            doc_string=exported.title,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        producer_name="mercer",
        # the version of the release of ONNX that introduced this opset
        ir_version=8,
    )
    measured = accuracy(stored, X, expected)
    helper.set_model_props(proto, {name: repr(value) for name, value in measured.items()})
    onnx.checker.check_model(proto)
    return proto


def _are_strings(exported):
    return exported.labels is not None and isinstance(exported.labels[0], str)


# --- in pipelines ----------------------------------------------------------------------------------------------------


def register_onnx_converters() -> None:
    """Register converters with skl2onnx, so that a pipeline that ends in an estimator of Mercer becomes one graph.

    Outputs are those of `to_onnx`, in float64 for inputs of type ``DoubleTensorType`` and in float32 for others. The
    function may be called more than once.

    Raises
    ------
    ModuleNotFoundError
        Without the package skl2onnx: ``pip install "mercer[onnx]"``.

    Examples
    --------
    >>> from mercer.formats import register_onnx_converters
    >>> register_onnx_converters()
    """
    try:
        import skl2onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'converters need the package skl2onnx; pip install "mercer[onnx]".'
        ) from error
    from mercer import estimators

    for name in estimators.__all__:
        cls = getattr(estimators, name)
        if isinstance(cls, type):
            skl2onnx.update_registered_converter(
                cls, f"Mercer{name}", _shapes, _convert, parser=_declare
            )


def _declare(scope, model, inputs, custom_parsers=None):  # noqa: ARG001 - the signature is given by skl2onnx
    """Declare to skl2onnx the outputs of one estimator and their types."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    exported = portable(model, _dtype(inputs[0]))
    number = DoubleTensorType if exported.dtype == np.float64 else FloatTensorType
    operator = scope.declare_local_operator(f"Mercer{type(model).__name__}", model)
    operator.inputs = inputs
    label = StringTensorType if _are_strings(exported) else Int64TensorType
    for name, width in exported.outputs.items():
        kind = number([None, width]) if width else label([None])
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(_operator):
    """Keep the types of the outputs that were declared."""


def _dtype(variable):
    return "float64" if type(variable.type).__name__.startswith("Double") else "float32"


def _convert(scope, operator, container):
    """Add the nodes of one estimator to the graph that skl2onnx builds."""
    given = operator.inputs[0]
    helper = _require_onnx().helper
    exported = rounded(portable(operator.raw_operator, _dtype(given)))
    # estimators around this one declare outputs of their own, which they read as those of scikit-learn
    if exported.labels is not None and [each.raw_name for each in operator.outputs] != [
        *exported.outputs
    ]:
        raise TypeError(
            f"{type(operator.raw_operator).__name__} inside an estimator that is no pipeline cannot be converted by "
            "skl2onnx; mercer.formats.to_onnx(model) takes CalibratedClassifierCV(..., ensemble=False), or fit "
            "mercer.SVCCV(calibration='sigmoid') in its place."
        )
    graph = _Graph(
        uncoded(exported, "float64"),
        {},
        lambda name: scope.get_unique_variable_name(f"mercer_{name}"),
    )
    # the input of a pipeline may be integers
    X = graph.add("Cast", given.full_name, to=graph.number)
    graph.model(X, [each.full_name for each in operator.outputs])
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        attributes |= {"op_version": _OPSET, "name": scope.get_unique_operator_name("Mercer")}
        container.add_node(node.op_type, list(node.input), list(node.output), **attributes)


# --- the graph -------------------------------------------------------------------------------------------------------


class _Graph:
    """Nodes and constants of a graph under construction; ``unique(name)`` returns a name not yet in the graph.

    ``codes`` are Bytes or Halves of the views, by their keys, if they are coded.
    """

    def __init__(
        self,
        stored: Quantised,
        codes: dict[tuple[int, ...], Halves | Bytes],
        unique: Callable[[str], str] | None = None,
    ) -> None:
        self._onnx = _require_onnx()
        self._exported = stored.exported
        self.number: int = self._onnx.helper.np_dtype_to_tensor_dtype(self._exported.dtype)
        self._codes = codes
        self._scale = stored.coef_scale
        self._coef = stored.coef if self._scale is None else stored.coef_codes
        self.nodes = []
        self.constants = []
        # names of the vectors that several views share
        self._sources = {}
        self._unique = unique or (lambda name: f"{name}_{len(self.nodes) + len(self.constants)}")

    def model(self, X: str, outputs: Iterable[str]) -> None:
        """Add the model, with given names of its outputs."""
        for name, output in zip(self._outputs(X), outputs, strict=True):
            self.nodes.append(self._onnx.helper.make_node("Identity", [name], [output]))

    def _outputs(self, X):
        """Add the model and return the names of its outputs."""
        exported = self._exported
        if exported.scaling is not None:
            shift, factor = exported.scaling
            X = self.add("Mul", self.add("Sub", X, shift[None]), factor[None])
        if exported.columns is not None:
            X = self._encoded(X)
        # coefficients of opposite sign cancel, so the sum over the vectors is computed in float64
        scores = self._scores(self._in_float64(self._kernel_values(X)))
        scores = self.add("Cast", scores, to=self.number)
        if exported.labels is None:
            return [scores]
        labels = np.array(exported.labels, object if _are_strings(exported) else np.int64)
        found = {"scores": scores}
        values = scores
        if exported.answer == "votes" or exported.per_class:
            # a class begins the pairs with those after it, and wins those that it ends if their score is 0
            begins = np.tri(len(labels), len(labels) - 1, -1)[:, :, None] == 0
            own = self._own_scores(scores, begins)
            values = self._votes(own, ~begins)
        if exported.per_class:
            found["decision"] = self._decision(own, begins)
        if exported.has_probabilities:
            found["probabilities"] = self._probabilities(found.get("decision", scores))
        if exported.answer == "probable":
            values = found["probabilities"]
        return [self.add("Gather", labels, self._winner(values), axis=0), *found.values()]

    def _encoded(self, X):
        """Add the scaled columns (n, q) of a table, and return their name."""
        columns = self._exported.columns
        alike = defaultdict(list)
        for j, column in enumerate(columns):
            alike[column.kind == "number", len(column.knots) > 2].append(j)
        parts = []
        for (are_numbers, _), places in alike.items():
            own = [columns[j] for j in places]
            raw = self._numbers(X, own) if are_numbers else self._levels(X, own)
            scales = [np.stack([each.knots, each.places]) for each in own]
            parts.append(self._interpolated(raw, of_one_length(scales)))
        found = self.add("Concat", *parts, axis=1)
        order = np.argsort(np.concatenate(list(alike.values())))
        in_order = (np.diff(order) > 0).all()
        return found if in_order else self.add("Gather", found, order, axis=1)

    def _numbers(self, X, columns):
        """Add columns of numbers (n, q), medians where they are missing, and return their name."""
        x = self.add("Gather", X, np.array([each.source for each in columns]), axis=1)
        fill = np.array([[each.fill for each in columns]])
        return self.add("Where", self.add("IsNaN", x), fill, x)

    def _levels(self, X, columns):
        """Add columns (n, q) with 1 where the entry is a level, and return their name."""
        found = []
        for column in columns:
            x = self.add("Gather", X, column.source, axis=1)
            holds = [
                self.add("IsNaN", x) if each is None else self.add("Equal", x, float(each))
                for each in column.marked
            ]
            found.append(functools.reduce(lambda a, b: self.add("Or", a, b), holds))
        return self.add("Cast", self.add("Concat", *found, axis=1), to=self.number)

    def _interpolated(self, x, curves):
        """Add piecewise linear functions of columns (n, q) with knots and values (q, 2, k), and return their name."""
        knots, places = np.swapaxes(curves, 0, 1)
        widths = np.diff(knots)
        above = self.add("Sub", self.add("Unsqueeze", x, 2), knots[:, :-1])
        part = self.add("Min", self.add("Max", above, 0.0), widths)
        slopes = np.diff(places) / np.where(widths > 0, widths, 1.0)
        rise = self.add("ReduceSum", self.add("Mul", part, slopes), 2, keepdims=0)
        return self.add("Add", rise, places[None, :, 0])

    def add(self, operator: str, *arguments: str | Array | float, **attributes: Any) -> str:
        """Add a node and return the name of its output; arguments are names, or numbers that become constants."""
        names = [each if isinstance(each, str) else self._constant(each) for each in arguments]
        output = self._unique(operator.lower())
        self.nodes.append(self._onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def _constant(self, values):
        values = np.atleast_1d(values)
        return self._tensor(self._exported.constant(values) if values.dtype.kind == "f" else values)

    def _tensor(self, values):
        name = self._unique("constant")
        self.constants.append(
            self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        )
        return name

    def _scores(self, K):
        """Add the scores of kernel values in float64 and return their name."""
        counts = self._exported.counts
        sums = (
            self.add("Gemm", K, self._coefficients(self._coef))
            if counts is None
            else self._pair_sums(K, counts)
        )
        if self._scale is not None:
            sums = self.add("Mul", sums, self._tensor(self._scale[None]))
        return self.add("Add", sums, self._tensor(self._exported.intercept[None]))

    def _pair_sums(self, K, counts):
        """Add the products of kernel values with packed coefficients, and return the name of those of all pairs."""
        name = self._unique("split")
        blocks = [f"{name}_{k}" for k in range(len(counts))]
        sizes = self._tensor(counts.astype(np.int64))
        self.nodes.append(self._onnx.helper.make_node("Split", [K, sizes], blocks, axis=1))
        own = map(self._coefficients, np.split(self._coef, np.cumsum(counts)[:-1]))
        # transposed, for the rows that are gathered
        products = [
            self.add("Gemm", A, block, transA=1, transB=1)
            for A, block in zip(own, blocks, strict=True)
        ]
        products = self.add("Concat", *products, axis=0)
        # each pair adds a row of the products of its first class and one of its second
        places = (
            self.add("Gather", products, each.astype(np.int32), axis=0)
            for each in pair_places(len(counts))
        )
        return self.add("Transpose", self.add("Add", *places))

    def _coefficients(self, coef):
        """Add coefficients, or their codes, and return the name of their values in float64."""
        return self._in_float64(self._constant(coef))

    def _in_float64(self, name):
        return self.add("Cast", name, to=self._onnx.TensorProto.DOUBLE)

    def _vectors(self, key, view):
        """Add the vectors of a view, once if several share them, as rows of a table if any, and return their name."""
        Z = view.source
        if Z is None:
            return self._stored(key, view.points)
        if id(Z) not in self._sources:
            columns = self._exported.columns
            table = None if columns is None or self._codes else decode(columns, Z)
            self._sources[id(Z)] = (
                self._stored(key, Z) if table is None else self._encoded(self._constant(table))
            )
        return self._mapped(self._sources[id(Z)], view.maps)

    def _stored(self, key, Z):
        """Add vectors Z that are stored, from the codes of the view if it has any, and return their name."""
        codes = self._codes.get(key)
        if codes is None:
            return self._constant(Z)
        moved = (
            self.add("DequantizeLinear", codes.codes, codes.scale, axis=1)
            if isinstance(codes, Bytes)
            else self.add("Cast", self._tensor(codes.codes), to=self._onnx.TensorProto.FLOAT)
        )
        return self.add("Add", moved, codes.centre[None])

    def _kernel_values(self, X):
        """Add the kernel values (n, n_vectors) and return their name."""
        found = {key: self._inputs(X, key, view) for key, view in self._exported.views.items()}

        def added(each, operands):
            if each.is_input:
                return found[view_of(each)][each.operation]
            if each.operation == "constant":
                return self._constant(each.value)
            return self.add(each.operation, *operands)

        values = [folded(term.expression, added) for term in self._exported.terms]
        return values[0] if len(values) == 1 else self.add("Concat", *values, axis=1)

    def _inputs(self, X, key, view):
        """Add the inputs that a view needs, broadcastable to (n, n_vectors), and return their names."""
        found = {}
        X = self._mapped(X, view.maps)
        if "dot" in view.inputs:
            found["dot"] = self._product(X, self._vectors(key, view))
        if "sqnorm_x" in view.inputs:
            found["sqnorm_x"] = self._sqnorms(X, view.points.shape[1])
        if "sqnorm_z" in view.inputs:
            found["sqnorm_z"] = self._constant(np.sum(view.points**2, axis=1)[None])
        if "sqdist" in view.inputs:
            found["sqdist"] = (
                self._sqdist(X, key, view) if view.smooth else self._distances("Mul", X, key, view)
            )
        if "absdist" in view.inputs:
            found["absdist"] = self._distances("Abs", X, key, view)
        return found

    def _mapped(self, X, maps):
        """Add the maps of a view, one after the other, and return the name of the mapped rows."""
        for A in maps:
            if A.dtype.kind != "f":
                X = self.add("Gather", X, A.astype(np.int64), axis=1)
            else:
                X = self.add("Mul", X, A[None]) if A.ndim == 1 else self._product(X, A)
        return X

    def _product(self, X, Z):
        # not MatMul: onnxruntime fuses it with a factor that follows and rounds that to float32, even in float64
        return self.add("Gemm", X, Z, transB=1)

    def _sqnorms(self, X, d):
        # not ReduceSumSquare: its signature changed after this opset
        return self._product(self.add("Mul", X, X), np.ones((1, d)))

    def _sqdist(self, X, key, view):
        # the centre is rounded first, so that x and z are shifted by the same number
        centre = self._exported.constant(view.points.mean(axis=0)).astype(np.float64)
        near = self.add("Sub", X, centre[None])
        V = view.points - centre
        squares = np.sum(V**2, axis=1)[None]
        if view.source is not None or self._codes:
            V = self.add("Sub", self._vectors(key, view), centre[None])
        if view.source is not None:
            squares = self.add("Transpose", self._sqnorms(V, len(centre)))
        far = self.add("Add", self.add("Gemm", near, V, transB=1, alpha=-2.0), squares)
        return self.add("Max", self.add("Add", far, self._sqnorms(near, len(centre))), 0.0)

    def _distances(self, operator, X, key, view):
        """Add sums of squares, "Mul", or of sizes, "Abs", of n by n_vectors by d differences, which are in memory."""
        difference = self.add("Sub", self.add("Unsqueeze", X, 1), self._vectors(key, view))
        terms = self.add(operator, *[difference] * (2 if operator == "Mul" else 1))
        ones = np.ones((view.points.shape[1], 1))
        return self.add("Squeeze", self.add("MatMul", terms, ones), 2)

    def _winner(self, scores):
        """Add the index of the predicted label (n,) and return its name."""
        answer = self._exported.answer
        if answer in ("sign", "inlier"):
            found = self.add("Greater" if answer == "sign" else "GreaterOrEqual", scores, 0.0)
            index = self.add("Cast", found, to=self._onnx.TensorProto.INT64)
            return self.add("Squeeze", index, 1)
        return self.add("ArgMax", scores, axis=1, keepdims=0)

    def _probabilities(self, values):
        """Add the probabilities (n, c) of decision values and return their name."""
        curves = self._exported.curves
        if curves is None:
            scaled = self.add("Mul", values, self._exported.inverse_temperature)
            return self.add("Softmax", scaled, axis=1)
        if curves.shape[2] > 1:
            found = self._interpolated(values, curves)
        else:
            slope, offset = curves.transpose(1, 2, 0)
            found = self.add("Sigmoid", self.add("Sub", self.add("Mul", values, -slope), offset))
        if len(curves) == 1:
            return self.add("Concat", self.add("Sub", 1.0, found), found, axis=1)
        total = self.add("ReduceSum", found, 1)
        possible = self.add("Greater", total, 0.0)
        return self.add("Where", possible, self.add("Div", found, total), 1 / len(curves))

    # --- votes -------------------------------------------------------------------------------------------------------

    def _votes(self, own, ties):
        """Add the votes for each class and return their name; it wins those ``ties`` (c, c - 1, 1) whose score is 0."""
        tied = self.add("And", self.add("Equal", own, 0.0), ties)
        won = self.add("Or", self.add("Greater", own, 0.0), tied)
        return self._class_sums(self.add("Cast", won, to=self.number))

    def _decision(self, own, begins):
        """Add one value for each class, votes plus sums of scores that break equal votes, and return their name."""
        sums = self._class_sums(own)
        size = self.add("Mul", self.add("Add", self.add("Abs", sums), 1.0), 3.0)
        return self.add("Add", self._votes(own, begins), self.add("Div", sums, size))

    def _own_scores(self, scores, begins):
        """Add the scores of the pairs of each class (c, c - 1, n), positive for the class, and return their name."""
        columns = pair_columns(len(begins)).astype(np.int32)
        # transposed: a runtime gathers rows far faster than columns
        own = self.add("Gather", self.add("Transpose", scores), columns, axis=0)
        return self.add("Mul", own, np.where(begins, 1.0, -1.0))

    def _class_sums(self, own):
        """Add the sums over the pairs of each class (n, c) and return their name."""
        return self.add("Transpose", self.add("ReduceSum", own, 1, keepdims=0))


@functools.cache
def _require_onnx():
    try:
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'ONNX graphs need the package onnx; pip install "mercer[onnx]".'
        ) from error
    return onnx
