"""Kernel rows for a solver: blocks by matrix products, products that never store K, float32 where it is accurate."""

import numpy as np

from mercer._compute import loops
from mercer._compute.points import subtract_centre, take_points, widened
from mercer._compute.profile import parameters
from mercer._compute.threads import run_tasks
from mercer.gram import Gram
from mercer.solvers.svm.ridged import Ridged
from mercer.solvers.svm.smo import LANES

# Columns of a task, and kernel values of a tile: both factors of the product and the result stay in cache.
_TASK_COLUMNS = 512
_TILE = 1 << 16
# Number of operations below which one thread is as fast as a pool.
_THREADED = 1 << 22
# Number of points up to which values are float64: float32 would save too little.
_FEW = 256
# Number of points of the sample on which rounding is measured.
_SAMPLE = 128


def rows_of(kernel, points, accuracy, ridge=None):
    """Return the kernel rows of points, in float32 if they are many and its rounding on a sample is below ``accuracy``.

    ``accuracy`` is a root mean square error of kernel values. A ridge (n,) is added to the diagonal.
    """
    if ridge is not None:
        return PlainRows(Ridged(kernel, widened(points), ridge), np.arange(len(ridge)))
    if kernel.scalar is None or not isinstance(points, np.ndarray):
        return PlainRows(kernel, points)
    if len(points) <= _FEW:
        return FusedRows(kernel, points, np.float64)
    few = np.arange(min(len(points), _SAMPLE))
    sample = points[np.linspace(0, len(points) - 1, len(few)).astype(int)]
    blocks = []
    for dtype in (np.float32, np.float64):
        block = np.empty((len(few), len(few)), dtype)
        FusedRows(kernel, sample, dtype).columns(few)(few, block)
        blocks.append(block)
    difference = blocks[0] - blocks[1]
    np.fill_diagonal(difference, 0)
    error = float(np.sqrt(np.mean(np.square(difference))))
    return FusedRows(kernel, points, np.float32, error) if error <= accuracy else FusedRows(kernel, points, np.float64)


class PlainRows:
    """Kernel rows of any kernel on any points.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    dtype : dtype
        Of the values.
    diagonal : float64 array (n,)
    width : int
        Multiplications for a kernel value, if known; otherwise 1.
    error : float
        Root mean square error of a value, in float32 that of rounding the largest; NaN if it was not measured.
    """

    error = np.nan

    def __init__(self, kernel, points):
        self._gram = Gram(kernel, points)
        self.kernel, self.points, self.width = kernel, points, 1
        self.dtype = np.dtype(self._gram.dtype)
        self.diagonal = np.asarray(self._gram.diagonal(), np.float64)
        if self.dtype == np.float32:
            self.error = float(np.finfo(np.float32).eps * np.abs(self.diagonal).max())

    def columns(self, J):
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""

        def write(R, out):
            out[:] = self._gram[R, J]

        return write

    def square(self, J):
        """Return the kernel values between points J, exactly symmetric."""
        return np.ascontiguousarray(self._gram[J, J], self.dtype)

    def product(self, R, J, weights):
        """Return K[R, J] @ weights, a vector or columns, in float64; K is never stored."""
        gram = Gram(self.kernel, take_points(self.points, R), take_points(self.points, J))
        return np.asarray(gram @ weights.astype(self.dtype), np.float64)


