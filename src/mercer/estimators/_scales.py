"""Sizes of upper bounds, coefficients and regression targets that rounding allows; units of targets in a fit."""

import math

import numpy as np

from mercer._common import Array

# Largest violation as a share of the standard deviation of targets, and the least that rounding allows.
_SHARE = 1e-3
_ATTAINABLE = 1e-9
# Largest upper bound as a multiple of the standard deviation of targets, and the least one: smaller ones are rounded.
_MOST_SPREADS = 1e100
_LEAST_BOUND = 1e-290


def centre_and_scale(y: Array, upper: Array, C: float) -> tuple[float, float]:
    """Return the mean of targets and a power of 2 near their standard deviation, 1 for equal targets.

    Raise a ValueError, which names C, if finite upper bounds are so much larger that rounding hides the loss, or nearly
    0.
    """
    mean = float(y.mean())
    centred = y - mean
    # squares of tiny numbers would be 0
    largest = max(float(centred.max()), -float(centred.min()))
    centred /= largest or 1.0
    spread = largest * math.sqrt(float(centred @ centred) / len(y))
    if spread == 0:
        return mean, 1.0
    bound = float(upper.max())
    if np.isfinite(bound) and bound > _MOST_SPREADS * spread:
        raise ValueError(
            f"C = {C:.3g}, times sample_weight {bound:.3g}, must be at most {_MOST_SPREADS:.0e} times {spread:.3g}, "
            "the standard deviation of y; divide sample_weight or multiply y by a constant, or give a smaller C."
        )
    require_bound("C", C, bound / max(1.0, spread))
    return mean, 2.0 ** math.floor(math.log2(spread))


def regression_tolerance(tol: float, scale: float) -> tuple[float, float]:
    """Return the tolerance for targets of a scale, and that for targets divided by it."""
    tol = min(tol, _SHARE * scale)
    return tol, max(tol / scale, _ATTAINABLE)


def require_bound(name: str, value: float, bound: float) -> None:
    """Raise unless an upper bound of coefficients, a parameter times weights, is far above the smallest number."""
    if bound < _LEAST_BOUND:
        raise ValueError(
            f"{name} = {value:.3g}, times the weights {bound:.3g}, must be at least {_LEAST_BOUND:.0e}; give a larger "
            f"{name}, or multiply sample_weight by a constant."
        )


def in_range(values: Array, dtype: type) -> Array:
    """Return coefficients in the type of a model, or raise if float32 holds no numbers of their size."""
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    info = np.finfo(dtype)
    if largest > float(info.max) or 0 < largest < float(info.tiny):
        raise ValueError(
            f"coefficients of up to {largest:.3g} are beyond the range of {np.dtype(dtype)}; give X in float64, or "
            "scale C, sample_weight or the targets."
        )
    return values.astype(dtype, copy=False)
