"""Kernel values, products and gradients of one profile: compiled loops and BLAS on tiles that stay in cache.

A tile holds the scalars s = |x - z|^2 or <x, z>, from differences for few coordinates and from a matrix product
otherwise; profile values replace them in place. Sums are in the type of the data in a tile, in float64 across tiles.
Tiles are cut by the shape alone and each is computed by one thread, so that results do not depend on the threads.
"""

import functools
import math

import numpy as np

from mercer._compute import compile as _compile
from mercer._compute.compile import EXACT, compiled, dispatcher, fingerprint, specialised
from mercer._compute.indirect import address
from mercer._compute.intrinsics import wide
from mercer._compute.memory import allocate
from mercer._compute.points import sum_squares
from mercer._compute.profile import apply_profile, compiling, within_range
from mercer._compute.threads import check_cancelled, run_tasks
from mercer._compute.tile import close_share

COLUMNS = 512
# Rows and columns of a tile that is transposed: whole cache lines are read and written.
_CORNER = 32
# Bytes of a tile: half of a second-level cache of 2 MB, and enough rows for the full speed of BLAS.
_TILE = 1 << 20
# Up to this many coordinates, differences take no longer than a matrix product and are exact for close points.
_DIRECT = 8
# Coordinates per step of the loop over differences; rows are padded by zeros.
_LANES = 4
# Kernel values, or numbers of a copy, of one task: fewer take less time than starting a second task.
_SINGLE = 1 << 16
# Multiplications of a product whose operands OpenBLAS does not copy; with fewer rows than the least it is slower.
_UNCOPIED, _LEAST_UNCOPIED = 1_000_000, 32
# Distances, shares of the largest, at which a profile is compared with its value at 0, and the change that counts.
_PLACES, _VARIATION = [4.0**-k for k in range(16)], 0.1
# Numbers of points that one row is compared with without BLAS.
_WITHOUT_BLAS = 1 << 17
# Weights that one task requests at a time.
_WEIGHTS = 1 << 22


def tile(profile, kind, parameters, X, Z, order=0):
    """Return the profile's order-th derivative at all s_ij (n, m); s is |x - z|^2 for "radial", <x, z> for "dot".

    X and Z are C-contiguous, of one type and centred near 0 for distances, whose error is a few eps (|x|^2 + |z|^2)
    beyond 8 coordinates. For Z the same object as X, half is computed: exactly symmetric, with an exact diagonal.
    """
    plan = Plan(profile, kind, parameters, X, Z, order)
    K = allocate((len(X), len(Z)), X.dtype)

    def fill(rows):
        left = plan.left(rows)
        for j, columns in enumerate(plan.columns):
            if plan.mirrored and columns.start >= rows.stop:
                break
            # values above the diagonal are copied
            plan.values(left, rows, j, K[rows], columns.start, rows.stop if plan.mirrored else None)

    plan.run(fill)
    if plan.mirrored:
        plan.run(lambda rows: mirror(K, rows.start, rows.stop))
    return K


def matmul(profile, kind, parameters, X, Z, V, pieces=None, keep=None):
    """Return K(X, Z) @ V (n, p) without storing K, in n m (2 d + 2 p + about 30) operations and a copy of Z.

    With ``pieces``, q slices of rows of Z: the products K(X, Z[piece]) @ V[piece] side by side (n, q p).
    ``keep(key, function)`` returns ``function()`` and may keep it, the copy of Z, for the next product with Z.
    """
    plan = Plan(profile, kind, parameters, X, Z, keep=keep)
    V = np.ascontiguousarray(V, X.dtype)
    pieces = [slice(0, len(Z))] if pieces is None else pieces
    shares = [_shares(columns, pieces) for columns in plan.columns]
    result = allocate((len(X), len(pieces), V.shape[1]), X.dtype)

    def multiply(rows):
        total = allocate((len(pieces), rows.stop - rows.start, V.shape[1]), np.float64)
        total[...] = 0
        for j, block in plan.blocks(rows):
            for piece, own, places in shares[j]:
                total[piece] += plan.product(block[:, own], V[places])
        result[rows] = total.transpose(1, 0, 2)

    plan.run(multiply)
    return result.reshape(len(X), len(pieces) * V.shape[1])


def _shares(columns, pieces):
    """Return the pieces that a tile has columns of, and these columns, counted in the tile and in all."""
    ends = [(q, max(columns.start, p.start), min(columns.stop, p.stop)) for q, p in enumerate(pieces)]
    return [(q, slice(a - columns.start, b - columns.start), slice(a, b)) for q, a, b in ends if a < b]


