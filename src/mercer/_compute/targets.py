"""refuse_targets: labels and values that no estimator can read, named before anything is computed."""

import numpy as np

from mercer._common import refuse_large, shown
from mercer._compute.points import has_finite_sum
from mercer._compute.readable import is_missing


def refuse_targets(y, name="y"):
    """Raise unless y can hold one label or value for each row; the data are not shown."""
    if np.ma.is_masked(y):
        raise TypeError(
            f"{name} must not be a masked array or have missing entries; drop the rows of those first."
        )
    try:
        # of chunks of a dictionary of pyarrow NumPy reads a missing entry as the last value
        array = np.asarray(y.combine_chunks() if hasattr(y, "combine_chunks") else y)
    except ValueError:
        raise ValueError(
            f"{name} must hold one label or number for each row; its entries differ in length."
        ) from None
    if array.ndim == 0:
        # texts, dicts, sets, sparse matrices and functions are one object to NumPy
        found = "None" if y is None else f"an object of type {type(y).__name__}"
        found = f"a sparse matrix of shape {y.shape}" if hasattr(y, "tocsr") else found
        found += "; of a table give X.drop(columns=y) and X[y]" * isinstance(y, str)
        raise TypeError(
            f"{name} must be a list or an array with a label or a number for each row, got {found}."
        )
    if array.ndim > 2:
        raise ValueError(
            f"{name} must have one dimension, or two for several targets, got shape {array.shape}."
        )
    if array.ndim == 2 and not array.shape[1]:
        raise ValueError(
            f"{name} must hold a label or a number for each row, got shape {array.shape}."
        )
    if array.dtype.kind == "c":
        raise ValueError(
            f"{name} must hold labels or real numbers, got dtype {array.dtype}: Complex data not supported."
        )
    if array.dtype.kind in "mMV":
        raise TypeError(
            f"{name} must hold labels or numbers, got dtype {array.dtype}; convert them first."
        )
    if array.dtype.kind == "T":
        raise TypeError(
            f"{name} must hold labels or numbers, got dtype {array.dtype}; give {name}.astype(str)."
        )
    if array.dtype.kind == "f":
        _refuse_nonfinite(array, name)
    if array.dtype.kind == "O" or (array.dtype.kind in "US" and isinstance(y, (list, tuple))):
        # NumPy makes texts of numbers beside texts
        _refuse_mixed(array if array.dtype.kind == "O" else np.asarray(y, dtype=object), name)


def class_places(y, classes, name="y"):
    """Return the place (n,) of each label among the classes of a fit, or raise; labels of another type are none."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    labels = y.tolist()
    codes = np.array([place.get(label, -1) for label in labels], np.intp)
    if (codes < 0).any():
        first = int(np.argmin(codes))
        raise ValueError(
            f"{name}[{first}] = {shown(labels[first])} must be one of the classes of the model, "
            f"{shown(classes.tolist())}; give labels like those of its fit, of the same type."
        )
    return codes


def as_real_targets(y, model):
    """Return targets of a regression in float64, in their shape; errors name the model."""
    if y is None:
        raise ValueError(f"{model} requires y to be passed, but the target y is None.")
    if (
        type(y) is np.ndarray
        and y.dtype == np.float64
        and y.ndim in (1, 2)
        and y.size
        and has_finite_sum(y)
    ):
        refuse_large("y", y)
        return y
    refuse_targets(y)
    try:
        values = np.asarray(y, np.float64)
    except OverflowError:
        raise ValueError(
            "y must hold numbers of at most 1.8e308, the largest float64; divide y by a constant."
        ) from None
    except (TypeError, ValueError):
        kind = np.asarray(y).dtype
        classifier = "TableClassifier" if model == "TableRegressor" else "SVC"
        raise ValueError(
            f"{model} needs y of numbers, got dtype {kind}; for labels use a classifier, such as {classifier}."
        ) from None
    _refuse_nonfinite(values, "y")
    if not values.size:
        raise ValueError(
            f"y must hold a value for each row of X, got shape {values.shape}; {model} needs some."
        )
    refuse_large("y", values)
    return values


def _refuse_nonfinite(array, name):
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        value = array[tuple(bad[0])]
        kind = (
            "NaN"
            if np.isnan(value)
            else f"infinity or a value too large for dtype('{array.dtype}')"
        )
        raise ValueError(
            f"Input {name} contains {kind}. {name}[{place}] = {value} must be finite; remove such rows."
        )


def _refuse_mixed(array, name):
    """Raise for missing entries, and for texts beside other entries, which have no order."""
    for place, value in np.ndenumerate(array):
        if is_missing(value) or value != value:
            where = ", ".join(map(str, place))
            raise ValueError(
                f"Input {name} contains NaN. {name}[{where}] = {value} must be a label; remove such rows."
            )
        if isinstance(value, complex):
            raise ValueError(
                f"{name} must hold labels or real numbers: Complex data not supported."
            )
    texts = sum(isinstance(value, str) for value in array.flat)
    if 0 < texts < array.size:
        raise TypeError(
            f"{name} must hold labels of one type, got {texts} texts of type str among {array.size} entries; convert "
            f"them, such as by [str(label) for label in {name}]."
        )
