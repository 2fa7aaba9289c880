"""Digits that ship with scikit-learn, noise on them, and ways to take it off, all tuned alike."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as RidgeKernelPCA
from sklearn.model_selection import ParameterGrid, train_test_split

from mercer.estimators.kernel_pca import KernelPCA
from mercer.kernels import Gaussian
from mercer.preimages.learned import Learned


@dataclass(frozen=True)
class Setting:
    """Sizes and grids of the experiment; the defaults are those of `mercer demo`.

    Attributes
    ----------
    n_train, n_test : int
        Digits to learn from, and digits to denoise.
    noise : float
        Standard deviation of Gaussian noise; pixels lie between 0 and 1.
    seed : int
        Of the split and of the noise.
    linear, ridge, kernel, learned : dict
        What the tuning tries, all combinations: for linear PCA, for scikit-learn's KernelPCA, and for Mercer's with
        fixed-point and with learned pre-images.
    """

    n_train: int = 1000
    n_test: int = 500
    noise: float = 0.25
    seed: int = 0
    linear: dict = field(default_factory=lambda: {"n_components": [4, 8, 12, 14, 16, 20, 24, 32]})
    ridge: dict = field(
        default_factory=lambda: {
            "n_components": [64, 128],
            "gamma": [0.005, 0.01, 0.02],
            "alpha": [0.003, 0.01, 0.03],
        }
    )
    kernel: dict = field(default_factory=lambda: {"n_components": [64, 128, 256], "gamma": [0.1, 0.2, 0.3]})
    learned: dict = field(default_factory=lambda: {"ridge": [0.03, 0.1, 0.3]})

    def corrupt(self, X, rng):
        """Return X with Gaussian noise."""
        return X + rng.normal(0.0, self.noise, X.shape)


@dataclass(frozen=True)
class Data:
    """Digits (n, 64) between 0 and 1: to learn from, to tune with, to judge by.

    ``train`` is ``fit`` and ``held``; the test digits are seen once, at the end.
    """

    train: np.ndarray
    fit: np.ndarray
    held: np.ndarray
    held_noisy: np.ndarray
    test: np.ndarray
    test_noisy: np.ndarray


@dataclass(frozen=True)
class Way:
    """A way to denoise.

    Attributes
    ----------
    name : str
    fit : callable
        ``fit(X, **parameters)`` returns a model.
    denoise : callable
        ``denoise(model, noisy)`` returns digits.
    grid : dict
        Parameters to try.
    kept : callable
        ``kept(model)``, how many numbers the model needs to denoise.
    """

    name: str
    fit: Callable
    denoise: Callable
    grid: dict
    kept: Callable


@dataclass(frozen=True)
class Outcome:
    """What a way did on the test digits.

    Attributes
    ----------
    name : str
    images : array (n_test, 64)
        Its digits.
    error : float
        Mean squared distance to the clean digits.
    parameters : dict
        The best ones on held-out training digits.
    model : object
        Fitted to all training digits.
    seconds : dict
        "tune", "fit" and "denoise".
    kept : int
        Numbers the model needs to denoise.
    """

    name: str
    images: np.ndarray
    error: float
    parameters: dict
    model: object
    seconds: dict
    kept: int


def load(setting):
    """Return the digits, split and corrupted; every class has its share in every part."""
    digits = load_digits()
    rng = np.random.default_rng(setting.seed)
    share = {"random_state": setting.seed}
    train, test, labels, _ = train_test_split(
        digits.data / 16.0,
        digits.target,
        train_size=setting.n_train,
        test_size=setting.n_test,
        stratify=digits.target,
        **share,
    )
    fit, held = train_test_split(train, test_size=0.25, stratify=labels, **share)
    return Data(train, fit, held, setting.corrupt(held, rng), test, setting.corrupt(test, rng))


def ways(setting):
    """Return what is compared: linear PCA, scikit-learn's KernelPCA, and Mercer's with two kinds of pre-images."""

    def learned(X, ridge):
        # The map is learned by the first answer; of the components it needs none.
        pca = KernelPCA(1, kernel=Gaussian(0.2), preimage=Learned(noise=setting.corrupt, ridge=ridge)).fit(X)
        pca.denoise(X[:1])
        return pca

    return [
        Way("linear PCA", _linear_pca, _project, setting.linear, lambda pca: pca.components_.size + pca.mean_.size),
        Way("scikit-learn KernelPCA", _ridge_kernel_pca, _project, setting.ridge, _kept_by_ridge),
        Way("Mercer, fixed point", _kernel_pca, KernelPCA.denoise, setting.kernel, _kept_by_mercer),
        Way("Mercer, learned", learned, KernelPCA.denoise, setting.learned, lambda pca: 2 * pca.expansion_.points.size),
    ]


def compare(data, setting, say):
    """Tune every way on training digits, fit it to all of them, and denoise the test digits.

    Returns
    -------
    list of Outcome
    """
    outcomes = []
    for way in ways(setting):
        say(f"denoising digits: {way.name}")
        outcomes.append(_judge(way, data))
    return outcomes


def error(images, clean):
    """Return the mean squared distance between rows."""
    return float(np.mean(np.sum((images - clean) ** 2, axis=1)))


def _judge(way, data):
    start = time.perf_counter()
    parameters = _tune(way, data)
    tuned = time.perf_counter()
    model = way.fit(data.train, **parameters)
    fitted = time.perf_counter()
    images = _denoise(way, model, data.test_noisy)
    done = time.perf_counter()
    seconds = {"tune": tuned - start, "fit": fitted - tuned, "denoise": done - fitted}
    return Outcome(way.name, images, error(images, data.test), parameters, model, seconds, way.kept(model))


def _tune(way, data):
    """Return the parameters with the least error on held-out training digits."""

    def loss(parameters):
        model = way.fit(data.fit, **parameters)
        return error(_denoise(way, model, data.held_noisy), data.held)

    return min(ParameterGrid(way.grid), key=loss)


def _denoise(way, model, noisy):
    """Return digits, clipped to the range of pixels: every way gets what one of them does by itself."""
    return np.clip(way.denoise(model, noisy), 0.0, 1.0)


def _linear_pca(X, n_components):
    return PCA(n_components).fit(X)


def _ridge_kernel_pca(X, n_components, gamma, alpha):
    return RidgeKernelPCA(n_components, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True).fit(X)


def _kernel_pca(X, n_components, gamma):
    return KernelPCA(n_components, kernel=Gaussian(gamma), preimage="fixed_point").fit(X)


def _project(model, noisy):
    return model.inverse_transform(model.transform(noisy))


def _kept_by_ridge(pca):
    return pca.X_fit_.size + pca.eigenvectors_.size + pca.dual_coef_.size


def _kept_by_mercer(pca):
    return pca.expansion_.points.size + pca.expansion_.coef.size + pca.mean_.coef.size
