"""Fitted models as arithmetic for export: vectors, coefficients, intercepts, and the rule that gives the label."""

import functools
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, record, shown, warn
from mercer._compute.devices import in_main_memory
from mercer._compute.memory import require_memory
from mercer._compute.objects import Table
from mercer._compute.points import dense, widened
from mercer._compute.symbols import PAIRS, Symbol, ordered, trace
from mercer.estimators.calibration import calibrated, curve_of
from mercer.estimators.columns import encode
from mercer.estimators.virtual_support_vectors import VirtualSupportVectors
from mercer.expansion import summands
from mercer.formats._as_expansion import read
from mercer.formats.fitted_expansion import FittedExpansion, PairClassifier
from mercer.formats.libsvm import svm_type, text_of
from mercer.kernels.dot import Linear
from mercer.kernels.mapped import map_rows
from mercer.kernels.tracing import rewritten
from mercer.solvers.svm.multiclass import class_slices, class_values, decide, pair_values

# Classifiers that predict by votes of pairs or by the largest decision value.
_CLASSIFIERS = ("SVC", "NuSVC", "TableClassifier")
# ONNX files hold at most 2 GB, and compilers are slow long before that.
_LARGEST = "1GB"


@record
class MappedPoints:
    """The vectors of a model after the linear maps that a kernel applies.

    Attributes
    ----------
    maps : tuple of array
        Applied to x in this order; each is the ``A`` of a ``Mapped``: floats (q,) or (q, d), or column numbers.
    points : array (n, q)
        The vectors after the maps.
    source : array (n, d) or None
        The vectors before the maps, the same array for several views, if these are fewer numbers than all their points.
    inputs : set of str
        Which of "dot", "sqdist", "absdist", "sqnorm_x" and "sqnorm_z" the kernel uses.
    smooth : bool
        Whether distances may be rounded in proportion to norms.
    """

    maps: tuple[Any, ...]
    points: np.ndarray
    inputs: frozenset[Any]
    smooth: bool
    source: np.ndarray | None = None

    def mapped(self, X: Array) -> Array:
        """Return rows X (n, d) after the maps (n, q)."""
        return functools.reduce(lambda rows, A: map_rows(A, rows), self.maps, X)


class Term(NamedTuple):
    """A kernel of a model, with the rows of the coefficients of its vectors, ``first`` to ``last`` - 1."""

    expression: Symbol
    first: int
    last: int


