"""Amari and Wu's conformal kernel, which magnifies volume near a decision boundary."""

from typing import Any

import numpy as np

from mercer._common import check_squared, shown
from mercer.expansion import Expansion
from mercer.kernels import Gaussian, Rescaled
from mercer.kernels.base import Kernel


def magnify(model: Any, width: float) -> Kernel:
    r"""Return Amari and Wu's conformal kernel, which magnifies volume around the support vectors of a fitted model.

    .. math:: \tilde k(x, z) = c(x)\, k(x, z)\, c(z), \qquad c(x) = \sum_i \exp(-|x - x_i|^2 / (2 w^2))

    over the support vectors x_i, which lie near the decision boundary. There the volume element of a radial kernel
    grows by at least the factor c^N, so that a model refitted with this kernel separates the classes better.

    The kernel is ``Rescaled(k, Expansion(Gaussian(1 / (2 * w**2)), support_vectors, ones))``.

    Parameters
    ----------
    model : fitted estimator
        With ``kernel_`` and ``support_vectors_`` that are rows of numbers.
    width : float
        w, above 0. Amari and Wu use sigma / sqrt(N) for a Gaussian kernel of width sigma in N dimensions.

    Returns
    -------
    Rescaled

    Raises
    ------
    TypeError
        When the support vectors are not rows of numbers, as with a precomputed kernel.
    ValueError
        When width is not above 0.

    References
    ----------
    Amari, Wu, *Improving support vector machine classifiers by modifying kernel functions*, Neural Networks 12 (1999),
    783-789.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> svc = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, X[:, 0] > 0)
    >>> k = mc.manifold.magnify(svc, 0.5)
    >>> near, far = mc.manifold.volume_element(k, np.array([[0.0, 0.0], [6.0, 0.0]]))
    >>> bool(near > 100 * far)
    True
    """
    width = check_squared("width", width)
    missing = [name for name in ("kernel_", "support_vectors_") if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"{type(model).__name__} has no {' and no '.join(missing)}; use a fitted SVC."
        )
    if model.kernel_.tags.points != "rows":
        raise TypeError(
            f"{shown(model.kernel_)} takes {model.kernel_.tags.points}, but magnify needs rows of numbers."
        )
    vectors = model.support_vectors_
    bumps = Expansion(Gaussian(0.5 / width**2), vectors, np.ones(vectors.shape[0], vectors.dtype))
    return Rescaled(model.kernel_, bumps)
