"""Learned pre-images (Bakir et al.): the coordinates of input space regressed on features by least squares."""

import logging
from collections.abc import Callable

import numpy as np
import scipy.linalg

from mercer._common import EPS, Array, as_float64, check_integer, check_positive, record, shown
from mercer._compute.memory import blocks
from mercer._compute.points import dense
from mercer._compute.register import storable
from mercer._progress import notify
from mercer.expansion import Expansion, features
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Matern
from mercer.least_squares import lstsq, relative
from mercer.preimages.base import Found

_logger = logging.getLogger(__name__)


@storable
@record
class Learned:
    r"""Least squares from features to points (Bakir et al. 2003): linear in psi or, given the noise, a denoiser.

    Without ``noise`` the coordinates of the points x_i of psi are regressed on their features. This gives d vectors W
    of feature space, and the pre-image of psi is

    .. math:: z = W'\psi, \qquad W = \arg\min \sum_i |x_i - W'\phi(x_i)|^2 + \mathrm{ridge}\, |W|^2.

    With ``noise`` the points of psi are taken as clean data, and the result depends on psi only through them. They are
    corrupted ``copies`` times, and the clean points are regressed on the corrupted ones: the result estimates the mean
    of a clean point given its corrupted ``start``. The regression has three steps. A linear least-squares fit u B of
    the inputs u = ``inputs(x)`` comes first; they are then scaled to A u with A = (B B')^(1/4), a metric between that
    of the inputs (where all noise counts) and that of the linear fit (where directions that B removes are lost). Kernel
    ridge regression on A u with ``kernel`` follows, over corrupted points as landmarks (Nystroem). Last, the results
    are projected onto the bounding box of the clean points, which brings them nearer to every point in it.

    Parameters
    ----------
    noise : callable, optional
        ``noise(X, rng)`` returns corrupted copies of the rows X (n, d), drawn with the NumPy Generator.
    kernel : Kernel
        Kernel of the regression on the scaled inputs; rules are resolved on the scaled landmarks. Where columns have
        neighbours, as pixels have, a sum of kernels on small groups of columns helps.
    copies : int
        Corrupted copies of every point.
    landmarks : int
        Corrupted points that span the regression function; at most the number of points of psi.
    ridge : float
        Regularisation parameter, positive; larger values give smoother functions.
    random_state : int
        Seed of corruption and landmarks.
    inputs : callable, optional
        ``inputs(X)`` returns the inputs (m, p) of the regression for corrupted points X (m, d); None means X. Use
        it for knowledge of the noise: values beyond the range of clean ones may be clipped, and columns that say
        which values the noise left as they were halve the error of images where it set pixels to black or white.
        Inputs in float32 are processed in float32, in half the time; its relative error of 1e-6 is far below the noise.

    Notes
    -----
    Without noise O(n^3) once and O(n (n + d)) per vector. With it copies n landmarks^2 + landmarks^3 operations and
    copies n landmarks kernel values once, and landmarks (d + kernel) per point. The latest regression is cached.

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
    inputs: Callable | None = None

    def __post_init__(self) -> None:
        if self.noise is not None and not callable(self.noise):
            raise TypeError(
                f"noise must be a function (X, rng) -> corrupted X, or None; got {shown(self.noise)}."
            )
        if self.inputs is not None and not callable(self.inputs):
            raise TypeError(
                f"inputs must be a function X -> inputs (n, p), or None; got {shown(self.inputs)}."
            )
        if self.inputs is not None and self.noise is None:
            raise ValueError(
                "inputs are those of the regression on corrupted points; give noise=, too."
            )
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel, got {shown(self.kernel)}.")
        check_integer("copies", self.copies)
        check_integer("landmarks", self.landmarks)
        check_positive("ridge", self.ridge)
        check_integer("random_state", self.random_state, least=0)

    def require(self, kernel: Kernel) -> None:
        """Accept every kernel: least squares needs only kernel values."""

    def find(self, psi: Expansion, start: Array) -> Found:
        """Return W'psi, or with noise the expected clean points given the corrupted ``start``."""
        return self.fitted(psi).find(psi, start)

    def fitted(self, psi: Expansion) -> "Fitted":
        """Return the regression on the points of psi, which finds the pre-images of any vectors over them."""
        points = as_float64(dense(psi.points))
        if self.noise is not None:
            denoise = _denoiser(self, points)
            return Fitted(lambda _psi, start: denoise(start))
        W = lstsq(features(psi.kernel, points), points, self.ridge)
        # the nearest point on which the kernel is defined
        least = 0.0 if psi.kernel.tags.nonnegative else -np.inf
        return Fitted(lambda psi, _start: np.maximum(psi.inner(W), least))


