"""Kernel values, products and gradients of one profile: compiled loops and BLAS on tiles that stay in cache.

A tile holds the scalars s = |x - z|^2 or <x, z>, from differences for few coordinates and from a matrix product
otherwise; profile values replace them in place. Sums are in the type of the data in a tile, in float64 across tiles and
of a single row. Tiles are cut by the shape alone and each is computed by one thread, so that results do not depend on
the threads.
"""

import functools
import operator
from typing import Any, NamedTuple

import numpy as np

from mercer._compute.compile import compiled
from mercer._compute.costs import (
    BLOCK,
    COLUMNS,
    CORNER,
    DIRECT,
    SINGLE,
    TILE,
    WIDE,
)
from mercer._compute.distances import CLOSE_SHARES, recompute_close
from mercer._compute.memory import allocate, cut
from mercer._compute.points import sum_squares
from mercer._compute.profile import compile_profile, loses_digits, within_range
from mercer._compute.threads import check_cancelled, run_tasks

_BOUNDS = operator.attrgetter("start", "stop")
# Coordinates per step of the loop over differences; rows are padded by zeros.
_LANES = 4
# Columns of weights from which products of one row add rows of weights, which are contiguous.
_FROM_ROWS = 4


class Formula(NamedTuple):
    """A function of |x - z|^2, for the kind "radial", or of <x, z>, for "dot", at all pairs of rows of two arrays.

    X and Z are C-contiguous, of one type and centred near 0 for distances, whose error is a few eps (|x|^2 + |z|^2)
    beyond 8 coordinates. ``given`` are the rows before they were centred, of which close ones are subtracted, and
    ``norms`` the squared norms of X and of Z in their type, where these are known.
    """

    profile: Any
    kind: str
    parameters: tuple[float, ...]
    X: Any
    Z: Any
    given: Any = None
    norms: Any = None


def tile(formula, order=0):
    """Return the order-th derivative of a formula at all pairs of rows (n, m).

    For Z the same object as X, half is computed: exactly symmetric, with an exact diagonal.
    """
    plan = Plan(formula, order)
    K = allocate((len(formula.X), len(formula.Z)), formula.X.dtype)

    def fill(rows):
        left = plan.left(rows)
        for j, columns in enumerate(plan.columns):
            if plan.mirrored and columns.start >= rows.stop:
                break
            # values above the diagonal are copied
            plan.values(left, rows, j, K[rows], columns.start, rows.stop if plan.mirrored else None)

    plan.run(fill, multiplies=not plan.direct)
    if plan.mirrored:
        plan.run(lambda rows: mirror(K, rows.start, rows.stop), multiplies=False)
    return K


def products(plan, V, pieces=None):
    """Return K(X, Z) @ V (n, p) without storing K, in n m (2 d + 2 p + about 30) operations and a copy of Z.

    With ``pieces``, q slices of rows of Z: the products K(X, Z[piece]) @ V[piece] side by side (n, q p).
    """
    n = len(plan.X)
    V = np.ascontiguousarray(V, plan.X.dtype)
    pieces = [slice(0, len(V))] if pieces is None else pieces
    q = len(pieces)
    result = allocate((n, q, V.shape[1]), V.dtype)

    def multiply(rows):
        total = np.zeros((q, rows.stop - rows.start, V.shape[1]))
        for j, block in plan.blocks(rows):
            columns = plan.columns[j]
            if plan.one_row:
                bounds = np.array([*map(_BOUNDS, pieces)]) - columns.start
                _add_products(block[0], V[columns], bounds, total[:, 0])
                continue
            for piece, sums in zip(pieces, total, strict=True):
                first = max(piece.start, columns.start)
                last = min(piece.stop, columns.stop)
                if first < last:
                    sums += block[:, first - columns.start : last - columns.start] @ V[first:last]
        result[rows] = total.transpose(1, 0, 2)

    plan.run(multiply)
    return result.reshape(n, q * V.shape[1])


