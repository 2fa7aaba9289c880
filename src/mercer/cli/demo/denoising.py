"""Denoising of digits by four methods, all tuned on the same grid protocol, and its chapters of the page."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as RidgeKernelPCA
from sklearn.model_selection import ParameterGrid, train_test_split

from mercer._common import Array, record
from mercer.cli import pictures
from mercer.cli.demo import page
from mercer.cli.demo.page import Chapter
from mercer.estimators.kernel_pca import KernelPCA
from mercer.expansion import features, sqdist
from mercer.kernels import Gaussian
from mercer.plot import ImageGridDisplay
from mercer.preimages import preimage
from mercer.preimages.learned import Learned

# Parameters of a method, and lists of them.
Parameters: TypeAlias = dict[str, object]
# Arrays that two of the models keep.
_RIDGE = ("X_fit_", "eigenvectors_", "dual_coef_")
_KERNEL = ("expansion_.points", "expansion_.coef", "mean_.coef")


class Setting(NamedTuple):
    """Sizes, noise, seed and grids of the experiment; the defaults are those of `mercer demo`.

    The grids are for linear PCA, scikit-learn's KernelPCA, and Mercer's with fixed-point and with learned pre-images.
    """

    n_train: int = 1000
    n_test: int = 500
    noise: float = 0.25
    seed: int = 0
    linear: Parameters = {"n_components": [4, 8, 12, 14, 16, 20, 24, 32]}
    ridge: Parameters = {
        "n_components": [64, 128],
        "gamma": [0.005, 0.01, 0.02],
        "alpha": [0.003, 0.01, 0.03],
    }
    kernel: Parameters = {"n_components": [64, 128, 256], "gamma": [0.1, 0.2, 0.3]}
    learned: Parameters = {"ridge": [0.03, 0.1, 0.3]}

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Return X with Gaussian noise."""
        return X + rng.normal(0.0, self.noise, X.shape)


@record
class Data:
    """Digits (n, 64) between 0 and 1: ``train`` is split into ``fit`` and ``held`` for tuning."""

    train: np.ndarray
    fit: np.ndarray
    held: np.ndarray
    held_noisy: np.ndarray
    test: np.ndarray
    test_noisy: np.ndarray


@record
class Method:
    """A denoising method; ``stored`` names the arrays that its models keep."""

    name: str
    model: Callable
    denoise: Callable
    grid: Parameters
    stored: tuple[str, ...]


@record
class Outcome:
    """The result of a method: denoised test digits, mean squared error, best parameters, model, times and size.

    ``seconds`` has the keys "tune", "fit" and "denoise".
    """

    name: str
    images: np.ndarray
    error: float
    parameters: Parameters
    model: BaseEstimator
    seconds: dict[str, float]
    size: int


def split(setting: Setting) -> list:
    """Return the training digits, the test digits and the labels of both, stratified by class."""
    digits = load_digits()
    y = digits.target
    return train_test_split(
        digits.data / 16.0,
        y,
        train_size=setting.n_train,
        test_size=setting.n_test,
        stratify=y,
        random_state=setting.seed,
    )


def load(setting: Setting) -> Data:
    """Return the Data of a setting, all parts stratified by class."""
    train, test, labels, _ = split(setting)
    rng = np.random.default_rng(setting.seed)
    fit, held = train_test_split(train, test_size=0.25, stratify=labels, random_state=setting.seed)
    return Data(train, fit, held, setting.corrupt(held, rng), test, setting.corrupt(test, rng))


def _methods(setting):
    """Return the methods: linear PCA, scikit-learn's KernelPCA, and Mercer's with two kinds of pre-images."""
    ridge = partial(RidgeKernelPCA, kernel="rbf", fit_inverse_transform=True)
    fixed_point = partial(KernelPCA, kernel="rbf", preimage="fixed_point")

    def learned(ridge):
        # a learned pre-image needs no components
        return KernelPCA(
            1, kernel=Gaussian(0.2), preimage=Learned(noise=setting.corrupt, ridge=ridge)
        )

    return [
        Method("linear PCA", PCA, _project, setting.linear, ("components_", "mean_")),
        Method("scikit-learn KernelPCA", ridge, _project, setting.ridge, _RIDGE),
        Method("Mercer, fixed point", fixed_point, KernelPCA.denoise, setting.kernel, _KERNEL),
        # the coefficients of the map have the shape of the points
        Method(
            "Mercer, learned",
            learned,
            KernelPCA.denoise,
            setting.learned,
            ("expansion_.points",) * 2,
        ),
    ]


def compare(data: Data, setting: Setting, callback: Callable[[str], object]) -> list[Outcome]:
    """Return the Outcome of every method."""
    return [_outcome(method, data, callback) for method in _methods(setting)]


def error(images: Array, clean: Array) -> float:
    """Return the mean squared distance between rows."""
    return np.mean(np.sum((images - clean) ** 2, axis=1))


def _outcome(method, data, callback):
    callback(f"denoising digits: {method.name}")
    start = time.perf_counter()
    parameters = _tune(method, data)
    tuned = time.perf_counter()
    model = _fitted(method, data.train, parameters)
    fitted = time.perf_counter()
    images = _denoise(method, model, data.test_noisy)
    done = time.perf_counter()
    seconds = {"tune": tuned - start, "fit": fitted - tuned, "denoise": done - fitted}
    size = sum(attrgetter(name)(model).size for name in method.stored)
    return Outcome(method.name, images, error(images, data.test), parameters, model, seconds, size)


