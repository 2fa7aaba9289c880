"""Duals between bounds, whatever the machine: a first feasible point, and how far from the optimum a point is."""

import numpy as np

from mercer.solvers._certify import Certificate
from mercer.solvers.svm.smo import violation


def filled(upper, total):
    """Return coefficients between 0 and ``upper`` of a given sum: the first ones at their bounds.

    Parameters
    ----------
    upper : float64 array (n,)
        At least 0, with a sum of at least ``total`` up to rounding.
    total : float

    Returns
    -------
    float64 array (n,)

    Examples
    --------
    >>> import numpy as np
    >>> filled(np.array([0.5, 0.5, 0.5]), 0.75)
    array([0.5 , 0.25, 0.  ])
    """
    return np.clip(total - (np.cumsum(upper) - upper), 0, upper)


def ridged_certificate(dual, ridge, coef, scores, bias):
    r"""Return the certificate of a point of a dual whose loss is smooth: whose kernel matrix has a ridge.

    .. math:: P - D = \sum_i \max_{l_i \le a \le u_i} v_i(a) - v_i(b_i),\quad
        v_i(a) = a r_i - \epsilon |a| - \tfrac12 \rho_i a^2,\quad r_i = f_i + \rho_i b_i - b_0,\ f = t - (K + \rho) b

    The maximum is the loss of the residual r_i: Huber's between bounds, the squared one without any.

    Parameters
    ----------
    dual : Dual
        With the bounds of the loss, which may be infinite.
    ridge : float64 array (n,)
        rho_i, above 0.
    coef, scores : float64 array (n,)
        The scores with the ridge.
    bias : float

    Returns
    -------
    Certificate
        O(n).
    """
    residual = scores + ridge * coef - bias
    best = np.sign(residual) * np.maximum(np.abs(residual) - dual.tube, 0) / ridge
    best = np.clip(best, dual.lower, dual.upper)
    gap = (best - coef) * (residual - 0.5 * ridge * (best + coef)) - dual.tube * (np.abs(best) - np.abs(coef))
    return _certificate(dual, coef, scores, np.maximum(gap, 0))


def box_certificate(dual, coef, scores, bias):
    r"""Return the certificate of a point of a dual, and of the primal point that belongs to it.

    .. math:: D(b) = t'b - \epsilon |b|_1 - \tfrac12 b'Kb,\quad
        P - D = \sum_i \max_{l_i \le a \le u_i} (a g_i - \epsilon |a|) - (b_i g_i - \epsilon |b_i|),\quad
        g_i = f_i - b_0,\ f = t - Kb

    Each term is at least 0; what the maximum, met at a bound or at 0, stands for is the loss of the machine: hinge,
    epsilon-insensitive, the distance beyond a ball.

    Parameters
    ----------
    dual : Dual
    coef, scores : float64 array (n,)
    bias : float

    Returns
    -------
    Certificate
        O(n).
    """
    excess = scores - bias
    above, below = np.maximum(coef, 0), np.minimum(coef, 0)
    # what a way to 0, on to the upper and on to the lower bound gains, by pieces: nothing cancels
    right, left = excess - dual.tube, excess + dual.tube
    gap = np.maximum((dual.upper - above) * right - below * left, (dual.lower - below) * left - above * right)
    gap = np.maximum(gap, -below * left - above * right)
    return _certificate(dual, coef, scores, gap)


def _certificate(dual, coef, scores, gap):
    """Return the certificate of a point whose terms of the gap are known."""
    value = 0.5 * float(coef @ (dual.target + scores)) - dual.tube * float(np.abs(coef).sum())
    return Certificate(value + float(gap.sum()), value, violation(scores, coef, dual))
