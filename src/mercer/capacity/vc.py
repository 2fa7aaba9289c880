"""Vapnik's VC bounds: confidence term, bound for a known VC dimension, and the dimension from a margin."""

import numpy as np

from mercer._common import check_confidence, check_integer, check_number, check_positive, shown
from mercer.capacity._model import Model, require_model
from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound


def vc_confidence(h: float, n: int, confidence: float = 0.95) -> float:
    r"""Return the term that Vapnik's bound adds to the training error.

    .. math:: \sqrt{\frac{h (\log(2 n / h) + 1) - \log(\eta / 4)}{n}}

    Parameters
    ----------
    h : float
        VC dimension, above 0.
    n : int
        Number of points.
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
    h = float(h)
    eta = 1 - check_confidence(confidence)
    if h > n:
        return np.inf
    return float(np.sqrt((h * (np.log(2.0 * n) - np.log(h) + 1) - np.log(eta / 4)) / n))


def vc_bound(training_error: float, h: int, n: int, confidence: float = 0.95) -> Bound:
    r"""Return Vapnik's bound of the error for a class of functions of known VC dimension.

    .. math:: R \le R_{emp} + \sqrt{\frac{h (\log(2 n / h) + 1) - \log(\eta / 4)}{n}}

    Parameters
    ----------
    training_error : float
        Share of the n points that the function misclassifies.
    h : int
        VC dimension of the class, which must be fixed before the sample is drawn: N + 1 for hyperplanes of R^N.
    n : int
    confidence : float
        1 - eta, between 0 and 1.

    Returns
    -------
    Bound

    Raises
    ------
    ValueError
        If h is above n.

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
        raise ValueError(f"training_error = {shown(training_error)} must be between 0 and 1.")
    check_integer("h", h)
    check_integer("n", n)
    if h > n:
        raise ValueError(
            f"h = {shown(h)} must be at most n = {n}: the bound needs as many points as dimensions."
        )
    value = float(training_error) + vc_confidence(h, n, confidence)
    statement = (
        f"The error is at most {value:.3g} for all functions of a class of VC dimension {h:g}."
    )
    assumptions = ("a class of functions fixed before the sample was drawn",)
    return Bound("VC", value, statement, "error", confidence, assumptions)


def vc_margin(model: Model, ball: Ball | None = None, *, confidence: float = 0.95) -> Bound:
    r"""Return Vapnik's bound with the VC dimension estimated from the margin, h = R^2 |w|^2 + 1.

    Points with a margin y_i f(x_i) below 1 count as errors.

    Parameters
    ----------
    model : Model
        Of a classifier.
    ball : Ball, optional
        Smallest ball around the points; computed by default.
    confidence : float

    Returns
    -------
    Bound
        A heuristic. Radius and norm depend on the sample, so the class is not fixed before the sample is drawn; a bound
        would need a union over a grid of both, and Vapnik's theorem covers only hyperplanes that leave points inside
        the margin unclassified. `rademacher` is a bound.

    References
    ----------
    Vapnik (1995), theorem 5.1; section II of Mueller et al. (2001).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> bound = mc.capacity.vc_margin(mc.capacity.model(mc.SVC(C=0.1, kernel="linear").fit(X, y), X, y))
    >>> bound.kind, bound.vacuous
    ('heuristic', False)
    """
    require_model(model)
    ball = smallest_ball(model.kernel, model.points) if ball is None else ball
    h = (ball.radius * model.norm) ** 2 + 1
    n = len(model)
    # support vectors on the margin have y f(x) = 1 up to rounding
    failed = float(np.mean(model.margins < 1 - 1e-6))
    value = failed + vc_confidence(h, n, confidence)
    statement = (
        f"{failed:.1%} of the points lie within the margin; a VC dimension of R^2 |w|^2 + 1 = {h:.3g} would limit the "
        f"error to {value:.3g}."
    )
    return Bound(
        "VC margin",
        value,
        statement,
        "error",
        None,
        ("radius and norm fixed before the sample was drawn",),
    )
