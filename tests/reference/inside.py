"""The private names that tests of several packages share: points, tiles and profiles as methods of kernels take them,
steps that solvers report, threads, devices, memory, and the table of costs. Other reference values use public names.
"""

import numpy as np

from mercer._compute import costs as costs
from mercer._compute.devices import computing_on as computing_on
from mercer._compute.devices import place_of as place_of
from mercer._compute.distances import CLOSE_SHARES
from mercer._compute.memory import allocate as allocate
from mercer._compute.points import Points
from mercer._compute.profile import Namespace, evaluate_profile, parameters
from mercer._compute.profile import profile_address as profile_address
from mercer._compute.threads import limit_threads as using_threads
from mercer._compute.tile import Tile
from mercer._progress import CallbackSupportMixin, counting, listening, notify, progress

__all__ = [
    "CallbackSupportMixin",
    "allocate",
    "computing_on",
    "costs",
    "counting",
    "listening",
    "notify",
    "place_of",
    "profile_address",
    "progress",
    "using_threads",
]
# Mathematical functions of a profile.
MATH = Namespace(np)


def points_of(X):
    """Return a container as the points of a kernel."""
    return Points(X)


def tile_of(X, Z=None):
    """Return the tile of two containers, or of all pairs of one."""
    points = Points(X)
    return Tile(points, points if Z is None else Points(Z))


def profile_values(kernel, scalars, order=0):
    """Return the profile of a kernel, or its derivative, at squared distances or inner products."""
    return evaluate_profile(kernel, scalars, order)


def close_share_of(dtype):
    """Return the share of |x|^2 + |z|^2 below which distances are computed from differences."""
    return CLOSE_SHARES[np.finfo(dtype).bits]


def parameters_of(kernel):
    """Return the numbers of a kernel in the order of its profile."""
    return parameters(kernel)
