"""Mixins of all estimators: kernel parameters, transforms to coordinates; rows, labels and weights, validated once."""

import copy
import functools
from collections import Counter
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from mercer._common import (
    TINY,
    Array,
    ArrayLike,
    Memory,
    PointsLike,
    Seed,
    as_float64,
    check_flags,
    check_integer,
    check_weights,
    record,
    refuse_large,
    shown,
    warn,
)
from mercer._compute.memory import Size, parse_memory, required
from mercer._compute.objects import Shared, as_objects, as_table, holds_rows
from mercer._compute.points import (
    PROBES,
    Points,
    are_others,
    are_valid,
    as_rows,
    count_points,
    evenly_spaced,
    take_points,
    widened,
)
from mercer._compute.readable import computed, refuse_container, refuse_unreadable
from mercer._compute.targets import refuse_targets
from mercer._elsewhere import refuse_unknown
from mercer.distributed import InMemory, as_blocks, named_columns
from mercer.estimators.inherited import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer.estimators.model import Model, estimator_mixin, of_points, on_device
from mercer.expansion import Expansion, features, over_points, rows_of, values_at, with_intercept
from mercer.kernels.bandwidth import warn_degenerate
from mercer.kernels.base import Kernel, check_pairwise, validated, with_params
from mercer.kernels.direct_sum import without_marks
from mercer.kernels.shorthand import KernelLike, as_kernel, kernel_of, with_kernel
from mercer.landmarks import check_rule, given_landmarks, selected
from mercer.linalg.generator import check_seed, sorted_sample
from mercer.linalg.operators import LARGEST_ERROR
from mercer.maps.coordinates import as_coordinates
from mercer.maps.landmark_pca import block_moments
from mercer.preimages.methods import check_method
from mercer.solvers.certify import Certificate, Residuals

# Rows that bandwidth rules and landmarks are taken from, and their least number for each landmark.
_SAMPLE = 20_000
_EACH = 10
# Numbers below which squares lose digits, by their type.
_LEAST = {
    info.dtype: float(np.sqrt(info.tiny / info.eps))
    for info in (np.finfo(np.float32), np.finfo(np.float64))
}


@record
class Data:
    """Training points: the features of all of them, or of a sample of rows that are not in memory, and their blocks.

    ``weights`` (n,) are those of the points of the blocks, None for equal ones.
    """

    phi: Expansion
    blocks: Any
    size: Size
    weights: Array | None = None


