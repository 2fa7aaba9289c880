"""Principal directions of feature space as images of digits."""

from dataclasses import dataclass

import numpy as np

from mercer._common import Array
from mercer.estimators.kernel_pca import KernelPCA
from mercer.kernels import Polynomial
from mercer.preimages import ray


@dataclass(frozen=True)
class Images:
    """The first n principal directions u as images of d pixels.

    Attributes
    ----------
    rays : array (n, d)
        Points z for which a multiple of phi(z) is nearest to u.
    cosines : array (n,)
        |<u, phi(z)>| / (|u| |phi(z)|), 1 if u is a multiple of phi(z).
    values : array (n, d)
        <phi(e_i), u> - <phi(0), u> at the unit vectors e_i.
    """

    rays: np.ndarray
    cosines: np.ndarray
    values: np.ndarray


def images(X: Array, n: int = 8, degree: int = 3) -> Images:
    """Return the first n principal directions of X (n_points, d) under the kernel (<x, z> / d + 1)^degree."""
    d = X.shape[1]
    directions = KernelPCA(n, kernel=Polynomial(degree, gamma=1.0 / d, coef0=1.0)).fit(X).expansion_
    found = ray(directions)
    cosines = np.sqrt(np.clip(1.0 - found.sqdist / directions.norms() ** 2, 0.0, 1.0))
    values = directions(np.eye(d)) - directions(np.zeros((1, d)))
    return Images(found.points, cosines, values.T)
