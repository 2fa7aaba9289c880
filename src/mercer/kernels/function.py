"""FunctionKernel, a kernel computed by a Python function of two blocks of points."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, shown
from mercer._compute.devices import in_main_memory, moved, place_of
from mercer._compute.objects import plain
from mercer._compute.threads import threaded_blas
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel, kernel_class

_BLOCKS = (
    "A kernel function gets two blocks of points, (n, d) and (m, d) or lists of n and m objects, and returns all "
    "values, (n, m); for a function f of two points use lambda X, Z: np.array([[f(x, z) for z in Z] for x in X])."
)


@kernel_class
class FunctionKernel(Kernel):
    """Kernel computed by a function of two blocks of points.

    Estimators turn a Python callable given as ``kernel`` into such a kernel.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` returns an array (n, m). An array of numbers (n, d), a table or a sparse matrix reaches it as
        a copy of its rows; a list, a Series or an array of another kind reaches it as a list of objects.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> same_length = mc.FunctionKernel(lambda X, Z: np.array([[float(len(x) == len(z)) for z in Z] for x in X]))
    >>> same_length(["ab", "abc"])
    array([[1., 0.],
           [0., 1.]])
    """

    _tagged = {"points": "rows or objects", "sparse": True, "symmetric": False}

    function: Any

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {shown(self.function)}.")

    def evaluate(self, tile: Tile) -> Array:
        X = _copied(tile.X.container)
        Z = _copied(tile.Z.container)
        expected = (len(tile.X), len(tile.Z))
        name = getattr(self.function, "__name__", shown(self.function))
        try:
            with threaded_blas(2 * math.prod(expected) * getattr(X, "shape", (0,))[-1]):
                values = self.function(X, Z)
        except (TypeError, ValueError) as error:
            # errors of functions of two points, whose own texts say nothing of blocks
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"callable kernel {name} raised {type(error).__name__}: {error}. {_BLOCKS}"
            ) from error
        except Exception as error:
            error.add_note(f"Raised by the callable kernel {name}. {_BLOCKS}")
            raise
        values = values.toarray() if sp.issparse(values) else np.asarray(in_main_memory(values))
        if values.shape != expected:
            raise ValueError(
                f"callable kernel {name} must return shape {expected}, one value per pair, got {values.shape}. "
                + _BLOCKS
            )
        if values.dtype.kind not in "fiub":
            raise TypeError(
                f"callable kernel {name} must return real numbers, got dtype {values.dtype}."
            )
        narrow = "float32" in str(getattr(X, "dtype", ""))
        values = values.astype(np.float32 if narrow else np.float64, copy=False)
        if not np.isfinite(values).all():
            first = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise ValueError(
                f"callable kernel {name} must return finite values, got NaN or infinity at {first}."
            )
        return moved(values, place_of(X))


def _copied(points):
    """Return a copy of an array, since compiled functions refuse read-only ones, or of a list."""
    return points.copy() if isinstance(points, np.ndarray) else plain(points)
