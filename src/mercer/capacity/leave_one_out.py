"""Bounds and heuristics of the leave-one-out error that need one fit, and the error itself."""

import numpy as np
from sklearn.base import clone, is_classifier

from mercer._compute.points import take_points
from mercer.capacity._model import machine as read
from mercer.capacity._model import require
from mercer.capacity.ball import smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.span import squared_spans
from mercer.gram import Gram

# Kernel values looked at together for the smallest of all.
_BLOCK = 1 << 22


def xi_alpha(machine):
    r"""Return Joachims' bound of the leave-one-out error, from slacks and coefficients.

    .. math:: \frac1n \left|\{i : 2 \alpha_i R_\Delta^2 + \xi_i \ge 1\}\right|, \qquad
        R_\Delta^2 = \max_i k(x_i, x_i) - \min_{ij} k(x_i, x_j)

    Parameters
    ----------
    machine : Machine
        Of a support vector classifier.

    Returns
    -------
    Bound

    References
    ----------
    Joachims, *Estimating the generalization performance of a SVM efficiently*, ICML (2000), theorem 2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 4 * y
    >>> model = mc.SVC(C=0.3, kernel=mc.Gaussian(0.1)).fit(X, y)
    >>> mc.capacity.xi_alpha(mc.capacity.machine(model, X, y)).value < 0.3
    True
    """
    require(machine, "xi-alpha")
    spread = float(machine.diagonal.max()) - _smallest_value(machine)
    slack = np.maximum(0, 1 - machine.margins)
    return _counted("xi-alpha", machine, (machine.coef != 0) & (2 * np.abs(machine.coef) * spread + slack >= 1))


def support_fraction(machine):
    """Return the share of support vectors, which bounds the leave-one-out error.

    Leaving out a point that is no support vector changes nothing, and the machine classifies it correctly.

    Parameters
    ----------
    machine : Machine
        Of a support vector classifier.

    Returns
    -------
    Bound

    References
    ----------
    Vapnik, *The nature of statistical learning theory* (1995), theorem 5.2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.support_fraction(mc.capacity.machine(mc.SVC(C=9.0, kernel="linear").fit(X, y), X, y)).value
    0.5
    """
    require(machine, "the share of support vectors")
    return _counted("support vectors", machine, machine.coef != 0)


def jaakkola_haussler(machine):
    r"""Return Jaakkola and Haussler's estimate of the leave-one-out error.

    .. math:: \frac1n \sum_p \Psi(\alpha_p k(x_p, x_p) - y_p f(x_p)), \qquad \Psi(t) = [t > 0]

    Parameters
    ----------
    machine : Machine
        Of a support vector classifier.

    Returns
    -------
    Bound
        A heuristic: it is a bound for machines without bias, and these have one.

    References
    ----------
    Jaakkola, Haussler, *Probabilistic kernel regression models*, AISTATS (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.jaakkola_haussler(mc.capacity.machine(mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y), X, y)).value
    0.5
    """
    require(machine, "Jaakkola and Haussler's estimate")
    return _estimate("Jaakkola-Haussler", machine, machine.diagonal, "a machine without bias; these have one")


def opper_winther(machine, *, memory="1GB"):
    r"""Return Opper and Winther's estimate of the leave-one-out error, the span rule without the constraint of a bias.

    .. math:: \frac1n \sum_p \Psi\left(\frac{\alpha_p}{(K_{SV}^{-1})_{pp}} - y_p f(x_p)\right), \qquad \Psi(t) = [t > 0]

    where 1 / (K_SV^-1)_pp is the squared distance of phi(x_p) to the span of the other support vectors on the margin,
    and that distance takes its place for a vector at its bound.

    Parameters
    ----------
    machine : Machine
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
    >>> mc.capacity.opper_winther(mc.capacity.machine(mc.SVC(C=9.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)).value
    0.0
    """
    require(machine, "Opper and Winther's estimate")
    spans = squared_spans(machine, affine=False, memory=memory)
    return _estimate("Opper-Winther", machine, spans, "a machine without bias whose margin keeps its vectors")


