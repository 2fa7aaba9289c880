"""Spectrum of a kernel on data: eigenvalues, bounding box of the mapped points, effective dimension."""

from dataclasses import dataclass

import numpy as np

from mercer._common import (
    EPS,
    Array,
    Memory,
    PointsLike,
    Seed,
    as_float64,
    check_flag,
    check_instance,
    check_positive,
)
from mercer.definiteness.evidence import row_numbers
from mercer.expansion import Expansion, features, mean, require_symmetric, squares
from mercer.factor import eigenpairs
from mercer.kernels.base import Kernel, require_kernel
from mercer.linalg.eigh import DENSE_ORDER

# Default number of eigenvalues of a matrix that is too large for the dense solver.
_LEADING = 50


@dataclass(frozen=True, eq=False)
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
        phi, wanted, centre, name="n_values", memory=memory, random_state=random_state
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


def require_spectrum(spectrum: Spectrum) -> None:
    """Raise a TypeError unless an argument is a Spectrum."""
    check_instance(
        "spectrum", spectrum, Spectrum, "a Spectrum, from mercer.capacity.spectrum(kernel, X)"
    )


def require_uncentred(spectrum: Spectrum) -> None:
    """Raise a ValueError if the spectrum is that of the centred matrix."""
    require_spectrum(spectrum)
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
    require_spectrum(spectrum)
    check_positive("ridge", ridge)
    values = spectrum.values
    known = float(np.sum(values / (values + ridge)))
    rest = spectrum.trace - float(values.sum())
    count = spectrum.n - len(values)
    if spectrum.complete or rest <= 0 or count == 0:
        return known, known
    return known + rest / (values[-1] + ridge), known + rest / (rest / count + ridge)
