"""Three clusters in the plane, and what kernels see in them."""

import warnings
from dataclasses import dataclass

import numpy as np

from mercer.estimators.kernel_pca import KernelPCA
from mercer.gram import Gram
from mercer.kernels import Gaussian, Sigmoid

CENTRES = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
REGION = (-1.0, 1.0, -0.5, 1.0)
GAINS = (0.1, 1.0, 5.0, 10.0)


@dataclass(frozen=True)
class Indefinite:
    """Kernel PCA with one tanh kernel.

    Attributes
    ----------
    gain : float
    pca : KernelPCA
    smallest, largest : float
        Eigenvalues of the centred Gram matrix.
    warning : str
        What the fit said about its negative part; empty where it said nothing.
    """

    gain: float
    pca: KernelPCA
    smallest: float
    largest: float
    warning: str


def three_clusters(rng, n=30, width=0.1):
    """Return n points around each of three centres (3 n, 2).

    References
    ----------
    Schoelkopf, Smola, Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural Computation
    10 (1998), figure 4.
    """
    return np.concatenate([rng.normal(centre, width, (n, 2)) for centre in CENTRES])


def gaussian_components(X, n_components=8):
    """Return kernel PCA of the points with exp(-|x - z|^2 / 0.1), as in the figure of 1998."""
    return KernelPCA(n_components, kernel=Gaussian(10.0)).fit(X)


def tanh_components(X, gains=GAINS):
    """Return kernel PCA with tanh(gain <x, z> + 1) for some gains, and how indefinite the matrices are.

    Returns
    -------
    list of Indefinite
    """
    return [_tanh(X, gain) for gain in gains]


def _tanh(X, gain):
    kernel = Sigmoid(gamma=gain, coef0=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pca = KernelPCA(2, kernel=kernel).fit(X)
    said = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    spectrum = np.linalg.eigvalsh(_centred(Gram(kernel, X).dense()))
    return Indefinite(gain, pca, float(spectrum[0]), float(spectrum[-1]), " ".join(said))


def _centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