@estimator_mixin
class KernelEstimator(Model):
    """Mixin of estimators with a ``kernel`` parameter, which stays as given; ``kernel_`` is the resolved kernel.

    The other parameters are those of kernels given by name, with the defaults of scikit-learn's SVC. Parameters are
    fields of dataclasses, which write ``__init__``; those of mixins are keyword-only. Some estimators have the
    parameters ``landmarks`` and ``rule``, also for rows that are not in memory, whose kernel and landmarks are those of
    a sample.
    """

    kernel: KernelLike = "rbf"
    gamma: float | str | None = "scale"
    degree: int | None = 3
    coef0: float | None = 0.0
    memory: Memory = "1GB"

    _doc_link_module = "mercer"
    # fewest training points of a kernel without a rule
    _fewest = 2

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__gamma`` and the like replace the kernel by one with other parameters.

        Parameters
        ----------
        **params : dict
            Parameters of the estimator, of its kernel and of nested estimators.

        Returns
        -------
        self
        """
        try:
            refuse_unknown(
                type(self), (), {name: params[name] for name in params if "__" not in name}
            )
        except TypeError as error:
            raise ValueError(str(error)) from None
        inner = {
            name.removeprefix("kernel__"): params.pop(name)
            for name in list(params)
            if name.startswith("kernel__")
        }
        super().set_params(**params)
        if inner:
            try:
                kernel = with_params(kernel_of(self), inner)
            except ValueError as error:
                if not isinstance(self.kernel, str):
                    raise
                given = ", ".join(f"{name}={shown(value)}" for name, value in inner.items())
                raise ValueError(
                    f"{error} Beside names such as kernel = {self.kernel!r} write {given} without kernel__, also in "
                    "grids; names without such a parameter ignore it."
                ) from None
            with_kernel(self, kernel)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kernel = as_kernel(self.kernel).tags
        tags.input_tags.sparse = kernel.sparse
        tags.input_tags.pairwise = kernel.points == "indices"
        tags.array_api_support = kernel.points not in ("objects", "tables")
        return tags

    def __dir__(self) -> list[str]:
        # scikit-learn's would compute all properties, which may take long or raise
        computed = (property, functools.cached_property)
        return [
            name
            for name in object.__dir__(self)
            if isinstance(getattr(type(self), name, None), computed) or hasattr(self, name)
        ]

    @on_device
    def __mercer_certify__(
        self, X: PointsLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Certificate | Residuals:
        """Return the certificate in float64 from the training points."""
        return self._certificate(X, y, sample_weight)

    def _training_points(self, X, sample_weight=None):
        """Return the resolved kernel and the validated points, a copy of X, or row indices for a precomputed kernel."""
        check_flags(self)
        # some routes draw no numbers
        if (seed := vars(self).get("random_state")) is not None:
            check_seed(seed)
        if "rule" in vars(self):
            # the default is the name of a rule
            if self.rule is not type(self).rule:
                check_rule("rule", self.rule)
            if self.landmarks is not None and np.isscalar(self.landmarks):
                check_integer("landmarks", self.landmarks)
        kernel = kernel_of(self)
        X = self._rows(X, kernel, reset=True)
        refuse_underflow(X)
        if kernel.tags.points == "rows":
            warn_of_kernel_values(X)
        if kernel.tags.points == "indices" and kernel.unresolved() is None:
            raise ValueError(
                f"kernel = {shown(kernel)} has matrices, but a fit takes its matrix as X; compute the values K of the "
                "kernel, as in 2 * K1 + K2, and write kernel='precomputed' and fit(K, y)."
            )
        kernel = kernel.resolve(X, sample_weight)
        self._require_all_functions(kernel)
        check_pairwise(kernel, X)
        if isinstance(X, Shared):
            # before a solver takes parts of them, so that errors name the place in X
            X = kernel.admit(X, "X")
        self._n_rows = n = count_points(X)
        points = np.arange(n) if kernel.tags.points == "indices" else X
        self._check_landmarks(kernel, points)
        return kernel, points

    def _check_landmarks(self, kernel, points):
        """Raise unless given landmarks are points of the kind of others, with columns of the same names and order."""
        given = vars(self).get("landmarks")
        if given is None or np.isscalar(given):
            return
        given_landmarks(kernel, points, given)
        expected = list(getattr(self, "feature_names_in_", ()))
        names = list(getattr(given, "columns", ()))
        texts = all(isinstance(name, str) for name in names)
        if expected and names and texts and names != expected:
            raise ValueError(
                f"landmarks have the columns {shown(names)}, but X has {shown(expected)}; give the columns of X in "
                "their order."
            )

    def _spanning(self):
        """Return the number of landmarks, or the landmarks, None for all points, and the rule that selects a number."""
        return self.landmarks, self.rule

    def _chosen_landmarks(self, size):
        """Return the number of landmarks and their rule, "given" for points; None where all points span."""
        given, rule = self._spanning()
        if given is None:
            return None
        if not np.isscalar(given):
            refuse_container(given, "landmarks")
            return count_points(given), "given"
        check_integer("landmarks", given)
        return None if size.whole and given >= size.n else (min(int(given), size.n), rule)

    def _landmark_features(self, phi, weights=None):
        """Return the features of the landmarks, no point of weight 0."""
        wanted, rule = self._spanning()
        if np.isscalar(wanted) and weights is not None:
            phi = phi[:, np.flatnonzero(weights)]
        found = selected(phi.kernel, phi.points, wanted, rule, self.random_state)
        return features(phi.kernel, found)

    def _training_blocks(self, X):
        """Return the blocks of rows that are not in memory; None where they are, and where all of them span."""
        return None if self.landmarks is None else self._blocks_of(X)

    def _blocks_of(self, X):
        """Return the blocks of rows that are not in memory, or None."""
        kernel = as_kernel(self.kernel)
        # the points of a precomputed kernel are numbers of rows of the whole matrix
        return None if kernel.tags.points == "indices" else _row_blocks(kernel, X)

    def _require_all_functions(self, kernel):
        """Raise if a model cannot have functions that a kernel or a penalty leaves free."""
        left_out = vars(kernel).get("free", 0)
        free = vars(self).get("free")
        if kernel.tags.order == 2 and not (callable(free) or np.ndim(free) or free == "linear"):
            raise ValueError(
                f"kernel = {shown(kernel)} must be positive semidefinite on coefficients of sum 0, but is "
                f"conditionally positive definite of order 2, which {type(self).__name__} cannot use; use "
                "KernelRidge(free='linear') with it, or mercer.kernels.PowerDistance."
            )
        if left_out and free is None and (is_classifier(self) or is_regressor(self)):
            raise ValueError(
                f"kernel: its penalty leaves {left_out} functions free, which {type(self).__name__} could not use; "
                "give KernelRidge free=mercer.regularisation.null_space(k, X, D), or use a D without null space."
            )

    def _features(self, X, sample_weight=None):
        """Return the features of validated training points, of which solvers check nothing again."""
        kernel, points = self._training_points(X, sample_weight)
        return over_points(kernel, Points(validated(kernel, points)))

    def _data(self, X, blocks=None, weights=None):
        """Return the training points, validated once; ``blocks`` are those of rows that are not in memory."""
        budget = parse_memory(self.memory)
        phi = (
            self._features(X, weights)
            if blocks is None
            else self._sampled_features(X, blocks, weights)
        )
        size = Size(len(phi), budget, np.dtype(phi.prepared.dtype).itemsize, whole=blocks is None)
        return Data(phi, InMemory(phi.prepared.container) if blocks is None else blocks, size)

    def _weighted_data(self, X, sample_weight, blocks=None):
        """Return the training points with their weights; points of weight 0 in memory are left out."""
        weights = None
        if sample_weight is not None:
            weights = given_weights(
                sample_weight, count_rows(X) if blocks is None else blocks.shape[0]
            )
        data = self._data(X, blocks, weights)
        if weights is not None and blocks is None:
            kept = np.flatnonzero(weights)
            phi = data.phi[:, kept]
            data = Data(phi, InMemory(phi.points), replace(data.size, n=len(phi)))
            weights = weights[kept]
        warn_degenerate(data.phi.kernel, data.phi.prepared.container)
        return replace(data, weights=weights)

    def _route(self, size):
        """Return the first route of the fit that the memory holds, or raise a MemoryError."""
        return required(self._routes(size), size, type(self).__name__)

    def _sampled_features(self, X, blocks, weights):
        """Return the features of a sample of rows that are not in memory, from which landmarks are taken.

        Rows of weight 0 are left out of the sample, unless fewer than two others are in it.
        """
        wanted, _ = self._spanning()
        m = wanted if isinstance(wanted, Integral) else 0
        rows = _sample_rows(blocks, m, self.random_state)
        own = None
        if weights is not None:
            own = np.asarray(weights[rows])
            rows, own = (rows[own > 0], own[own > 0]) if np.count_nonzero(own) > 1 else (rows, None)
        found = self._features(blocks.take(rows), own)
        self._n_rows = blocks.shape[0]
        _check_feature_names(self, named_columns(X), reset=True)
        return found

    def _new_blocks(self, X):
        """Return the blocks of new rows that are not in memory, or None, also if the model is not fitted."""
        return _row_blocks(self.kernel_, X) if hasattr(self, "kernel_") else None

    def _new_sample(self, X, blocks):
        """Return a validated sample of new rows that are not in memory."""
        sample = blocks.take(_sample_rows(blocks, 0, self.random_state))
        return KernelEstimator._new_points(self._for_blocks(X), sample)

    def _for_blocks(self, X):
        """Return the model for blocks of X, which have no names of columns; those of X must be those of the fit."""
        _check_feature_names(self, named_columns(X), reset=False)
        if not hasattr(self, "feature_names_in_"):
            return self
        nameless = copy.copy(self)
        del nameless.feature_names_in_
        return nameless

    def _new_points(self, X):
        """Return X, validated against the points of the fit."""
        state = vars(self)
        kernel = state.get("kernel_")
        if kernel is None:
            # only then, since scikit-learn's check takes a tenth of the prediction of a row
            check_is_fitted(self, "kernel_")
        if kernel.tags.points in ("objects", "tables") or not are_known(X, state):
            return self._rows(X, kernel, reset=False)
        return X

    def _require_training_rows(self, X):
        """Return validated points, or raise unless X has the columns and the number of rows of the training points."""
        points = self._new_points(X)
        require_rows(self, count_points(points))
        return points

    def _certified_points(self, X):
        """Return the kernel and all training points in float64; a precomputed kernel is that of the matrix X."""
        points = widened(self._require_training_rows(X))
        if self.kernel_.tags.points == "indices":
            return kernel_of(self).resolve(points), np.arange(count_points(points))
        return self.kernel_, points

    def _weighted_points(self, X, sample_weight):
        """Return the kernel, the training points of positive weight in float64, and their weights or None."""
        kernel, points = self._certified_points(X)
        weights = given_weights(sample_weight, count_points(points))
        if weights is None:
            return kernel, points, None
        kept = np.flatnonzero(weights)
        return kernel, take_points(points, kept), weights[kept]

    def _require_fitted(self, points, vectors):
        """Raise unless some of the training points are the vectors with which the model predicts."""
        if are_others(points, vectors):
            pairs = zip(points, vectors, strict=False)
            given = next((point for point, vector in pairs if are_others(point, vector)), points)
            raise ValueError(
                f"X must hold the vectors of {type(self).__name__}, which differ, got the row {shown(given)}: give the "
                "training points, in the order of the fit. A model whose vectors were changed has no certificate."
            )

    def _exact(self, kernel, points=None):
        """Return ``expansion_`` in float64, over training points if these are given and its points."""
        psi = self.expansion_
        if points is not None:
            self._require_fitted(without_marks(kernel, points), rows_of(psi))
        return exact_vectors(kernel, psi.points if points is None else points, psi.coef)

    def _warn_single_precision(self, points, parameter="", lengths=1.0):
        """Warn if float32 moves values at some points by more than a share of the size of their column.

        A larger ``parameter`` helps. Without, columns are along axes of some ``lengths``, with the largest size.
        """
        psi = self.expansion_
        if psi.coef.dtype != np.float32:
            return
        n = count_points(points)
        some = take_points(points, evenly_spaced(n, PROBES))
        # coefficients of repeated points cancel but for their rounding, though kernel values have no error
        noise = (
            np.random.default_rng(0).uniform(-1, 1, psi.coef.shape) * np.finfo(np.float32).eps / 2
        )
        both = exact_vectors(psi.kernel, psi.points, np.hstack([psi.coef, psi.coef * noise]))
        exact, rounding = np.split(both(widened(some)), 2, axis=1)
        error = np.hypot(
            np.linalg.norm(psi(some) - exact, axis=0), np.linalg.norm(rounding, axis=0)
        )
        size = np.linalg.norm(exact + self.intercept_, axis=0)
        if parameter:
            remedy = f"a larger {parameter} than {shown(getattr(self, parameter))}"
            size = np.where(size > 0, size, 1.0)
        else:
            remedy = (
                "a kernel whose values differ more (a smaller bandwidth, rows about their mean)"
            )
            error = error * lengths
            size = max(np.max(size * lengths), TINY)
        share = float(np.max(error / size))
        if share > LARGEST_ERROR:
            warn(
                f"values of {type(self).__name__} are accurate to a share of {share:.1g} only: float32 rounds kernel "
                f"values, and coefficients, which are up to {float(np.abs(psi.coef).max()):.1g}; give X in "
                f"float64, or {remedy}.",
                ConvergenceWarning,
            )

    def _rows(self, X, kernel, reset):
        """Return validated points of a kernel; ``reset`` says that X are the training points."""
        kind = kernel.tags.points
        fewest = (2 if kernel.unresolved() else self._fewest) if reset else 1
        objects = kind == "objects" or (
            kind in ("rows or objects", "any")
            # new points are what those of the fit were
            and not (holds_rows(X) if reset else hasattr(self, "n_features_in_"))
        )
        if objects or kind == "tables":
            points = as_objects(X) if objects else self._table(X, reset)
            if fewest > 1:
                require_two(self, points)
            return points
        if kind == "indices" and hasattr(X, "tocsr"):
            raise TypeError("X must not be sparse for kernel = 'precomputed'; give X.toarray().")
        try:
            return validated_rows(
                self,
                X,
                reset,
                accept_sparse="csr",
                order="C",
                copy=reset,
                ensure_min_samples=fewest,
            )
        except ValueError as error:
            if kind != "indices" or reset:
                raise
            raise ValueError(
                f"{error} Of kernel = 'precomputed' X must hold the kernel values of new points with all "
                f"{self.n_features_in_} training points; write K = kernel(X_test, X_train)."
            ) from None

    def _table(self, X, reset):
        """Return a validated table, with the names and number of columns of the fit."""
        X = computed(X, "X", self.memory)
        table = as_table(X)
        if X is not table:
            validate_data(self, X, reset=reset, skip_check_array=True)
        return table


def _row_blocks(kernel, X):
    """Return the blocks of rows that are not in memory, or None; blocks have no names of columns."""
    return None if hasattr(X, "columns") and kernel.tags.points == "tables" else as_blocks(X)


def _sample_rows(blocks, m, random_state):
    """Return the numbers of a uniform sample of rows, from which m landmarks are taken."""
    n = blocks.shape[0]
    size = min(n, max(_SAMPLE, _EACH * m))
    return sorted_sample(n, size, random_state)


def require_rows(model: Model, n: int) -> None:
    """Raise unless n is the number of rows that a model was fitted on."""
    name = type(model).__name__
    fitted = getattr(model, "_n_rows", None)
    if fitted is None:
        raise ValueError(
            f"{name} was not fitted but made from another model; give that model, with its training points."
        )
    if n != fitted:
        raise ValueError(
            f"X has {n} rows, but {name} was fitted on {fitted}; give all training points, in the order of the fit, "
            "as in mercer.certify(model, X_train, y_train); of new points score(X, y) tells."
        )


def exact_vectors(kernel: Kernel, points: PointsLike, coef: Array | None) -> Expansion:
    """Return vectors with given coefficients over points, in float64."""
    return Expansion(kernel, widened(points), as_float64(coef))


@estimator_mixin
class KernelTransformer(KernelEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin of transformers to inner products with the vectors ``expansion_``, plus ``intercept_``."""

    random_state: Seed = None

    @of_points
    def transform(self, X: PointsLike) -> Any:
        """Return the coordinates of points, ``expansion_(X) + intercept_``.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test, n_components_)
        """
        X = self._new_points(X)
        return with_intercept(values_at(self.expansion_, X), self.intercept_)

    def _store_axes(self, expansion, intercept, trace_error):
        """Store the vectors, a component each, their intercepts, and the trace error of landmarks."""
        self.expansion_: Expansion = expansion
        self.intercept_: Array = intercept
        self.n_components_: int
        self.n_components_ = self._n_features_out = len(expansion)
        if trace_error is not None:
            self.trace_error_: float = trace_error


