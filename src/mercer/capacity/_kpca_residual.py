"""Bound of the residual that kernel PCA leaves at new points."""

import numpy as np

from mercer._common import Memory, PointsLike, Seed, as_float64, check_confidence, check_integer
from mercer.capacity._spectrum import mapped, spectrum
from mercer.capacity.bound import FIXED_KERNEL, Bound
from mercer.kernels.base import Kernel


def kpca_residual(
    kernel: Kernel,
    X: PointsLike,
    n_components: int,
    *,
    confidence: float = 0.95,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Bound:
    r"""Return a bound of the expected squared distance of phi(x) to the span of leading uncentred components.

    .. math:: E |P^\perp \phi(x)|^2 \le \min_{1 \le l \le k}\left[\frac1n \sum_{i > l} \lambda_i
        + \frac{1 + \sqrt l}{\sqrt n} \sqrt{\frac2n \sum_i k(x_i, x_i)^2}\right]
        + R^2 \sqrt{\frac{18}{n} \ln \frac{2n}{\delta}}

    Parameters
    ----------
    kernel : Kernel
        Bandwidth rules are resolved on X.
    X : points (n)
    n_components : int
        k, at least 1.
    confidence : float
        1 - delta, between 0 and 1.
    memory, random_state
        As in ``spectrum``.

    Returns
    -------
    Bound
        It holds for all k together. ``trivial`` is R^2, the largest k(x, x) of the sample.

    References
    ----------
    Shawe-Taylor, Williams, Cristianini, Kandola, *On the eigenspectrum of the Gram matrix and the generalization error
    of kernel-PCA*, IEEE Trans. Inform. Theory 51 (2005), theorem 1 and eq. (12).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(1000, 1))
    >>> bound = mc.capacity.kpca_residual(mc.Gaussian(0.1), X, 3)
    >>> bound.vacuous, bound.confidence
    (False, 0.95)
    """
    check_integer("n_components", n_components)
    delta = 1 - check_confidence(confidence)
    phi = mapped(kernel, X)
    found = spectrum(
        phi.kernel, X, n_components, centre=False, memory=memory, random_state=random_state
    )
    diagonal = as_float64(phi.kernel.diag(phi.points))
    n = found.n
    squared_radius = float(diagonal.max())
    tails = np.maximum(found.trace - np.cumsum(found.values), 0.0) / n
    sizes = np.arange(1, len(tails) + 1)
    terms = tails + (1 + np.sqrt(sizes)) / np.sqrt(n) * np.sqrt(2 * np.mean(diagonal**2))
    value = float(terms.min()) + squared_radius * np.sqrt(18 / n * np.log(2 * n / delta))
    assumptions = ["components of the uncentred Gram matrix", FIXED_KERNEL]
    if np.ptp(diagonal) > 1e-6 * abs(squared_radius):
        assumptions.append(f"k(x, x) <= {squared_radius:.3g} for all x, not only on the sample")
    statement = (
        f"The mean squared distance of a new point to the span of {len(tails)} components is at most {value:.3g}; on "
        f"the sample it is {tails[-1]:.3g}."
    )
    name = "kernel-PCA residual"
    quantity = "squared residual"
    return Bound(name, value, statement, quantity, confidence, tuple(assumptions), squared_radius)
