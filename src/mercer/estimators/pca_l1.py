"""PCAL1: principal component analysis by the L1 norm, which is robust against outliers."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, ArrayLike, PointsLike, Seed, check_flag, check_integer, warn
from mercer._compute.points import as_rows
from mercer.estimators.base import LARGEST_ERROR, require_rows, validated_rows
from mercer.estimators.inherited import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from mercer.estimators.model import Model, fits, on_device, storable_estimator
from mercer.maps.coordinates import as_coordinates
from mercer.solvers import pca_l1
from mercer.solvers.certify import Residuals


@storable_estimator
class PCAL1(Model, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    r"""PCA-L1, principal component analysis by the L1 norm; ``Kernelized(PCAL1())`` is kernel PCA-L1.

    Orthonormal directions with the largest sum of absolute scores,

    .. math:: \max_{|w| = 1} \sum_i |w'(x_i - \bar x)|,

    found one after another in the rows that the earlier ones deflate (greedy), or all together. In ordinary PCA, with
    squared scores, one far point can outweigh many near ones; with absolute scores its influence is smaller.

    Parameters
    ----------
    n_components : int, optional
        Number of directions; min(n, d), cut to the rank, when left out.
    greedy : bool
        Search one direction after another; otherwise all of them together.
    n_init : int
        Number of starts of each search; the objective has local maxima.
    start : array (n_components, d), optional
        First start of each search, w(0): a row for each direction, not 0, or the only row as a vector (d,). Further
        starts are random. The longest rows when left out.
    max_iter : int
        Maximum number of steps of each start.
    random_state : int, RandomState or None
        Seed of the starts, and of the perturbations at scores that are exactly 0.

    Attributes
    ----------
    components_ : array (n_components_, n_features_in_)
        Orthonormal rows, largest entry positive.
    dispersions_ : array (n_components_,)
        sum_i |w_k'(x_i - mean)| over the training rows.
    residuals_ : array (n_components_,)
        Distances from the fixed point of the iteration: lengths of the change of the directions by one more step.
    n_ties_ : int
        Number of training scores that are exactly 0, without those of rows at the mean; when it is 0, each search ended
        in a local maximum.
    history_ : list of arrays
        Objective after each step, never decreasing; one array for each search.
    mean_ : array (n_features_in_,)
        Column means of the training rows.
    n_iter_ : int
        Number of steps of the longest search.
    n_components_, n_features_in_ : int

    See Also
    --------
    mercer.Kernelized : Kernel PCA-L1, ``Kernelized(PCAL1())``.

    Notes
    -----
    O(n d) per step, usually fewer than 20 steps for each direction and start.

    References
    ----------
    Kwak, *Principal component analysis based on L1-norm maximization*, IEEE TPAMI 30 (2008), algorithm 1; algorithm 2
    of Kwak, *Nonlinear projection trick*, IEEE TNNLS 24 (2013), whose w(0) is ``start``.
    Nie, Huang, Ding, Luo, Wang, *Robust principal component analysis with non-greedy L1-norm maximization*, IJCAI
    (2011).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.PCAL1(1).fit(np.array([[3.0, 0.0], [-3.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])).components_.round(2)
    array([[0.97, 0.24]])
    """

    n_components: int | None = None
    _: KW_ONLY
    greedy: bool = True
    n_init: int = 10
    start: ArrayLike | None = None
    max_iter: int = 1000
    random_state: Seed = None

    @fits
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array (n, d)
        y : ignored

        Returns
        -------
        self
        """
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        check_flag("greedy", self.greedy)
        X = validated_rows(self, X, reset=True)
        m = min(X.shape) if self.n_components is None else self.n_components
        if m > min(X.shape):
            raise ValueError(
                f"n_components = {m} must be at most {min(X.shape)}, the smaller side of X."
            )
        mean = X.mean(axis=0, dtype=np.float64)
        # the sum of many rows far from the origin is rounded by more than they are
        mean += (X - mean).mean(axis=0)
        found = pca_l1.directions(
            X - mean,
            [1] * m if self.greedy else [m],
            # rows far from the origin are rounded before the mean is subtracted
            size=float(np.abs(X).max()),
            start=None if self.start is None else _as_start(self.start, (m, X.shape[1])),
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        kept = found.vectors.shape[1]
        if self.n_components is not None and kept < m:
            warn(
                f"n_components = {m} exceeds the rank {kept} of the centred rows; {kept} directions are returned."
            )
        self.mean_: Array = mean.astype(X.dtype)
        self.components_: Array = np.ascontiguousarray(found.vectors.T).astype(X.dtype)
        self.dispersions_: Array = found.dispersions
        self.residuals_: Array = found.residuals
        self.n_ties_: int = found.ties
        self.history_: list[Any] = found.history
        self.n_iter_: Any = max(len(objective) for objective in found.history)
        self.n_components_ = self._n_features_out = kept
        self._n_rows = len(X)
        # relative to the mean size of the largest scores: that of directions of hardly any dispersion is rounding
        shift = len(X) * float(
            np.max(np.abs((self.mean_ - mean) @ found.vectors) / np.max(found.dispersions))
        )
        if shift > LARGEST_ERROR:
            warn(
                f"scores of PCAL1 are shifted by a share of {shift:.1g}: mean_ is rounded to {X.dtype}; give X in "
                "float64, or subtract the mean of its columns.",
                ConvergenceWarning,
            )
        return self

    @on_device
    def transform(self, X: ArrayLike) -> Any:
        """Return the scores w_k'(x - mean).

        Parameters
        ----------
        X : array (n_test, d)

        Returns
        -------
        array (n_test, n_components_)
        """
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False)
        return (X - self.mean_) @ self.components_.T

    @on_device
    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the points mean + sum_k y_k w_k with given scores.

        Parameters
        ----------
        X : array (m, n_components_)
            Scores.

        Returns
        -------
        array (m, n_features_in_)
        """
        check_is_fitted(self)
        scores = as_coordinates(X, "X", self.n_components_)
        return scores @ self.components_ + self.mean_

    @on_device
    def __mercer_certify__(
        self, X: PointsLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Residuals:
        """Return the distances from a fixed point of the iteration in float64 from the training rows."""
        check_is_fitted(self)
        self._refuse_weights(sample_weight)
        X = validated_rows(self, X, reset=False).astype(np.float64)
        require_rows(self, len(X))
        eps = np.finfo(self.components_.dtype).eps
        return Residuals(pca_l1.residuals(X, self.mean_, self.components_.T, self.greedy, eps))


def _as_start(start, shape):
    """Return rows for each direction to start from, or raise unless they are linearly independent."""
    start = as_rows(np.atleast_2d(start), "start", np.float64)
    if start.shape != shape or np.linalg.matrix_rank(start) < shape[0]:
        raise ValueError(
            f"start has shape {start.shape}, but must be {shape[0]} linearly independent rows of {shape[1]} numbers, "
            "one for each direction."
        )
    return start