@record
class Portable:
    """A fitted model as arithmetic in float64: scores = sum over terms of K(x, points) coef, + intercept, and a label.

    Attributes
    ----------
    dtype : dtype
        Of the exported arithmetic.
    title : str
        Class, number of vectors and kernel.
    n_features : int
    terms : tuple of Term
        One, or one for each kernel of a ``DirectSum`` and each width of a ``VariableWidthGaussian``.
    views : dict
        MappedPoints by `view_of` the inputs that use them.
    coef : array (n, m), or (n, c - 1)
        Packed if ``counts`` are given, see `mercer.solvers.svm.multiclass`.
    counts : int array (c,) or None
        Numbers of vectors of each class.
    intercept : array (m,)
    answer : {"values", "sign", "largest", "votes", "inlier", "probable"}
        No label; the second class if the score is above 0; the class with the largest score; the class with most votes
        of pairs; an inlier if the score is at least 0; the most probable class. The first of equals wins.
    labels : list of int or str, or None
        Of the classes; -1 and 1 for outliers and inliers.
    per_class : bool
        Whether ``decision_function`` of the model turns the scores of pairs into one value for each class.
    curves : array (q, 2, k) or None
        Of calibrated decision values, see `mercer.estimators.calibration` and `of_one_length`.
    inverse_temperature : float or None
        Of probabilities that are a softmax of the scores, its factor.
    columns : list of Column, or None
        Of a model of tables: the kernel takes the rows of numbers that they make.
    scaling : (shift, factor), arrays (n_features,), or None
        Of a pipeline whose steps scale columns: the kernel takes (x - shift) * factor.
    """

    dtype: np.dtype
    title: str
    n_features: int
    terms: tuple[Term, ...]
    views: dict[tuple[int, ...], MappedPoints]
    coef: np.ndarray
    counts: np.ndarray | None
    intercept: np.ndarray
    answer: str
    labels: list[Any] | None
    per_class: bool = False
    curves: np.ndarray | None = None
    inverse_temperature: float | None = None
    columns: Any = None
    scaling: tuple[np.ndarray, ...] | None = None

    def scaled(self, X: Array) -> Array:
        """Return points as the kernel takes them."""
        if self.columns is not None:
            return encode(self.columns, Table(list(X.T)))
        if self.scaling is None:
            return X
        shift, factor = self.scaling
        return (X - shift) * factor

    @property
    def largest(self) -> float:
        """The largest number of the dtype; NumPy's own would round what is compared with it."""
        return float(np.finfo(self.dtype).max)

    @property
    def has_probabilities(self) -> bool:
        """Whether the model has probabilities of classes."""
        return self.curves is not None or self.inverse_temperature is not None

    @property
    def outputs(self) -> dict[str, int]:
        """The numbers of columns of the outputs, by name; 0 for the labels."""
        found = {"scores": len(self.intercept)}
        if self.labels is None:
            return found
        if self.per_class:
            found["decision"] = len(self.labels)
        if self.has_probabilities:
            found["probabilities"] = len(self.labels)
        return {"label": 0} | found

    def places(self, scores: Array) -> Array:
        """Return the index of the label of each row of scores (n, m)."""
        c = len(self.labels)
        if self.answer == "inlier":
            return (scores[:, 0] >= 0).astype(int)
        if self.answer == "probable":
            values = class_values(scores, c) if self.per_class else scores
            return calibrated(self.curves, values).argmax(axis=1)
        return decide(scores, c, "ovo" if self.answer == "votes" else "ovr")

    def constant(self, values: Array | float) -> Array | float:
        """Return numbers in the exported dtype; those out of range become its largest number, as in Mercer."""
        wide = np.asarray(values, np.float64)
        return np.clip(wide, -self.largest, self.largest).astype(self.dtype)


def products(K: Array, coef: Array, counts: Array | None) -> Array:
    """Return K @ coef (n, m), where coefficients are packed if ``counts`` are given."""
    if counts is None:
        return K @ coef
    return pair_values(
        np.hstack([K[:, own] @ coef[own] for own in class_slices(counts)]), len(counts)
    )


def of_one_length(curves: Sequence[Array]) -> Array:
    """Return curves (2, k) as one array (q, 2, k); the last points of shorter ones are repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.formats.portable import of_one_length
    >>> of_one_length([np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[3.0], [4.0]])])[1]
    array([[3., 3.],
           [4., 4.]])
    """
    most = max(each.shape[1] for each in curves)
    return np.stack([np.pad(each, [(0, 0), (0, most - each.shape[1])], "edge") for each in curves])


def view_of(symbol: Symbol) -> tuple[Any, ...]:
    """Return the key of the MappedPoints that an input symbol uses."""
    return symbol.part, *map(id, symbol.maps)


