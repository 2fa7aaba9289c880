"""Random Fourier features: cosines and sines of random frequencies that approximate a stationary kernel."""

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from mercer._common import check_integer
from mercer._compute.points import as_rows
from mercer.kernels.base import Kernel, require_resolved
from mercer.kernels.coordinatewise import Laplacian
from mercer.kernels.radial import Gaussian, Matern
from mercer.linalg.generator import generator


@dataclass(frozen=True)
class FourierFeatures:
    r"""The map z(x) = m^(-1/2) (cos(W'x), sin(W'x)); z(x).z(y) approximates k(x, y), and z(x).z(x) = 1.

    Attributes
    ----------
    frequencies : array (d, m)
        W, one frequency per column.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import FourierFeatures
    >>> FourierFeatures(np.array([[np.pi]]))(np.array([[0.0], [1.0]])).round(9)
    array([[ 1.,  0.],
           [-1.,  0.]])
    """

    frequencies: np.ndarray

    def __call__(self, X):
        """Return the features of points.

        Parameters
        ----------
        X : rows (n, d)
            Dense or sparse.

        Returns
        -------
        array (n, 2 m)
        """
        X = as_rows(X)
        d, m = self.frequencies.shape
        if X.shape[1] != d:
            raise ValueError(f"X must have {d} features, as the frequencies have; got {X.shape[1]}.")
        phase = X @ self.frequencies.astype(X.dtype)
        return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / np.sqrt(m).astype(X.dtype)


def random_fourier(kernel, n_features_in, m, *, orthogonal=False, random_state=None):
    r"""Return random Fourier features of a stationary kernel: m frequencies drawn from its spectral density.

    .. math:: k(x - y) = \int p(w) \cos(w'(x - y)) dw, \qquad w_1, \dots, w_m \sim p

    The density p is normal with variances 2 gamma (Gaussian), a product of Cauchy densities of scale gamma
    (Laplacian), or a t density with 2 nu degrees of freedom and scale 1 / length (Matern).

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Matern
        Resolved.
    n_features_in : int
        d, the number of features of points.
    m : int
        Number of frequencies; the features are twice as many.
    orthogonal : bool
        Draw orthogonal directions for every d frequencies: also unbiased, with a smaller variance. For kernels of the
        Euclidean distance, whose density does not depend on the direction.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    FourierFeatures

    Raises
    ------
    TypeError
        For other kernels, and for orthogonal frequencies of a Laplacian kernel.

    Notes
    -----
    The standard deviation of a dot product is at most m^(-1/2), so a tenth of the error needs a hundred times the
    features. Landmarks need fewer where the spectrum decays.

    References
    ----------
    Rahimi, Recht, *Random features for large-scale kernel machines*, NIPS 20 (2007), figure 1.
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, *Orthogonal random features*, NIPS 29 (2016), eq. (3).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import random_fourier
    >>> X = np.array([[0.0, 0.0], [1.0, 0.5]])
    >>> z = random_fourier(mc.Gaussian(0.5), 2, 20_000, random_state=0)(X)
    >>> bool(abs(z[0] @ z[1] - np.exp(-0.625)) < 0.02)
    True
    """
    check_integer("n_features_in", n_features_in)
    check_integer("m", m)
    if isinstance(kernel, Kernel):
        require_resolved(kernel)
    return FourierFeatures(_frequencies(kernel, n_features_in, m, orthogonal, generator(random_state)))


@singledispatch
def _frequencies(kernel, *_):
    """Return m frequencies (d, m) drawn from the spectral density of a kernel."""
    raise TypeError(
        f"kernel must be Gaussian, Laplacian or Matern, whose spectral density is known; got {type(kernel).__name__}. "
        "For other kernels use Nystroem or KernelMap(landmarks=...)."
    )


@_frequencies.register
def _(kernel: Gaussian, d, m, orthogonal, rng):
    return np.sqrt(2 * kernel.gamma * rng.chisquare(d, m)) * _directions(d, m, orthogonal, rng)


@_frequencies.register
def _(kernel: Matern, d, m, orthogonal, rng):
    radii = np.sqrt(rng.chisquare(d, m) * 2 * kernel.nu / rng.chisquare(2 * kernel.nu, m)) / kernel.length
    return radii * _directions(d, m, orthogonal, rng)


@_frequencies.register
def _(kernel: Laplacian, d, m, orthogonal, rng):
    if orthogonal:
        raise TypeError(
            "orthogonal = True must not be used with a Laplacian kernel, whose density depends on the direction; use "
            "orthogonal=False, or Matern(nu=0.5), which takes the Euclidean distance."
        )
    return kernel.gamma * rng.standard_cauchy((d, m))


def _directions(d, m, orthogonal, rng):
    """Return m unit vectors (d, m), each uniform on the sphere; in orthogonal groups of d if ``orthogonal``."""
    size = -(-m // d) * d if orthogonal else m
    normal = rng.standard_normal((d, size))
    if not orthogonal:
        return normal / np.linalg.norm(normal, axis=0)
    # the signs of R make Q uniform over all rotations and reflections
    parts = [np.linalg.qr(normal[:, i : i + d]) for i in range(0, size, d)]
    return np.hstack([Q * np.sign(np.diagonal(R)) for Q, R in parts])[:, :m]
