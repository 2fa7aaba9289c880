"""Leave-one-out error of support vector machines: the exact value, the span rule, bounds and heuristics of one fit."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._common import Array, ArrayLike, Memory, PointsLike, as_float64, check_weights, shown
from mercer._compute.memory import blocks, require_memory
from mercer._compute.points import count_points, take_points
from mercer.capacity._model import (
    Model,
    models,
    own_targets,
    predict_left_out,
    require,
    require_affine,
    require_model,
    training_points,
)
from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound
from mercer.gram import Gram
from mercer.linalg import lapack
from mercer.linalg.cholesky import RIDGE
from mercer.linalg.operators import centred
from mercer.solvers.svm.certificates import AT_BOUND
from mercer.solvers.svm.multiclass import decided


def xi_alpha(model: Model) -> Bound:
    r"""Return Joachims' xi-alpha bound of the leave-one-out error, from slacks and coefficients.

    .. math:: \frac1n \left|\{i : 2 \alpha_i R_\Delta^2 + \xi_i \ge 1\}\right|, \qquad
        R_\Delta^2 = \max_i k(x_i, x_i) - \min_{ij} k(x_i, x_j)

    Parameters
    ----------
    model : Model
        Of a support vector classifier.

    Returns
    -------
    Bound
        A heuristic where the upper bounds of coefficients differ, by weights of points or classes, and for `NuSVC`,
        whose C changes with every point that is left out.

    References
    ----------
    Joachims, *Estimating the generalization performance of a SVM efficiently*, ICML (2000), theorem 2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 4 * y
    >>> fitted = mc.SVC(C=0.3, kernel=mc.Gaussian(0.1)).fit(X, y)
    >>> mc.capacity.xi_alpha(mc.capacity.model(fitted, X, y)).value < 0.3
    True
    """
    require(model, "xi_alpha")
    gram = Gram(model.kernel, model.points)
    smallest = min(float(np.min(gram[rows, :])) for rows in blocks(len(model), len(model)))
    spread = float(model.diagonal.max()) - smallest
    slack = np.maximum(0, 1 - model.margins)
    suspects = (model.coef != 0) & (2 * np.abs(model.coef) * spread + slack >= 1)
    positive = model.upper_bounds[model.upper_bounds > 0]
    if np.ptp(positive) > AT_BOUND * positive.max():
        return _estimate(
            "xi-alpha",
            suspects | (model.margins <= 0),
            "equal upper bounds; here they differ by weights",
        )
    return _count("xi-alpha", model, suspects)


def support_fraction(model: Model) -> Bound:
    """Return the share of support vectors and misclassified points, a bound of the leave-one-out error for a given C.

    Leaving out any other point does not change the classifier, which classifies that point correctly. Misclassified
    points that are not support vectors have the weight 0.

    Parameters
    ----------
    model : Model
        Of a support vector classifier.

    Returns
    -------
    Bound
        A heuristic for `NuSVC`, whose C changes with every point that is left out.

    References
    ----------
    Vapnik, *The nature of statistical learning theory* (1995), theorem 5.2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.support_fraction(mc.capacity.model(mc.SVC(C=9.0, kernel="linear").fit(X, y), X, y)).value
    0.5
    """
    require(model, "support_fraction")
    return _count("support vectors", model, model.coef != 0)


def jaakkola_haussler(model: Model) -> Bound:
    r"""Return Jaakkola and Haussler's estimate of the leave-one-out error.

    .. math:: \frac1n \sum_p \Psi(\alpha_p k(x_p, x_p) - y_p f(x_p)), \qquad \Psi(t) = [t > 0]

    Parameters
    ----------
    model : Model
        Of a support vector classifier.

    Returns
    -------
    Bound
        A heuristic: the theorem holds for classifiers without bias.

    References
    ----------
    Jaakkola, Haussler, *Probabilistic kernel regression models*, AISTATS (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.jaakkola_haussler(mc.capacity.model(mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y), X, y)).value
    0.5
    """
    require(model, "jaakkola_haussler")
    wrong = np.abs(model.coef) * model.diagonal > model.margins
    return _estimate("Jaakkola-Haussler", wrong, "a classifier without bias; this one has a bias")


def opper_winther(model: Model, *, memory: Memory = "1GB") -> Bound:
    r"""Return Opper and Winther's estimate of the leave-one-out error: the span rule for a classifier without bias.

    .. math:: \frac1n \sum_p \Psi\left(\frac{\alpha_p}{(K_{SV}^{-1})_{pp}} - y_p f(x_p)\right), \qquad \Psi(t) = [t > 0]

    where 1 / (K_SV^-1)_pp is the squared distance of phi(x_p) to the span of the other support vectors on the margin.
    For a support vector at its upper bound the distance to the span of all support vectors on the margin is used.

    Parameters
    ----------
    model : Model
        Of a support vector classifier.
    memory : str or int

    Returns
    -------
    Bound
        A heuristic.

    References
    ----------
    Opper, Winther, *Gaussian processes and SVM: mean field and leave-one-out*, in *Advances in large margin
    classifiers* (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.opper_winther(mc.capacity.model(mc.SVC(C=9.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)).value
    0.0
    """
    require(model, "opper_winther")
    spans = squared_spans(model, affine=False, memory=memory)
    assumption = "a classifier without bias whose margin keeps the same support vectors when a point is left out"
    return _estimate("Opper-Winther", np.abs(model.coef) * spans > model.margins, assumption)


def radius_margin(model: Model, ball: Ball | None = None) -> Bound:
    r"""Return R^2 |w|^2 / n, the radius-margin estimate of the leave-one-out error.

    Parameters
    ----------
    model : Model
        Of a classifier.
    ball : Ball, optional
        Smallest ball around the points; computed by default.

    Returns
    -------
    Bound
        A heuristic: the theorem holds for classifiers without slack.

    References
    ----------
    Vapnik, *Statistical learning theory* (1998), theorem 10.6.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.capacity.model(mc.SVC(C=9.0, kernel="linear").fit(X, y), X, y)
    >>> round(mc.capacity.radius_margin(model).value, 3)
    2.25
    """
    require_model(model)
    ball = smallest_ball(model.kernel, model.points) if ball is None else ball
    value = (ball.radius * model.norm) ** 2 / len(model)
    statement = f"The leave-one-out error is about {value:.3g}: R = {ball.radius:.3g}, |w| = {model.norm:.3g}."
    return Bound("radius-margin", value, statement, "leave-one-out error", None, ("no slack",))


def leave_one_out(
    fitted: Any, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the exact leave-one-out error of a support vector classifier, by refits without each support vector.

    Other points need no refit: the classifier is the same without them. All points do for `NuSVC` and with
    ``class_weight="balanced"``, whose C depends on all, and where no support vector lies on the margin, so that points
    without coefficient limit the bias.

    Parameters
    ----------
    fitted : SVC or NuSVC
    X : points (n)
        The training points.
    y : array (n,)
    sample_weight : array (n,), optional
        As in the fit. A point is left out whole.

    Returns
    -------
    float
        Share of misclassified points; the bandwidth of the fit is kept.

    Raises
    ------
    TypeError
        For an estimator that is not a support vector classifier.
    ValueError
        For points other than the training points.

    Notes
    -----
    One fit for each support vector, or for each point.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.leave_one_out(mc.SVC(C=9.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)
    0.0
    """
    require_affine(fitted)
    if not is_classifier(fitted):
        raise TypeError(f"leave_one_out needs a classifier, got {type(fitted).__name__}.")
    found = models(fitted, X, y, sample_weight)
    for one in found:
        require(one, "leave_one_out")
    # checked by the models; a column is a warning there
    y = np.asarray(y).ravel()
    n = len(y)
    weights = check_weights("sample_weight", sample_weight, n)
    wrong = fitted.predict(X) != y
    kernel, points = training_points(fitted, X)
    points = X if kernel.tags.points == "indices" else points
    # weights of the classes may follow their sizes
    balanced = getattr(fitted, "class_weight", None) == "balanced"
    alone = not balanced and all(one.fixed_C and one.on_margin.any() for one in found)
    support = np.unique(np.concatenate([one.rows[one.coef != 0] for one in found]))
    for p in support if alone else range(n):
        rest = np.delete(np.arange(n), p)
        given = None if sample_weight is None else weights
        # a class without points is not predicted
        wrong[p] = not weights[rest][y[rest] == y[p]].any() or (
            predict_left_out(fitted, kernel, points, y, rest, np.array([p]), given)[0] != y[p]
        )
    return float(np.mean(wrong))


def _count(name, model, suspects):
    """Return the bound that counts the points which may be misclassified when left out; a heuristic for NuSVC."""
    # points without weight have no coefficient, and may be misclassified by the fit itself
    suspects = suspects | (model.margins <= 0)
    if not model.fixed_C:
        return _estimate(
            name, suspects, "a C that does not change; that of NuSVC depends on all points"
        )
    value = float(np.mean(suspects))
    statement = f"At most {value:.1%} of the points are misclassified when left out."
    if not model.on_margin.any():
        # the bias is then not determined, and a point that is left out can move it
        value = 1.0
        statement = "No support vector lies on the margin, so the leave-one-out error has no bound."
    assumptions = (
        "a bandwidth and class weights that do not change",
        "the best optimal bias, where a classifier without a point has no support vector on its margin",
    )
    return Bound(name, value, statement, "leave-one-out error", 1.0, assumptions)


# --- the span rule ---------------------------------------------------------------------------------------------------


# Assumption of the span rule.
SAME_MARGIN = "a margin that keeps the same support vectors when a point is left out"


def squared_spans(model: Model, *, affine: bool = True, memory: Memory = "1GB") -> Array:
    r"""Return the squared distance of every support vector to the span of the other ones on the margin.

    .. math:: S_p^2 = \min_\lambda \left|\phi(x_p) - \sum_{i \ne p} \lambda_i \phi(x_i)\right|^2
        \quad\text{s.t.}\quad \sum_i \lambda_i = 1

    over support vectors i whose coefficients are between their bounds.

    Parameters
    ----------
    model : Model
        Of a support vector machine.
    affine : bool
        Keep the constraint on the sum of lambda, which belongs to a bias.
    memory : str or int
        Largest size of the matrix of the support vectors on the margin and its factor, in bytes.

    Returns
    -------
    array (k,)
        0 for points that are not support vectors. When no other support vector is on the margin, the squared distance
        to the nearest support vector with the opposite sign.

    Raises
    ------
    TypeError
        For a model without coefficients or upper bounds.
    MemoryError
        When the matrix exceeds the limit.

    Notes
    -----
    O(m^3 + m^2 b) for m support vectors on the margin and b at their upper bounds. With u = K^-1 1 it is
    1 / (K^-1 - u u' / 1'u)_pp on the margin, and k_pp - k_p'K^-1 k_p + (1 - u'k_p)^2 / 1'u at the upper bounds.

    References
    ----------
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines*, Neural Computation 12 (2000),
    section 5; Opper, Winther, *Gaussian processes and SVM: mean field and leave-one-out* (2000), without the sum.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.capacity.model(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.squared_spans(model).round(6)
    array([0., 1., 1., 0.])
    """
    require(model, "squared_spans")
    free = np.flatnonzero(model.on_margin)
    bound = np.flatnonzero(~model.on_margin & (model.coef != 0))
    spans = np.zeros(len(model))
    m = len(free)
    if m:
        spans[free], spans[bound] = _to_margin(model, free, bound, affine, memory)
    alone = bound if m == 0 else free[:1] if m == 1 and affine else free[:0]
    for p in alone:
        spans[p] = _nearest_opponent(model, p)
    return spans


def leave_one_out_outputs(model: Model, *, memory: Memory = "1GB") -> Array:
    r"""Return the span rule's estimate of f(x_p) after a fit without x_p, for every training point.

    .. math:: f^{(-p)}(x_p) \approx f(x_p) - b_p S_p^2

    with signed coefficients b. It is exact when no other support vector enters or leaves the margin or an upper bound.
    A regression violates this whenever its kernel is so smooth that the matrix has hardly more large eigenvalues than
    there are support vectors on the margin; the estimate is then far too pessimistic.

    Parameters
    ----------
    model : Model
        Of a classifier or a regression.
    memory : str or int

    Returns
    -------
    array (k,)

    References
    ----------
    Vapnik, Chapelle (2000), theorem 3; Chang, Lin, *Leave-one-out bounds for support vector regression model
    selection*, Neural Computation 17 (2005).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.capacity.model(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.leave_one_out_outputs(model).round(6)
    array([-3.,  1., -1.,  3.])
    """
    require_model(model)
    return model.outputs - model.coef * squared_spans(model, memory=memory)


def leave_one_out_predictions(
    fitted: Any,
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    memory: Memory = "1GB",
) -> Array:
    """Return the span rule's leave-one-out prediction of every training point: a class or a value.

    Parameters
    ----------
    fitted : SVC, NuSVC, SVR, NuSVR or QuantileSVR
        Fitted estimator. With several classes the binary classifiers vote as in ``predict``.
    X : points (n)
        The training points.
    y : array (n,)
    sample_weight : array (n,), optional
    memory : str or int

    Returns
    -------
    array (n,)

    Raises
    ------
    ValueError
        For an SVR with another loss than ``"epsilon"``, and for other points than those of the fit.
    MemoryError
        When the matrix exceeds the limit.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.linspace(0, 3, 12)[:, None], np.linspace(0, 3, 12) ** 2
    >>> fitted = mc.SVR(C=100.0, kernel=mc.Polynomial(2), epsilon=0.01).fit(X, y)
    >>> bool(np.abs(mc.capacity.leave_one_out_predictions(fitted, X, y) - y).max() < 0.1)
    True
    """
    loss = getattr(fitted, "loss", "epsilon")
    if loss != "epsilon":
        raise ValueError(f"loss = {shown(loss)} must be 'epsilon': other losses have no span rule.")
    found = models(fitted, X, y, sample_weight)
    points = training_points(fitted, X)[1]
    outputs = np.empty((count_points(points), len(found)))
    if any(len(model) < len(outputs) for model in found):
        # those of pairs of classes at the points of other classes
        outputs = as_float64(fitted.expansion_(points)) + as_float64(fitted.intercept_)
    for j, model in enumerate(found):
        outputs[model.rows, j] = leave_one_out_outputs(model, memory=memory)
    if not is_classifier(fitted):
        return outputs[:, 0]
    return fitted.classes_[decided(fitted, outputs)]


def span_rule(
    fitted: Any,
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    memory: Memory = "1GB",
) -> Bound:
    r"""Return the span rule's estimate of the leave-one-out error of a support vector classifier.

    .. math:: \frac1n \sum_p \Psi(\alpha_p S_p^2 - y_p f(x_p))

    with the step function Psi; with several classes the binary classifiers vote.

    Parameters
    ----------
    fitted, X, y, sample_weight, memory
        As in `leave_one_out_predictions`.

    Returns
    -------
    Bound
        A heuristic: it assumes that the support vectors on the margin stay there.

    References
    ----------
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines*, Neural Computation 12 (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 2 * y
    >>> fitted = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    >>> 0.1 < mc.capacity.span_rule(fitted, X, y).value < 0.3
    True
    """
    wrong = leave_one_out_predictions(fitted, X, y, sample_weight, memory=memory) != own_targets(
        fitted, y
    )
    return _estimate("span rule", wrong, SAME_MARGIN)


def _estimate(name, wrong, assumption):
    """Return the heuristic share of points that are misclassified when left out."""
    value = float(np.mean(wrong))
    statement = f"About {value:.1%} of the points are misclassified when left out."
    return Bound(name, value, statement, "leave-one-out error", None, (assumption,))


def _to_margin(model, free, bound, affine, memory):
    """Return the squared spans of the support vectors on the margin and of those at their upper bounds."""
    m = len(free)
    require_memory(
        16 * m * m, memory, f"the matrix of {m} support vectors on the margin", "a smaller C"
    )
    on_margin = take_points(model.points, free)
    K = as_float64(Gram(model.kernel, on_margin, memory=2**62).dense())
    if affine:
        # distances do not depend on the origin: far from it they would be rounding
        means = K.mean(axis=0)
        K = centred(K)
        # the centred matrix is singular along 1
        shift = float(np.mean(K.diagonal()))
        K = K + shift
        offset = float(means.mean()) + shift
    # linearly dependent vectors have span 0
    jitter = RIDGE * max(float(np.mean(K.diagonal())), 1e-100)
    inverse = K.T
    jitter = lapack.factorise_shifted(inverse, jitter * 100.0 ** np.arange(8))
    if jitter is None:
        raise ValueError(
            "the kernel is indefinite on the support vectors; spans need a positive semidefinite kernel."
        )
    lapack.invert_factored(inverse)
    u = inverse.sum(axis=1)
    total = float(u.sum())
    diagonal = inverse.diagonal().copy()
    if affine:
        diagonal -= u**2 / total
    # a single support vector has an affine diagonal of 0; squared_spans replaces its span
    with np.errstate(divide="ignore", over="ignore"):
        own = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300) - jitter, 0.0)
    others = np.empty(len(bound))
    for rows in blocks(len(bound), m):
        some = bound[rows]
        columns = as_float64(model.kernel(on_margin, take_points(model.points, some)))
        squares = model.diagonal[some]
        if affine:
            middle = columns.mean(axis=0)
            squares = squares - 2 * middle + offset
            columns = columns - middle - means[:, None] + offset
        left = squares - np.einsum("ij,ij->j", columns, inverse @ columns)
        others[rows] = left + (1 - u @ columns) ** 2 / total if affine else left
    return np.maximum(own, 0), np.maximum(others, 0)


def _nearest_opponent(model, p):
    """Return the squared distance to the nearest support vector with the opposite sign."""
    others = np.flatnonzero(model.coef * np.sign(model.coef[p]) < 0)
    values = model.kernel(
        take_points(model.points, np.array([p])), take_points(model.points, others)
    )[0]
    return max(float(np.min(model.diagonal[p] + model.diagonal[others] - 2 * values)), 0.0)
