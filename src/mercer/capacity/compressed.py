"""The compression bound: a machine is what its support vectors make of it."""

import numpy as np
from scipy.special import gammaln

from mercer.capacity._model import require
from mercer.capacity.bound import Bound, probability


def sample_compression(machine, *, confidence=0.95):
    r"""Return the bound of the error that few support vectors give.

    .. math:: R \le 1 - \exp\left(-\frac{\ln \binom nd + \ln n + \ln(1 / \delta)}{n - d}\right)

    for d support vectors: the machine fitted to them alone is the same, and it makes no error on the n - d others.

    Parameters
    ----------
    machine : Machine
        Of a support vector classifier.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound

    References
    ----------
    Littlestone, Warmuth, *Relating data compression and learnability* (1986); Floyd, Warmuth, *Sample compression,
    learnability, and the Vapnik-Chervonenkis dimension*, Machine Learning 21 (1995), theorem 6.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> machine = mc.capacity.machine(mc.SVC(C=1e6, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.sample_compression(machine).value < 0.1
    True
    """
    require(machine, "the compression bound")
    delta = 1 - probability(confidence)
    n, d = len(machine), int(np.sum(machine.coef != 0))
    value = 1.0
    if d < n and machine.on_margin.any():
        choices = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
        value = float(-np.expm1(-(choices + np.log(n) - np.log(delta)) / (n - d)))
    return Bound(
        "compression",
        value,
        f"The error is at most {value:.3g}: {d} of {n} points are support vectors.",
        "error",
        confidence,
        ("a kernel and C that were fixed before the points were seen", "a vector on the margin"),
    )