def portable(model: object, dtype: str) -> Portable:
    """Return a fitted model as arithmetic, or raise for a model, kernel or label that exports do not support.

    ``model`` is anything that `as_expansion` reads or returns, a pipeline that scales columns before such a model, or a
    search with a ``best_estimator_``, also as the last step, or a CalibratedClassifierCV of one classifier.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats.portable import portable
    >>> model = portable(mc.SVC(kernel="linear").fit(np.array([[0.0], [1.0]]), [0, 1]), "float32")
    >>> model.answer, model.labels, model.coef.shape
    ('sign', [0, 1], (1, 1))
    """
    model = in_main_memory(model)
    model, curves, probable = _opened(model)
    moved = None
    if isinstance(model, Pipeline):
        moved = scaling(model)
        inner = _opened(model.steps[-1][1])
        model = inner.model
        curves = curves or inner.curves
        probable = probable or inner.probable
    if isinstance(model, (str, os.PathLike)):
        model = text_of(model)
    fitted = model if isinstance(model, FittedExpansion) else read(model)
    if isinstance(fitted, PairClassifier) and (
        # the vectors of a class are none, or in several parts
        not fitted.counts.all() or len(summands(fitted.expansion)) > 1
    ):
        fitted = fitted.unpacked()
    psi = fitted.expansion
    counts = getattr(fitted, "counts", None)
    parts = summands(psi)
    expressions = [_expression(part.kernel, j) for j, part in enumerate(parts)]
    rule = _answer(model, fitted)
    answer = "probable" if probable else rule
    temperature = getattr(model, "inverse_temperature_", None)
    if temperature is not None and rule == "sign":
        # a softmax of 0 and the score
        curves = [np.array([[-temperature], [0.0]])]
        temperature = None
    if getattr(model, "probability", False) is True or (
        isinstance(model, str) and "\nprobA" in model
    ):
        warn(
            "the export has labels and scores, but not the probabilities of LIBSVM, which are the result of an "
            "iteration; export CalibratedClassifierCV(SVC(...), ensemble=False) or mercer.SVCCV(calibration='sigmoid')."
        )
    labels = (
        [-1, 1] if answer == "inlier" else None if answer == "values" else _labels(fitted.classes)
    )
    points, coefs, counts = zip(*(_vectors(part, counts) for part in parts), strict=True)
    ends = np.cumsum([len(each) for each in coefs]).tolist()
    columns = getattr(model, "columns_", None)
    if any(isinstance(level, str) for column in columns or () for level in column.levels):
        raise TypeError(
            f"{type(model).__name__} has columns of texts, which cannot be exported; export "
            "mercer.as_expansion(model), which takes the rows that model.encode(X) returns."
        )
    n_features = parts[0].points.shape[1] if columns is None else model.n_features_in_
    coef = np.concatenate(coefs)
    name = "LIBSVM" if isinstance(model, str) else type(model).__name__
    exported = Portable(
        dtype=np.dtype(dtype),
        title=f"{name}, {len(coef)} vectors, {psi.kernel!r}",
        n_features=n_features,
        terms=tuple(map(Term, expressions, [0, *ends[:-1]], ends)),
        views=_views(expressions, points),
        coef=coef,
        counts=counts[0],
        intercept=np.asarray(fitted.intercept, np.float64),
        answer=answer,
        labels=labels,
        columns=columns,
        per_class=rule == "votes"
        and (columns is not None or getattr(model, "decision_function_shape", "ovo") == "ovr"),
        curves=curves and of_one_length(curves),
        inverse_temperature=temperature,
        scaling=moved and tuple(np.broadcast_to(each, n_features) for each in moved),
    )
    _require_range(exported)
    # a linear kernel has no vectors
    values = max((_largest_value(part) for part in parts if part.kernel != Linear()), default=0.0)
    if not values <= exported.largest:
        raise ValueError(
            f"kernel values at the vectors are up to {values:.3g}, outside the range of {exported.dtype}; fit to "
            'scaled rows, or use dtype="float64".'
        )
    return exported


