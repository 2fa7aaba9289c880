"""How far a fitted machine is from its optimum: primal and dual objective, their gap, the worst violation."""

from dataclasses import dataclass

import numpy as np


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
    top = np.max(scores, where=coef < dual.upper, initial=-np.inf)
    bottom = np.min(scores, where=coef > dual.lower, initial=np.inf)
    value = float(dual.target @ coef) - 0.5 * norm
    if np.isinf(bound).any():
        # the normal, stretched until no point has slack
        worst = float(slack.max())
        primal = 0.5 * norm / (1 - worst) ** 2 if worst < 1 else np.inf
    else:
        primal = 0.5 * norm + float(bound @ slack)
    return Certificate(primal, value, max(0.0, float(top - bottom)))


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


def certify(model, X, y, sample_weight=None):
    """Recompute the certificate of a fitted machine in float64 from raw inputs.

    Parameters
    ----------
    model : SVC
        Fitted.
    X : points (n)
        The training points, in the order of the fit.
    y : array (n,)
    sample_weight : array (n,), optional
        As in the fit.

    Returns
    -------
    Certificate
        With ``primal``, ``dual``, ``gap`` and ``kkt``.

    Notes
    -----
    Costs n times the number of support vectors kernel values in float64. Nothing that the solver stored but the
    coefficients and intercepts is trusted.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC(kernel="linear").fit(X, y)
    >>> mc.certify(model, X, y).gap < 1e-8
    True
    """
    return model._certify(X, y, sample_weight)
