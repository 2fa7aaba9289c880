"""Spectrum of a kernel on data: eigenvalues, box of the mapped points, effective dimension, residual of kernel PCA."""

import numpy as np

from mercer._common import (
    EPS,
    Array,
    Memory,
    PointsLike,
    Seed,
    array_record,
    as_float64,
    check_confidence,
    check_flag,
    check_instance,
    check_integer,
    check_positive,
)
from mercer.capacity.bound import FIXED_KERNEL, Bound
from mercer.expansion import Expansion, features, mean, require_symmetric, squares
from mercer.factor import Wanted, eigenpairs
from mercer.kernels.base import Kernel, require_kernel
from mercer.kernels.precomputed import row_numbers
from mercer.linalg.eigh import DENSE_ORDER

# Default number of eigenvalues of a matrix that is too large for the dense solver.
_LEADING = 50


@array_record
class Spectrum:
    r"""Eigenvalues of a kernel matrix, and the extent of the mapped points along its eigenvectors.

    Attributes
    ----------
    values : array (k,)
        Eigenvalues of the (centred) Gram matrix above rounding, descending; ``values / n`` estimate those of the
        integral operator.
    sides : array (k,)
        Side lengths of the axis-parallel box around the mapped points: largest minus smallest coordinate
        sqrt(lambda_j) v_ij.
    suprema : array (k,)
        max_i |psi_j(x_i)| of the eigenfunctions psi_j(x_i) = sqrt(n) v_ij, whose mean square is 1.
    n : int
        Number of points.
    trace : float
        Sum of all eigenvalues.
    centred : bool
    complete : bool
        True when ``values`` holds all eigenvalues above the rounding of float64. Of points in float32 with more than a
        few eigenvalues it is False: those below the rounding of float32 are not known, and their sum may be large.
    residuals : array (k,)
        |K v - lambda v| / |K|, a bound of the error of an eigenvalue relative to the largest.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> found = mc.capacity.spectrum(mc.Linear(), X)
    >>> found.values, found.sides
    (array([2. , 0.5]), array([2., 1.]))
    """

    values: np.ndarray
    sides: np.ndarray
    suprema: np.ndarray
    n: int
    trace: float
    centred: bool
    complete: bool
    residuals: np.ndarray

    def mercer_sides(self, bound: float) -> Array:
        r"""Return the side lengths 2 C_k sqrt(lambda_j / n) that follow from a bound of the eigenfunctions.

        Parameters
        ----------
        bound : float
            C_k = sup_j sup_x |psi_j(x)|, an assumption. It is finite for few kernels and distributions; ``suprema``
            only estimate it from below.

        Returns
        -------
        array (k,)

        References
        ----------
        Williamson, Smola, Schoelkopf, *Generalization performance of regularization networks and support vector
        machines via entropy numbers of compact operators*, IEEE Trans. Inform. Theory 47 (2001).
        """
        check_positive("bound", bound)
        return 2 * bound * np.sqrt(self.values / self.n)


