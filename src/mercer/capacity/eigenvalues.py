"""The spectrum of a kernel on data: eigenvalues, the box of the mapped points, effective dimension."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_positive
from mercer.expansion import features, mean
from mercer.factor import eigenpairs
from mercer.linalg.eigh import DENSE_ORDER

# Eigenvalues found by default where the matrix is too large for all of them.
_LEADING = 50


@dataclass(frozen=True)
class Spectrum:
    r"""Eigenvalues of a kernel matrix, and the extent of the mapped points along its eigenvectors.

    Attributes
    ----------
    values : array (k,)
        Eigenvalues of the (centred) Gram matrix above rounding, descending; ``values / n`` estimate those of the
        integral operator.
    sides : array (k,)
        Points lengths of the axis-parallel box that holds the mapped points, from their coordinates
        sqrt(lambda_j) v_ij: the largest minus the smallest.
    suprema : array (k,)
        max_i |psi_j(x_i)| of the eigenfunctions, psi_j(x_i) = sqrt(n) v_ij, whose squares have mean 1.
    n : int
        Points.
    trace : float
        The sum of all eigenvalues.
    centred : bool
    complete : bool
        Whether what is missing from ``values`` is rounding.
    residuals : array (k,)
        |K v - lambda v| / |K|: how far an eigenvalue may be off, relative to the largest.

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

    def mercer_sides(self, bound):
        r"""Return the side lengths 2 C_k sqrt(lambda_j / n) that follow from a bound on the eigenfunctions.

        Parameters
        ----------
        bound : float
            C_k = sup_j sup_x |psi_j(x)|, an assumption: finite for few kernels and distributions, and ``suprema`` only
            estimate it from below.

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


def spectrum(kernel, X, n_values=None, *, centre=True, memory="1GB", random_state=None):
    r"""Return the leading eigenvalues of the (centred) Gram matrix, with the box of the mapped points.

    Parameters
    ----------
    kernel : Kernel
        Bandwidth rules are resolved on X.
    X : points (n)
    n_values : int, optional
        All above rounding for at most 2 000 points, otherwise 50, when left out.
    centre : bool
        Of HKH, the matrix of kernel PCA, or of K.
    memory : str or int
        Bytes that a stored matrix may take.
    random_state : int, RandomState, Generator or None
        Starting vectors of the iterative solver.

    Returns
    -------
    Spectrum

    Raises
    ------
    ValueError
        When there is no variance.
    MemoryError
        When more than n / 8 eigenvalues are asked of a matrix larger than the budget.

    Warns
    -----
    UserWarning, ConvergenceWarning
        As ``mercer.svd``: fewer values than asked, an indefinite kernel, a pair that missed its tolerance.

    Notes
    -----
    Dense, O(n^3), for at most 2 000 points or n_values >= n / 8; otherwise block Lanczos on lazy products, O(n^2)
    kernel values each and O(n n_values) numbers of memory.

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
    kernel = kernel.resolve(X)
    points = np.arange(len(X)) if kernel.tags.points == "indices" else X
    phi = features(kernel, points)
    n = len(phi)
    wanted = n_values if n_values is not None or n <= DENSE_ORDER else _LEADING
    pairs = eigenpairs(phi, wanted, centre, memory=memory, random_state=random_state)
    values, vectors = np.asarray(pairs.values, np.float64), np.asarray(pairs.vectors, np.float64)
    trace = float(np.sum(np.asarray(phi.norms(), np.float64) ** 2))
    if centre:
        trace -= n * float(mean(phi).norms()[0]) ** 2
    return Spectrum(
        values=values,
        sides=np.sqrt(values) * np.ptp(vectors, axis=0),
        suprema=np.sqrt(n) * np.abs(vectors).max(axis=0),
        n=n,
        trace=trace,
        centred=centre,
        complete=wanted is None or len(values) < wanted,
        residuals=np.asarray(pairs.residuals, np.float64),
    )


def effective_dimension(spectrum, ridge):
    r"""Return between what bounds the effective dimension lies, d(ridge) = sum_j lambda_j / (lambda_j + ridge).

    Parameters
    ----------
    spectrum : Spectrum
    ridge : float
        Above 0, in units of the Gram matrix: n lambda where the literature adds lambda to the covariance.

    Returns
    -------
    low, high : float
        Equal where the spectrum is complete. Otherwise the eigenvalues that were not found have a known sum and are at
        most the last that was: d is smallest when few are large, and largest when all are equal.

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
    check_positive("ridge", ridge)
    values = spectrum.values
    known = float(np.sum(values / (values + ridge)))
    rest, count = spectrum.trace - float(values.sum()), spectrum.n - len(values)
    if spectrum.complete or rest <= 0 or count == 0:
        return known, known
    return known + rest / (values[-1] + ridge), known + rest / (rest / count + ridge)
