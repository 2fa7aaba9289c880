"""Kernelized: a scikit-learn estimator in the feature space of a kernel, fitted to coordinates of the points."""

import math
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, ArrayLike, PointsLike, shown
from mercer._compute.points import PROBES, evenly_spaced
from mercer._compute.targets import as_real_targets, refuse_targets
from mercer._compute.threads import threaded_blas
from mercer.estimators._wrapper import Wrapper, if_inner_has
from mercer.estimators.base import OverLandmarks, check_lengths
from mercer.estimators.kernel_map import KernelMap
from mercer.estimators.model import attribute, fits, on_device, storable_estimator
from mercer.expansion import Expansion, features
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import KernelLike, kernel_of
from mercer.linalg.operators import ROUNDINGS
from mercer.solvers.certify import certify

# Largest difference of an output from an affine function, as a share of the range of outputs.
_DIFFERENCE = 1e-6


@storable_estimator
class Kernelized(OverLandmarks, Wrapper):
    r"""A transformer, classifier, regressor, clusterer or outlier detector in the feature space of a kernel.

    The wrapped estimator is fitted to the coordinates of ``KernelMap``, whose dot products are centred kernel values,

    .. math:: Y = \Lambda^{1/2} U', \qquad H K H = U \Lambda U', \qquad y(x) = \Lambda^{-1/2} U' k(x),

    so that a linear method becomes the kernel method to machine precision (PCA becomes kernel PCA, ridge regression
    kernel ridge regression), and methods without dot products (trees, medians, PCA-L1) get a kernel form.

    Parameters
    ----------
    estimator : estimator
        Estimator to fit to coordinates; it is cloned. Set its parameters as ``estimator__C``, those of the kernel as
        ``kernel__gamma``.
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data and sample weights.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    centre : bool
        Use the mean of the training features as origin.
    tol : float, optional
        Relative tolerance of the rank: axes whose eigenvalue is at most ``tol`` times the largest are cut; n eps when
        left out. For estimators that rescale or split single axes take 1e-10 or more: the last axes are rounding.
    landmarks : int or points, optional
        Number of training points to select, or points, whose features span the subspace; all training points when left
        out.
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects a number of landmarks, see `maps.select_landmarks`.
    memory : str or int
        Memory limit, in bytes, of a stored kernel matrix.
    random_state : int, RandomState or None
        Seed of the selection of landmarks. The wrapped estimator has a separate seed.

    Attributes
    ----------
    estimator_ : estimator
        The wrapped estimator, fitted to coordinates.
    map_ : KernelMap
        Map from points to coordinates.
    expansion_ : Expansion
        The vectors psi with output ``expansion_(X) + intercept_``, if the output (``decision_function``, predictions of
        a regressor, or ``transform``) is an affine function of the coordinates. Computed at each access.
    intercept_ : array (m,)
        Constants of the affine function.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    classes_, labels_, offset_
        Attributes of the wrapped estimator, if it has them.
    n_features_in_ : int

    Raises
    ------
    TypeError
        When ``estimator`` is not an estimator.
    ValueError
        When ``estimator`` needs nonnegative input, because coordinates have both signs; for sample weights that it does
        not take.

    See Also
    --------
    KernelMap : The coordinates.

    Notes
    -----
    A method is available if the wrapped estimator has it. ``inverse_transform`` returns pre-images of the coordinates
    that the wrapped inverse gives. O(n^3) and an n x n matrix for the coordinates; with m landmarks O(n m^2).

    References
    ----------
    Kwak, *Nonlinear projection trick in kernel methods: an alternative to the kernel trick*, IEEE TNNLS 24 (2013).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = np.linalg.norm(X, axis=1) > 1.2
    >>> model = mc.Kernelized(LogisticRegression(C=100), mc.Gaussian(0.5)).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> np.allclose(model.expansion_(X)[:, 0] + model.intercept_, model.decision_function(X))
    True
    """

    _wanted = "an estimator, such as LogisticRegression()"

    kernel: KernelLike = "rbf"
    _: KW_ONLY
    centre: bool = True
    tol: float | None = None

    @fits
    def fit(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find coordinates and fit the wrapped estimator to them.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : array, optional
            Targets of the wrapped estimator.
        sample_weight : array (n,), optional
            Weights, of the wrapped estimator and of bandwidth rules.

        Returns
        -------
        self
        """
        self._fit("fit", X, y, sample_weight)
        return self

    @if_inner_has
    @fits
    def fit_transform(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Fit, and return the result of the wrapped ``fit_transform``."""
        return _indexed(self._fit("fit_transform", X, y, sample_weight), X)

    @if_inner_has
    @fits
    def fit_predict(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Fit, and return the result of the wrapped ``fit_predict``."""
        return self._fit("fit_predict", X, y, sample_weight)

    def _fit(self, method, X, y, sample_weight):
        inner, sample_weight = self._for_fit(X, y, sample_weight)
        if get_tags(inner).input_tags.positive_only:
            name = type(inner).__name__
            raise ValueError(
                f"estimator = {name} needs nonnegative input, but coordinates have both signs; use "
                f"make_pipeline(MinMaxScaler(clip=True), {name}()) instead."
            )
        y = self._checked_targets(X, y, inner)
        kernel, points = self._training_points(X, sample_weight)
        given = kernel.tags.points == "indices"
        to_coordinates = KernelMap(
            kernel_of(self) if given else kernel,
            centre=self.centre,
            tol=self.tol,
            landmarks=self.landmarks,
            rule=self.rule,
            memory=self.memory,
            random_state=self.random_state,
        ).fit(X if given else points)
        # the points of a given matrix are indices, and its rows are kernel values; other rows are read once
        Y = to_coordinates.coordinates_(self._rows(X, kernel, reset=False) if given else points)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        try:
            # the inner estimator may be long in BLAS
            with threaded_blas(math.inf):
                result = getattr(inner, method)(Y, y, **weights)
        except Exception as error:
            error.add_note(
                f"Raised by estimator = {shown(self.estimator)} on coordinates of X; see its parameters."
            )
            raise
        self.map_: Any = to_coordinates
        self.kernel_: Kernel = to_coordinates.kernel_
        self.estimator_: Any = inner
        return result

    def _checked_targets(self, X, y, inner):
        """Return the targets of the wrapped estimator, or raise where no estimator can read them."""
        if y is None:
            return None
        # a table of labels may be sparse
        if is_regressor(inner):
            y = as_real_targets(y, "Kernelized")
        elif not hasattr(y, "tocsr"):
            refuse_targets(y)
        check_lengths(X, y)
        if is_classifier(inner):
            try:
                check_classification_targets(y)
            except ValueError as error:
                error.add_note(
                    f"y holds no labels, which the classifier estimator = {shown(self.estimator)} needs."
                )
                raise
        return y

    @if_inner_has
    @on_device
    def transform(self, X: PointsLike) -> Any:
        """Return the transform (n_test, m) of points by the wrapped estimator."""
        return _indexed(self._apply("transform", X), X)

    @if_inner_has
    @on_device
    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return points (n_test, n_features_in_), the pre-images of the coordinates that the wrapped inverse gives."""
        check_is_fitted(self)
        return self.map_.inverse_transform(self.estimator_.inverse_transform(X))

    @if_inner_has
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns of ``transform``; ``input_features`` is ignored."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out()

    @if_inner_has
    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that ``transform`` returns, as in scikit-learn."""
        for inner in (self.estimator, getattr(self, "estimator_", self.estimator)):
            inner.set_output(transform=transform)
        return self

    @attribute
    def classes_(self) -> Array:
        """Classes of the wrapped classifier."""
        return self._inner().classes_

    @attribute
    def labels_(self) -> Array:
        """Cluster labels of the training points."""
        return self._inner().labels_

    @attribute
    def offset_(self) -> Any:
        """Offset of the wrapped outlier detector."""
        return self._inner().offset_

    @attribute
    def expansion_(self) -> Expansion:
        """Vectors of feature space whose inner products with points are the output minus ``intercept_``."""
        matrix, _ = self._affine()
        return self.map_.expansion_ @ matrix

    @attribute
    def intercept_(self) -> Array:
        """Constants that are added to the inner products with ``expansion_``."""
        matrix, constant = self._affine()
        return self.map_.intercept_ @ matrix + constant

    def _affine(self):
        """Return A (r, m) and b (m,) with output Y A + b at coordinates Y; raise AttributeError if it is not affine."""
        output = _output(self._inner())
        r = self.map_.n_components_
        constant = output(np.zeros((1, r)))[0]
        matrix = output(np.eye(r)) - constant
        # at some training points a function that is not affine differs from one
        axes = self.map_.expansion_
        some = evenly_spaced(axes.shape[0], PROBES)
        Y = features(self.kernel_, axes.points)[:, some].inner(axes) + self.map_.intercept_
        values = output(Y)
        # a large constant hides no difference, but rounds every value
        rounding = (
            ROUNDINGS * np.finfo(np.result_type(values, np.float32)).eps * np.abs(values).max()
        )
        allowed = _DIFFERENCE * np.ptp(values, axis=0).max() + rounding * (
            1 + np.abs(Y).sum(axis=1).max()
        )
        if np.abs(values - Y @ matrix - constant).max() > allowed:
            raise AttributeError(
                f"{type(self.estimator_).__name__} is not an affine function of the coordinates, so that it has no "
                "expansion_."
            )
        return matrix, constant

    def _apply(self, method, X, *args, **kwargs):
        """Return the result of a method of the fitted estimator for the coordinates of points."""
        points = self._new_points(X)
        Y = self.map_.coordinates_(points)
        return getattr(self.estimator_, method)(Y, *args, **kwargs)

    def _certificate(self, X, y, sample_weight):
        """Return the residuals of the coordinates in float64 from the training points."""
        points = self._require_training_rows(X)
        return certify(self.map_, points)

    def _inner(self):
        """Return the fitted estimator, or raise an AttributeError before ``fit``."""
        if "estimator_" not in vars(self):
            raise AttributeError("Kernelized is not fitted yet; call fit first.")
        return self.estimator_

    def __sklearn_tags__(self):
        tags = get_tags(self.estimator)
        own = super().__sklearn_tags__()
        tags.input_tags = own.input_tags
        tags.array_api_support = own.array_api_support
        return tags


def _output(estimator):
    """Return the function from coordinates to decision values, predictions of a regressor or a transform (n, m)."""
    if hasattr(estimator, "decision_function"):
        method = estimator.decision_function
    elif is_regressor(estimator):
        method = estimator.predict
    elif hasattr(estimator, "transform"):
        method = estimator.transform
    else:
        raise AttributeError(
            f"{type(estimator).__name__} has no decision values or transform, and so no expansion_."
        )
    return lambda Y: np.asarray(method(Y)).reshape(len(Y), -1)


def _indexed(result, X):
    """Return a pandas result with the index of its points."""
    if hasattr(result, "iloc") and hasattr(X, "iloc"):
        result.index = X.index
    return result
