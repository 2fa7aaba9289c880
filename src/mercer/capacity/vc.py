"""Vapnik's bounds: the confidence term of a dimension, and the dimension that a margin suggests."""

import numpy as np

from mercer._common import check_integer, check_number, check_positive
from mercer.capacity.ball import smallest_ball
from mercer.capacity.bound import Bound, probability


def vc_confidence(h, n, confidence=0.95):
    r"""Return the term that Vapnik's bound adds to the training error.

    .. math:: \sqrt{\frac{h (\log(2 n / h) + 1) - \log(\eta / 4)}{n}}

    Parameters
    ----------
    h : float
        The VC dimension, above 0.
    n : int
        Points.
    confidence : float
        1 - eta, between 0 and 1.

    Returns
    -------
    float
        Infinity for h > n, where the bound does not hold.

    References
    ----------
    Vapnik, *The nature of statistical learning theory* (1995), section 3.4; eq. (6) of Mueller, Mika, Raetsch, Tsuda,
    Schoelkopf, *An introduction to kernel-based learning algorithms*, IEEE TNN 12 (2001).

    Examples
    --------
    >>> import mercer as mc
    >>> round(mc.capacity.vc_confidence(3, 10_000), 4)
    0.0581
    """
    check_positive("h", h)
    check_integer("n", n)
    eta = 1 - probability(confidence)
    if h > n:
        return np.inf
    return float(np.sqrt((h * (np.log(2 * n / h) + 1) - np.log(eta / 4)) / n))


def vc_bound(training_error, h, n, confidence=0.95):
    """Return Vapnik's bound of the error of a function from a class of known VC dimension.

    Parameters
    ----------
    training_error : float
        Share of the n points that the function gets wrong.
    h : int
        VC dimension of the class, chosen before the points were seen: N + 1 for hyperplanes of N dimensions.
    n : int
    confidence : float

    Returns
    -------
    Bound

    References
    ----------
    Vapnik (1995); eq. (5) and (6) of Mueller et al. (2001).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.capacity.vc_bound(0.1, 3, 10_000).value < 0.16
    True
    """
    check_number("training_error", training_error)
    if not 0 <= training_error <= 1:
        raise ValueError(f"training_error = {training_error!r} must lie between 0 and 1.")
    value = float(training_error) + vc_confidence(h, n, confidence)
    return Bound(
        "VC",
        value,
        f"The error is at most {value:.3g} for all functions of a class of dimension {h:g}.",
        "error",
        confidence,
        ("a class that was chosen before the points were seen",),
    )


def vc_margin(machine, ball=None, *, confidence=0.95):
    r"""Return Vapnik's bound with the dimension that a margin suggests, h <= R^2 |w|^2 + 1.

    Points whose margin y_i f(x_i) is below 1 count as errors.

    Parameters
    ----------
    machine : Machine
        Of a classifier.
    ball : Ball, optional
        The smallest of its points, where it is known.
    confidence : float

    Returns
    -------
    Bound
        A heuristic. Radius and norm come from the same points, so that the class was not chosen before they were seen;
        to be a bound it would pay for a grid of both, and Vapnik's theorem is one of hyperplanes that classify only
        points outside their margin. What does pay is `rademacher`.

    References
    ----------
    Vapnik (1995), theorem 5.1; section II of Mueller et al. (2001).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> bound = mc.capacity.vc_margin(mc.capacity.machine(mc.SVC(C=0.1, kernel="linear").fit(X, y), X, y))
    >>> bound.kind, bound.vacuous
    ('heuristic', False)
    """
    ball = smallest_ball(machine.kernel, machine.points) if ball is None else ball
    h, n = (ball.radius * machine.norm) ** 2 + 1, len(machine)
    # support vectors on the margin are there up to rounding
    failed = float(np.mean(machine.margins < 1 - 1e-6))
    value = failed + vc_confidence(h, n, confidence)
    return Bound(
        "VC margin",
        value,
        f"{failed:.1%} of the points lie within the margin; with a dimension of about R^2 |w|^2 + 1 = {h:.3g} the "
        f"error would be at most {value:.3g}.",
        "error",
        None,
        ("radius and norm that were known before the points were seen",),
    )
