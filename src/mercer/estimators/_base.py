"""What estimators share: fits that end or change nothing, kernels that are replaced, points that are validated."""

import functools

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._compute.points import count_points
from mercer.kernels.base import with_params
from mercer.kernels.shorthand import as_kernel

# What changes an estimator, in whichever class it is written; the ways to fit Kernelized have `_fit` in common.
_FITS = {"fit", "partial_fit", "_fit"}


class AllOrNothing:
    """Mixin of estimators that are left as they were by a fit that fails or is interrupted: unfitted, or fitted before.

    It covers the methods of a subclass that fit, without a word of theirs.

    Examples
    --------
    >>> from mercer.estimators._base import AllOrNothing
    >>> class Halfway(AllOrNothing):
    ...     def fit(self, X):
    ...         self.first_ = X[0]
    ...         self.second_ = X[1]
    >>> model = Halfway()
    >>> try:
    ...     model.fit([1])
    ... except IndexError:
    ...     print(vars(model))
    {}
    """

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        for name in _FITS & vars(cls).keys():
            setattr(cls, name, _all_or_nothing(vars(cls)[name]))


def _all_or_nothing(fit):
    """Return a method that fits like the one given, or else gives the estimator back the attributes that it had."""

    @functools.wraps(fit)
    def fit_or_restore(self, *args, **options):
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except BaseException:
            # one assignment: a second Ctrl-C finds the old or the new
            self.__dict__ = before
            raise

    return fit_or_restore


class KernelEstimator(AllOrNothing):
    """Mixin for estimators with a ``kernel`` parameter; no mathematics.

    ``kernel`` stays as the user gave it; ``kernel_`` is the resolved kernel of the fit.
    """

    _doc_link_module = "mercer"

    def set_params(self, **params):
        """Set parameters; ``kernel__gamma`` and the like replace the kernel by one with other numbers.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        inner = {
            name.removeprefix("kernel__"): params.pop(name) for name in list(params) if name.startswith("kernel__")
        }
        super().set_params(**params)
        if inner:
            self.kernel = with_params(as_kernel(self.kernel), inner)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kernel = as_kernel(self.kernel).tags
        tags.input_tags.sparse = kernel.sparse
        tags.input_tags.pairwise = kernel.points == "indices"
        return tags

    def _training_points(self, X, y=None, sample_weight=None):
        """Validate X, resolve the kernel on it, and return the kernel and its points; X is copied, never kept.

        Returns
        -------
        kernel : Kernel
        points : points (n)
            Row indices for a precomputed kernel.
        """
        kernel = as_kernel(self.kernel)
        X = self._rows(X, kernel, reset=True)
        kernel = kernel.resolve(X, sample_weight)
        self._n_rows = count_points(X)
        return kernel, np.arange(count_points(X)) if kernel.tags.points == "indices" else X

    def _new_points(self, X):
        """Validate X against the points of the fit."""
        check_is_fitted(self)
        return self._rows(X, self.kernel_, reset=False)

    def _require_training_rows(self, X):
        """Raise unless X has the columns of the points of the fit, and as many rows as they."""
        n = count_points(self._new_points(X))
        fitted = getattr(self, "_n_rows", None)
        if fitted is None:
            raise ValueError(
                f"{type(self).__name__} was not fitted but made from another model, whose optimum it is not: give that "
                "one, with its training points."
            )
        if n != fitted:
            raise ValueError(
                f"X has {n} rows, but {type(self).__name__} was fitted on {fitted}: give all its training points, in "
                "the order of the fit."
            )

    def _rows(self, X, kernel, reset):
        if kernel.tags.points == "objects" and _are_objects(X):
            return list(X)
        if kernel.tags.points == "indices" and hasattr(X, "tocsr"):
            raise TypeError("A sparse precomputed matrix is not taken: pass a dense array, X.toarray().")
        if not kernel.tags.sparse and hasattr(X, "tocsr"):
            kernel.admit(X, "X")
        try:
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                copy=reset,
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            if kernel.tags.points == "indices" and not reset:
                n = self.n_features_in_
                error.add_note(f"X holds the kernel values of new points with all {n} training points, (n_test, {n}).")
            raise


def _are_objects(X):
    """Return whether X is a list of objects (strings, graphs, sequences of any length), not rows of numbers."""
    if hasattr(X, "tocsr") or hasattr(X, "columns"):
        return False
    try:
        array = np.asarray(X)
    except ValueError:
        return True
    return array.dtype.kind in "OUS" and (array.ndim == 1 or isinstance(X, list))
