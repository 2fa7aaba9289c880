"""Kernel rows for a solver: blocks by matrix products, products that never store K, float32 where it is accurate."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array
from mercer._compute import loops
from mercer._compute.compile import compiled
from mercer._compute.memory import allocate
from mercer._compute.points import Points, count_points, subtract_centre, sum_squares, widened
from mercer._compute.profile import evaluate_profile, has_kink, parameters, within_range
from mercer._compute.profile_loop import compile_profile, profile_address
from mercer._compute.threads import run_tasks
from mercer._compute.tile import close_share
from mercer.solvers.svm.plain_rows import FEW, PlainRows, centre_of, plain_rows_of, product_of, rounding_of, sample_of
from mercer.solvers.svm.ridged import Ridged
from mercer.solvers.svm.smo import LANES

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

# Columns of a task, and kernel values of a tile: both factors of the product and the result stay in cache.
_TASK_COLUMNS = 512
_TILE = 1 << 16
# Numbers of points in float64 at a time.
_EXACT = 1 << 21
# Sparse rows of a task, and kernel values of a tile of a product with them.
_TASK_ROWS, _PRODUCT = 64, 1 << 20
# Number of operations below which one thread is as fast as a pool.
THREADED = 1 << 22
# Loops over scalars that are known, see `loops`.
_KINDS = {"radial": "clamped", "dot": "plain"}


def rows_of(kernel: Kernel, points: Any, accuracy: float, ridge: Array | None = None) -> Any:
    """Return the kernel rows of points, in float32 if they are many and its rounding on a sample is below ``accuracy``.

    ``accuracy`` is a root mean square error of kernel values. A ridge (n,) is added to the diagonal.
    """
    if ridge is not None:
        return PlainRows(Ridged(kernel, widened(points), ridge), np.arange(len(ridge)))
    if kernel.scalar is None or not (isinstance(points, np.ndarray) or sp.issparse(points)):
        return plain_rows_of(kernel, points, accuracy)
    if sp.issparse(points) and _has_kink(kernel, np.float64):
        # small distances are recomputed from differences there
        return plain_rows_of(kernel, points, accuracy)
    n = count_points(points)
    Rows = SparseRows if sp.issparse(points) else functools.partial(FusedRows, centre=centre_of(points))
    if n <= FEW:
        return Rows(kernel, points, np.float64)
    sample = sample_of(points)
    few, blocks = np.arange(count_points(sample)), []
    for dtype in (np.float32, np.float64):
        block = np.empty((len(few), len(few)), dtype)
        Rows(kernel, sample, dtype).arguments(few)(few, block)
        # without compiled code, which training may not need in both types
        blocks.append(evaluate_profile(kernel, np.maximum(block, 0) if kernel.scalar == "radial" else block))
    error = rounding_of(*blocks)
    return Rows(kernel, points, np.float32, error) if error <= accuracy else Rows(kernel, points, np.float64)


class FusedRows:
    """Kernel rows of a kernel of the squared distance or the inner product: one matrix product, one compiled pass.

    [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2 on centred points, of which the second factor is stored. Attributes are
    those of `PlainRows`, and ``scalar``: "radial", "dot", or "kinked" for distances of a kernel with an infinite slope
    at 0, where small distances are recomputed from differences.
    """

    points: Array
    dtype: Any
    error: float
    kernel: Kernel
    held = 0

    def __init__(self, kernel: Kernel, points: Any, dtype: Any, error: float = np.nan, centre: Any = None) -> None:
        self.points = points
        self.dtype = np.dtype(dtype)
        self.error = error
        self.set_kernel(kernel)
        self.width: Any = points.shape[1] + 2 * self._radial
        if self._radial:
            self._centre = centre_of(points) if centre is None else centre
            self._right = _right_side(points, self._centre, dtype)
        else:
            self._centre = np.zeros(points.shape[1])
            self._right = np.ascontiguousarray(points, dtype)

    def set_kernel(self, kernel: Kernel) -> None:
        """Take a kernel, or another one of its class over the same points."""
        self.kernel = kernel
        self._formula = (kernel.profile, kernel.scalar, parameters(kernel))
        self._radial = kernel.scalar == "radial"
        self.scalar = kernel.scalar
        if _has_kink(kernel, self.dtype):
            self.scalar: Any = "kinked"
        vars(self).pop("diagonal", None)

    @functools.cached_property
    def diagonal(self) -> Array:
        """k(x, x) of all points (n,), which samples do not need; one value for a kernel of distances."""
        some = self.points[:1] if self._radial else self.points
        values = np.asarray(self.kernel.diagonal(Points(some.astype(np.float64))), np.float64)
        return np.full(len(self.points), values[0]) if self._radial else values

    def finisher(self) -> Callable[..., Any]:
        """Return the compiled loop that turns squared distances or inner products into kernel values, in place."""
        return _finisher(self._formula, self.dtype)

    def columns(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the kernel values of points R with points J, gathered once."""
        return self._written(J, self.finisher())

    def arguments(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the squared distances or inner products of points R and J."""
        return self._written(J, lambda _block: None)

    def _written(self, J, finish):
        right, near = self._right[consecutive(J)], self._centred(J) if self.scalar == "kinked" else None
        share = self.dtype.type(close_share(np.finfo(self.dtype)))

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
                        if near is not None:
                            loops.recompute_close(own[:, :-2], near[tile], own[:, -2], right[tile, -1], block, 0, share)
                        finish(block)
                        out[start : start + step, tile] = block

            run(fill, -(-len(right) // width), len(left) * right.size)

        return write

    def square(self, J: Array) -> Array:
        """Return the kernel values between points J, exactly symmetric."""
        X = self._centred(J)
        return loops.tile(*self._formula, X, X)

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, summed in float64 over tiles; K is never stored."""
        return self._product(self._centred(R), self._centred(J), weights)

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values of the points as given; K is never stored."""
        X, step = self._exact(R), max(_TASK_COLUMNS, _EXACT // self.points.shape[1])
        total = np.zeros((len(R), *weights.shape[1:]))
        for part in loops.cut(len(J), step):
            total += self._product(X, self._exact(J[part]), weights[part])
        return total

    def _exact(self, J):
        X = self.points[J].astype(np.float64, copy=False)
        # indices have made a copy
        X -= self._centre
        return X

    def _product(self, X, Z, weights):
        values = loops.matmul(*self._formula, X, Z, weights.reshape(len(weights), -1)).astype(np.float64)
        return values if weights.ndim == 2 else values[:, 0]

    def compiled_rows(self, coordinates: bool = True) -> tuple[Any, ...]:
        """Return what compiled loops compute rows from.

        An array whose first d columns are the coordinates, d, which is 0 if they are not needed, and otherwise the
        arguments of `add_rows` for all points.
        """
        n = len(self.points)
        d = self.points.shape[1] if coordinates else 0
        squares = self._right[:, -1].copy() if self._radial else np.zeros(n, self.dtype)
        share = close_share(np.finfo(self.dtype)) if self.scalar == "kinked" else 0.0
        finish, parameters = self._profile_loop(self.dtype)
        constants = self.dtype.type(-0.5 if self._radial else 1), self.dtype.type(share)
        return finish, self._right, d, squares, *constants, parameters, self.diagonal

    def compiled_points(self, points: Array) -> Array:
        """Return the numbers of points in compiled loops."""
        return points

    def compiled_exact_rows(self) -> tuple[Any, ...]:
        """Return the same in float64 from the points as given.

        The address of the loop of the profile, the points, whether it takes distances, parameters, the diagonal and
        all values (n, n) if they are known, otherwise none.
        """
        finish, parameters = self._profile_loop(np.dtype(np.float64))
        points = np.ascontiguousarray(self.points, np.float64)
        unknown = np.empty((0, 0))
        return finish, points, self._radial, parameters, self.diagonal, unknown

    def _profile_loop(self, dtype):
        profile, scalar, parameters = self._formula
        address = profile_address(profile, _KINDS[scalar], dtype, len(parameters))
        return address, np.array(within_range(parameters, np.finfo(dtype)), dtype)

    def _centred(self, J):
        if not self._radial:
            return self._right[J]
        rows = self._right[consecutive(J), :-2]
        # multiplication by a power of 2 is exact
        return np.multiply(rows, self.dtype.type(-0.5), out=allocate(rows.shape, rows.dtype))

    def _left(self, J):
        if not self._radial:
            return self._right[J]
        left = self._right[J]
        left[:, :-2] *= self.dtype.type(-0.5)
        left[:, -2:] = left[:, :-3:-1]
        return left


class SparseRows:
    """Kernel rows of a kernel of the squared distance or the inner product on sparse rows of numbers.

    A row adds, for each of its entries, a multiple of a column of the other points. Attributes are those of
    `PlainRows`.
    """

    kernel: Kernel
    points: Any
    dtype: Any
    error: float
    held = 0

    def __init__(self, kernel: Kernel, points: Any, dtype: type[Any], error: float = np.nan) -> None:
        self.kernel = kernel
        self.points = points
        self.dtype = np.dtype(dtype)
        self.error = error
        self._formula = kernel.profile, kernel.scalar, parameters(kernel)
        self._X = points.astype(dtype)
        n = points.shape[0]
        used = points.count_nonzero(axis=0).astype(float)
        self.width: int = max(1, int(used @ used / n**2))
        self._squares = np.zeros(n, dtype)
        if kernel.scalar == "radial":
            self._squares[:] = widened(points).power(2).sum(axis=1).ravel()

    @functools.cached_property
    def diagonal(self) -> Array:
        """k(x, x) of all points (n,)."""
        return np.resize(np.asarray(self.kernel.diag(widened(self.points)), np.float64), self.points.shape[0])

    def columns(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the kernel values of points R with points J."""
        return self._written(J, _finisher(self._formula, self.dtype))

    def arguments(self, J: Array) -> Callable[..., Any]:
        """Return a function (R, out) that writes the squared distances or inner products of points R and J."""
        return self._written(J, lambda _block: None)

    def _written(self, J, finish):
        chosen = consecutive(J)
        other, squares = self._X[chosen].tocsc(), self._squares[chosen]
        factor = self.dtype.type(-2 if self.kernel.scalar == "radial" else 1)

        def write(R, out):
            def fill(task):
                own = slice(task * _TASK_ROWS, (task + 1) * _TASK_ROWS)
                left = self._X[R[own]]
                block = np.empty((len(R[own]), len(J)), self.dtype)
                np.add(self._squares[R[own], None], squares, out=block)
                _add_sparse_products(*_arrays(left), *_arrays(other), factor, block)
                with np.errstate(all="ignore"):
                    finish(block)
                out[own] = block

            run(fill, -(-len(R) // _TASK_ROWS), len(R) * len(J) * self.width)

        return write

    def square(self, J: Array) -> Array:
        """Return the kernel values between points J, exactly symmetric."""
        values = np.empty((len(self._squares[J]),) * 2, self.dtype)
        J = np.arange(len(self._squares))[J]
        self.columns(J)(J, values)
        return values

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, summed in float64 over tiles; K is never stored."""
        total = np.zeros((len(R), *weights.shape[1:]))
        for left in range(0, len(J), _TASK_COLUMNS):
            some = J[left : left + _TASK_COLUMNS]
            write = self.columns(some)
            own = weights[left : left + _TASK_COLUMNS].astype(self.dtype)
            step = max(1, _PRODUCT // len(some))
            for top in range(0, len(R), step):
                block = np.empty((len(R[top : top + step]), len(some)), self.dtype)
                write(R[top : top + step], block)
                total[top : top + step] += block @ own
        return total

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values of the points as given; K is never stored."""
        return product_of(self.kernel, widened(self.points), R, J, weights)


@compiled
def _add_sparse_products(starts, places, values, stops, rows, others, factor, out):
    """Add ``factor`` times the inner products of sparse rows, given by rows, with points given by columns."""
    for r in range(out.shape[0]):
        to = out[r]
        for a in range(starts[r], starts[r + 1]):
            k, x = places[a], factor * values[a]
            for b in range(stops[k], stops[k + 1]):
                to[rows[b]] += x * others[b]


def _arrays(X):
    return X.indptr, X.indices, X.data


def _has_kink(kernel, dtype):
    return kernel.scalar == "radial" and has_kink(kernel.profile, parameters(kernel), dtype)


def _right_side(points, centre, dtype):
    """Return rows [-2 x, 1, |x|^2] of points about a centre."""
    n, d = points.shape
    right = allocate((n, d + 2), dtype)
    subtract_centre(points, centre, right[:, :d])
    right[:, d], right[:, d + 1] = 1, sum_squares(right[:, :d])
    right[:, :d] *= -2
    return right


def _finisher(formula, dtype):
    """Return the compiled loop that turns squared distances or inner products into kernel values, in place."""
    profile, scalar, parameters = formula
    parameters = np.array(within_range(parameters, np.finfo(dtype)), dtype)
    loop = compile_profile(profile, 0, _KINDS[scalar], dtype, len(parameters))
    return lambda block: loop(block, block, block, 0, parameters)


def consecutive(J: Array | slice) -> Array | slice:
    """Return consecutive indices as a slice, which copies nothing; others unchanged."""
    if isinstance(J, slice):
        return J
    if len(J) and J[-1] - J[0] == len(J) - 1 and (np.diff(J) == 1).all():
        return slice(int(J[0]), int(J[-1]) + 1)
    return J


def run(function: Callable[..., Any], n_tasks: int, work: int) -> None:
    """Call ``function(0)``, ..., ``function(n_tasks - 1)``, on several threads if there is enough work."""
    if work >= THREADED:
        run_tasks(function, n_tasks)
        return
    for task in range(n_tasks):
        function(task)
