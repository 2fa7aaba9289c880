"""Random Fourier features: cosines and sines of random frequencies that approximate a stationary kernel."""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mercer._common import (
    Array,
    Memory,
    PointsLike,
    Seed,
    array_record,
    check_flag,
    check_integer,
    check_nonnegative,
)
from mercer._compute.costs import TILE
from mercer._compute.devices import anywhere
from mercer._compute.memory import blocks, require_memory
from mercer._compute.points import as_columns, as_rows, owned
from mercer.kernels.algebra import Constant, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel, require_resolved
from mercer.kernels.coordinatewise import Laplacian
from mercer.kernels.mapped import Mapped, map_rows
from mercer.kernels.radial import Cauchy, Gaussian, Matern, RationalQuadratic
from mercer.kernels.rescaled import Normalized
from mercer.linalg.generator import generator


@array_record
class FourierFeatures:
    r"""The map z(x) = (v / m)^(1/2) (cos(W'x), sin(W'x)); z(x).z(y) approximates k(x, y), and z(x).z(x) = v = k(x, x).

    Attributes
    ----------
    frequencies : array (d, m)
        W, one frequency per column.
    variance : float
        v, 1 for kernels that are 1 on their diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import FourierFeatures
    >>> FourierFeatures(np.array([[np.pi]]))(np.array([[0.0], [1.0]])).round(9)
    array([[ 1.,  0.],
           [-1.,  0.]])
    """

    frequencies: np.ndarray
    variance: float = 1.0

    def __post_init__(self) -> None:
        check_nonnegative("variance", self.variance)
        frequencies = as_columns(self.frequencies, "frequencies")
        if frequencies.ndim != 2:
            raise ValueError(
                f"frequencies must have shape (d, m), one column for each frequency, got {frequencies.shape}."
            )
        object.__setattr__(self, "frequencies", owned(frequencies))

    @anywhere
    def __call__(self, X: PointsLike) -> Array:
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
            raise ValueError(
                f"X must have {d} features, as the frequencies have; got {X.shape[1]}."
            )
        # the phases stay in cache
        parts = blocks(X.shape[0], 8 * m, TILE)
        phase = np.concatenate([_phases(X[rows], self.frequencies) for rows in parts])
        return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) * np.sqrt(
            self.variance / m
        ).astype(X.dtype)


def _phases(X, frequencies):
    """Return X W in the type of X, in float32 up to whole turns: the digits of a phase of many turns are lost."""
    phase = X.astype(np.float64, copy=False) @ frequencies
    if X.dtype == np.float64:
        return phase
    turn = 2 * np.pi
    phase -= turn * np.rint(phase / turn)
    return phase.astype(X.dtype)


