"""The PAC-Bayes margin bound: a machine as the mean of a Gaussian of machines."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, xlogy

from mercer.capacity._model import augmented
from mercer.capacity.bound import Bound, probability

# Distances of the posterior from the prior that the union bound pays for.
_DISTANCES = 2.0 ** np.arange(-2, 10, 0.5)


def pac_bayes(machine, *, confidence=0.95):
    r"""Return the PAC-Bayes margin bound of the error.

    .. math:: \mathrm{kl}(\hat{Q_\mu} \| Q_\mu) \le \frac{\mu^2 / 2 + \ln((n + 1) / \delta)}{n}, \qquad
        \hat{Q_\mu} = \frac1n \sum_i \tfrac12 \mathrm{erfc}(\mu \gamma_i / \sqrt2), \qquad
        \gamma_i = \frac{y_i f(x_i)}{|w| \sqrt{k(x_i, x_i)}}

    Q is the error of a machine drawn from the Gaussian around mu w / |w|, and that of the machine itself at most
    twice as large. The bias is a coordinate, of the kernel k + 1; delta is shared among the 24 mu that are tried.

    Parameters
    ----------
    machine : Machine
        Of any classifier.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound
        Usually the tightest of those that hold.

    References
    ----------
    Langford, Shawe-Taylor, *PAC-Bayes & margins*, NIPS 15 (2002), theorem 3.1 and corollary 3.3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    >>> X[:, 0] += 6 * y
    >>> machine = mc.capacity.machine(mc.SVC(kernel=mc.Gaussian(0.02)).fit(X, y), X, y)
    >>> mc.capacity.pac_bayes(machine).value < 0.5
    True
    """
    delta = (1 - probability(confidence)) / len(_DISTANCES)
    wide, n = augmented(machine), len(machine)
    # a point at the origin of feature space is told nothing
    lengths = np.maximum(wide.norm * np.sqrt(np.maximum(wide.diagonal, 0)), 1e-300)
    cosines = wide.margins / lengths
    drawn = 0.5 * erfc(_DISTANCES[:, None] * cosines / np.sqrt(2)).mean(axis=1)
    budgets = (_DISTANCES**2 / 2 + np.log((n + 1) / delta)) / n
    values = [_largest(q, budget) for q, budget in zip(drawn, budgets, strict=True)]
    best = int(np.argmin(values))
    value = 2 * float(values[best])
    return Bound(
        "PAC-Bayes margin",
        value,
        f"The error is at most {value:.3g}: machines drawn around this one, {_DISTANCES[best]:.3g} from the origin, "
        f"err on {drawn[best]:.1%} of the points.",
        "error",
        confidence,
        ("a kernel that was fixed before the points were seen",),
    )


def _largest(q, budget):
    """Return the largest p with kl(q || p) <= budget, for q < 1."""

    def excess(p):
        return xlogy(q, q / p) + xlogy(1 - q, (1 - q) / (1 - p)) - budget

    top = 1 - 1e-12
    if q >= top or excess(top) <= 0:
        return 1.0
    return float(brentq(excess, max(q, 1e-300), top, xtol=1e-12))