class FusedRows:
    """Kernel rows of a kernel of the squared distance or the inner product: one matrix product, one compiled pass.

    [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2 on centred points, of which the second factor is stored. Attributes are
    those of `PlainRows`.
    """

    def __init__(self, kernel, points, dtype, error=np.nan):
        self.points, self.dtype, self.error = points, np.dtype(dtype), error
        self.set_kernel(kernel)
        self.width = points.shape[1] + 2 * self._radial
        if self._radial:
            self._centre = points.mean(axis=0, dtype=np.float64)
            centred = np.empty(points.shape, dtype)
            subtract_centre(points, self._centre, centred)
            self._right = loops.bordered(centred, -2, 1)
        else:
            self._centre = np.zeros(points.shape[1])
            self._right = np.ascontiguousarray(points, dtype)

    def set_kernel(self, kernel):
        """Take a kernel, or another one of its class over the same points."""
        self.kernel, self._formula = kernel, (kernel.profile, kernel.scalar, parameters(kernel))
        self._radial = kernel.scalar == "radial"
        # k(x, x) is constant for a kernel of distances
        some = self.points[:1] if self._radial else self.points
        self.diagonal = np.resize(np.asarray(kernel.diag(some.astype(np.float64)), np.float64), len(self.points))

    def finisher(self):
        """Return the compiled loop that turns squared distances or inner products into kernel values, in place."""
        profile, scalar, parameters = self._formula
        parameters = tuple(self.dtype.type(value) for value in parameters)
        kind = "clamped" if scalar == "radial" else "plain"
        loop = loops.compile_profile(profile, 0, kind, self.dtype, len(parameters))
        return lambda block: loop(block, block, block, 0, parameters)

    def columns(self, J):
        """Return a function (R, out) that writes the kernel values of points R with points J, gathered once."""
        return self._written(J, self.finisher())

    def arguments(self, J):
        """Return a function (R, out) that writes the squared distances or inner products of points R and J."""
        return self._written(J, lambda _block: None)

    def _written(self, J, finish):
        right = self._right[consecutive(J)]

        def write(R, out):
            left = self._left(R)
            step = min(len(left), _TILE // _TASK_COLUMNS)
            # for few rows wider tiles, or Python takes longer than the product
            width = _TILE // step // LANES * LANES

            def fill(task):
                tile = slice(task * width, (task + 1) * width)
                other = right[tile].T
                # contiguous, so that the compiled loop runs on vector registers
                memory = np.empty(step * other.shape[1], self.dtype)
                with np.errstate(all="ignore"):
                    for start in range(0, len(left), step):
                        own = left[start : start + step]
                        block = memory[: len(own) * other.shape[1]].reshape(len(own), -1)
                        np.matmul(own, other, out=block)
                        finish(block)
                        out[start : start + step, tile] = block

            run(fill, -(-len(right) // width), len(left) * right.size)

        return write

    def square(self, J):
        """Return the kernel values between points J, exactly symmetric."""
        X = self._centred(J)
        return loops.tile(*self._formula, X, X)

    def product(self, R, J, weights):
        """Return K[R, J] @ weights, a vector or columns, summed in float64 over tiles; K is never stored."""
        columns = weights.reshape(len(weights), -1)
        values = loops.matmul(*self._formula, self._centred(R), self._centred(J), columns).astype(np.float64)
        return values if weights.ndim == 2 else values[:, 0]

    def coordinates(self):
        """Return what compiled loops compute rows of: coordinates (n, d), squared norms (n,), parameters.

        The coordinates are -2 (x - centre) for a kernel of distances.
        """
        squares = self._right[:, -1] if self._radial else np.zeros(len(self.points), self.dtype)
        parameters = tuple(self.dtype.type(value) for value in self._formula[2])
        return self._right[:, : self.points.shape[1]], squares, parameters

    def exact_coordinates(self):
        """Return the points as given, the centre (d,) and float64 parameters."""
        return self.points, self._centre, tuple(float(value) for value in self._formula[2])

    def _centred(self, J):
        # multiplication by a power of 2 is exact
        return self._right[J, :-2] * self.dtype.type(-0.5) if self._radial else self._right[J]

    def _left(self, J):
        if not self._radial:
            return self._right[J]
        left = self._right[J]
        left[:, :-2] *= self.dtype.type(-0.5)
        left[:, -2:] = left[:, :-3:-1]
        return left


def exact_product(rows, R, J, weights):
    """Return K[R, J] @ weights with float64 kernel values of the points as given; K is never stored."""
    points = widened(rows.points)
    return np.asarray(Gram(rows.kernel, take_points(points, R), take_points(points, J)) @ weights, np.float64)


def consecutive(J):
    """Return consecutive indices as a slice, which copies nothing; others unchanged."""
    if len(J) and J[-1] - J[0] == len(J) - 1 and (np.diff(J) == 1).all():
        return slice(int(J[0]), int(J[-1]) + 1)
    return J


def shared_blocks(rows, pieces, budget):
    """Return kernel values between the points of each piece (slice), by (start, stop); nothing if beyond the budget."""
    needed = sum((piece.stop - piece.start) ** 2 for piece in pieces) * rows.dtype.itemsize
    return {(piece.start, piece.stop): rows.square(piece) for piece in pieces} if needed <= budget else {}


def run(function, n_tasks, work):
    """Call ``function(0)``, ..., ``function(n_tasks - 1)``, on several threads if there is enough work."""
    if work >= _THREADED:
        run_tasks(function, n_tasks)
        return
    for task in range(n_tasks):
        function(task)
