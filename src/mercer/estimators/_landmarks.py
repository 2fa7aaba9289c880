"""Landmarks of estimators: the features that span the solutions, and the share of the kernel matrix outside of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array, check_integer, shown
from mercer.estimators._plan import require_plan
from mercer.expansion import features
from mercer.maps import select_landmarks
from mercer.maps._select_landmarks import check_rule, given_landmarks

if TYPE_CHECKING:
    from mercer.expansion import Expansion
    from mercer.kernels.base import Kernel


def check_rule_and_number(model: Any) -> None:
    """Raise unless an estimator has the name of a rule, and landmarks that are None, a number, or not a scalar."""
    if hasattr(model, "rule"):
        check_rule("rule", model.rule)
        if model.landmarks is not None and np.isscalar(model.landmarks):
            check_integer("landmarks", model.landmarks)


def check_landmarks(model: Any, kernel: Kernel, points: Any) -> None:
    """Raise unless the landmarks that an estimator is given are points of the kind of others."""
    found = getattr(model, "landmarks", None)
    if found is not None and not np.isscalar(found):
        given_landmarks(kernel, points, found)
        _check_names(model, found)


def _check_names(model, landmarks):
    """Raise if landmarks are a table whose columns have other names than those of X, or the same in another order."""
    expected, names = list(getattr(model, "feature_names_in_", ())), list(getattr(landmarks, "columns", ()))
    if expected and names and all(isinstance(name, str) for name in names) and names != expected:
        raise ValueError(
            f"landmarks have the columns {shown(names)}, but X has {shown(expected)}; give the columns of X in their "
            "order."
        )


def uses_all_points(model: Any, n: int) -> bool:
    """Return whether all n points span the solutions: no landmarks, or a number that is not below n."""
    return model.landmarks is None or (np.isscalar(model.landmarks) and model.landmarks >= n)


def landmark_features(model: Any, phi: Expansion, weights: Array | None = None) -> Expansion | None:
    """Return the features of the landmarks of an estimator, no point of weight 0; None where all points span them.

    Raise a MemoryError where the fit takes more than the memory of the estimator.
    """
    require_plan(model, len(phi))
    if uses_all_points(model, len(phi)):
        return None
    if np.isscalar(model.landmarks) and weights is not None:
        phi = phi[:, np.flatnonzero(weights)]
    found = select_landmarks(phi.kernel, phi.points, model.landmarks, model.rule, model.random_state)
    return features(phi.kernel, found)


def has_given_landmarks(model: Any) -> bool:
    """Return True, or raise an AttributeError unless the landmarks are points; for ``available_if``."""
    if model.landmarks is None or np.isscalar(model.landmarks):
        raise AttributeError(
            f"partial_fit of {type(model).__name__} needs landmarks that are points, got landmarks = "
            f"{shown(model.landmarks)}; give an array, such as some rows of the data, or use fit."
        )
    return True


def store_trace_error(model: Any, error: float | None) -> None:
    """Store the share of the kernel matrix that landmarks do not span; None for a model without landmarks."""
    vars(model).pop("trace_error_", None)
    if error is not None:
        model.trace_error_ = error
