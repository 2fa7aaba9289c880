"""Calibration: class probabilities from decision values, by curves fitted to those of held-out rows."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from mercer._common import Array, ArrayLike, as_float64, shown
from mercer.estimators.inherited import BaseEstimator
from mercer.estimators.model import available


@available
def has_probabilities(search: Any) -> Any:
    """Give a method to searches that fit probabilities."""
    if search.calibration is None or not search.refit:
        raise AttributeError(
            f"calibration = {shown(search.calibration)} and refit = {shown(search.refit)} give no probabilities; fit "
            f"{type(search).__name__}(calibration='sigmoid') with refit=True."
        )
    if hasattr(search, "best_index_") and not hasattr(search, "calibrators_"):
        raise AttributeError(
            f"{type(search).__name__} was fitted with calibration=None, which gives no probabilities; fit it again."
        )
    return True


def fit_calibration(
    method: str, values: Array, y: Array, sample_weight: ArrayLike | None
) -> list[Array]:
    """Return scikit-learn's calibration of decision values (n,) or (n, c): one array for each column.

    These are the slope and the offset (2, 1) of "sigmoid", or the values and probabilities (2, k), k > 1, between
    which "isotonic" interpolates.
    """
    # the only name of the curve alone is private: without it nothing else of Mercer must fail
    from sklearn.calibration import _SigmoidCalibration

    columns = as_float64(values).reshape(len(y), -1).T
    curves = []
    # the column of two classes is that of the second one
    for own, label in zip(columns, np.unique(y)[-len(columns) :], strict=True):
        isotonic = method == "isotonic"
        curve = IsotonicRegression(out_of_bounds="clip") if isotonic else _SigmoidCalibration()
        curves.append(curve_of(curve.fit(own, (y == label).astype(int), sample_weight)))
    return curves


def curve_of(calibrator: BaseEstimator) -> Array:
    """Return a fitted sigmoid (2, 1) or isotonic regression (2, k) of scikit-learn as an array."""
    if hasattr(calibrator, "a_"):
        return np.array([[calibrator.a_], [calibrator.b_]], np.float64)
    curve = np.array([calibrator.X_thresholds_, calibrator.y_thresholds_], np.float64)
    # a single value twice: one column is a sigmoid
    return np.repeat(curve, 2, axis=1) if curve.shape[1] == 1 else curve


def calibrated(curves: list[Array], values: Array) -> Array:
    """Return the probabilities (n, c) of classes with decision values (n,) or (n, c): one-vs-rest, normalised."""
    columns = values.reshape(len(values), -1).T
    found = [_probabilities(curve, column) for curve, column in zip(curves, columns, strict=True)]
    if len(found) == 1:
        return np.column_stack([1 - found[0], found[0]])
    found = np.column_stack(found)
    total = found.sum(axis=1, keepdims=True)
    # classes that are all impossible are equally probable
    return np.divide(found, total, out=np.full_like(found, 1 / found.shape[1]), where=total > 0)


def _probabilities(curve, column):
    return (
        expit(-(curve[0] * column + curve[1])) if curve.shape[1] == 1 else np.interp(column, *curve)
    )