@estimator_mixin
class OverLandmarks(KernelEstimator):
    """Mixin of estimators whose solutions landmarks may span instead of all training points."""

    landmarks: int | PointsLike | None = None
    rule: str = "randomly_pivoted"
    random_state: Seed = None


@estimator_mixin
class CoordinateTransformer(OverLandmarks, KernelTransformer):
    """Mixin of transformers with ``coordinates_``, whose inverse are pre-images by the method ``preimage``."""

    preimage: Any = "auto"

    @on_device
    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return points whose features are nearest to the vectors with given coordinates, the mean included.

        Parameters
        ----------
        X : array (m, k)
            Coordinates along the leading k <= n_components_ axes; 0 along the others.

        Returns
        -------
        array (m, n_features_in_) or list of m objects

        Raises
        ------
        TypeError
            For a precomputed kernel.
        """
        check_is_fitted(self)
        return self.coordinates_.preimages(
            as_coordinates(X, "X", self.n_components_), self.preimage
        )

    def _computed(self, X, sample_weight):
        """Return training points, what the first route that the memory holds finds of them, n, and the trace error."""
        data = self._weighted_data(X, sample_weight, self._training_blocks(X))
        points = data.phi.prepared.container
        self.kernel_: Kernel = data.phi.kernel
        return points, *self._route(data.size).run(data)

    def _landmark_moments(self, data):
        """Return the moments of coordinates in the span of landmarks."""
        return block_moments(
            self._landmark_features(data.phi),
            data.blocks,
            self.centre,
            data.weights,
            data.size.budget,
            self.random_state,
        )

    def _training_points(self, X, sample_weight=None):
        check_method("preimage", self.preimage)
        return super()._training_points(X, sample_weight)


# --- rows, labels and weights as users give them ----------------------------------------------------------------------


def validated_rows(model: Model, X: PointsLike, reset: bool, **options: Any) -> Any:
    """Return rows validated by scikit-learn, float32 or float64; errors name the entry that no estimator can read."""
    if not reset and are_known(X, vars(model)):
        return X
    if reset and are_valid(X) and X.flags.c_contiguous and len(X) > 1:
        # what scikit-learn stores
        vars(model).pop("feature_names_in_", None)
        model.n_features_in_ = X.shape[1]
        return X.copy() if options.get("copy") else X
    # scikit-learn reads Dask arrays too, of any size and with warnings
    X = computed(X, "X", getattr(model, "memory", "1GB"))
    refuse_unreadable(X, "X")
    _refuse_columns(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not X.dtype.isnative:
        # scikit-learn would make float64 of float32 in another byte order
        X = X.astype(X.dtype.newbyteorder("="))
    options = {
        "dtype": [np.float64, np.float32],
        "ensure_min_samples": 2 if reset else 1,
    } | options
    try:
        # a long double may become infinite in float64, which is refused
        with config_context(array_api_dispatch=False), np.errstate(over="ignore"):
            return validate_data(model, X, reset=reset, **options)
    except ValueError as error:
        # the text of scikit-learn shows an array of one dimension as a whole
        if str(error).startswith(("Input X contains", "Expected", "Found array with dim")):
            as_rows(X)
        if not reset and hasattr(X, "tocsr") and "features" in str(error):
            raise ValueError(
                f"{error} Files give the same width by load_svmlight_file(path, n_features={model.n_features_in_})."
            ) from None
        raise


def are_known(X: PointsLike, state: dict[str, Any]) -> bool:
    """Return whether new rows need no change, and have as many columns as those of the fit, which had no names."""
    return (
        "feature_names_in_" not in state
        and are_valid(X)
        and X.flags.c_contiguous
        and X.shape[1] == state.get("n_features_in_")
    )


def _refuse_columns(X):
    """Raise for a table whose columns share a name, or are sparse without a fill value of 0."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    for name, times in Counter(X.columns).items():
        if times > 1:
            raise ValueError(
                f"X must have columns of different names, got {shown(name)} {times} times; rename them."
            )
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        fill = getattr(dtype, "fill_value", 0)
        if fill != 0:
            raise ValueError(
                f"column {shown(name)} of X must have the fill value 0, got {fill}; give X.sparse.to_dense()."
            )