def radius_margin(machine, ball=None):
    r"""Return R^2 |w|^2 / n, the radius-margin estimate of the leave-one-out error.

    Parameters
    ----------
    machine : Machine
        Of a classifier.
    ball : Ball, optional
        That of its points, where it is known.

    Returns
    -------
    Bound
        A heuristic: it says something of machines without slack only.

    References
    ----------
    Vapnik, *Statistical learning theory* (1998), theorem 10.6.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> machine = mc.capacity.machine(mc.SVC(C=9.0, kernel="linear").fit(X, y), X, y)
    >>> round(mc.capacity.radius_margin(machine).value, 3)
    2.25
    """
    ball = smallest_ball(machine.kernel, machine.points) if ball is None else ball
    value = (ball.radius * machine.norm) ** 2 / len(machine)
    return Bound(
        "radius-margin",
        value,
        f"About {value:.3g} of the points are misclassified by machines fitted without them: R = {ball.radius:.3g}, "
        f"|w| = {machine.norm:.3g}.",
        "leave-one-out error",
        None,
        ("no slack",),
    )


def leave_one_out(model, X, y):
    """Return the leave-one-out error of a support vector classifier by refitting it without each support vector.

    Points that are no support vectors need no refit: without them the machine is the same.

    Parameters
    ----------
    model : SVC or NuSVC
        Fitted to two classes.
    X : points (n)
        Those of the fit.
    y : array (n,)

    Returns
    -------
    float
        The share of points that are misclassified; the bandwidth of the fit is kept.

    Raises
    ------
    TypeError
        For another model than a support vector classifier.
    ValueError
        For more than two classes, and for points that are not those of the fit.

    Notes
    -----
    As many fits as there are support vectors.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.leave_one_out(mc.SVC(C=9.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)
    0.0
    """
    if not is_classifier(model):
        raise TypeError(f"leave_one_out counts errors of a classifier, got {type(model).__name__}.")
    machine = read(model, X, y)
    require(machine, "leave_one_out")
    wrong = machine.margins <= 0
    given = machine.kernel.tags.points == "indices"
    y, fresh = np.asarray(y), clone(model)
    if not given:
        fresh = fresh.set_params(kernel=machine.kernel)
    for p in np.flatnonzero(machine.coef):
        rest = np.delete(np.arange(len(machine)), p)
        if given:
            matrix = machine.kernel.matrix
            train, test = matrix[np.ix_(rest, rest)], matrix[[p]][:, rest]
        else:
            train, test = take_points(machine.points, rest), take_points(machine.points, np.array([p]))
        alone = len(np.unique(y[rest])) == 1
        wrong[p] = alone or fresh.fit(train, y[rest]).predict(test)[0] != y[p]
    return float(np.mean(wrong))


def _counted(name, machine, suspects):
    """Return the share of points that may be misclassified without themselves."""
    value, what = float(np.mean(suspects)), "are misclassified by machines fitted without them"
    statement = f"At most {value:.1%} of the points {what}."
    if not machine.on_margin.any():
        # the bias is then not determined, and a point that is left out can move it
        value, statement = 1.0, f"Nothing is known of how many points {what}: there is no vector on the margin."
    return Bound(name, value, statement, "leave-one-out error", 1.0, ("the bandwidth kept when a point is left out",))


def _estimate(name, machine, spans, assumption):
    """Return the share of points with alpha_p spans_p > y_p f(x_p)."""
    value = float(np.mean(np.abs(machine.coef) * spans > machine.margins))
    return Bound(
        name,
        value,
        f"About {value:.1%} of the points are misclassified by machines fitted without them.",
        "leave-one-out error",
        None,
        (assumption,),
    )


def _smallest_value(machine):
    """Return the smallest k(x_i, x_j), a block of rows at a time."""
    gram, n = Gram(machine.kernel, machine.points), len(machine)
    step = max(1, _BLOCK // n)
    return min(float(np.min(gram[slice(i, i + step), slice(0, n)])) for i in range(0, n, step))
