"""Model: outputs, margins, coefficients and upper bounds of a fitted estimator at its training points."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import (
    TINY,
    Array,
    ArrayLike,
    PointsLike,
    array_record,
    as_float64,
    check_instance,
    check_weights,
    shown,
)
from mercer._compute.memory import parse_memory
from mercer._compute.points import PROBES, Points, count_points, evenly_spaced, take_points, widened
from mercer._compute.targets import as_real_targets, class_places, refuse_targets
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, kernel_class
from mercer.kernels.precomputed import row_numbers
from mercer.kernels.shorthand import with_kernel
from mercer.linalg.convexity import convexity
from mercer.linalg.operators import LARGEST_ERROR, in_float64
from mercer.solvers.svm.certificates import AT_BOUND
from mercer.solvers.svm.multiclass import class_signs

# Relative difference from which on all coefficients of NuSVC are below their bounds.
_NO_BOUND = 1e-2


@array_record
class Model:
    """A function f(x) = <w, phi(x)> + b at the training points of its fit: one regression or one binary classifier.

    Attributes
    ----------
    kernel : Kernel
        That of the fit; if it is positive semidefinite on coefficients of sum 0 only, the kernel of the same distances
        whose origin is the first training point, which bounds take as given.
    points : points (k)
        Numbers are in float64.
    rows : int array (k,)
        Index of each point among all training points.
    targets : float64 array (k,)
        1 for the positive class and -1 for the other one; the values of a regression.
    outputs : float64 array (k,)
        f(x_i), the decision value or prediction.
    diagonal : float64 array (k,)
        k(x_i, x_i).
    norm : float
        |w|.
    bias : float
        b.
    coef : float64 array (k,) or None
        Signed coefficients of w, y_i alpha_i; None unless the model is a support vector machine.
    upper_bounds : float64 array (k,) or None
        Upper bounds C_i of the absolute coefficients; of a quantile those of the signs of the coefficients. None for an
        SVR with another loss than ``"epsilon"``, whose coefficients are not those of a margin.
    fixed_C : bool
        False for `NuSVC`, whose C depends on all points: left out, a point without coefficient changes the function.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.capacity.model(mc.SVC(kernel="linear").fit(X, y), X, y)
    >>> model.margins.round(6), round(model.norm, 6)
    (array([1.5, 0.5, 0.5, 1.5]), 1.0)
    """

    kernel: Any
    points: Any
    rows: np.ndarray
    targets: np.ndarray
    outputs: np.ndarray
    diagonal: np.ndarray
    norm: float
    bias: float
    coef: np.ndarray | None = None
    upper_bounds: np.ndarray | None = None
    fixed_C: bool = True

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def margins(self) -> Array:
        """Margins y_i f(x_i) (k,), above 0 for correctly classified points."""
        return self.targets * self.outputs

    @property
    def on_margin(self) -> Array:
        """Mask (k,) of the support vectors below their upper bound; they have y_i f(x_i) = 1."""
        require(self, "on_margin")
        size = np.abs(self.coef)
        return (size > 0) & (size < np.asarray(self.upper_bounds) * (1 - AT_BOUND))


def model(
    fitted: Any, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Model:
    """Return the `Model` of a regression or a classifier of two classes.

    Parameters
    ----------
    fitted : SVC, NuSVC, SVR, KernelPerceptron, ...
        Fitted estimator with ``expansion_`` and ``intercept_`` of one column. Support vector machines also have
        ``support_`` and ``C``.
    X : points (n)
        The training points, in the order of the fit.
    y : array (n,)
    sample_weight : array (n,), optional
        As in the fit.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        For more than two classes, several targets or quantiles, a kernel that is indefinite on the points, and for
        other points than those of the fit, or weights that its coefficients contradict.
    TypeError
        For an estimator whose outputs are not affine in the features.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.model(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y).coef.round(6)
    array([ 0., -2.,  2.,  0.])
    """
    found = models(fitted, X, y, sample_weight)
    if len(found) > 1:
        raise ValueError(
            f"{type(fitted).__name__} was fitted to more than two classes and has {len(found)} binary classifiers, but "
            "a bound takes one: fit two classes, use mercer.capacity.models, or mercer.capacity.span_rule for all."
        )
    return found[0]


def models(
    fitted: Any, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> list[Model]:
    """Return one `Model` for each binary classifier of a fitted estimator, or the single one of a regression.

    Parameters
    ----------
    fitted, X, y, sample_weight
        As in `model`.

    Returns
    -------
    list of Model
        In the order of the columns of ``expansion_``.

    Raises
    ------
    ValueError, TypeError
        As for `model`, which also raises for more than two classes.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "c"])
    >>> [each.rows.tolist() for each in mc.capacity.models(mc.SVC(kernel="linear").fit(X, y), X, y)]
    [[0, 1], [0, 2], [1, 2]]
    """
    require_affine(fitted)
    given, points = training_points(fitted, X)
    _require_convex(fitted, given, points)
    kernel = definite(given, points)
    y = own_targets(fitted, y)
    n = count_points(points)
    if len(y) != n:
        raise ValueError(f"X has {n} points, y has {len(y)} values; they must be equal.")
    bias = as_float64(fitted.intercept_)
    psi = in_float64(fitted.expansion_)
    outputs = as_float64(psi(points)) + bias
    if kernel is not given:
        bias = bias + as_float64(psi(kernel.origin))[0]
    norms = as_float64(psi.norms())
    diagonal = as_float64(kernel.diag(points))
    coef = _coefficients(fitted, points, psi)
    factor, shift = _decision(fitted, X, outputs)
    outputs = factor * outputs + shift
    bias = factor * bias + shift
    norms = abs(factor) * norms
    weights = _weights(fitted, y, sample_weight)
    fixed_C = not (hasattr(fitted, "nu") and is_classifier(fitted))
    found = []
    for j, (rows, targets) in enumerate(_problems(fitted, y, len(norms))):
        own = None if coef is None else coef[rows, j]
        upper = None if own is None else _upper_bounds(fitted, own, targets, weights[rows], fixed_C)
        if own is not None and is_classifier(fitted):
            _require_signs(own, targets, rows, y)
            _require_bounds(own, upper, rows)
        one = Model(
            kernel=kernel,
            points=points if len(rows) == n else take_points(points, rows),
            rows=rows,
            targets=targets,
            outputs=outputs[rows, j],
            diagonal=diagonal[rows],
            norm=float(norms[j]),
            bias=float(bias[j]),
            coef=own,
            upper_bounds=upper,
            fixed_C=fixed_C,
        )
        found.append(one)
    return found


def require_affine(fitted: Any) -> None:
    """Raise a TypeError unless an argument is a fitted estimator with outputs that are affine in the features."""
    is_class = isinstance(fitted, type)
    if is_class or not (hasattr(fitted, "expansion_") and hasattr(fitted, "intercept_")):
        if hasattr(fitted, "fit") and not is_class:
            check_is_fitted(fitted)
        raise TypeError(
            "fitted must be a fitted estimator with expansion_ and intercept_, such as mercer.SVC, whose outputs are "
            f"affine in the features, got an object of type {type(fitted).__name__}."
        )


def _decision(fitted, X, outputs):
    """Return the factor and the shift that make the function of an estimator of outputs (n, m), or raise a TypeError.

    They are 1 and 0 but for `KernelFisher`, whose decision values are affine in the score. Several functions are taken
    as they are.
    """
    n, m = outputs.shape
    c = len(fitted.classes_) if is_classifier(fitted) else 0
    decides = hasattr(fitted, "decision_function")
    own = not c or m in (1 if c == 2 else c, c * (c - 1) // 2)
    if own and m > 1:
        return 1.0, 0.0
    if own and (decides or hasattr(fitted, "predict")):
        rows = evenly_spaced(n, PROBES)
        some = _safe_indexing(*indexable(X), rows)
        values = as_float64(fitted.decision_function(some) if decides else fitted.predict(some))
        some = outputs[rows, 0]
        # values and the bias may cancel in float32
        size = max(np.abs(outputs).max(), np.abs(fitted.intercept_).max())
        if np.abs(values - some).max() <= LARGEST_ERROR * size:
            return 1.0, 0.0
        centred = some - some.mean()
        factor = float(centred @ values / max(centred @ centred, TINY))
        shift = float(values.mean() - factor * some.mean())
        if np.abs(factor * some + shift - values).max() <= LARGEST_ERROR * np.abs(values).max():
            return factor, shift
    raise TypeError(
        f"{type(fitted).__name__} has no bounds, since its outputs at X do not follow from expansion_(X) + intercept_; "
        "use an estimator that is affine in the features, such as mercer.SVC, or mercer.KernelRidge without free terms."
    )


def own_targets(fitted: Any, y: ArrayLike, name: str = "y") -> Array:
    """Return the labels or values of a fitted classifier or regression as an array (n,), or raise."""
    if not is_classifier(fitted):
        return column_or_1d(as_real_targets(y, type(fitted).__name__))
    refuse_targets(y, name)
    labels = column_or_1d(y)
    class_places(labels, fitted.classes_, name)
    return labels


def require_model(model: object) -> None:
    """Raise a TypeError unless an argument is a Model."""
    check_instance("model", model, Model, "a Model, from mercer.capacity.model(fitted, X, y)")


def require(model: Model, what: str) -> None:
    """Raise a TypeError unless coefficients and upper bounds of the model are known."""
    require_model(model)
    if model.coef is None or model.upper_bounds is None:
        raise TypeError(
            f"{what} needs a support vector machine with support_, C and the loss 'epsilon', if it has losses (SVC, "
            "NuSVC, SVR)."
        )


def augmented(model: Model) -> Model:
    """Return the model with its bias as a coordinate: kernel k + 1, squared norm |w|^2 + b^2, the same outputs."""
    return replace(
        model, diagonal=model.diagonal + 1, norm=float(np.hypot(model.norm, model.bias)), bias=0.0
    )


def predict_left_out(
    fitted: Any,
    kernel: Kernel,
    X: PointsLike,
    y: Array,
    train: Array,
    rest: Array,
    sample_weight: Array | None = None,
) -> Array:
    """Return the predictions at the points ``rest`` after a fit to the points ``train`` with the same kernel.

    X holds all points, or the matrix of a precomputed kernel.
    """
    fresh = clone(fitted)
    given = () if sample_weight is None else (sample_weight[train],)
    if kernel.tags.points == "indices":
        X = np.asarray(X)
        return fresh.fit(X[np.ix_(train, train)], y[train], *given).predict(X[np.ix_(rest, train)])
    return (
        with_kernel(fresh, kernel)
        .fit(take_points(X, train), y[train], *given)
        .predict(take_points(X, rest))
    )


def _require_convex(fitted, kernel, points):
    found = convexity(kernel, points, budget=parse_memory(getattr(fitted, "memory", "1GB")))
    if not found.proved:
        reason = (
            f"not convex, since {found.evidence}"
            if found.evidence
            else "not proved convex within its memory"
        )
        raise ValueError(
            f"{type(fitted).__name__} has no bounds: its problem is {reason}; fit it with a kernel of "
            "mercer.make_positive, or with more memory."
        )


def definite(kernel: Kernel, points: PointsLike) -> Kernel:
    """Return a kernel, or that of the same distances from the first point where only centred values are definite."""
    if (
        convexity(kernel, points, centre=False).proved is not False
        or convexity(kernel, points).proved is False
    ):
        return kernel
    return _FromOrigin(kernel, take_points(points, [0]))


@kernel_class
class _FromOrigin(Composite):
    """k(x, z) - k(x, o) - k(z, o) + k(o, o): inner products of phi(x) - phi(o)."""

    kernel: Kernel
    origin: Any

    def evaluate(self, tile: Tile) -> Array:
        removed = self._beside(tile.X) + self._beside(tile.Z).T
        return self.kernel.evaluate(tile) - removed

    def diagonal(self, points: Points) -> Array:
        return self.kernel.diagonal(points) - 2 * self._beside(points)[:, 0]

    def _beside(self, points):
        """Return k(x, o) - k(o, o) / 2 (n, 1)."""
        origin = Points(self.origin)
        values = self.kernel.evaluate(Tile(points, origin))
        return values - self.kernel.diagonal(origin) / 2


def training_points(fitted: Any, X: PointsLike) -> tuple[Any, ...]:
    """Return the kernel, and the points in float64; row numbers for a precomputed kernel."""
    kernel = fitted.kernel_
    if kernel.tags.points == "indices":
        if np.ndim(X) != 2:
            raise ValueError(
                f"X has shape {np.shape(X)}; for a precomputed kernel it must be the training matrix."
            )
        return kernel, row_numbers(kernel, X)
    return kernel, widened(kernel.admit(X, "X"))


def _coefficients(fitted, points, psi):
    """Return the coefficients of all points (n, m), or raise when ``points`` are not the training points."""
    support = getattr(fitted, "support_", None)
    if support is None:
        return None
    n = count_points(points)
    if len(support) and (
        support.max() >= n or not _equal(take_points(points, support), psi.points)
    ):
        raise ValueError(
            f"{_first_other(points, support, psi.points)} is not the support vector of the fit; pass the training "
            "points in the order of the fit (in a grid search, cv=mercer.capacity.Resubstitution())."
        )
    coef = np.zeros((n, len(psi)))
    coef[support] = psi.coef
    return coef


def _require_signs(coef, targets, rows, y):
    """Raise unless the coefficients of a classifier have the signs of the labels."""
    wrong = np.flatnonzero(coef * targets < 0)
    if len(wrong):
        row = rows[wrong[0]]
        raise ValueError(
            f"y[{row}] = {shown(y[row])} is not the label of the fit, where its coefficient has the sign of another "
            "class; pass the labels of the fit, in its order."
        )


def _require_bounds(coef, upper, rows):
    """Raise unless the coefficients of a classifier are at most their upper bounds, up to rounding."""
    above = np.flatnonzero(np.abs(coef) > (1 + AT_BOUND) * (np.inf if upper is None else upper))
    if len(above):
        k = above[0]
        raise ValueError(
            f"the coefficient {abs(coef[k]):.4g} of row {rows[k]} is above its upper bound {upper[k]:.4g}, C times its "
            "weights; give the sample_weight of the fit (a report is for fits without sample_weight)."
        )


def _first_other(points, support, vectors):
    """Return the name of the first row of X that is not the support vector that it should be."""
    known = [k for k, row in enumerate(support) if row < count_points(points)]
    for k in known:
        if not _equal(
            take_points(points, support[k : k + 1]), take_points(vectors, slice(k, k + 1))
        ):
            return f"row {support[k]} of X"
    return f"row {support.max()} of X"


def _equal(X, Z):
    if hasattr(X, "tocsr") or hasattr(Z, "tocsr"):
        return X.shape == Z.shape and abs(X - Z).sum() == 0
    if hasattr(X, "shape"):
        return np.array_equal(X, Z)
    return all(np.array_equal(x, z) for x, z in zip(X, Z, strict=True))


def _weights(fitted, y, sample_weight):
    """Return the products of class weights and sample weights (n,), which multiply C."""
    weights = check_weights("sample_weight", sample_weight, len(y))
    if is_classifier(fitted):
        classes = fitted.classes_
        weights = (
            weights
            * getattr(fitted, "class_weight_", np.ones(len(classes)))[np.searchsorted(classes, y)]
        )
    return weights


def _upper_bounds(fitted, coef, targets, weights, fixed_C):
    """Return C_i, or None where none are known. For NuSVC, coefficients have the sum nu times that of their bounds."""
    if not fixed_C:
        shares = np.divide(np.abs(coef), weights, out=np.zeros(len(coef)), where=weights > 0)
        classes = [float(weights[targets == side].sum()) for side in (-1, 1)]
        C = float(np.abs(coef).sum()) / min(fitted.nu * sum(classes), 2 * min(classes))
        # the largest coefficient is at its bound, unless all are clearly below
        return (C if (1 + _NO_BOUND) * shares.max() < C else shares.max()) * weights
    C = getattr(fitted, "C", None)
    if C is None or getattr(fitted, "loss", "epsilon") != "epsilon":
        return None
    if not hasattr(fitted, "quantile"):
        return C * weights
    # slopes of the loss of a quantile: its share where the function is too small, the rest where it is too large
    (tau,) = np.ravel(fitted.quantile)
    return C * weights * np.where(coef < 0, 1 - tau, tau)


def _problems(fitted, y, m):
    """Return rows and targets of each of the m columns of the expansion."""
    if not is_classifier(fitted):
        if m > 1:
            raise ValueError(
                f"{type(fitted).__name__} has {m} functions, one for each target or quantile, but a bound takes one; "
                "fit one target or quantile."
            )
        return [(np.arange(len(y)), as_float64(y))]
    codes = np.searchsorted(fitted.classes_, y)
    c = len(fitted.classes_)
    one_vs_rest = m == c and getattr(fitted, "multi_class", "ovr") == "ovr"
    signs = class_signs(c, "ovr" if one_vs_rest else "ovo")[codes]
    return [(np.flatnonzero(column), column[column != 0]) for column in signs.T]
