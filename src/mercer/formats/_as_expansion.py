"""A fitted model of any library as what it is: a block of vectors of a feature space and a constant."""

import functools
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._compute.points import take_points
from mercer.estimators._base import KernelEstimator
from mercer.estimators.svdd import SVDD
from mercer.expansion import Expansion
from mercer.kernels.algebra import Constant, Exp, Normalized, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel, inner_kernels
from mercer.kernels.coordinatewise import Chi2, Laplacian
from mercer.kernels.mapped import Mapped
from mercer.kernels.radial import Radial

_SUPPORTED = (
    "Mercer's estimators; scikit-learn's SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, KernelPCA and "
    "GaussianProcessRegressor; text models of LIBSVM, by path or content"
)

# Kernels with the same k(x, x) everywhere, and those that have it where their parts do.
_CONSTANT = (Radial, Laplacian, Chi2, Normalized, Constant)
_CLOSED = (Sum, Product, Scaled, Power, Exp, Mapped)


class ModelFileError(ValueError):
    r"""A file that is no model, or that contradicts itself; the message names the place.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.as_expansion("svm_type c_svc\nkernel_type rfb\n")
    Traceback (most recent call last):
    mercer.formats._as_expansion.ModelFileError: ...
    """


@dataclass(frozen=True)
class FittedScores:
    """The scores of a fitted model, ``expansion(X) + intercept``.

    Attributes
    ----------
    expansion : Expansion
        m vectors.
    intercept : array (m,)
    classes : array (c,) or None
        Of a classifier. Two classes: positive scores mean the second. More: column (i, j), i < j, is positive for class
        i, in the order (0, 1), (0, 2), ..., (1, 2), ...; Mercer's one-vs-rest machines have one column a class.
    """

    expansion: Expansion
    intercept: np.ndarray
    classes: np.ndarray | None = None

    def __call__(self, X):
        """Return the scores of new points.

        Parameters
        ----------
        X : points (n_test)
            Dense or sparse rows, whichever way the model was fitted.

        Returns
        -------
        array (n_test, m)
        """
        points = self.expansion.points
        if self.expansion.kernel.tags.points == "rows" and sp.issparse(X) != sp.issparse(points):
            X = sp.csr_matrix(X) if sp.issparse(points) else X.toarray()
        return self.expansion(X) + self.intercept


@dataclass(frozen=True)
class GivenValues:
    """Kernel function of a model that kept the indices of its points but not their kernel values.

    Parameters
    ----------
    n : int or None
        Number of training points, where it is known.
    """

    n: int | None = None

    def __call__(self, X, J):
        """Return columns J of rows X of kernel values with all training points."""
        if np.ndim(X) != 2:
            raise ValueError(
                "the model was fitted on a precomputed matrix that it did not keep: kernel values between its support "
                "vectors are not known; evaluate it at rows of kernel values with all training points."
            )
        if self.n is not None and X.shape[1] != self.n:
            raise ValueError(
                f"X has {X.shape[1]} columns; it must hold kernel values with all {self.n} training points."
            )
        if len(J) and X.shape[1] <= max(J):
            raise ValueError(f"X has {X.shape[1]} columns; support vectors are training points up to number {max(J)}.")
        return X[:, J]


@functools.singledispatch
def as_expansion(fitted):
    """Return the vectors and constants whose scores are those of a fitted model.

    Parameters
    ----------
    fitted : estimator, str or path
        An estimator of Mercer or scikit-learn, or a text model of LIBSVM: its path, or its content (anything with a
        line break). Further types are added with ``as_expansion.register``.

    Returns
    -------
    FittedScores
        With ``expansion``, ``intercept`` and ``classes``. ``expansion(X) + intercept`` (n_test, m) are the decision
        values of a classifier (of every pair of classes) or of a detector of outliers, the predictions of a regressor,
        the coordinates of KernelPCA, to the rounding of float64.

    Raises
    ------
    TypeError
        For a model that is none of these, or one whose scores are no affine function of features: those of ``SVDD``
        hold k(x, x), which has to be the same for all x, as it is for kernels of distances.
    NotFittedError
        For an estimator that is not fitted.
    ModelFileError
        For text that is no model of LIBSVM; the line is named.

    Notes
    -----
    Costs O(n m); coefficients are copied, points are not. A scikit-learn model with ``kernel="precomputed"`` does not
    keep the training matrix: its expansion can be evaluated at rows of kernel values, but has no norms.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import as_expansion
    >>> from sklearn.svm import SVC
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> peer = SVC(kernel="rbf").fit(X, y)
    >>> model = as_expansion(peer)
    >>> np.allclose((model.expansion(X) + model.intercept)[:, 0], peer.decision_function(X))
    True
    >>> model.expansion.norms().shape
    (1,)
    """
    # readers of scikit-learn's models load what defines them, so they register when first asked for
    from mercer.formats import scikit_learn  # noqa: F401

    reader = as_expansion.dispatch(type(fitted))
    if reader is as_expansion.dispatch(object):
        raise TypeError(
            f"as_expansion cannot read {type(fitted).__module__}.{type(fitted).__name__}. It reads {_SUPPORTED}; "
            "of a pipeline or a search give the final or best estimator."
        )
    return reader(fitted)


@as_expansion.register
def _of_mercer(fitted: KernelEstimator):
    """Return what Mercer's estimators carry."""
    check_is_fitted(fitted)
    expansion = getattr(fitted, "expansion_", None)
    if expansion is None:
        raise TypeError(f"{type(fitted).__name__} has no expansion_: its scores are not affine in the features.")
    intercept = getattr(fitted, "intercept_", np.zeros(len(expansion)))
    return FittedScores(expansion, np.atleast_1d(intercept), getattr(fitted, "classes_", None))


@as_expansion.register
def _of_ball(fitted: SVDD):
    """Return R^2 - |phi(x) - c|^2 = 2 <phi(x), c> + R^2 - |c|^2 - k(x, x), affine where k(x, x) is constant."""
    check_is_fitted(fitted)
    centre = fitted.centre_
    if not _has_constant_diagonal(centre.kernel):
        raise TypeError(
            f"the scores of SVDD hold k(x, x), which for {centre.kernel!r} is not known to be the same everywhere: "
            "they are not affine in the features. Use a kernel of distances or Normalized(kernel), or centre_ itself."
        )
    square = float(centre.kernel.diag(take_points(centre.points, slice(0, 1)))[0])
    constant = fitted.radius_**2 - float(centre.norms()[0]) ** 2 - square
    return FittedScores(centre @ np.array([2.0]), np.array([constant]))


def _has_constant_diagonal(kernel: Kernel):
    if isinstance(kernel, _CLOSED):
        return all(_has_constant_diagonal(part) for part in inner_kernels(kernel).values())
    return isinstance(kernel, _CONSTANT)
