"""tangents and tangent_covariance: derivatives of transformed rows in the amount of the transformation."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer._common import (
    STEP,
    AnyFunction,
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_positive,
    check_weights,
    shown,
)
from mercer._compute.memory import blocks
from mercer._compute.points import PROBES, as_dense_rows
from mercer.linalg.operators import INACCURATE

# Functions g(X, t) in a list or a dict, or one function.
Transforms: TypeAlias = Sequence[AnyFunction] | dict[str, Any] | AnyFunction


def tangents(X: PointsLike, transforms: Transforms, step: float | None = None) -> Array:
    r"""Return the tangents of rows under transformations: derivatives in t at t = 0.

    .. math:: T_{ia} = \frac{\partial}{\partial t}\Big|_{t = 0} g_a(x_i, t)

    Parameters
    ----------
    X : rows (n, d)
    transforms : list, dict or callable
        Functions ``g(X, t)`` that return the rows of X moved by the number t, with g(X, 0) = X; row i depends on row i
        of X only. See `image_transforms`.
    step : float, optional
        Tangents are central differences (g(X, step) - g(X, -step)) / (2 step). When left out, ``g.derivative(X)`` where
        a transformation has it, otherwise differences with step 6e-6. A transformation that is not smooth, such as
        sampling at the nearest pixel, needs a larger step.

    Returns
    -------
    array (n, number of transforms, d)
        In the type of X; computed in float64.

    Raises
    ------
    TypeError
        When a transformation is not a function.
    ValueError
        When a transformation returns another shape or values that are not finite, moves rows at t = 0, or moves no row.

    References
    ----------
    Schoelkopf, Simard, Smola, Vapnik, *Prior knowledge in support vector kernels*, NIPS 10 (1998), section 3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> def rotation(X, t):
    ...     return X @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
    >>> mc.invariance.tangents(np.array([[1.0, 0.0]]), [rotation]).round(6) + 0.0
    array([[[0., 1.]]])
    """
    X, transforms = _checked(X, transforms, step)
    found = _differentiated(X, transforms, step)
    _refuse_still({name: np.abs(found[:, a]).max() for a, name in enumerate(transforms)}, step)
    return found.astype(X.dtype, copy=False)


def tangent_covariance(
    X: PointsLike,
    transforms: Transforms,
    sample_weight: ArrayLike | None = None,
    *,
    step: float | None = None,
) -> Array:
    r"""Return the tangent covariance matrix of rows under transformations, the sum over the transformations.

    .. math:: C = \sum_a \frac{1}{\sum_i s_i} \sum_i s_i T_{ia} T_{ia}'

    It is the covariance of random small moves of random sign, and is not centred.

    Parameters
    ----------
    X : rows (n, d)
    transforms, step
        As in `tangents`.
    sample_weight : array (n,), optional
        Weights s_i of the rows.

    Returns
    -------
    array (d, d)
        Symmetric and positive semidefinite, in the type of X, summed in float64.

    Raises
    ------
    TypeError, ValueError
        As in `tangents`, and for weights that are negative or all 0.

    Notes
    -----
    One pass over X in blocks: O(n a d^2) operations for a transformations, O(d^2) memory beside a block.

    References
    ----------
    Schoelkopf, Smola, Mueller, Burges, Vapnik, *Support vector methods in learning and feature extraction*, Australian
    Journal of Intelligent Information Processing Systems 5 (1998), eq. (42).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.invariance.tangent_covariance(np.eye(2), [lambda X, t: X * (1 + t)])
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    X, transforms = _checked(X, transforms, step)
    n, d = X.shape
    weights = check_weights("sample_weight", sample_weight, len(X))
    total = np.zeros((d, d))
    largest = np.zeros(len(transforms))
    for block in blocks(n, d * len(transforms)):
        found = _differentiated(X[block], transforms, step)
        largest = np.maximum(largest, np.abs(found).max(axis=(0, 2)))
        scaled = (np.sqrt(weights[block])[:, None, None] * found).reshape(-1, d)
        total += scaled.T @ scaled
    _refuse_still(dict(zip(transforms, largest, strict=True)), step)
    return (total / weights.sum()).astype(X.dtype, copy=False)


def _named(transforms):
    """Return functions of a list or a dict, or a single function, by the texts that errors name them by."""
    if callable(transforms):
        transforms = [transforms]
    if not isinstance(transforms, (dict, list, tuple)):
        raise TypeError(
            f"transforms must be a list or a dict of functions, got {type(transforms).__name__}."
        )
    if not transforms:
        raise ValueError(f"transforms = {shown(transforms)} must hold at least one function.")
    items = transforms.items() if isinstance(transforms, dict) else enumerate(transforms)
    found = {f"transforms[{shown(key)}]": function for key, function in items}
    for key, function in found.items():
        if not callable(function):
            raise TypeError(
                f"{key} must be a function, got {shown(function)} of type {type(function).__name__}."
            )
    return found


def _checked(X, transforms, step):
    """Return rows and functions by name, or raise; rows must not move at t = 0."""
    if step is not None:
        check_positive("step", step)
    transforms = _named(transforms)
    X = as_dense_rows(X, "X")
    some = X[:PROBES].astype(np.float64)
    for name, function in transforms.items():
        change = np.abs(_moved(some, name, function, 0.0) - some).max()
        if change > INACCURATE * np.abs(some).max():
            raise ValueError(
                f"{name} must return X at t = 0, but its rows differ by {change:.3g} there; give a function of X and t "
                "that moves the rows by t."
            )
    return X, transforms


def _differentiated(X, transforms, step):
    """Return the tangents (n, a, d) in float64."""
    X = as_float64(X)
    return np.stack(
        [_tangent(X, name, function, step) for name, function in transforms.items()], axis=1
    )


def _tangent(X, name, function, step):
    if step is None and hasattr(function, "derivative"):
        return _validated(function.derivative(X), X, f"{name}.derivative")
    step = STEP if step is None else step
    return (_moved(X, name, function, step) - _moved(X, name, function, -step)) / (2 * step)


def _moved(X, name, function, t):
    try:
        moved = function(X, t)
    except Exception as error:
        error.add_note(f"Raised by {name} at t = {t:.3g}.")
        raise
    return _validated(moved, X, f"{name} at t = {t:.3g}")


def _validated(values, X, name):
    """Return what a function returned for the rows X as float64, or raise."""
    values = np.asarray(values)
    if values.shape != X.shape:
        raise ValueError(
            f"{name} must return rows of the shape {X.shape} of X, got shape {values.shape}; give a function that "
            "moves every row and keeps its columns."
        )
    if values.dtype.kind not in "fiub":
        raise TypeError(
            f"{name} must return real numbers, got dtype {values.dtype}; give an array of floats."
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"{name} must return finite numbers, got {values[i, j]} at [{i}, {j}]; check the function."
        )
    return as_float64(values)


def _refuse_still(largest, step):
    """Raise for a transformation without an effect; ``largest`` has the largest tangent by name."""
    for name, size in largest.items():
        if not size > 0:
            raise ValueError(
                f"{name} does not move any row of X: all its tangents are {float(size)}, as for constant images; leave "
                f"it out, scale X, or give a step that moves the rows (step = {step})."
            )
