"""How far a fitted model is from its optimum: objectives, their gap and the worst violation, or residuals."""

from dataclasses import dataclass

import numpy as np

from mercer.solvers.svm.smo import violation


@dataclass(frozen=True)
class Certificate:
    """Evidence of optimality, summed over the machines of a model.

    Attributes
    ----------
    primal, dual : float
        Objective values; the optimum lies between them.
    gap : float
        primal - dual, at least 0 up to rounding.
    kkt : float
        Largest score that may rise minus smallest that may fall, over all machines; 0 at the optimum.
    """

    primal: float
    dual: float
    kkt: float

    @property
    def gap(self):
        """Primal minus dual objective."""
        return self.primal - self.dual


@dataclass(frozen=True)
class Residuals:
    """Evidence that equations hold, for models that solve a linear system or an eigenproblem.

    Attributes
    ----------
    residuals : float64 array (m,)
        Relative residual of each target or component; rounding at the solution.
    """

    residuals: np.ndarray


def hinge_certificate(dual, coef, scores, bias):
    r"""Return the certificate of one classifier.

    .. math:: \tfrac12 b'Kb + \sum_i C_i \xi_i,\quad t'b - \tfrac12 b'Kb,\quad
        \xi_i = \max(0, y_i (f_i - b_0)),\ f = t - Kb

    Without slack, where a price is infinite, the first is the objective of the normal divided by 1 - max xi.

    Parameters
    ----------
    dual : Dual
    coef, scores : float64 array (n,)
    bias : float

    Returns
    -------
    Certificate
    """
    sign = np.where(dual.upper > 0, 1.0, -1.0)
    bound = dual.upper - dual.lower
    slack = np.maximum(0, sign * (scores - bias))
    norm = float(coef @ (dual.target - scores))
    value = float(dual.target @ coef) - 0.5 * norm
    if np.isinf(bound).any():
        # the normal, stretched until no point has slack
        worst = float(slack.max())
        primal = 0.5 * norm / (1 - worst) ** 2 if worst < 1 else np.inf
    else:
        primal = 0.5 * norm + float(bound @ slack)
    return Certificate(primal, value, violation(scores, coef, dual))


def total(certificates):
    """Return one certificate for several machines: objectives add up, the worst violation counts.

    Parameters
    ----------
    certificates : list of Certificate

    Returns
    -------
    Certificate
    """
    return Certificate(
        sum(each.primal for each in certificates),
        sum(each.dual for each in certificates),
        max(each.kkt for each in certificates),
    )


def certify(model, X, y=None, sample_weight=None):
    r"""Recompute the certificate of a fitted model in float64 from raw inputs.

    Support vector machines answer with their objectives, and models of equations with residuals: KernelRidge, for each
    target, with that of its normal equations over the points z_j that carry the solution (all x_i without landmarks),

    .. math:: |K_{zx} W (y - K_{xz} a) - \alpha K_{zz} a| \,/\, |K_{zx} W y|,

    0 wherever the objective has its minimum; KernelPCA, for each component, with that of its eigenvalue,

    .. math:: |H K H v_k - \lambda_k v_k| \,/\, \lambda_1.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, KernelRidge or KernelPCA
        Fitted. Of a search, such as `SVCCV`, its ``best_estimator_``.
    X : points (n)
        The training points, in the order of the fit.
    y : array (n,) or (n, m)
        As in the fit; nothing for a model without.
    sample_weight : array (n,), optional
        As in the fit.

    Returns
    -------
    Certificate or Residuals
        With ``primal``, ``dual``, ``gap`` and ``kkt``, or with ``residuals``.

    Raises
    ------
    TypeError
        For a model of another kind.
    ValueError
        For other rows than those of the fit, by their number.

    Notes
    -----
    Costs n times the number of support vectors kernel values in float64, n^2 for residuals, and keeps none. Nothing
    that the solver stored but the coefficients and intercepts (eigenvectors and eigenvalues) is trusted.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC(kernel="linear").fit(X, y)
    >>> mc.certify(model, X, y).gap < 1e-8
    True
    >>> mc.certify(mc.KernelRidge(kernel="linear").fit(X, y), X, y).residuals < 1e-12
    array([ True])
    """
    recompute = getattr(type(model), "_certify", None)
    if recompute is None:
        raise TypeError(
            "certify takes a fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, KernelRidge or KernelPCA of Mercer (of "
            f"a search its best_estimator_), got {type(model).__module__}.{type(model).__name__}."
        )
    model._require_training_rows(X)
    return recompute(model, X, y, sample_weight)
