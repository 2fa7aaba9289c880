"""Test that a kernel given by a user's function computes each value from its own pair of points."""

import numpy as np

from mercer._compute.points import count_points, take_points

# Number of points that are tried.
_TRIED = 12


def check_pairwise(kernel, points):
    """Raise a ValueError unless values on a sample are symmetric and do not depend on the other points of a block.

    Only kernels that are not proved positive semidefinite, or take objects, are tried: others have a formula.
    """
    tags, n = kernel.tags, count_points(points)
    if tags.points == "indices" or (tags.points in ("rows", "any") and tags.positive_semidefinite) or n < 2:
        return
    rows = np.unique(np.linspace(0, n - 1, min(n, _TRIED)).astype(int))
    few = take_points(points, rows)
    K = np.asarray(kernel(few))
    size = float(np.abs(K).max())
    tolerance = float(np.sqrt(np.finfo(K.dtype).eps)) * size
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