def gradient(formula, W):
    """Return the gradient of sum_ij W_ij k(s_ij) in every x_i (n, d), summed in float64.

    It is sum_j 2 W_ij k'(s_ij) (x_i - z_j) for distances, where infinite k' count as 0 (a kink), and
    sum_j W_ij k'(s_ij) z_j for products. W is an array (n, m) or a thread-safe function of a slice of rows.
    """
    X = formula.X
    Z = formula.Z
    # weights that a task requests at a time
    plan = Plan(formula, 1, most=max(1, BLOCK // max(1, len(Z))))
    weights_of = W if callable(W) else W.__getitem__
    result = np.empty_like(X)
    if formula.given and X.dtype == np.float32:
        # in float64 the rounding of sums hides that of centred rows
        X, Z = formula.given

    def differentiate(rows):
        weights = weights_of(rows)
        left = X[rows]
        mass = np.zeros(len(left))
        total = np.zeros(left.shape)
        for j, block in plan.blocks(rows):
            columns = plan.columns[j]
            pull = np.array(weights[:, columns], np.float64, order="C")
            _weigh(block, pull, mass, plan.radial)
            total += pull @ Z[columns].astype(np.float64, copy=False)
        result[rows] = 2 * (mass[:, None] * left - total) if plan.radial else total

    plan.run(differentiate)
    return result


class Plan:
    """Cut of a block into tiles, and the computation of one tile of profile values."""

    def __init__(self, formula, order=0, most=COLUMNS, keep=None):
        """``most`` bounds the rows of a task.

        ``keep(key, function)`` returns ``function()`` and may keep it, the copy of Z, for the next product with Z.
        """
        profile, kind, parameters, X, Z, given, norms = formula
        self.radial = kind == "radial"
        self.mirrored = X is Z
        # rows minus a centre may have fewer digits
        self._given = (X, Z) if given is None else given
        d = X.shape[1]
        dtype = X.dtype
        # without BLAS, the number of whose threads takes longer to set than the product
        self.one_row = len(X) == 1 and Z.size <= SINGLE
        self.direct = self.radial and d <= DIRECT
        # few rows are cut finer to occupy several threads; little work is one task
        tasks = min(8, max(1, len(X) * len(Z) // SINGLE))
        self._step = min(most, TILE // (COLUMNS * X.itemsize), max(16, -(-len(X) // tasks)))
        self.columns = cut(len(Z), COLUMNS)
        self._wide = self.radial and d >= WIDE
        kind = ("direct" if self.direct else "clamped") if self.radial else "plain"
        self._share, self._parameters, self._finish = _finish(
            profile, parameters, order, kind, dtype
        )
        self._norms = self._right_norms = np.empty(0, dtype)
        self._recomputes = False
        if self.direct:
            X, Z = self._given
        elif self.radial:
            self._norms, self._right_norms = _norms(X, Z) if norms is None else norms
            largest = self._norms.max(initial=0) + self._right_norms.max(initial=0)
            self._recomputes = len(X) > 0 and loses_digits(
                profile, parameters, dtype, float(self._share * largest), order
            )
        self.X = X
        prepare = functools.partial(self._right_sides, Z)
        self._rights = keep(("prepared", kind), prepare) if keep else prepare()

    def _right_sides(self, Z):
        rights = [None] * len(self.columns)

        def prepare(j):
            columns = self.columns[j]
            rows = Z[columns]
            # wide rows are centred copies; a view of others would keep Z alive
            rights[j] = (
                rows.T
                if self._wide
                else np.array(self.prepared(rows, self._right_norms[columns], 1).T, order="C")
            )

        if Z.size > SINGLE:
            run_tasks(prepare, len(rights))
        else:
            for j in range(len(rights)):
                prepare(j)
        return rights

    def run(self, function, multiplies=True):
        """Call ``function(rows)`` for slices of all rows, on several threads; whether it calls BLAS."""
        tiles = cut(len(self.X), self._step)
        # the caller checks that values are finite
        with np.errstate(all="ignore"):
            # it takes longer to set the threads of BLAS than a small task
            if self.one_row or (len(tiles) == 1 and not multiplies):
                function(tiles[0])
            else:
                run_tasks(lambda index: function(tiles[index]), len(tiles))

    def blocks(self, rows):
        """Yield j and the values of some rows and the j-th column tile, in shared memory: new pages cost as exp."""
        left = self.left(rows)
        memory = allocate(len(left) * COLUMNS, self.X.dtype)
        for j, right in enumerate(self._rights):
            block = memory[: len(left) * right.shape[1]].reshape(len(left), -1)
            self.values(left, rows, j, block)
            yield j, block

    def left(self, rows):
        """Return some rows of X in the form that ``values`` takes."""
        return self.prepared(self.X[rows], self._norms[rows])

    def prepared(self, X, norms, place=0):
        """Return rows in the form that ``values`` takes."""
        if self.direct:
            n, d = X.shape
            out = np.zeros((n, max(1, -(-d // _LANES)) * _LANES), X.dtype)
            out[:, :d] = X
            return out
        if self._wide:
            return X * X.dtype.type(-2)
        # [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2: the matrix product adds the norms
        return bordered(X, norms, place) if self.radial else X

    def values(self, left, rows, j, block, start=0, stop=None):
        """Write the values of some rows and the j-th column tile to the columns of ``block`` from ``start`` on.

        ``stop`` is the number of the first column that is not needed.
        """
        check_cancelled()
        right = self._rights[j]
        columns = self.columns[j]
        if stop is not None and stop < columns.stop:
            right = right[:, : stop - columns.start]
            right = right if self._wide else np.ascontiguousarray(right)
        if not self.direct:
            out = block[:, start : start + right.shape[1]]
            np.einsum("ik,kj->ij", left, right, out=out) if self.one_row else np.matmul(
                left, right, out=out
            )
            columns = slice(columns.start, columns.start + right.shape[1])
            if self.radial:
                self._settle(rows, columns, block, start)
            if self._wide:
                # the loop reads the number of columns only
                right = np.empty((0, right.shape[1]), out.dtype)
        self._finish(left, right, block, start, self._parameters)

    def _settle(self, rows, columns, block, start):
        """Make the products of some rows and columns squared distances, close ones from differences."""
        norms = self._norms[rows]
        others = self._right_norms[columns]
        if self._wide:
            # the products are -2 <x, z>
            s = block[:, start : start + len(others)]
            s += norms[:, None]
            s += others
        if self._recomputes:
            X = self._given[0][rows]
            Z = self._given[1][columns]
            recompute_close(X, Z, norms, others, block, start, self._share)
        if self.mirrored:
            same = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
            block[same - rows.start, same - columns.start + start] = 0


@functools.lru_cache(maxsize=256)
def _finish(profile, parameters, order, kind, dtype):
    """Return the share of close pairs, the parameters, and the loop of a profile, in a type."""
    share = dtype.type(CLOSE_SHARES[np.finfo(dtype).bits])
    loop = compile_profile(profile, order, kind, dtype, len(parameters))
    return share, np.array(within_range(parameters, dtype), dtype), loop


def _norms(X, Z):
    """Return the squared norms of the rows of X and of Z in their type."""
    right = sum_squares(Z).astype(Z.dtype)
    return (right if X is Z else sum_squares(X).astype(X.dtype)), right


def bordered(X, norms, place):
    """Return rows [x, |x|^2, 1], or [-2 x, 1, |x|^2] for place 1."""
    n, d = X.shape
    out = np.empty((n, d + 2), X.dtype)
    np.multiply(X, X.dtype.type(-2 if place else 1), out=out[:, :d])
    out[:, d + place] = norms
    out[:, d + 1 - place] = 1
    return out


@compiled
def _add_products(values, weights, bounds, total):
    """Add the products of parts of a row of values, from one bound to the other, with columns of weights."""
    for k in range(bounds.shape[0]):
        first = max(bounds[k, 0], 0)
        last = min(bounds[k, 1], values.size)
        if weights.shape[1] < _FROM_ROWS:
            for p in range(weights.shape[1]):
                product = 0.0
                for j in range(first, last):
                    product += np.float64(values[j]) * weights[j, p]
                total[k, p] += product
        else:
            for j in range(first, last):
                for p in range(weights.shape[1]):
                    total[k, p] += np.float64(values[j]) * weights[j, p]


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
def mirror(K, start, stop):
    """Copy K[i, j] to K[j, i] for i > j and columns j from ``start`` to ``stop``."""
    for first in range(start, len(K), CORNER):
        for column in range(start, min(stop, first + CORNER), CORNER):
            for i in range(first, min(first + CORNER, len(K))):
                for j in range(column, min(column + CORNER, stop, i)):
                    K[j, i] = K[i, j]
