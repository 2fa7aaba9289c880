"""Kernel values, products and gradients of one profile: compiled loops and BLAS on tiles that stay in cache.

A tile holds the scalars s = |x - z|^2 or <x, z>, from differences for few coordinates and from a matrix product
otherwise; profile values replace them in place. Sums are in the type of the data in a tile, in float64 across tiles.
Tiles are cut by the shape alone and each is computed by one thread, so that results do not depend on the threads.
"""

import functools

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.memory import allocate
from mercer._compute.points import sum_squares
from mercer._compute.profile import loses_digits, within_range
from mercer._compute.profile_loop import compile_profile
from mercer._compute.threads import check_cancelled, run_tasks
from mercer._compute.tile import close_share

COLUMNS = 512
# Rows and columns of a tile that is transposed: whole cache lines are read and written.
_CORNER = 32
# Bytes of a tile: half of a second-level cache of 2 MB, and enough rows for the full speed of BLAS.
_TILE = 1 << 20
# Up to this many coordinates, differences take no longer than a matrix product and are exact for close points.
_DIRECT = 8
# From this many coordinates on, copies of rows beside their norms take longer than adding the norms to the products.
WIDE = 512
# Coordinates per step of the loop over differences; rows are padded by zeros.
_LANES = 4
# Kernel values, or numbers of a copy, of one task: fewer take less time than starting a second task.
_SINGLE = 1 << 16
# Multiplications of a product whose operands OpenBLAS does not copy; with fewer rows than the least it is slower.
_UNCOPIED, _LEAST_UNCOPIED = 1_000_000, 32
# Numbers of points that one row is compared with without BLAS.
_WITHOUT_BLAS = 1 << 17
# Weights that one task requests at a time.
_WEIGHTS = 1 << 22


def tile(profile, kind, parameters, X, Z, order=0, given=None):
    """Return the profile's order-th derivative at all s_ij (n, m); s is |x - z|^2 for "radial", <x, z> for "dot".

    X and Z are C-contiguous, of one type and centred near 0 for distances, whose error is a few eps (|x|^2 + |z|^2)
    beyond 8 coordinates. For Z the same object as X, half is computed: exactly symmetric, with an exact diagonal.
    ``given`` are the rows before they were centred, of which close ones are subtracted.
    """
    plan = Plan(profile, kind, parameters, X, Z, order, given=given)
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


def matmul(profile, kind, parameters, X, Z, V, pieces=None, keep=None, given=None):
    """Return K(X, Z) @ V (n, p) without storing K, in n m (2 d + 2 p + about 30) operations and a copy of Z.

    With ``pieces``, q slices of rows of Z: the products K(X, Z[piece]) @ V[piece] side by side (n, q p).
    ``keep(key, function)`` returns ``function()`` and may keep it, the copy of Z, for the next product with Z.
    """
    plan = Plan(profile, kind, parameters, X, Z, keep=keep, given=given)
    V = np.ascontiguousarray(V, X.dtype)
    if pieces is None:
        pieces = [slice(0, len(Z))]
        shares = [[(0, slice(None), columns)] for columns in plan.columns]
    else:
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