def gradient(profile, kind, parameters, X, Z, W):
    """Return the gradient of sum_ij W_ij k(s_ij) in every x_i (n, d), summed in float64.

    It is sum_j 2 W_ij k'(s_ij) (x_i - z_j) for distances, where infinite k' count as 0 (a kink), and
    sum_j W_ij k'(s_ij) z_j for products. W is an array (n, m) or a thread-safe function of a slice of rows.
    """
    plan = Plan(profile, kind, parameters, X, Z, order=1, row_bound=_WEIGHTS // max(1, len(Z)) or 1)
    weights_of = W if callable(W) else W.__getitem__
    result = np.empty_like(X)

    def differentiate(rows):
        weights, left = weights_of(rows), X[rows]
        mass, total = np.zeros(len(left)), np.zeros(left.shape)
        for j, block in plan.blocks(rows):
            columns = plan.columns[j]
            pull = np.array(weights[:, columns], np.float64, order="C")
            _weigh(block, pull, mass, plan.radial)
            total += pull @ Z[columns].astype(np.float64, copy=False)
        result[rows] = 2 * (mass[:, None] * left - total) if plan.radial else total

    plan.run(differentiate)
    return result


def thin_product(A, V):
    """Return A @ V for V with few columns, some rows at a time."""
    step = uncopied_rows(V)
    out = allocate((len(A), V.shape[1]), V.dtype)
    if not step or V.shape[1] == 1:
        return np.matmul(A, V, out=out)
    for rows in cut(len(A), step):
        np.matmul(A[rows], V, out=out[rows])
    return out


def uncopied_rows(V):
    """Return a number of rows of products with V that take the time of their multiplications alone, 0 where none do.

    OpenBLAS copies the operands of larger products, which takes as long as the product where V has few columns.
    """
    step = _UNCOPIED // max(1, V.size) // 16 * 16
    return step if step >= _LEAST_UNCOPIED else 0


class Plan:
    """Cut of a block into tiles, and the computation of one tile of profile values."""

    def __init__(self, profile, kind, parameters, X, Z, order=0, row_bound=None, keep=None):
        self.X = X
        self.radial = kind == "radial"
        self.mirrored = X is Z
        # without BLAS, the number of whose threads takes longer to set than the product
        self._one_row = len(X) == 1 and Z.size <= _WITHOUT_BLAS
        self._direct = self.radial and X.shape[1] <= _DIRECT
        self._expanded = self.radial and not self._direct
        most = _TILE // (COLUMNS * X.itemsize)
        # few rows are cut finer to occupy several threads; little work is one task
        tasks = min(8, max(1, len(X) * len(Z) // _SINGLE))
        fine = max(16, -(-len(X) // tasks))
        self._step = max(1, min(row_bound or most, most, fine))
        self.columns = cut(len(Z), COLUMNS)
        keep = keep or (lambda _key, function: function())
        self._rights, largest = keep(("prepared", kind), lambda: self._right_sides(Z))
        self._parameters = np.array(within_range(parameters, np.finfo(X.dtype)), X.dtype)
        kind = ("direct" if self._direct else "clamped") if self.radial else "plain"
        self._lefts = self.prepared(X) if X.size <= _SINGLE else None
        self._share = X.dtype.type(close_share(np.finfo(X.dtype)))
        self._recomputes = self._expanded and loses_digits(
            profile, parameters, X.dtype, self._share * (largest + self._largest_norm(X))
        )
        self._finish = compile_profile(profile, order, kind, X.dtype, len(self._parameters))

    def _right_sides(self, Z):
        rights = [None] * len(self.columns)

        def prepare(j):
            # always a copy: a view would keep Z alive
            rights[j] = np.array(self.prepared(Z[self.columns[j]], -2, 1).T, order="C")

        if Z.size > _SINGLE:
            run_tasks(prepare, len(rights))
        else:
            for j in range(len(rights)):
                prepare(j)
        return rights, max((float(right[-1].max()) for right in rights), default=0.0) if self._expanded else 0.0

    def _largest_norm(self, X):
        norms = sum_squares(X) if self._lefts is None else self._lefts[:, -2]
        return float(norms.max(initial=0))

    def run(self, function):
        """Call ``function(rows)`` for slices of all rows, on several threads."""
        tiles = cut(len(self.X), self._step)

        def task(index):
            # the caller checks that values are finite
            with np.errstate(all="ignore"):
                function(tiles[index])

        if self._one_row:
            task(0)
        else:
            run_tasks(task, len(tiles))

    def product(self, A, V):
        """Return A @ V for a tile of values and few columns."""
        return np.einsum("ij,jp->ip", A, V) if self._one_row else thin_product(A, V)

    def blocks(self, rows):
        """Yield j and the values of some rows and the j-th column tile, in shared memory: new pages cost as exp."""
        left = self.left(rows)
        memory = allocate(len(left) * COLUMNS, self.X.dtype)
        for j, right in enumerate(self._rights):
            block = memory[: len(left) * right.shape[1]].reshape(len(left), -1)
            self.values(left, rows, j, block)
            yield j, block

    def left(self, rows):
        """Return some rows of X in the form that ``values`` takes; a small X is prepared once."""
        return self.prepared(self.X[rows]) if self._lefts is None else self._lefts[rows]

    def prepared(self, X, factor=1, place=0):
        """Return rows in the form that ``values`` takes."""
        if self._direct:
            return _padded(X)
        # [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2: the matrix product adds the norms
        return bordered(np.ascontiguousarray(X), factor, place) if self.radial else X

    def values(self, left, rows, j, block, start=0, stop=None):
        """Write the values of some rows and the j-th column tile to the columns of ``block`` from ``start`` on.

        ``stop`` is the number of the first column that is not needed.
        """
        check_cancelled()
        right, columns = self._rights[j], self.columns[j]
        if stop is not None and stop < columns.stop:
            right = np.ascontiguousarray(right[:, : stop - columns.start])
        if not self._direct:
            out = block[:, start : start + right.shape[1]]
            np.einsum("ik,kj->ij", left, right, out=out) if self._one_row else np.matmul(left, right, out=out)
            if self._recomputes:
                recompute_coincident(left, right, block, start, self._share)
            first, last = max(rows.start, columns.start), min(rows.stop, columns.stop)
            if self.mirrored and self.radial and first < last:
                same = np.arange(first, last)
                block[same - rows.start, same - columns.start + start] = 0
        self._finish(left, right, block, start, self._parameters)


@functools.lru_cache(maxsize=256)
def has_kink(profile, parameters, dtype):
    """Return whether the slope of a profile at the distance 0 is infinite, as that of Matern(nu=0.5).

    It multiplies the rounding error of a distance near 0 by a thousand.
    """
    return not np.isfinite(apply_profile(profile, np.zeros(1, dtype), parameters, order=1)[0])


def loses_digits(profile, parameters, dtype, largest):
    """Return whether rounding errors of squared distances, those up to ``largest``, may show in profile values."""
    return has_kink(profile, parameters, dtype) or _varies(profile, parameters, dtype, math.frexp(largest)[1])


@functools.lru_cache(maxsize=256)
def _varies(profile, parameters, dtype, exponent):
    """Return whether a profile changes by more than a tenth of its value at 0 over distances up to 2^exponent."""
    values = apply_profile(profile, np.ldexp(np.array([0, *_PLACES], dtype), exponent), parameters)
    # a value that is not finite counts as a change
    return not np.max(np.abs(values - values[0])) <= _VARIATION * abs(values[0])


def cut(n, step):
    """Return the slices of n points, ``step`` each."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _padded(X):
    out = np.zeros((len(X), max(1, -(-X.shape[1] // _LANES)) * _LANES), X.dtype)
    out[:, : X.shape[1]] = X
    return out


def bordered(X, factor, place):
    """Return rows [factor x, |x|^2, 1], or [factor x, 1, |x|^2] for place 1, with norms summed in float64."""
    n, d = X.shape
    out = np.empty((n, d + 2), X.dtype)
    np.multiply(X, X.dtype.type(factor), out=out[:, :d])
    out[:, d + place], out[:, d + 1 - place] = sum_squares(X), 1
    return out


def compile_profile(profile, order, kind, dtype, n_parameters):
    """Return the compiled loop that replaces scalars in columns of a block by profile values; kinds: see ``_loop``."""
    return _compiled_loop(profile, order, kind, dtype, n_parameters)[0]


def profile_address(profile, kind, dtype, n_parameters):
    """Return the address of such a loop, by which other compiled code calls it."""
    return _compiled_loop(profile, 0, kind, dtype, n_parameters)[1]


@functools.lru_cache(maxsize=256)
def _compiled_loop(profile, order, kind, dtype, n_parameters):
    loop = _loop(profile, order, kind, n_parameters)
    block = np.ones((1, 1), dtype)
    with compiling(profile):
        return loop, address(loop, block, block, block, 0, block[0])


@functools.lru_cache(maxsize=256)
def _loop(profile, order, kind, n_parameters):
    """Return the loop over a block, compiled at its first call.

    Kinds: "plain" takes scalars, "clamped" raises negative ones to 0, "direct" computes distances of padded rows.
    """
    # imported here: they import Numba
    from numba.np.unsafe.ndarray import to_fixed_tuple

    from mercer._compute import fastmath

    value, xp = specialised(profile, order), fastmath
    # machine code is kept on disk if the profile uses only xp
    key = fingerprint(profile, order, kind, n_parameters, xp, _compile)
    if kind == "direct":
        return _direct_epilogue(value, xp, key, n_parameters, to_fixed_tuple)
    clamped = kind == "clamped"

    def epilogue(left, right, block, start, parameters):
        wide()
        values = to_fixed_tuple(parameters, n_parameters)
        for i in range(block.shape[0]):
            # counting from 0 shows the compiler that no index is negative
            row = block[i, start : start + right.shape[1]]
            for j in range(row.size):
                s = row[j]
                row[j] = value(xp, xp.maximum(s, xp.const(s, 0)) if clamped else s, *values)

    return dispatcher(epilogue, EXACT, cache=key is not None, key=key)


def _direct_epilogue(value, xp, key, n_parameters, to_fixed_tuple):
    def epilogue(left, right, block, start, parameters):
        wide()
        values = to_fixed_tuple(parameters, n_parameters)
        coordinates = right.shape[0]
        for i in range(block.shape[0]):
            row = block[i, start : start + right.shape[1]]
            for k in range(0, coordinates - 4, 4):
                a, b, c, d = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
                p, q = right[k], right[k + 1]
                r, t = right[k + 2], right[k + 3]
                for j in range(row.size):
                    s = _square(a - p[j], b - q[j], c - r[j], d - t[j])
                    row[j] = s if k == 0 else row[j] + s
            # the last four go into the profile at once: up to four coordinates need no second pass
            k = coordinates - 4
            a, b, c, d = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
            p, q = right[k], right[k + 1]
            r, t = right[k + 2], right[k + 3]
            for j in range(row.size):
                s = _square(a - p[j], b - q[j], c - r[j], d - t[j])
                if coordinates > 4:
                    s = s + row[j]
                row[j] = value(xp, s, *values)

    return dispatcher(epilogue, EXACT, cache=key is not None, key=key)


@functools.partial(compiled, flags=EXACT, inline=True)
def _square(a, b, c, d):
    return a * a + b * b + c * c + d * d


@compiled
def recompute_coincident(left, right, block, start, share):
    """Replace squared distances below ``share`` (|x|^2 + |z|^2) by sums of squared differences.

    ``left`` has rows [x, |x|^2, 1], ``right`` has columns [-2 z, 1, |z|^2].
    """
    d = left.shape[1] - 2
    for i in range(left.shape[0]):
        row, bound = block[i, start : start + right.shape[1]], share * left[i, d]
        close = 0
        for j in range(row.size):
            close += row[j] < bound + share * right[d + 1, j]
        if close == 0:
            continue
        for j in range(row.size):
            if row[j] < bound + share * right[d + 1, j]:
                total = row[j] - row[j]
                for k in range(d):
                    difference = left[i, k] + right[k, j] / 2
                    total += difference * difference
                row[j] = total


@compiled
def _weigh(block, pull, mass, skip_infinite):
    """Multiply ``pull`` by the slopes in ``block``, optionally with infinite ones as 0; add row sums to ``mass``."""
    for i in range(pull.shape[0]):
        total = 0.0
        for j in range(pull.shape[1]):
            slope = np.float64(block[i, j])
            slope = 0.0 if skip_infinite and np.isinf(slope) else slope
            pull[i, j] *= slope
            total += pull[i, j]
        mass[i] += total


@compiled
def transpose(source, out):
    """Copy the transpose of ``source`` (n, m) to ``out`` (m, n)."""
    n, m = source.shape
    for top in range(0, n, _CORNER):
        for left in range(0, m, _CORNER):
            for j in range(left, min(left + _CORNER, m)):
                for i in range(top, min(top + _CORNER, n)):
                    out[j, i] = source[i, j]


@compiled
def mirror(K, start, stop):
    """Copy K[i, j] to K[j, i] for i > j and columns j from ``start`` to ``stop``."""
    for first in range(start, len(K), _CORNER):
        for column in range(start, min(stop, first + _CORNER), _CORNER):
            for i in range(first, min(first + _CORNER, len(K))):
                for j in range(column, min(column + _CORNER, stop, i)):
                    K[j, i] = K[i, j]
