"""as_expansion: read a fitted model of Mercer, scikit-learn or LIBSVM as an expansion and an intercept."""

import functools
import os

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import shown
from mercer._compute.points import take_points
from mercer.estimators.base import KernelEstimator
from mercer.estimators.classifier import SupportVectorClassifier
from mercer.estimators.kernel_fisher import KernelFisher
from mercer.estimators.svdd import SVDD
from mercer.estimators.table import TableModel
from mercer.estimators.virtual_support_vectors import VirtualSupportVectors
from mercer.expansion import Expansion, squares
from mercer.formats.fitted_expansion import FittedExpansion, PairClassifier
from mercer.formats.libsvm import read_text, text_of
from mercer.kernels import Chi2, Constant, Laplacian, Mapped, Normalized, Radial
from mercer.kernels.algebra import Function
from mercer.kernels.base import inner_kernels
from mercer.solvers.svm.multiclass import is_packed

_SUPPORTED = (
    "Mercer's estimators; scikit-learn's SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, KernelPCA and "
    "GaussianProcessRegressor; text models of LIBSVM, by path or content"
)

# Kernels with the same k(x, x) for all x, and kernels that have it when their parts do.
_CONSTANT_DIAGONAL = (Radial, Laplacian, Chi2, Normalized, Constant)
_COMPOSITE = (Function, Mapped)


def as_expansion(fitted: object) -> FittedExpansion:
    """Return a fitted model as an expansion and an intercept.

    Parameters
    ----------
    fitted : estimator, str or path
        An estimator of Mercer or scikit-learn, or a text model of LIBSVM, given by its path or by its content (any
        string with a line break). ``as_expansion.register`` adds other types.

    Returns
    -------
    FittedExpansion
        With ``expansion``, ``intercept`` and ``classes``. ``expansion(X) + intercept`` (n_test, m) are the decision
        values of a classifier (one column per pair of classes) or of an outlier detector, the predictions of a
        regressor (several quantiles before they are sorted), or the coordinates of KernelPCA and KernelFisher, up to
        rounding in float64.

    Raises
    ------
    TypeError
        For an unsupported model, and for a model that is not affine in the features: the decision values of ``SVDD``
        contain k(x, x), which must be constant, as it is for kernels of distances, and for ``Normalized`` but at points
        with k(x, x) = 0, where the values differ by 1; those of a voted ``KernelPerceptron`` are votes.
    NotFittedError
        For an estimator that is not fitted.
    ModelFileError
        For text that is not a LIBSVM model; the message names the line.

    Notes
    -----
    Costs O(n m). Coefficients are copied, points are not. A scikit-learn model with ``kernel="precomputed"`` does not
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
    found = read(fitted)
    return found.unpacked() if isinstance(found, PairClassifier) else found


@functools.singledispatch
def read(fitted: object) -> FittedExpansion | PairClassifier:
    """Return a fitted model as a FittedExpansion, or as a PairClassifier if its coefficients are packed."""
    if isinstance(fitted, type):
        raise TypeError(
            f"{fitted.__name__} is a class; give a fitted model, {fitted.__name__}().fit(X, y)."
        )
    # it imports much of scikit-learn
    from mercer.formats.scikit_learn import READERS

    for cls in type(fitted).__mro__:
        if cls in READERS:
            check_is_fitted(fitted)
            return READERS[cls](fitted)
    raise TypeError(
        f"as_expansion cannot read {type(fitted).__module__}.{type(fitted).__name__}; it reads {_SUPPORTED}. "
        "Give the last step of a pipeline, for points model[:-1].transform(X), and the best_estimator_ of a search."
    )


as_expansion.register = read.register  # pyright: ignore[reportFunctionMemberAccess]


@read.register
def _of_libsvm(source: str | os.PathLike):
    return read_text(text_of(source))


@read.register
def _of_classifier(fitted: SupportVectorClassifier):
    check_is_fitted(fitted)
    if not is_packed(len(fitted.classes_), fitted.multi_class, fitted.dual_coef_.shape[1]):
        return _of_mercer(fitted)
    packed = Expansion(fitted.kernel_, fitted.support_vectors_, fitted.dual_coef_)
    return PairClassifier(packed, fitted.n_support_, fitted.intercept_, fitted.classes_)


@read.register
def _of_mercer(fitted: KernelEstimator | TableModel):
    check_is_fitted(fitted)
    expansion = getattr(fitted, "expansion_", None)
    if expansion is None:
        raise TypeError(
            f"{type(fitted).__name__} has no expansion_, because its outputs are not affine in the features."
        )
    if getattr(fitted, "voted", False):
        raise TypeError(
            f"{type(fitted).__name__} with voted = True is not affine in the features, because its decision values are "
            "votes; fit with averaged=True, or use expansion_, its last weight vectors."
        )
    if np.size(getattr(fitted, "free_coef_", ())):
        raise TypeError(
            f"{type(fitted).__name__} with free terms of the rows is not affine in the features; use free='constant'."
        )
    intercept = np.atleast_1d(getattr(fitted, "intercept_", np.zeros(len(expansion))))
    # values of a transformer are coordinates, also where it classifies
    classes = None if isinstance(fitted, KernelFisher) else getattr(fitted, "classes_", None)
    # models of tables choose between pairs and classes by held-out rows
    chosen = getattr(fitted, "multi_class_", getattr(fitted, "multi_class", "ovr"))
    return FittedExpansion(expansion, intercept, classes, chosen == "ovo")


@read.register
def _of_svdd(fitted: SVDD):
    """Return -offset - |phi(x) - c|^2 = 2 <phi(x), c> - offset - |c|^2 - k(x, x), affine if k(x, x) is constant."""
    check_is_fitted(fitted)
    centre = fitted.centre_
    if not _has_constant_diagonal(centre.kernel):
        raise TypeError(
            f"SVDD with the kernel {shown(centre.kernel)} is not affine in the features, because its decision values "
            "contain k(x, x), which may vary. Use a kernel of distances or Normalized(kernel), or centre_ itself."
        )
    square = float(centre.kernel.diag(take_points(centre.points, slice(0, 1)))[0])
    constant = -float(fitted.offset_) - float(squares(centre)[0]) - square
    return FittedExpansion(centre @ np.array([2.0]), np.array([constant]))


@read.register
def _of_virtual(fitted: VirtualSupportVectors):
    check_is_fitted(fitted)
    return as_expansion(fitted.estimator_)


def _has_constant_diagonal(kernel):
    if isinstance(kernel, _COMPOSITE):
        return all(_has_constant_diagonal(part) for part in inner_kernels(kernel).values())
    return isinstance(kernel, _CONSTANT_DIAGONAL)
