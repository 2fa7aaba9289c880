"""Duals between bounds, whatever the machine: a first feasible point, and how far from the optimum a point is."""

import numpy as np

from mercer.solvers.certificate import Certificate


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


def box_certificate(dual, coef, scores, bias):
    r"""Return the certificate of a point of a dual, and of the primal point that belongs to it.

    .. math:: D(b) = t'b - \tfrac12 b'Kb,\quad P - D = \sum_i \max(u_i g_i, l_i g_i) - b_i g_i,\quad
        g_i = f_i - b_0,\ f = t - Kb

    Each term is at least 0; what max(u g, l g) stands for is the loss of the machine: hinge, epsilon-insensitive, the
    distance beyond a ball.

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
    value = float(dual.target @ coef) - 0.5 * float(coef @ (dual.target - scores))
    gap = np.maximum((dual.upper - coef) * excess, (dual.lower - coef) * excess)
    top = np.max(scores, where=coef < dual.upper, initial=-np.inf)
    bottom = np.min(scores, where=coef > dual.lower, initial=np.inf)
    return Certificate(value + float(gap.sum()), value, max(0.0, float(top - bottom)))
