"""Rows of numbers and labels as users give them, validated before heavy work."""

from collections import Counter
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from mercer._common import Array, ArrayLike, PointsLike, check_weights, refuse_large, shown, warn
from mercer._compute.points import are_valid, as_rows
from mercer._compute.readable import computed, refuse_container, refuse_unreadable
from mercer._compute.targets import refuse_targets
from mercer.estimators.model import Model

# Numbers below which squares lose digits, by their type.
_LEAST = {
    info.dtype: float(np.sqrt(info.tiny / info.eps))
    for info in (np.finfo(np.float32), np.finfo(np.float64))
}


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
    refuse_container(X, "X")
    n = _length(X)
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