def random_fourier(
    kernel: Any,
    n_features_in: int,
    m: int,
    *,
    orthogonal: bool = False,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> FourierFeatures:
    r"""Return random Fourier features of a stationary kernel: m frequencies drawn from its spectral density.

    .. math:: k(x - y) = v \int p(w) \cos(w'(x - y)) dw, \qquad w_1, \dots, w_m \sim p, \qquad v = k(0)

    The density p is normal with variances 2 gamma (Gaussian), a product of Cauchy densities of scale gamma
    (Laplacian), or a t density with 2 nu degrees of freedom and scale 1 / length (Matern). Cauchy and RationalQuadratic
    are mixtures of Gaussian kernels, and each frequency is that of a gamma drawn from an exponential or gamma density:

    .. math:: \frac1{1 + \gamma s} = \int_0^\infty e^{-\gamma t s} e^{-t} dt, \qquad
        \Big(1 + \frac{s}{2 \alpha l^2}\Big)^{-\alpha}
        = \int_0^\infty e^{-t s / (2 \alpha l^2)} \frac{t^{\alpha - 1} e^{-t}}{\Gamma(\alpha)} dt

    A sum of kernels draws from
    one of its parts, in proportion to their values at 0; a product or power adds the frequencies of its factors; a
    kernel of mapped rows A x multiplies frequencies by A'; a constant has the frequency 0.

    Parameters
    ----------
    kernel : Gaussian, Laplacian, Matern, Cauchy or RationalQuadratic, or made of these
        By multiples, sums, products, powers, Normalized and Mapped. Resolved. Constants may be added.
    n_features_in : int
        d, the number of features of points.
    m : int
        Number of frequencies; the features are twice as many.
    orthogonal : bool
        Draw orthogonal directions for every d frequencies: also unbiased, with a smaller variance. For kernels of the
        Euclidean distance, whose density does not depend on the direction.
    memory : str or int
        Memory limit, in bytes, of the frequencies.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    FourierFeatures

    Raises
    ------
    MemoryError
        For more frequencies than ``memory`` holds.
    TypeError
        For other kernels, and for orthogonal frequencies of a Laplacian kernel.

    Notes
    -----
    The standard deviation of a dot product is at most v m^(-1/2), so a tenth of the error needs a hundred times the
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
    check_flag("orthogonal", orthogonal)
    check_integer("n_features_in", n_features_in)
    check_integer("m", m)
    if isinstance(kernel, Kernel):
        require_resolved(kernel)
    # frequencies, directions and radii
    needed = 8 * m * (2 * n_features_in + 2)
    what = f"m = {m} frequencies of n_features_in = {n_features_in} features"
    require_memory(needed, memory, what, "fewer, or a larger memory")
    draw = _Draw(n_features_in, m, orthogonal, generator(random_state))
    frequencies = _frequencies(kernel, draw)
    return FourierFeatures(frequencies, _variance(kernel, n_features_in))


class _Draw(NamedTuple):
    """Random numbers for m frequencies of d features, whose directions may be orthogonal."""

    d: int
    m: int
    orthogonal: bool
    rng: Any

    def squares(self, degrees: float) -> Array:
        """Return chi-squared numbers (m,) of some degrees of freedom."""
        return self.rng.chisquare(degrees, self.m)

    def directions(self) -> Array:
        """Return unit vectors (d, m), each uniform on the sphere; in orthogonal groups of d if ``orthogonal``."""
        d = self.d
        size = -(-self.m // d) * d if self.orthogonal else self.m
        normal = self.rng.standard_normal((d, size))
        if not self.orthogonal:
            return normal / np.linalg.norm(normal, axis=0)
        # the signs of R make Q uniform over all rotations and reflections
        parts = [np.linalg.qr(normal[:, i : i + d]) for i in range(0, size, d)]
        return np.hstack([Q * np.sign(np.diagonal(R)) for Q, R in parts])[:, : self.m]


@singledispatch
def _frequencies(kernel, draw):  # noqa: ARG001 (the argument of the registered rules)
    """Return m frequencies (d, m) drawn from the spectral density of a kernel."""
    raise TypeError(
        "kernel must be Gaussian, Laplacian, Matern, Cauchy or RationalQuadratic, whose spectral density is known, or "
        f"made of such kernels; got {type(kernel).__name__}. For other kernels use Nystroem or "
        "KernelMap(landmarks=...)."
    )


def _variance(kernel, d):
    """Return k(x, x) of a stationary kernel of d features."""
    return float(kernel.diag(np.zeros((1, d)))[0])


@_frequencies.register
def _(kernel: Gaussian, draw):
    return _of_gaussians(kernel.gamma, draw)


@_frequencies.register
def _(kernel: Cauchy, draw):
    return _of_gaussians(kernel.gamma * draw.rng.standard_exponential(draw.m), draw)


@_frequencies.register
def _(kernel: RationalQuadratic, draw):
    gammas = draw.rng.standard_gamma(kernel.alpha, draw.m) / (2 * kernel.alpha * kernel.length**2)
    return _of_gaussians(gammas, draw)


def _of_gaussians(gammas, draw):
    """Return frequencies of Gaussian kernels with one gamma for all frequencies, or one each (m,)."""
    return np.sqrt(2 * gammas * draw.squares(draw.d)) * draw.directions()


@_frequencies.register
def _(kernel: Matern, draw):
    ratio = draw.squares(draw.d) * 2 * kernel.nu / draw.squares(2 * kernel.nu)
    return np.sqrt(ratio) / kernel.length * draw.directions()


@_frequencies.register
def _(kernel: Laplacian, draw):
    if draw.orthogonal:
        raise TypeError(
            "orthogonal = True must not be used with a Laplacian kernel, whose density depends on the direction; use "
            "orthogonal=False, or Matern(nu=0.5), which takes the Euclidean distance."
        )
    return kernel.gamma * draw.rng.standard_cauchy((draw.d, draw.m))


@_frequencies.register
def _(_kernel: Constant, draw):
    return np.zeros((draw.d, draw.m))


@_frequencies.register
def _(kernel: Sum, draw):
    left, right = (_frequencies(part, draw) for part in (kernel.left, kernel.right))
    share = draw.rng.random(draw.m) * _variance(kernel, draw.d)
    return np.where(share < _variance(kernel.left, draw.d), left, right)


@_frequencies.register
def _(kernel: Product, draw):
    return sum(_frequencies(part, draw) for part in (kernel.left, kernel.right))


@_frequencies.register
def _(kernel: Power, draw):
    return sum(_frequencies(kernel.kernel, draw) for _ in range(kernel.degree))


@_frequencies.register(Scaled)
@_frequencies.register(Normalized)
def _(kernel, draw):
    return _frequencies(kernel.kernel, draw)


@_frequencies.register
def _(kernel: Mapped, draw):
    A = map_rows(kernel.A, kernel.admit(np.eye(draw.d), "points"))
    return A @ _frequencies(kernel.kernel, draw._replace(d=A.shape[1]))