def _fitted(method, X, parameters):
    model = method.model(**parameters).fit(X)
    # the first call of denoise learns a pre-image map, if any
    method.denoise(model, X[:1])
    return model


def _tune(method, data):
    """Return the parameters of the smallest error on held-out training digits."""

    def loss(parameters):
        model = _fitted(method, data.fit, parameters)
        return error(_denoise(method, model, data.held_noisy), data.held)

    return min(ParameterGrid(method.grid), key=loss)


def _denoise(method, model, noisy):
    """Return denoised digits, clipped to the range of pixels for every method."""
    return np.clip(method.denoise(model, noisy), 0.0, 1.0)


def _project(model, noisy):
    return model.inverse_transform(model.transform(noisy))


# --- chapters: each function returns a heading and HTML --------------------------------------------------------------


SNIPPET = """
import numpy as np, mercer as mc
from sklearn.datasets import load_digits
X = load_digits().data / 16
noisy = X[1000:] + np.random.default_rng(0).normal(0, 0.25, X[1000:].shape)
clean = mc.KernelPCA(256, kernel=mc.Gaussian(0.2)).fit(X[:1000]).denoise(noisy)
"""


def denoising_display(
    data: Data, outcomes: Sequence[Outcome], n_images: int = 10
) -> ImageGridDisplay:
    """Return rows of clean, noisy and denoised digits, with the error of each method in its title."""
    noisy = np.sum((data.test_noisy - data.test) ** 2, axis=1).mean()
    rows = {"clean": data.test, f"noisy: {noisy:.2f}": data.test_noisy}
    rows |= {f"{outcome.name}: {outcome.error:.2f}": outcome.images for outcome in outcomes}
    width = math.isqrt(data.test.shape[1])
    images = np.stack([row[:n_images].reshape(-1, width, width) for row in rows.values()])
    return ImageGridDisplay(images, titles=list(rows))


def chapter(data: Data, setting: Setting, outcomes: Sequence[Outcome]) -> Chapter:
    """Return the chapter on noisy digits; the first outcome is that of linear PCA."""
    linear = outcomes[0].error
    best = np.argmin([outcome.error for outcome in outcomes])
    rows = [
        [
            outcome.name,
            f"{outcome.error:.3f}",
            f"{linear / outcome.error:.2f}",
            _parameters(outcome.parameters),
        ]
        for outcome in outcomes
    ]
    display = denoising_display(data, outcomes)
    alt = f"Rows of ten handwritten digits: {', '.join(display.titles)}."
    caption = f"The first ten of {len(data.test)} test digits; the numbers are mean errors over all of them."
    text = (
        f"<p>{len(data.test)} digits of 8 by 8 pixels between 0 and 1 have Gaussian noise of standard deviation "
        f"{setting.noise:g} added to every pixel. Each method is fitted to the same {len(data.train)} other digits. "
        f"Its parameters are those with the smallest error on {len(data.held)} of these, which were held out and made "
        "noisy; the test digits are not used for tuning. All results are clipped to the range of pixels. The error is "
        "the mean squared distance to the clean digits, and the gain is the error of linear PCA divided by it.</p>"
    )
    header = ["method", "error", "gain", "parameters"]
    figure = pictures.figure(display.plot, (4.9, 0.7 * len(display.titles)), alt, caption)
    return "Denoising digits", text + page.table(header, rows, best) + figure


def cost(data: Data, outcomes: Sequence[Outcome]) -> Chapter:
    """Return the chapter on times, sizes and certificates."""
    rows = [
        [
            outcome.name,
            *(f"{outcome.seconds[part]:.2f}" for part in ("tune", "fit", "denoise")),
            f"{outcome.size:,}".replace(",", "\u202f"),
        ]
        for outcome in outcomes
    ]
    fixed = next(outcome.model for outcome in outcomes if outcome.name == "Mercer, fixed point")
    text = (
        "<p>Seconds by the clock, of one run on one thread of this computer. <q>Tune</q> is the time of all fits to "
        f"{len(data.fit)} digits and of denoising {len(data.held)} after each fit. On a computer that has not used the "
        "kernel before, it includes the seconds that compile its loop. <q>Fit</q> and <q>denoise</q> are the times "
        f"with the best parameters.</p><p>{_certificate(fixed, data.test_noisy)}</p>"
    )
    header = [
        "method",
        "tune, s",
        f"fit to {len(data.train)}, s",
        f"denoise {len(data.test)}, s",
        "numbers stored",
    ]
    return "Times and sizes", page.table(header, rows) + text


def _certificate(pca, noisy):
    psi = pca.reconstruct(pca.transform(noisy))
    found = preimage(psi, "fixed_point", start=noisy)
    before = sqdist(psi, features(psi.kernel, noisy), paired=True).mean()
    return (
        f"Of {len(noisy)} fixed-point pre-images {found.converged.mean():.1%} converged, after "
        f"{found.n_iter.mean():.0f} iterations on average. The mean squared distance in feature space between the "
        f"projection of the noisy digit and the pre-image fell from {before:.4f} at the noisy digit to "
        f"{found.sqdist.mean():.4f}; it is 0 only if an exact pre-image exists."
    )


def _parameters(parameters):
    return ", ".join(
        f"{name.removeprefix('n_')} {value:g}" for name, value in sorted(parameters.items())
    )
