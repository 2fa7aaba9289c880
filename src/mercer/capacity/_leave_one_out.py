"""Leave-one-out error of support vector classifiers: the exact value, and bounds and heuristics from one fit."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._common import ArrayLike, Memory, PointsLike, check_weights
from mercer._compute.memory import blocks
from mercer.capacity import _model
from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.span import estimate, squared_spans
from mercer.gram import Gram


def xi_alpha(model: _model.Model) -> Bound:
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
    _model.require(model, "xi_alpha")
    spread = float(model.diagonal.max()) - _smallest_value(model)
    slack = np.maximum(0, 1 - model.margins)
    suspects = (model.coef != 0) & (2 * np.abs(model.coef) * spread + slack >= 1)
    positive = model.upper_bounds[model.upper_bounds > 0]
    if np.ptp(positive) > _model.AT_BOUND * positive.max():
        return estimate(
            "xi-alpha",
            suspects | (model.margins <= 0),
            "equal upper bounds; here they differ by weights",
        )
    return _count("xi-alpha", model, suspects)


def support_fraction(model: _model.Model) -> Bound:
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
    _model.require(model, "support_fraction")
    return _count("support vectors", model, model.coef != 0)


def jaakkola_haussler(model: _model.Model) -> Bound:
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
    _model.require(model, "jaakkola_haussler")
    wrong = np.abs(model.coef) * model.diagonal > model.margins
    return estimate("Jaakkola-Haussler", wrong, "a classifier without bias; this one has a bias")


def opper_winther(model: _model.Model, *, memory: Memory = "1GB") -> Bound:
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
    _model.require(model, "opper_winther")
    spans = squared_spans(model, affine=False, memory=memory)
    assumption = "a classifier without bias whose margin keeps the same support vectors when a point is left out"
    return estimate("Opper-Winther", np.abs(model.coef) * spans > model.margins, assumption)


def radius_margin(model: _model.Model, ball: Ball | None = None) -> Bound:
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
    _model.require_model(model)
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
    _model.require_affine(fitted)
    if not is_classifier(fitted):
        raise TypeError(f"leave_one_out needs a classifier, got {type(fitted).__name__}.")
    found = _model.models(fitted, X, y, sample_weight)
    for one in found:
        _model.require(one, "leave_one_out")
    # checked by the models; a column is a warning there
    y = np.asarray(y).ravel()
    n = len(y)
    weights = check_weights("sample_weight", sample_weight, n)
    wrong = fitted.predict(X) != y
    kernel, points = _model.training_points(fitted, X)
    points = X if kernel.tags.points == "indices" else points
    alone = not _balanced(fitted) and all(one.fixed_C and one.on_margin.any() for one in found)
    support = np.unique(np.concatenate([one.rows[one.coef != 0] for one in found]))
    for p in support if alone else range(n):
        rest = np.delete(np.arange(n), p)
        given = None if sample_weight is None else weights
        # a class without points is not predicted
        wrong[p] = not weights[rest][y[rest] == y[p]].any() or (
            _model.predict_left_out(fitted, kernel, points, y, rest, np.array([p]), given)[0]
            != y[p]
        )
    return float(np.mean(wrong))


def _balanced(fitted):
    """Return whether weights of the classes follow their sizes."""
    given = getattr(fitted, "class_weight", None)
    return isinstance(given, str) and given == "balanced"


def _count(name, model, suspects):
    """Return the bound that counts the points which may be misclassified when left out; a heuristic for NuSVC."""
    # points without weight have no coefficient, and may be misclassified by the fit itself
    suspects = suspects | (model.margins <= 0)
    if not model.fixed_C:
        return estimate(
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


def _smallest_value(model):
    """Return the smallest k(x_i, x_j), computed in blocks of rows."""
    gram = Gram(model.kernel, model.points)
    n = len(model)
    return min(float(np.min(gram[rows, :])) for rows in blocks(n, n))
