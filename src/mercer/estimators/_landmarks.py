"""Landmarks of estimators: the features that span the solutions, and the share of the kernel matrix outside of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._common import Array, check_integer, shown
from mercer._compute.points import count_points
from mercer._compute.readable import refuse_container
from mercer._compute.routes import Size
from mercer.expansion import Expansion, features
from mercer.kernels.base import Kernel
from mercer.maps._select_landmarks import check_rule, given_landmarks, selected


def check_rule_and_number(model: Any) -> None:
    """Raise unless an estimator has the name of a rule, and landmarks that are None, a number, or not a scalar."""
    if "rule" in vars(model):
        check_rule("rule", model.rule)
        if model.landmarks is not None and np.isscalar(model.landmarks):
            check_integer("landmarks", model.landmarks)


def check_landmarks(model: Any, kernel: Kernel, points: Any) -> None:
    """Raise unless the landmarks that an estimator is given are points of the kind of others."""
    found = vars(model).get("landmarks")
    if found is not None and not np.isscalar(found):
        given_landmarks(kernel, points, found)
        _check_names(model, found)


def _check_names(model, landmarks):
    """Raise if landmarks are a table whose columns have other names than those of X, or the same in another order."""
    expected = list(getattr(model, "feature_names_in_", ()))
    names = list(getattr(landmarks, "columns", ()))
    if expected and names and all(isinstance(name, str) for name in names) and names != expected:
        raise ValueError(
            f"landmarks have the columns {shown(names)}, but X has {shown(expected)}; give the columns of X in their "
            "order."
        )


def chosen_landmarks(model: Any, size: Size) -> tuple[int, str] | None:
    """Return the number of landmarks of an estimator and their rule, "given" for points; None where all points span."""
    given = model.landmarks
    if given is None:
        return None
    if not np.isscalar(given):
        refuse_container(given, "landmarks")
        return count_points(given), "given"
    check_integer("landmarks", given)
    return None if size.whole and given >= size.n else (min(int(given), size.n), model.rule)


def landmark_features(model: Any, phi: Expansion, weights: Array | None = None) -> Expansion:
    """Return the features of the landmarks of an estimator, no point of weight 0."""
    if np.isscalar(model.landmarks) and weights is not None:
        phi = phi[:, np.flatnonzero(weights)]
    found = selected(phi.kernel, phi.points, model.landmarks, model.rule, model.random_state)
    return features(phi.kernel, found)


def has_given_landmarks(model: Any) -> bool:
    """Return True, or raise an AttributeError unless the landmarks are points; for ``available_if``."""
    if model.landmarks is None or np.isscalar(model.landmarks):
        raise AttributeError(
            f"partial_fit of {type(model).__name__} needs landmarks that are points, got landmarks = "
            f"{shown(model.landmarks)}; give an array, such as some rows of the data, or use fit."
        )
    return True
