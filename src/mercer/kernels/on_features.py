"""OnFeatures, a radial or dot-product kernel of the feature vectors of another kernel."""

from mercer._common import Array, PointsLike, record, shown
from mercer._compute.objects import Shared
from mercer._compute.points import Points, as_rows, take_points
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Composite
from mercer.kernels.base import Kernel, finite, storable_kernel
from mercer.kernels.forms import evaluate_form, form_of
from mercer.kernels.precomputed import row_numbers


@storable_kernel
class OnFeatures(Composite):
    r"""Radial or dot-product kernel of the feature vectors of another kernel, such as a Gaussian kernel of strings.

    .. math:: k'(x, z) = f(|\phi(x) - \phi(z)|^2) \quad \text{or} \quad f(\langle \phi(x), \phi(z) \rangle)

    with :math:`\langle \phi(x), \phi(z) \rangle = k(x, z)`, the values of ``inner``, and
    :math:`|\phi(x) - \phi(z)|^2 = k(x, x) - 2 k(x, z) + k(z, z)`. Positive semidefinite if both kernels are.

    Parameters
    ----------
    kernel : Kernel
        A function f of squared distances, such as ``Gaussian``, or of inner products, such as ``Polynomial``, or a
        multiple, sum, product or power of such kernels. The bandwidth rule "median" is 1 / median
        |phi(x) - phi(z)|^2; "scale" is a ValueError, because it depends on coordinates.
    inner : Kernel
        On points of any kind.

    Notes
    -----
    Squared distances below about 1e-15 (k(x, x) + k(z, z)) are rounding errors.

    References
    ----------
    Schoelkopf, *The kernel trick for distances*, NIPS 13 (2000).

    Examples
    --------
    >>> import mercer as mc
    >>> words = ["abab", "ab", "ba"]
    >>> kernel = mc.OnFeatures(mc.Gaussian("median"), mc.strings.Spectrum(2)).resolve(words)
    >>> kernel.kernel                                         # squared distances 2, 4 and 2
    Gaussian(gamma=0.5)
    >>> kernel(words).round(4)
    array([[1.    , 0.3679, 0.1353],
           [0.3679, 1.    , 0.3679],
           [0.1353, 0.3679, 1.    ]])
    """

    kernel: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        super().__post_init__()
        if form_of(self.kernel) not in ("radial", "dot"):
            raise ValueError(
                "kernel of OnFeatures must be a function of the distance or of the inner product of points, such as "
                f"Gaussian or Polynomial, got {shown(self.kernel)}."
            )

    @property
    def _tagged(self):
        # positive semidefinite and differentiable if both kernels are
        inner = self.inner.tags
        return {"points": inner.points, "sparse": inner.sparse, "nonnegative": inner.nonnegative}

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        return self.inner.admit(points, name)

    def _resolved(self, X, sample_weight):
        inner = self.inner.resolve(X, sample_weight)
        vectors = _FeatureVectors(inner, inner.admit(row_numbers(inner, X), "X"))
        return {"kernel": self.kernel.resolve(vectors, sample_weight), "inner": inner}

    @finite
    def evaluate(self, tile: Tile) -> Array:
        s = self.inner.evaluate(tile) if self._dot else _sqdist(self.inner, tile)
        return evaluate_form(self.kernel, s)

    def diagonal(self, points: Points) -> Array:
        own = _squared_norms(self.inner, points)
        return evaluate_form(self.kernel, own if self._dot else 0 * own)

    def gradient(self, tile: Tile, W: Array) -> Array:
        xp = tile.xp
        if self._dot:
            slope = evaluate_form(self.kernel, self.inner.evaluate(tile), order=1)
            return self.inner.gradient(tile, W * slope)
        s = _unclipped(self.inner, tile)
        slope = evaluate_form(self.kernel, _clipped(tile, s), order=1)
        # an infinite slope at a kink counts as 0, as do negative squared distances of an indefinite inner kernel
        Q = W * xp.where(xp.isfinite(slope) & (s >= 0), slope, xp.zeros_like(slope))
        own = self.inner.diagonal_gradient(tile.X, xp.sum(Q, axis=1))
        return own - 2 * self.inner.gradient(tile, Q)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        own = _squared_norms(self.inner, points)
        slope = evaluate_form(self.kernel, own, order=1) if self._dot else 0 * own
        return self.inner.diagonal_gradient(points, w * slope)

    @property
    def _dot(self):
        return form_of(self.kernel) == "dot"


def _squared_norms(kernel, points):
    """Return k(x, x) (n,), computed once."""
    return points.per_point((kernel, "diagonal"), kernel.diagonal)


def _unclipped(kernel, tile):
    """Return k(x, x) + k(z, z) - 2 k(x, z) (n, m), of float32 rows computed in float64: the values may cancel."""
    wide = tile.mapped(_wide)
    own = _squared_norms(kernel, wide.X)[:, None] + _squared_norms(kernel, wide.Z)[None, :]
    s = own - 2 * kernel.evaluate(wide)
    return s if wide.X is tile.X else tile.xp.astype(s, tile.X.dtype)


def _wide(points):
    """Return ``Points`` with float32 rows in float64, computed once; other points unchanged."""
    wide = points.xp.float64
    if points.dtype == wide:
        return points
    return points.memo("float64", lambda: Points(as_rows(points.container, dtype=wide)))


def _sqdist(kernel, tile):
    """Return the squared distances of feature vectors (n, m), exactly 0 between a point and itself."""
    return _clipped(tile, _unclipped(kernel, tile))


def _clipped(tile, s):
    return tile.fill_diagonal(tile.xp.where(s > 0, s, tile.xp.zeros_like(s)), 0.0)


@record
class _FeatureVectors:
    """Feature vectors of points, of which bandwidth rules use the distances."""

    kernel: Kernel
    container: Shared

    def __len__(self) -> int:
        return len(Points(self.container))

    def sqdist(self, rows: Array) -> Array:
        """Return the squared distances between some of the vectors."""
        points = Points(take_points(self.container, rows))
        return _sqdist(self.kernel, Tile(points, points, 0))