def gradient(profile, kind, parameters, X, Z, W, given=None):
    """Return the gradient of sum_ij W_ij k(s_ij) in every x_i (n, d), summed in float64.

    It is sum_j 2 W_ij k'(s_ij) (x_i - z_j) for distances, where infinite k' count as 0 (a kink), and
    sum_j W_ij k'(s_ij) z_j for products. W is an array (n, m) or a thread-safe function of a slice of rows.
    """
    row_bound = _WEIGHTS // max(1, len(Z)) or 1
    plan = Plan(profile, kind, parameters, X, Z, 1, row_bound, given=given)
    weights_of = W if callable(W) else W.__getitem__
    result = np.empty_like(X)
    # in float64 the rounding of sums hides that of centred rows
    X, Z = given if given and X.dtype == np.float32 else (X, Z)

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

    def __init__(self, profile, kind, parameters, X, Z, order=0, row_bound=None, keep=None, given=None):
        self.radial = kind == "radial"
        self.mirrored = X is Z
        # rows minus a centre may have fewer digits
        self._given = (X, Z) if given is None else given
        # without BLAS, the number of whose threads takes longer to set than the product
        self._one_row = len(X) == 1 and Z.size <= _WITHOUT_BLAS
        d = X.shape[1]
        self._direct = self.radial and d <= _DIRECT
        X, Z = self._given if self._direct else (X, Z)
        self.X = X
        self._wide = self.radial and d >= WIDE
        most = _TILE // (COLUMNS * X.itemsize)
        # few rows are cut finer to occupy several threads; little work is one task
        tasks = min(8, max(1, len(X) * len(Z) // _SINGLE))
        fine = max(16, -(-len(X) // tasks))
        self._step = max(1, min(row_bound or most, most, fine))
        self.columns = cut(len(Z), COLUMNS)
        keep = keep or (lambda _key, function: function())
        self._rights, self._right_norms = keep(("prepared", kind), lambda: self._right_sides(Z))
        self._norms = self._right_norms if self.mirrored else self._norms_of(X)
        self._parameters = np.array(within_range(parameters, np.finfo(X.dtype)), X.dtype)
        kind = ("direct" if self._direct else "clamped") if self.radial else "plain"
        self._lefts = self.prepared(X, self._norms) if X.size <= _SINGLE else None
        self._share = X.dtype.type(close_share(np.finfo(X.dtype)))
        largest = float(self._share * (self._norms.max(initial=0) + self._right_norms.max(initial=0)))
        self._recomputes = len(self._norms) > 0 and loses_digits(profile, parameters, X.dtype, largest, order)
        self._finish = compile_profile(profile, order, kind, X.dtype, len(self._parameters))

    def _norms_of(self, X):
        """Return the squared norms of rows, none where the scalar needs none."""
        return sum_squares(X).astype(X.dtype) if self.radial and not self._direct else np.empty(0, X.dtype)

    def _right_sides(self, Z):
        rights, norms = [None] * len(self.columns), self._norms_of(Z)

        def prepare(j):
            rows = Z[self.columns[j]]
            # wide rows are centred copies; a view of others would keep Z alive
            rights[j] = rows.T if self._wide else np.array(self.prepared(rows, norms[self.columns[j]], 1).T, order="C")

        if Z.size > _SINGLE:
            run_tasks(prepare, len(rights))
        else:
            for j in range(len(rights)):
                prepare(j)
        return rights, norms

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
        return self.prepared(self.X[rows], self._norms[rows]) if self._lefts is None else self._lefts[rows]

    def prepared(self, X, norms, place=0):
        """Return rows in the form that ``values`` takes."""
        if self._direct:
            return _padded(X)
        if self._wide:
            return X * X.dtype.type(-2)
        # [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2: the matrix product adds the norms
        return _bordered(X, norms, place) if self.radial else X

    def values(self, left, rows, j, block, start=0, stop=None):
        """Write the values of some rows and the j-th column tile to the columns of ``block`` from ``start`` on.

        ``stop`` is the number of the first column that is not needed.
        """
        check_cancelled()
        right, columns = self._rights[j], self.columns[j]
        if stop is not None and stop < columns.stop:
            right = right[:, : stop - columns.start]
            right = right if self._wide else np.ascontiguousarray(right)
        if not self._direct:
            out = block[:, start : start + right.shape[1]]
            np.einsum("ik,kj->ij", left, right, out=out) if self._one_row else np.matmul(left, right, out=out)
            if self._wide:
                self._expand(rows, columns.start, out)
                # the loop reads the number of columns only
                right = np.empty((0, right.shape[1]), out.dtype)
            elif self._recomputes:
                self._recompute(rows, columns.start, block, start, out.shape[1])
            first, last = max(rows.start, columns.start), min(rows.stop, columns.stop)
            if self.mirrored and self.radial and first < last:
                same = np.arange(first, last)
                block[same - rows.start, same - columns.start + start] = 0
        self._finish(left, right, block, start, self._parameters)

    def _expand(self, rows, start, s):
        """Turn the products s = -2 <x, z> of rows with many columns into squared distances."""
        norms, others = self._norms[rows, None], self._right_norms[start : start + s.shape[1]]
        s += norms
        s += others
        if self._recomputes:
            X, Z = self._given[0][rows], self._given[1][start : start + s.shape[1]]
            i, j = np.nonzero(s < self._share * (norms + others))
            for part in cut(len(i), max(1, _SINGLE // X.shape[1])):
                s[i[part], j[part]] = sum_squares(X[i[part]] - Z[j[part]])

    def _recompute(self, rows, first, block, start, width):
        """Replace squared distances that lose digits by sums of squared differences."""
        columns = slice(first, first + width)
        X, Z = self._given[0][rows], self._given[1][columns]
        recompute_close(X, Z, self._norms[rows], self._right_norms[columns], block, start, self._share)


@functools.lru_cache(maxsize=64)
def cut(n, step):
    """Return the slices of n points, ``step`` each."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _padded(X):
    out = np.zeros((len(X), max(1, -(-X.shape[1] // _LANES)) * _LANES), X.dtype)
    out[:, : X.shape[1]] = X
    return out


def _bordered(X, norms, place):
    """Return rows [x, |x|^2, 1], or [-2 x, 1, |x|^2] for place 1."""
    n, d = X.shape
    out = np.empty((n, d + 2), X.dtype)
    np.multiply(X, X.dtype.type(-2 if place else 1), out=out[:, :d])
    out[:, d + place], out[:, d + 1 - place] = norms, 1
    return out


@compiled
def recompute_close(X, Z, norms, right_norms, block, start, share):
    """Replace squared distances below ``share`` (|x|^2 + |z|^2) by sums of squared differences of rows X and Z.

    The norms are those of rows minus a centre.
    """
    for i in range(X.shape[0]):
        row, bound, close = block[i, start : start + Z.shape[0]], share * norms[i], 0
        for j in range(row.size):
            close += row[j] < bound + share * right_norms[j]
        if close == 0:
            continue
        for j in range(row.size):
            if row[j] < bound + share * right_norms[j]:
                total = row[j] - row[j]
                for k in range(X.shape[1]):
                    difference = X[i, k] - Z[j, k]
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
