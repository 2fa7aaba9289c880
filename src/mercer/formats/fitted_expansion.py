"""Fitted models as affine functions of features: an expansion and an intercept."""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, ArrayLike, PointsLike, array_record, record
from mercer._compute.register import storable_as
from mercer.expansion import Expansion, with_intercept
from mercer.solvers.svm.multiclass import unpack


@storable_as("FittedScores")
@array_record
class FittedExpansion:
    r"""A fitted model as an affine function of features, ``expansion(X) + intercept``.

    .. math:: f_j(x) = \langle \phi(x), \psi_j \rangle + b_j

    Attributes
    ----------
    expansion : Expansion
        m vectors.
    intercept : array (m,)
    classes : array (c,) or None
        Classes of a classifier. With two classes, positive decision values mean the second. With more, column (i, j),
        i < j, is positive for class i, in the order (0, 1), (0, 2), ..., (1, 2), ...; one-vs-rest models of Mercer
        have one column per class.
    pairs : bool
        Whether the columns of more than two classes are those of pairs.
    """

    expansion: Expansion
    intercept: np.ndarray
    classes: np.ndarray | None = None
    pairs: bool = True

    def __call__(self, X: PointsLike) -> Array:
        """Return the decision values, predictions or coordinates of new points.

        Parameters
        ----------
        X : points (n_test)
            Rows may be dense or sparse.

        Returns
        -------
        array (n_test, m)
        """
        points = self.expansion.points
        if self.expansion.kernel.tags.points == "rows" and sp.issparse(X) != sp.issparse(points):
            X = sp.csr_matrix(X) if sp.issparse(points) else X.toarray()
        return with_intercept(self.expansion(X), self.intercept)


@record
class PairClassifier:
    """A classifier by votes of pairs as it is trained, with at least one vector; its expansion is c / 2 times as large.

    Attributes
    ----------
    expansion : Expansion
        Vectors sorted by class, with packed coefficients (n, c - 1), see `mercer.solvers.svm.multiclass`.
    counts : int array (c,)
        Numbers of vectors of each class.
    intercept : array (c (c - 1) / 2,)
    classes : array (c,)
    """

    expansion: Expansion
    counts: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray
    pairs: ClassVar[bool] = True

    def unpacked(self) -> FittedExpansion:
        """Return the classifier with a coefficient of each vector for each pair."""
        packed = self.expansion
        psi = Expansion(packed.kernel, packed.points, unpack(packed.coef, self.counts))
        return FittedExpansion(psi, self.intercept, self.classes)


@record
class PrecomputedColumns:
    """Kernel function of a model that stores the indices of its training points but not their kernel values."""

    n: int | None = None

    def __call__(self, X: PointsLike, J: Array) -> ArrayLike:
        """Return columns J of X, whose rows are kernel values with all n training points."""
        if np.ndim(X) != 2:
            raise ValueError(
                "the model was fitted to a precomputed matrix and did not keep it, so kernel values between support "
                "vectors are unknown; evaluate the model at rows of kernel values with all training points."
            )
        if self.n is not None and X.shape[1] != self.n:
            raise ValueError(
                f"X has {X.shape[1]} columns; it must hold kernel values with all {self.n} training points."
            )
        if len(J) and X.shape[1] <= max(J):
            raise ValueError(
                f"X has {X.shape[1]} columns; it must have at least {max(J) + 1}, since training point {max(J)} "
                "(counted from 0) is a support vector."
            )
        return X[:, J]
