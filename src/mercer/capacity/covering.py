"""Covering numbers of a ball of functions on a sample, from the eigenvalues of the Gram matrix."""

import numpy as np

from mercer._common import check_positive
from mercer.capacity._spectrum import Spectrum, require_uncentred


def log_covering_number(spectrum: Spectrum, epsilon: float, radius: float = 1.0) -> float:
    r"""Return a bound of the log covering number, on the sample, of the functions of norm at most ``radius``.

    In the norm sqrt(mean f(x_i)^2) these functions form an ellipsoid with half-axes a_i = radius sqrt(lambda_i / n).
    For every d with a_(d+1) < epsilon

    .. math:: \log N(\epsilon) \le \sum_{i \le d} \log \max\left(\frac{4 a_i}{e}, 2\right), \qquad
              e^2 = \epsilon^2 - a_{d+1}^2

    and the smallest value over d is returned.

    Parameters
    ----------
    spectrum : Spectrum
        Not centred, and complete or with the leading eigenvalues.
    epsilon : float
        Radius of the covering balls, above 0.
    radius : float
        Above 0.

    Returns
    -------
    float
        Infinity when too few eigenvalues were computed for this epsilon.

    Notes
    -----
    Proof by volumes: an ellipsoid of d half-axes plus a ball of radius e / 2 lies in twice the ellipsoid of half-axes
    max(a_i, e / 2), which holds at most as many disjoint balls of radius e / 2 as the ratio of volumes.

    References
    ----------
    Williamson, Shawe-Taylor, Schoelkopf, Smola, *Sample based generalization bounds*, NeuroCOLT NC-TR-99-055 (1999),
    for the use of Gram eigenvalues.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> plain = mc.capacity.spectrum(mc.Gaussian(0.5), X, centre=False)
    >>> mc.capacity.log_covering_number(plain, 1.5), mc.capacity.log_covering_number(plain, 0.1) > 5
    (0.0, True)
    """
    check_positive("epsilon", epsilon)
    check_positive("radius", radius)
    require_uncentred(spectrum)
    axes = radius * np.sqrt(spectrum.values / spectrum.n)
    # first omitted axis a_(d+1), for d = 0, 1, ...; it is not known for d = k unless the spectrum is complete
    omitted = np.append(axes, 0.0) if spectrum.complete else axes
    d = np.flatnonzero(omitted < epsilon)
    # the root of epsilon^2 - a^2 without squares, which may overflow
    e = np.sqrt(epsilon - omitted[d]) * np.sqrt(epsilon + omitted[d])
    # of the first d axes, those above e / 2 count log(4 a / e) and the others log 2
    above = np.minimum(len(axes) - np.searchsorted(axes[::-1], e / 2), d)
    with np.errstate(divide="ignore"):
        sums = np.append(0.0, np.cumsum(np.log(axes)))[above]
    return float(
        np.min(sums + above * (np.log(4) - np.log(e)) + (d - above) * np.log(2), initial=np.inf)
    )
