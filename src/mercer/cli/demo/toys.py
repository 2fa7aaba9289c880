"""Kernel PCA of three clusters in the plane, with a Gaussian and with tanh kernels."""

import warnings
from dataclasses import dataclass

import numpy as np

from mercer._common import Array
from mercer.estimators.kernel_pca import KernelPCA
from mercer.gram import Gram
from mercer.kernels import Gaussian, Sigmoid

CENTRES = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
REGION = (-1.0, 1.0, -0.5, 1.0)
GAINS = (0.1, 1.0, 5.0, 10.0)


@dataclass(frozen=True)
class Indefinite:
    """Kernel PCA with the kernel tanh(gain <x, z> + 1), extreme eigenvalues of its Gram matrix, and its warning."""

    gain: float
    pca: KernelPCA
    smallest: float
    largest: float
    warning: str


def three_clusters(rng: np.random.Generator) -> Array:
    """Return 30 points around each of three centres (90, 2).

    Schoelkopf, Smola, Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural Computation 10
    (1998), figure 4.
    """
    return np.concatenate([rng.normal(centre, 0.1, (30, 2)) for centre in CENTRES])


def gaussian_components(X: Array) -> KernelPCA:
    """Return the kernel PCA of X, eight components, with the kernel exp(-|x - z|^2 / 0.1), as in that figure."""
    return KernelPCA(8, kernel=Gaussian(10.0)).fit(X)


def tanh_components(X: Array) -> list[Indefinite]:
    """Return an Indefinite for each gain in `GAINS`."""
    return [_tanh(X, gain) for gain in GAINS]


def _tanh(X, gain):
    kernel = Sigmoid(gamma=gain, coef0=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pca = KernelPCA(2, kernel=kernel).fit(X)
    warning = " ".join(str(each.message) for each in caught if issubclass(each.category, UserWarning))
    K = Gram(kernel, X).dense()
    spectrum = np.linalg.eigvalsh(K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean())
    return Indefinite(gain, pca, float(spectrum[0]), float(spectrum[-1]), warning)
