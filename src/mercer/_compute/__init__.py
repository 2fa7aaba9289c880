"""Computation of blocks of kernel values: compiled, on a device, and a reference for any array library."""

import numpy as np

from mercer._compute import devices


def pick_backend(kernel, *points):
    """Return the module with ``dense``, ``matmul`` and ``vjp`` for a kernel and its containers of points.

    Those for arrays of NumPy have ``stored`` too. The number of points does not matter.
    """
    for each in points:
        if not isinstance(each.container, np.ndarray):
            return devices.backend_of(points[0])
    if kernel.tags.points == "rows":
        if devices.is_elsewhere():
            return devices
        # other containers do not need compiled loops
        from mercer._compute import fused

        return fused
    return devices.backend_of(points[0])