def spectrum(
    kernel: Kernel,
    X: PointsLike,
    n_values: int | None = None,
    *,
    centre: bool = True,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Spectrum:
    r"""Return the leading eigenvalues of the (centred) Gram matrix, and the bounding box of the mapped points.

    Parameters
    ----------
    kernel : Kernel
        Bandwidth rules are resolved on X.
    X : points (n)
    n_values : int, optional
        Default: all eigenvalues above rounding for at most 2 000 points, otherwise 50.
    centre : bool
        Use HKH, the matrix of kernel PCA, instead of K.
    memory : str or int
        Largest size of a stored matrix, in bytes.
    random_state : int, RandomState, Generator or None
        For the starting vectors of the iterative solver.

    Returns
    -------
    Spectrum

    Raises
    ------
    ValueError
        When the variance is 0.
    MemoryError
        When more than n / 8 eigenvalues are requested of a matrix larger than the limit.

    Warns
    -----
    UserWarning, ConvergenceWarning
        As ``mercer.svd``: fewer values than requested, an indefinite kernel, a pair that missed its tolerance.

    Notes
    -----
    Dense, O(n^3), for at most 2 000 points or n_values >= n / 8 (n / 20 where ``memory`` holds it); otherwise block
    Lanczos on lazy products, O(n^2) kernel values each and O(n n_values) numbers of memory.

    References
    ----------
    Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), section II-D.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = mc.capacity.spectrum(mc.Gaussian(0.5), X, 5)
    >>> bool(np.all(found.sides <= 2 * np.sqrt(found.values)))
    True
    """
    check_flag("centre", centre)
    phi = mapped(kernel, X)
    n = len(phi)
    wanted = n_values if n_values is not None or n <= DENSE_ORDER else _LEADING
    pairs = eigenpairs(
        phi, Wanted(wanted, "n_values"), centre, memory=memory, random_state=random_state
    )
    values = as_float64(pairs.values)
    vectors = as_float64(pairs.vectors)
    trace = float(np.sum(as_float64(squares(phi))))
    # rounding of the sum of eigenvalues; the difference of two large traces leaves that of both
    rounding = n * EPS * max(n * float(values[0]), trace)
    if centre:
        trace -= n * float(squares(mean(phi))[0])
    above = wanted is None or len(values) < wanted or len(values) == n
    return Spectrum(
        values=values,
        sides=np.sqrt(values) * np.ptp(vectors, axis=0),
        suprema=np.sqrt(n) * np.abs(vectors).max(axis=0),
        n=n,
        trace=trace,
        centred=centre,
        complete=above and trace - float(values.sum()) <= rounding,
        residuals=as_float64(pairs.residuals),
    )


def mapped(kernel: Kernel, X: PointsLike) -> Expansion:
    """Return the features of X under the resolved kernel; the points of a precomputed kernel are row numbers."""
    require_kernel(kernel)
    kernel = kernel.resolve(X)
    phi = features(kernel, row_numbers(kernel, X))
    require_symmetric("X", phi)
    return phi


def _require_spectrum(spectrum):
    """Raise a TypeError unless an argument is a Spectrum."""
    check_instance(
        "spectrum", spectrum, Spectrum, "a Spectrum, from mercer.capacity.spectrum(kernel, X)"
    )


def require_uncentred(spectrum: Spectrum) -> None:
    """Raise a ValueError if the spectrum is that of the centred matrix."""
    _require_spectrum(spectrum)
    if spectrum.centred:
        raise ValueError(
            "spectrum must be of the uncentred Gram matrix; use spectrum(kernel, X, centre=False)."
        )


def effective_dimension(spectrum: Spectrum, ridge: float) -> tuple[float, float]:
    r"""Return a lower and an upper bound of the effective dimension d(ridge) = sum_j lambda_j / (lambda_j + ridge).

    Parameters
    ----------
    spectrum : Spectrum
    ridge : float
        Above 0, in units of the Gram matrix: n lambda where the literature adds lambda to the covariance.

    Returns
    -------
    low, high : float
        Equal when the spectrum is complete. Otherwise the sum of the eigenvalues that were not computed is known, and
        each is at most the last computed one: d is smallest when few are large, and largest when all are equal.

    References
    ----------
    Caponnetto, De Vito, *Optimal rates for the regularized least-squares algorithm*, Found. Comput. Math. 7 (2007).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> mc.capacity.effective_dimension(mc.capacity.spectrum(mc.Linear(), X, centre=False), 1.0)
    (1.0, 1.0)
    """
    _require_spectrum(spectrum)
    check_positive("ridge", ridge)
    values = spectrum.values
    known = float(np.sum(values / (values + ridge)))
    rest = spectrum.trace - float(values.sum())
    count = spectrum.n - len(values)
    if spectrum.complete or rest <= 0 or count == 0:
        return known, known
    return known + rest / (values[-1] + ridge), known + rest / (rest / count + ridge)


def kpca_residual(
    kernel: Kernel,
    X: PointsLike,
    n_components: int,
    *,
    confidence: float = 0.95,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Bound:
    r"""Return a bound of the expected squared distance of phi(x) to the span of leading uncentred components.

    .. math:: E |P^\perp \phi(x)|^2 \le \min_{1 \le l \le k}\left[\frac1n \sum_{i > l} \lambda_i
        + \frac{1 + \sqrt l}{\sqrt n} \sqrt{\frac2n \sum_i k(x_i, x_i)^2}\right]
        + R^2 \sqrt{\frac{18}{n} \ln \frac{2n}{\delta}}

    Parameters
    ----------
    kernel : Kernel
        Bandwidth rules are resolved on X.
    X : points (n)
    n_components : int
        k, at least 1.
    confidence : float
        1 - delta, between 0 and 1.
    memory, random_state
        As in ``spectrum``.

    Returns
    -------
    Bound
        It holds for all k together. ``trivial`` is R^2, the largest k(x, x) of the sample.

    References
    ----------
    Shawe-Taylor, Williams, Cristianini, Kandola, *On the eigenspectrum of the Gram matrix and the generalization error
    of kernel-PCA*, IEEE Trans. Inform. Theory 51 (2005), theorem 1 and eq. (12).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(1000, 1))
    >>> bound = mc.capacity.kpca_residual(mc.Gaussian(0.1), X, 3)
    >>> bound.vacuous, bound.confidence
    (False, 0.95)
    """
    check_integer("n_components", n_components)
    delta = 1 - check_confidence(confidence)
    phi = mapped(kernel, X)
    found = spectrum(
        phi.kernel, X, n_components, centre=False, memory=memory, random_state=random_state
    )
    diagonal = as_float64(phi.kernel.diag(phi.points))
    n = found.n
    squared_radius = float(diagonal.max())
    tails = np.maximum(found.trace - np.cumsum(found.values), 0.0) / n
    sizes = np.arange(1, len(tails) + 1)
    terms = tails + (1 + np.sqrt(sizes)) / np.sqrt(n) * np.sqrt(2 * np.mean(diagonal**2))
    value = float(terms.min()) + squared_radius * np.sqrt(18 / n * np.log(2 * n / delta))
    assumptions = ["components of the uncentred Gram matrix", FIXED_KERNEL]
    if np.ptp(diagonal) > 1e-6 * abs(squared_radius):
        assumptions.append(f"k(x, x) <= {squared_radius:.3g} for all x, not only on the sample")
    statement = (
        f"The mean squared distance of a new point to the span of {len(tails)} components is at most {value:.3g}; on "
        f"the sample it is {tails[-1]:.3g}."
    )
    name = "kernel-PCA residual"
    quantity = "squared residual"
    return Bound(name, value, statement, quantity, confidence, tuple(assumptions), squared_radius)
