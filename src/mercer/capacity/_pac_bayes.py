"""PAC-Bayes margin bound of the error."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, xlogy

from mercer._common import check_confidence
from mercer.capacity._model import Model, augmented, require_model
from mercer.capacity.bound import FIXED_KERNEL, Bound

# Grid of mu; the union bound shares delta among its values.
_DISTANCES = 2.0 ** np.arange(-2, 10, 0.5)


def pac_bayes(model: Model, *, confidence: float = 0.95) -> Bound:
    r"""Return the PAC-Bayes margin bound of the error.

    .. math:: \mathrm{kl}(\hat{Q_\mu} \| Q_\mu) \le \frac{\mu^2 / 2 + \ln((n + 1) / \delta)}{n}, \qquad
        \hat{Q_\mu} = \frac1n \sum_i \tfrac12 \mathrm{erfc}(\mu \gamma_i / \sqrt2), \qquad
        \gamma_i = \frac{y_i f(x_i)}{|w| \sqrt{k(x_i, x_i)}}

    Q is the error of a linear classifier drawn from the unit Gaussian around mu w / |w|; the error of w itself is at
    most 2 Q. The kernel is k + 1, which makes the bias a coordinate. delta is shared among 24 values of mu.

    Parameters
    ----------
    model : Model
        Of any classifier.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound
        Usually the smallest bound of those that hold.

    References
    ----------
    Langford, Shawe-Taylor, *PAC-Bayes & margins*, NIPS 15 (2002), theorem 3.1 and corollary 3.3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    >>> X[:, 0] += 6 * y
    >>> model = mc.capacity.model(mc.SVC(kernel=mc.Gaussian(0.02)).fit(X, y), X, y)
    >>> mc.capacity.pac_bayes(model).value < 0.5
    True
    """
    require_model(model)
    delta = (1 - check_confidence(confidence)) / len(_DISTANCES)
    wide = augmented(model)
    n = len(model)
    # a point at the origin has cosine 0
    lengths = np.maximum(wide.norm * np.sqrt(np.maximum(wide.diagonal, 0)), 1e-300)
    cosines = wide.margins / lengths
    empirical = 0.5 * erfc(_DISTANCES[:, None] * cosines / np.sqrt(2)).mean(axis=1)
    divergences = (_DISTANCES**2 / 2 + np.log((n + 1) / delta)) / n
    values = [_invert_kl(q, limit) for q, limit in zip(empirical, divergences, strict=True)]
    best = int(np.argmin(values))
    value = 2 * float(values[best])
    statement = (
        f"The error is at most {value:.3g}: classifiers drawn at distance mu = {_DISTANCES[best]:.3g} misclassify "
        f"{empirical[best]:.1%} of the points."
    )
    return Bound("PAC-Bayes margin", value, statement, "error", confidence, (FIXED_KERNEL,))


def _invert_kl(q, limit):
    """Return the largest p with kl(q || p) <= limit, for q < 1."""

    def excess(p):
        return xlogy(q, q / p) + xlogy(1 - q, (1 - q) / (1 - p)) - limit

    top = 1 - 1e-12
    if q >= top or excess(top) <= 0:
        return 1.0
    return float(brentq(excess, max(q, 1e-300), top, xtol=1e-12))