@record
class Fitted:
    """The pre-image method of a regression that is known: answers are a function of psi and the start."""

    answers: Callable[[Expansion, Array], Array]

    def require(self, kernel: Kernel) -> None:
        """Accept every kernel."""

    def find(self, psi: Expansion, start: Array) -> Found:
        """Return the answers, which need no steps."""
        found = self.answers(psi, start)
        m = len(psi)
        notify("points", done=m, most=m)
        return Found(found, np.ones(m, bool), np.zeros(m, int), ("",) * m)


def _denoiser(method, clean):
    """Return the regression of clean on corrupted rows, x -> mean + W'phi(A u(x)) projected onto the box."""
    rng = np.random.default_rng(method.random_state)
    inputs = np.concatenate(
        [_inputs(method, _corrupt(method.noise, clean, rng)) for _ in range(method.copies)]
    )
    mean = clean.mean(axis=0)
    targets = np.tile(clean - mean, (method.copies, 1))
    subset = rng.permutation(len(clean))[: method.landmarks]
    landmarks = _inputs(method, _corrupt(method.noise, clean, rng)[subset])
    dtype = inputs.dtype
    A = _scaling(inputs, targets)
    inputs = inputs @ A
    landmarks = landmarks @ A
    kernel = method.kernel.resolve(landmarks)
    coef = _nystroem(kernel, landmarks, inputs, targets, method.ridge)
    fit = Expansion(kernel, landmarks.astype(dtype), coef.astype(dtype))
    A = A.astype(dtype)
    low = clean.min(axis=0)
    high = clean.max(axis=0)
    return lambda X: np.clip(mean + fit(_inputs(method, X) @ A), low, high)


def _corrupt(noise, clean, rng):
    corrupted = as_float64(noise(clean.copy(), rng))
    if corrupted.shape != clean.shape:
        raise ValueError(
            f"noise(X, rng) must keep the shape {clean.shape} of X, but returned {corrupted.shape}."
        )
    if not np.isfinite(corrupted).all():
        raise ValueError("noise(X, rng) returned NaN or infinity.")
    return corrupted


def _inputs(method, points):
    """Return the inputs of the regression for corrupted points."""
    if method.inputs is None:
        return points
    found = np.asarray(method.inputs(points.copy()))
    found = found if found.dtype == np.float32 else as_float64(found)
    if found.ndim != 2 or len(found) != len(points):
        raise ValueError(
            f"inputs(X) must return {len(points)} rows, as X has, but returned the shape {found.shape}."
        )
    if not np.isfinite(found).all():
        raise ValueError("inputs(X) returned NaN or infinity.")
    return found


def _scaling(inputs, targets):
    """Return A = (B B')^(1/4) (p, p), where B is the linear least-squares fit, truncated to its numerical rank."""
    inputs = as_float64(inputs)
    B = np.linalg.lstsq(inputs - inputs.mean(axis=0), targets, rcond=None)[0]
    U, s, _ = np.linalg.svd(B, full_matrices=False)
    return (U * np.sqrt(s)) @ U.T


def _nystroem(kernel, Z, X, Y, ridge):
    """Return c (m, d) that minimises |K(X, Z) c - Y|^2 + ridge tr c'K(Z, Z) c, by its normal equations in float64.

    10 eps trace is added to the diagonal, so that directions of rounding errors have no effect.
    """
    normal = ridge * Gram(kernel, Z).dense()
    right = np.zeros((len(Z), Y.shape[1]))
    for rows in blocks(len(X), len(Z)):
        K = Gram(kernel, X[rows], Z).dense()
        normal += K.T @ K
        right += K.T @ Y[rows]
    np.fill_diagonal(normal, normal.diagonal() + 10 * EPS * np.trace(normal))
    coef = scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), right)
    residual = relative(normal @ coef - right, right)
    _logger.info(
        "learned from %d points over %d landmarks: relative residual %.1e", len(X), len(Z), residual
    )
    return coef
