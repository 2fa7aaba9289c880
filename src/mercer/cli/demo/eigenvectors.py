"""Principal directions of feature space as pictures, in two ways."""

from dataclasses import dataclass

import numpy as np

from mercer.estimators.kernel_pca import KernelPCA
from mercer.kernels import Polynomial
from mercer.preimages import ray


@dataclass(frozen=True)
class Pictures:
    """The first principal directions, seen from input space.

    Attributes
    ----------
    rays : array (n, d)
        Points z whose multiples of phi(z) are nearest to the directions.
    cosines : array (n,)
        |<u, phi(z)>| / (|u| |phi(z)|): 1 where the direction is a multiple of phi(z).
    values : array (n, d)
        <phi(e_i), u> at the canonical basis vectors e_i, less the value at the origin.
    """

    rays: np.ndarray
    cosines: np.ndarray
    values: np.ndarray


def see(X, n=8, degree=3):
    """Return pictures of the first n principal directions of a polynomial kernel.

    Parameters
    ----------
    X : array (n_points, d)
    n : int
    degree : int
        Of the kernel (<x, z> / d + 1)^degree.

    Returns
    -------
    Pictures
    """
    d = X.shape[1]
    directions = KernelPCA(n, kernel=Polynomial(degree, gamma=1.0 / d, coef0=1.0)).fit(X).expansion_
    found = ray(directions)
    cosines = np.sqrt(np.clip(1.0 - found.sqdist / directions.norms() ** 2, 0.0, 1.0))
    values = directions(np.eye(d)) - directions(np.zeros((1, d)))
    return Pictures(found.points, cosines, values.T)
