"""Test that a kernel given by a user's function computes each value from its own pair of points."""

import numpy as np

from mercer._common import PointsLike
from mercer._compute.objects import plain
from mercer._compute.points import count_points, evenly_spaced, take_points
from mercer._compute.profile import field_names
from mercer.kernels.base import Kernel


def check_pairwise(kernel: Kernel, points: PointsLike) -> None:
    """Raise a ValueError unless values on a sample are symmetric and do not depend on the other points of a block.

    Only kernels with a function of the user, or not proved positive semidefinite, are tried: others have a formula.
    """
    tags = kernel.tags
    n = count_points(points)
    if (
        tags.points == "indices"
        or n < 2
        or (tags.positive_semidefinite and not has_function(kernel))
    ):
        return
    rows = evenly_spaced(n, 12)
    # plain copies share no values of the whole block
    few = plain(take_points(points, rows))
    K = np.asarray(kernel(few))
    size = float(np.abs(K).max())
    # a part in float32 rounds to float32, although a function may return float64
    narrow = "float32" in str(getattr(few, "dtype", ""))
    tolerance = float(np.sqrt(np.finfo(np.float32 if narrow else K.dtype).eps)) * size
    cut = max(1, len(rows) // 3)
    part = np.asarray(kernel(take_points(few, slice(0, cut)), take_points(few, slice(cut, None))))
    difference = np.abs(part - K[:cut, cut:])
    i, j = np.unravel_index(np.argmax(difference), difference.shape)
    if difference[i, j] > tolerance:
        raise ValueError(
            f"k(x, z) must depend on x and z only: for rows x = {rows[i]} and z = {rows[cut + j]} it is "
            f"{K[i, cut + j]:.6g} in a block of {len(rows)} x {len(rows)} points and {part[i, j]:.6g} in one of "
            f"{part.shape[0]} x {part.shape[1]}. Compute statistics of the data, such as means, before, not inside the "
            "function."
        )
    i, j = np.unravel_index(np.argmax(np.abs(K - K.T)), K.shape)
    if abs(K[i, j] - K[j, i]) > tolerance:
        raise ValueError(
            f"the kernel must be symmetric: k(x, z) = {K[i, j]:.6g} and k(z, x) = {K[j, i]:.6g} for rows x = {rows[i]} "
            f"and z = {rows[j]}; symmetrise it, for example (k(x, z) + k(z, x)) / 2."
        )


def has_function(kernel: Kernel) -> bool:
    """Return whether a field of a kernel, or of its inner kernels, is a function."""
    for name in field_names(type(kernel)):
        value = getattr(kernel, name)
        if has_function(value) if isinstance(value, Kernel) else callable(value):
            return True
    return False