def _largest_value(psi):
    """Return the largest size of k(z, z) at the vectors, in float64; not a number where it is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(psi.kernel.diag(widened(psi.points))).max(initial=0.0))


def _expression(kernel, part):
    """Return k(x, z) as an expression of inputs with the number of the kernel."""
    expression = trace(kernel)
    if not any(each.operation in PAIRS for each in ordered(expression)):
        # a constant kernel still has one value per pair
        expression = expression + 0.0 * Symbol("dot")
    return rewritten(
        expression,
        lambda each: replace(each, part=part) if each.is_input else each,
    )


def _vectors(psi, counts):
    """Return the vectors with a coefficient, the coefficients, and the numbers of vectors of each class if packed.

    A linear kernel has one vector per score, unless packed coefficients are fewer numbers.
    """
    n, d = psi.points.shape
    remedy = "mercer.compress(model, X, n_vectors=...) and export what it returns"
    require_memory(
        8 * n * (d + len(psi)), _LARGEST, f"a model of {n} vectors of {d} features", remedy
    )
    points = dense(psi.points).astype(np.float64)
    coef = np.asarray(psi.dense_coef(), np.float64)
    used = coef.any(axis=1)
    if counts is None and used.any():
        points = points[used]
        coef = coef[used]
    m = len(psi) if counts is None else len(counts) * (len(counts) - 1) // 2
    if psi.kernel == Linear() and (counts is None or m * (d + m) <= points.size + coef.size):
        return products(points.T, coef, counts).T, np.eye(m), None
    return points, coef, counts


def _views(expressions, vectors):
    """Return the MappedPoints of the inputs of expressions with vectors of their own, by `view_of` them."""
    found = {}
    for expression, points in zip(expressions, vectors, strict=True):
        # equal vectors of several kernels are one array
        source = next(each for each in vectors if np.array_equal(each, points))
        for each in ordered(expression):
            if each.is_input:
                found.setdefault(view_of(each), (source, []))[1].append(each)
    views = {}
    for key, (source, symbols) in found.items():
        mapped = source
        maps = []
        for A in symbols[0].maps:
            # negative column numbers count from the end
            maps.append(A.astype(np.float64) if A.dtype.kind == "f" else A % mapped.shape[1])
            mapped = map_rows(maps[-1], mapped)
        smooth = all(each.smooth for each in symbols)
        views[key] = MappedPoints(
            tuple(maps), mapped, frozenset(each.operation for each in symbols), smooth
        )
    for key, (source, _) in found.items():
        sizes = [views[other].points.size for other, (own, _) in found.items() if own is source]
        if len(sizes) > 1 and source.size < sum(sizes):
            views[key] = replace(views[key], source=source)
    return views


def _require_range(exported):
    arrays = [exported.coef, exported.intercept, *(view.points for view in exported.views.values())]
    arrays += exported.scaling or ()
    most = max(abs(each).max(initial=0) for each in arrays)
    if not most <= exported.largest:
        raise ValueError(
            f"the model contains the number {most:.3g}, which exceeds the range of {exported.dtype}; use "
            'dtype="float64".'
        )
    # a linear kernel has one vector per column, whose square is not computed
    views = () if exported.terms[0].expression.operation == "dot" else exported.views.values()
    square = max((np.square(view.points).sum(axis=1).max(initial=0) for view in views), default=0.0)
    if square > exported.largest or 0 < square < np.finfo(exported.dtype).tiny:
        raise ValueError(
            f"the vectors have squared norms up to {square:.3g}, outside the range of {exported.dtype}; fit to scaled "
            'rows, or use dtype="float64".'
        )


class _Opened(NamedTuple):
    """A model taken out of others, the curves of their calibration, and whether probabilities decide the label."""

    model: Any
    curves: list[Array] | None = None
    probable: bool = False


def _opened(model):
    """Return the model inside searches, calibrations and virtual support vectors."""
    if isinstance(model, CalibratedClassifierCV):
        check_is_fitted(model)
        own = model.calibrated_classifiers_[0]
        # of a classifier without decision values the curves are of its probabilities
        by_values = hasattr(own.estimator, "decision_function") and model.method != "temperature"
        if len(model.calibrated_classifiers_) > 1 or not by_values:
            raise TypeError(
                f"CalibratedClassifierCV with method = {shown(model.method)} and {len(model.calibrated_classifiers_)} "
                "classifiers cannot be exported; fit it with ensemble=False and method='sigmoid' or 'isotonic', to a "
                "classifier with decision_function."
            )
        return _Opened(
            _opened(own.estimator).model, [curve_of(each) for each in own.calibrators], True
        )
    inner = getattr(
        model, "estimator_" if isinstance(model, VirtualSupportVectors) else "best_estimator_", None
    )
    if inner is None:
        return _Opened(model)
    if hasattr(model, "calibrators_"):
        return _Opened(inner, model.calibrators_, model.labels == "probabilities")
    return _opened(inner)


def _answer(model, fitted):
    """Return the rule that turns scores into a label."""
    if isinstance(model, FittedExpansion):
        return "values"
    if isinstance(model, str):
        if fitted.classes is None:
            return "inlier" if svm_type(model) == "one_class" else "values"
        return "sign" if len(fitted.classes) == 2 else "votes"
    if is_outlier_detector(model):
        return "inlier"
    name = type(model).__name__
    if is_classifier(model) and name not in _CLASSIFIERS:
        raise TypeError(
            f"the prediction rule of {name} cannot be exported; export its decision values by as_expansion(model). "
            f"Labels are exported for {', '.join(_CLASSIFIERS)}, SVCCV, OneClassSVM and SVDD."
        )
    if fitted.classes is None:
        if getattr(model, "crossing", "allow") == "sort" and len(fitted.intercept) > 1:
            raise ValueError(
                "crossing = 'sort' must be 'allow' for export; set it, and sort the exported quantiles of each point."
            )
        return "values"
    if len(fitted.classes) == 2:
        return "sign"
    if not fitted.pairs:
        return "largest"
    if getattr(model, "break_ties", False) and model.decision_function_shape == "ovr":
        raise ValueError(
            "break_ties = True must be False for export; the first of equal votes is then predicted."
        )
    return "votes"


def _labels(classes):
    """Return the labels as strings or as 64-bit integers."""
    labels = np.asarray(classes).tolist()
    if all(isinstance(label, str) for label in labels):
        return labels
    for label in labels:
        is_integer = isinstance(label, (int, float)) and label == int(label)
        if not (is_integer and -(2**63) <= label < 2**63):
            raise ValueError(
                f"label {shown(label)} must be a string or an integer of 64 bits for export."
            )
    return [int(label) for label in labels]


# --- scalers of scikit-learn before a model --------------------------------------------------------------------------


def scaling(pipeline: Pipeline) -> tuple[Array | float, Array | float]:
    """Return shift a and factor b of all steps but the last, which map x to (x - a) * b, or raise TypeError.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler, StandardScaler
    >>> from mercer.formats.portable import scaling
    >>> X = np.array([[0.0], [4.0]])
    >>> scaling(make_pipeline(StandardScaler(), MinMaxScaler(), None).fit(X))
    (array([0.]), array([0.25]))
    """
    shift = 0.0
    factor = 1.0
    for name, step in pipeline.steps[:-1]:
        if step in (None, "passthrough"):
            continue
        found = _linear(step)
        if found is None:
            raise TypeError(
                f"the step {shown(name)}, {type(step).__name__}, cannot be exported; StandardScaler, RobustScaler, "
                "and without clip MaxAbsScaler and MinMaxScaler can. Export the last step, pipeline[-1], and prepare "
                "inputs as the earlier steps do, or convert the pipeline to ONNX: skl2onnx.to_onnx(pipeline, X) after "
                "mercer.formats.register_onnx_converters()."
            )
        shift = shift + found[0] / factor
        factor = factor * found[1]
    return shift, factor


def _linear(step):
    """Return shift and factor of a fitted scaler, None for a step that is not linear in each column."""
    # scikit-learn before 1.8 has scalers without clip
    if getattr(step, "clip", False):
        return None
    match step:
        case StandardScaler():
            shift = step.mean_ if step.with_mean else None
            return _numbers(shift, 0.0), 1 / _numbers(step.scale_, 1.0)
        case RobustScaler():
            return _numbers(step.center_, 0.0), 1 / _numbers(step.scale_, 1.0)
        case MaxAbsScaler():
            return 0.0, 1 / _numbers(step.scale_, 1.0)
        case MinMaxScaler():
            factor = _numbers(step.scale_, 1.0)
            return -step.min_ / factor, factor
    return None


def _numbers(values, default):
    # scalers of float32 rows have attributes in float32
    return np.asarray(default if values is None else values, np.float64)