def require_two(model: Model, points: Any) -> None:
    """Raise for a single training point."""
    if len(points) < 2:
        raise ValueError(
            f"Found X with 1 sample(s), but {type(model).__name__} needs a minimum of 2."
        )


def count_rows(X: PointsLike) -> int:
    """Return the number of points of a container that is not yet validated, or raise if there are none."""
    if type(X) is np.ndarray and X.ndim:
        n = len(X)
    else:
        refuse_container(X, "X")
        n = _num_samples(X)
    if n == 0:
        raise ValueError("X must have rows, got 0 sample(s); give at least two.")
    return n


def check_lengths(X: PointsLike, y: ArrayLike) -> int:
    """Return the number of rows of X, or raise unless y has as many."""
    n = count_rows(X)
    if n != _length(y):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {_length(y)}; "
            "give as many."
        )
    return n


def _length(values):
    """Return the number of rows; scikit-learn takes ten times as long to find that of an array."""
    return len(values) if type(values) is np.ndarray and values.ndim else _num_samples(values)


def given_weights(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Return validated weights of n points, whose squares are finite; None for equal weights."""
    if sample_weight is None:
        return None
    weights = check_weights("sample_weight", sample_weight, n)
    refuse_large("sample_weight", weights)
    return weights


def as_labels(X: PointsLike, y: ArrayLike, model: str) -> Any:
    """Return the labels of the rows of X as an array (n,), or raise; errors name the model."""
    if y is None:
        raise ValueError(f"{model} requires y to be passed, but the target y is None.")
    if _are_plain_labels(y):
        check_lengths(X, y)
        return y
    refuse_container(X, "X")
    refuse_targets(y)
    try:
        y = column_or_1d(y, warn=True)
    except ValueError as error:
        raise ValueError(
            f"{error} For indicators of classes write numpy.argmax(y, axis=1), for several labels of a point "
            f"sklearn.multioutput.MultiOutputClassifier(mercer.{model}()); X comes before y."
        ) from None
    # before classes: missing rows may have them
    check_lengths(X, y)
    try:
        check_classification_targets(y)
    except ValueError as error:
        if y.dtype == object:
            raise ValueError(
                f"Unknown label type: y must hold labels of one type, got dtype object with {shown(y[0])} of type "
                f"{type(y[0]).__name__}; convert them, such as by y.astype(int) or y.astype(str)."
            ) from None
        near = model.replace("SVC", "SVR").replace("TableClassifier", "TableRegressor")
        regressor = "KernelRidge" if near == model else near
        raise ValueError(
            f"{error} For targets that are numbers write mercer.{regressor}()."
        ) from None
    return y


def require_classes(model: Any, classes: Array) -> None:
    """Raise unless the classes of labels are those of a fitted classifier."""
    if not np.array_equal(classes, model.classes_):
        found = shown(classes.tolist())
        fitted = shown(model.classes_.tolist())
        raise ValueError(f"y has the classes {found}, the fit had {fitted}; give y as in the fit.")


def _are_plain_labels(y):
    """Return whether scikit-learn would return y as it is: its checks take a tenth of a small fit."""
    # of more classes it warns
    return (
        type(y) is np.ndarray
        and y.ndim == 1
        and y.dtype.kind in "biu"
        and y.size > 0
        and 2 * (int(y.max()) - int(y.min()) + 1) <= len(y)
    )


def refuse_underflow(X: PointsLike) -> None:
    """Raise if the squares of all entries of rows lose digits in their type; single new points may be small."""
    if getattr(getattr(X, "dtype", None), "kind", "") != "f":
        return
    # no temporary array of the size of X
    largest = max(float(X.max()), -float(X.min()))
    if 0 < largest < _LEAST[X.dtype]:
        raise ValueError(
            f"Squared norms and distances underflow {X.dtype}: X has entries up to {largest:.3g}; scale X "
            "(StandardScaler) first."
        )


def warn_of_kernel_values(X: PointsLike) -> None:
    """Warn if rows look like the kernel values of all pairs of points: symmetric, with ones on the diagonal only."""
    unit = isinstance(X, np.ndarray) and X.shape == X.shape[::-1] and (X.diagonal() == 1).all()
    if unit and 0 < np.abs(X - np.eye(len(X))).max() <= 1 and np.allclose(X, X.T):
        warn(
            "X looks like a matrix of kernel values, symmetric with 1 on the diagonal; for those give "
            "kernel='precomputed'."
        )
