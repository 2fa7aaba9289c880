"""Resources of a training: memory for kernel values, accuracy of kernel rows, number of steps, callback.

`Options` are those of a user, `Workspace` what one solver has: both hold for every solver of this package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._compute.memory import allocate, parse_memory
from mercer.solvers.svm.dual import joined, stops_of
from mercer.solvers.svm.rounds import copied_values
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.smo import LANES

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.solvers.svm.dual import Dual

# Kernel values of variables near the margin are copied: memory for them, as a share of the memory for kernel rows.
COPIES = 0.1
# Fewest kernel values that a solver needs, in lanes squared.
_LEAST = 64
# Steps that are allowed by default.
_STEPS, _STEPS_PER_POINT = 10_000_000, 100


@dataclass(frozen=True)
class Options:
    """Options of a training.

    Parameters
    ----------
    tol : float
        Largest violation of the optimality conditions.
    max_iter : int
        Pairs of variables optimised at most; -1 for 100 n, and at least ten million.
    memory : int or str
        Bytes that kernel values may take, copies included.
    callback : callable (violation) -> bool, optional
        Called about ten times a second, from any thread; training stops when it returns True.
    """

    tol: float
    max_iter: int = -1
    memory: int | str = "1GB"
    callback: Callable | None = None

    @property
    def budget(self) -> int:
        """Memory in bytes."""
        return parse_memory(self.memory)

    def limit(self, n: int) -> int:
        """Return the largest number of steps for n points."""
        return max(_STEPS, _STEPS_PER_POINT * n) if self.max_iter == -1 else self.max_iter

    def rows(self, kernel: Kernel, points: Any, duals: Sequence[Dual]) -> Any:
        """Return kernel rows of points, whose rounding moves no gradient of the duals by more than ``tol``."""
        C = max(joined(duals, "upper").max(), -joined(duals, "lower").min())
        n = int(np.diff(stops_of(duals)).max())
        return rows_of(kernel, points, self.tol / max(C * np.sqrt(n), np.finfo(np.float64).tiny), duals[0].ridge)


def buffer_size(budget: int, n: int, itemsize: int, workers: int = 1) -> int:
    """Return how many kernel values each worker may hold for a problem of n variables.

    All rows, with room for two groups of variables that are padded to whole lanes each and for copied values, if
    ``budget`` bytes allow. The share `COPIES` is taken beside them.
    """
    width = -(-n // LANES) * LANES
    values = int(budget / (1 + COPIES)) // workers // itemsize
    return max(min(values, (width + 2 * LANES) ** 2 + copied_values(width)), _LEAST * LANES**2)


@dataclass(frozen=True)
class Workspace:
    """Resources of one solver.

    Parameters
    ----------
    tol : float
    max_iter : int
        Pairs of variables optimised at most.
    buffer : array
        One-dimensional, of the type of the kernel rows: memory for kernel values. Copies take `COPIES` more.
    shared : list of (slice, array)
        Diagonal blocks of K that are known.
    callback : callable (violation) -> bool, optional
        The solver stops when it returns True.
    spare : int
        Bytes of the memory limit that are left.
    """

    tol: Any
    max_iter: int
    buffer: np.ndarray
    shared: tuple[Any, ...] = ()
    callback: Callable | None = None
    spare: int = 0

    @classmethod
    def allocate(cls, rows: Any, n: int, options: Options, workers: int = 1, reserved: int = 0) -> Workspace:
        """Return the workspace of one of several workers, for problems of n variables; ``reserved`` bytes are taken."""
        budget = options.budget - rows.held - reserved
        size = buffer_size(budget, n, rows.dtype.itemsize, workers)
        spare = budget - int((1 + COPIES) * workers * size * rows.dtype.itemsize)
        return cls(options.tol, options.limit(n), allocate(size, rows.dtype), (), options.callback, spare)

    def of_type(self, dtype: Any) -> Workspace:
        """Return the workspace with its buffer for values of another type."""
        whole = len(self.buffer) // 2 * 2
        return self if self.buffer.dtype == dtype else replace(self, buffer=self.buffer[:whole].view(dtype))


class SharedCallback:
    """A callback for several workers: one call at a time, and one answer True stops all of them.

    Parameters
    ----------
    step : callable (violation=...) -> bool
    """

    def __init__(self, step: Callable[..., Any]) -> None:
        self._step = step
        self._lock = threading.Lock()
        self._stopped = False

    def __call__(self, violation: float) -> bool:
        """Pass on a violation; return whether to stop."""
        with self._lock:
            self._stopped |= bool(self._step(violation=violation))
            return self._stopped
