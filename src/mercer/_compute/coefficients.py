"""Coefficients of expansions: plain arrays (n, m), finite, read-only, one column per vector."""

import array_api_compat
import numpy as np

from mercer._compute.namespace import NUMPY, namespace_of


def coefficient_block(coef, points):
    """Return coefficients over points, as a read-only block (n, m) of finite numbers.

    Raises
    ------
    ValueError
        When their number is not that of the points, or one of them is not finite.
    """
    coef = coefficient_columns(coef, points)
    if coef.shape[0] != len(points):
        raise ValueError(
            f"{len(points)} points need {len(points)} rows of coefficients, got shape {tuple(coef.shape)}."
        )
    xp = namespace_of(coef)
    if not bool(xp.all(xp.isfinite(coef))):
        raise ValueError("coef contains NaN or infinity.")
    return read_only(coef) if isinstance(coef, np.ndarray) else coef


def coefficient_columns(C, points):
    """Return numbers as a block of columns: a vector becomes one column, and whole numbers become float64."""
    if not array_api_compat.is_array_api_obj(C):
        C = points.xp.asarray(C)
    if C.ndim == 1:
        C = C[:, None]
    if C.ndim != 2:
        raise ValueError(f"coefficients must have one or two dimensions, got shape {tuple(C.shape)}.")
    if isinstance(C, np.ndarray) and C.dtype.kind not in "fiub":
        raise TypeError(f"coefficients must be real numbers, got dtype {C.dtype}.")
    if isinstance(C, np.ndarray) and C.dtype not in (np.float32, np.float64):
        C = C.astype(np.float64)
    return C


def take_columns(coef, index):
    """Return chosen columns: a slice, or a list or array of positions."""
    if isinstance(coef, np.ndarray) or isinstance(index, slice):
        return coef[:, index]
    xp = array_api_compat.array_namespace(coef)
    positions = np.arange(coef.shape[1])[np.asarray(index)]
    return xp.take(coef, xp.asarray(positions, device=array_api_compat.device(coef)), axis=1)


def read_only(array):
    """Return a view of an array that refuses to be written to."""
    array = array.view()
    array.flags.writeable = False
    return array


def floating(points):
    """Return the floating type of a block over these points: float64 where they are not numbers."""
    dtype, xp = getattr(points.container, "dtype", None), points.xp
    narrow, wide = (np.dtype(xp.float32), np.dtype(xp.float64)) if xp is NUMPY else (xp.float32, xp.float64)
    return narrow if dtype == narrow else wide


def coefficient_product(coef, values):
    """Return coef' values, summed in float64, in the type of the values."""
    xp = namespace_of(values)
    wide = xp.astype(coef, xp.float64, copy=False).T @ xp.astype(values, xp.float64, copy=False)
    return xp.astype(wide, values.dtype, copy=False)
