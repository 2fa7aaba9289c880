"""Learned pre-images: the coordinates of input space as vectors of the feature space, found by least squares."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg

from mercer._common import check_integer, check_positive
from mercer.expansion import Expansion, features
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.mapped import Mapped
from mercer.kernels.radial import Matern
from mercer.least_squares import lstsq
from mercer.preimages.base import Found

logger = logging.getLogger(__name__)

# Rows whose kernel values are summed at a time.
_ROWS = 4096


@dataclass(frozen=True)
class Learned:
    r"""Least squares from features to points: linear in psi or, told what the noise is, a denoiser of the points.

    Without ``noise`` the coordinates of the points x_i of psi are regressed on their features: d vectors W of feature
    space, and every psi goes to

    .. math:: z = W'\psi, \qquad W = \arg\min \sum_i |x_i - W'\phi(x_i)|^2 + \mathrm{ridge}\, |W|^2.

    With ``noise`` the points of psi are taken as clean, and of psi nothing else counts. They are corrupted ``copies``
    times, and the clean points are regressed on the corrupted ones: the answer estimates the mean of a clean point
    given its corrupted ``start``. The regression has three parts. The linear answer x B comes first, and shrinks the
    inputs to A x with A = (B B')^(1/4), between the metric of the inputs, which counts all the noise, and that of the
    linear answers, which forgets what they lost. Kernel ridge regression follows, with ``kernel`` on A x, over
    corrupted points as landmarks (Nystroem). Last, answers are projected onto the smallest box around the clean
    points, which brings them nearer to every point in it.

    Parameters
    ----------
    noise : callable, optional
        ``noise(X, rng)`` returns corrupted copies of the rows X (n, d), drawn with the NumPy Generator.
    kernel : Kernel
        Of the regression on corrupted points; rules are resolved on the shrunk landmarks. Where columns have
        neighbours, as pixels have, a sum of kernels of small groups of them helps.
    copies : int
        Corrupted copies of every point.
    landmarks : int
        Corrupted points that carry the answer; at most the number of points of psi.
    ridge : float
        Above 0; the larger, the smoother.
    random_state : int
        Seed of corruption and landmarks.

    Notes
    -----
    Without noise O(n^3) once and O(n (n + d)) per vector. With it copies n landmarks^2 + landmarks^3 operations and
    copies n landmarks kernel values once, and landmarks (d + kernel) per point. What was learned last is remembered.

    References
    ----------
    Bakir, Weston, Schoelkopf, *Learning to find pre-images*, NIPS 16 (2003);
    Honeine, Richard, *Preimage problem in kernel-based machine learning*, IEEE Signal Processing Magazine 28 (2011);
    Vincent, Larochelle, Bengio, Manzagol, *Extracting and composing robust features with denoising autoencoders*, ICML
    (2008), for learning on corrupted copies.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.preimages.learned import Learned
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> phi = mc.features(mc.Gaussian(1.0), np.column_stack([np.cos(angle), np.sin(angle)]))
    >>> Learned(ridge=1e-6).find(phi[:, 0], np.zeros((1, 2))).points.round(3) + 0.0
    array([[1., 0.]])
    >>> circle = Learned(noise=lambda X, rng: X + 0.2 * rng.standard_normal(X.shape))
    >>> circle.find(phi[:, :1], np.array([[1.3, 0.0]])).points.round(1) + 0.0
    array([[1., 0.]])
    """

    noise: Callable | None = None
    kernel: Kernel = Matern(length="median", nu=0.5)
    copies: int = 5
    landmarks: int = 3000
    ridge: float = 0.1
    random_state: int = 0

    def __post_init__(self):
        if self.noise is not None and not callable(self.noise):
            raise TypeError(f"noise must be a function (X, rng) -> corrupted X, or None; got {self.noise!r}.")
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel, got {self.kernel!r}.")
        check_integer("copies", self.copies)
        check_integer("landmarks", self.landmarks)
        check_positive("ridge", self.ridge)
        check_integer("random_state", self.random_state, least=0)

    def require(self, kernel):
        """Take every kernel: least squares needs values only."""

    def find(self, psi, start):
        """Return W'psi, or with noise the clean points expected behind the corrupted ``start``; nothing is iterated."""
        points = psi.points if isinstance(psi.points, np.ndarray) else psi.points.toarray()
        m = len(psi)
        if self.noise is None:
            found = psi.inner(_coordinates(psi.kernel, _Rows(points), self.ridge))
            # the nearest point that the kernel takes
            found = np.maximum(found, 0) if psi.kernel.tags.nonnegative else found
        else:
            found = _denoiser(self, _Rows(points))(start)
        return Found(found, np.ones(m, bool), np.zeros(m, int), ("",) * m)


class _Rows:
    """Rows that are equal, and hash, by content, so that what was learned from them can be looked up."""

    def __init__(self, points):
        self.points = points
        self._content = points.shape, np.ascontiguousarray(points).tobytes()
        self._hash = hash(self._content)

    def __eq__(self, other):
        return self._content == other._content

    def __hash__(self):
        return self._hash


@dataclass(frozen=True)
class _Denoiser:
    """x -> mean + W'phi(A x), projected onto a box."""

    expansion: Expansion
    mean: np.ndarray
    box: tuple[np.ndarray, np.ndarray]

    def __call__(self, X):
        return np.clip(self.mean + self.expansion(X), *self.box)


# One entry each: a long block of vectors comes in parts, over the same points.
@lru_cache(maxsize=1)
def _coordinates(kernel, rows, ridge):
    """Return the d vectors whose inner products with phi(x_i) are nearest to the coordinates of x_i."""
    return lstsq(features(kernel, rows.points), rows.points, ridge)


@lru_cache(maxsize=1)
def _denoiser(method, rows):
    """Learn the way from corrupted to clean rows."""
    clean, rng = rows.points, np.random.default_rng(method.random_state)
    corrupted = np.concatenate([_corrupt(method.noise, clean, rng) for _ in range(method.copies)])
    mean = clean.mean(axis=0)
    targets = np.tile(clean - mean, (method.copies, 1))
    chosen = rng.permutation(len(clean))[: method.landmarks]
    landmarks = _corrupt(method.noise, clean, rng)[chosen]
    kernel = Mapped(method.kernel, _shrinkage(corrupted, targets)).resolve(landmarks)
    coef = _nystroem(kernel, landmarks, corrupted, targets, method.ridge)
    return _Denoiser(Expansion(kernel, landmarks, coef), mean, (clean.min(axis=0), clean.max(axis=0)))


def _corrupt(noise, clean, rng):
    corrupted = np.asarray(noise(clean.copy(), rng), np.float64)
    if corrupted.shape != clean.shape:
        raise ValueError(f"noise(X, rng) must keep the shape {clean.shape} of X, but returned {corrupted.shape}.")
    if not np.isfinite(corrupted).all():
        raise ValueError("noise(X, rng) returned NaN or infinity.")
    return corrupted


def _shrinkage(corrupted, targets):
    """Return A = (B B')^(1/4) (d, d), where B is the linear least squares answer, cut to its numerical rank."""
    B = np.linalg.lstsq(corrupted - corrupted.mean(axis=0), targets, rcond=None)[0]
    U, s, _ = np.linalg.svd(B)
    return (U * np.sqrt(s)) @ U.T


def _nystroem(kernel, Z, X, Y, ridge):
    """Return c (m, d) that minimises |K(X, Z) c - Y|^2 + ridge tr c'K(Z, Z) c, by its normal equations in float64.

    A floor of 10 eps trace on the diagonal keeps directions that are rounding alone out of the answer.
    """
    normal, right = ridge * Gram(kernel, Z).dense(), np.zeros((len(Z), Y.shape[1]))
    for start in range(0, len(X), _ROWS):
        K = Gram(kernel, X[start : start + _ROWS], Z).dense()
        normal += K.T @ K
        right += K.T @ Y[start : start + _ROWS]
    np.fill_diagonal(normal, normal.diagonal() + 10 * np.finfo(np.float64).eps * np.trace(normal))
    coef = scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), right)
    residual = np.linalg.norm(normal @ coef - right) / max(np.linalg.norm(right), np.finfo(np.float64).tiny)
    logger.info("learned from %d points over %d landmarks: relative residual %.1e", len(X), len(Z), residual)
    return coef
