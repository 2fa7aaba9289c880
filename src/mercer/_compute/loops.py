"""Kernel values, products and gradients in one pass over tiles: compiled loops and BLAS, no kernel matrix stored.

A tile of the scalars s = |x - z|^2 or <x, z> is filled (by differences for few coordinates, by one matrix product
otherwise), turned into profile values in place while it is in cache, and used. Tiles are cut by the shape alone and
each is the work of one thread, so results do not depend on the number of threads. Within a tile sums are in the type
of the data, across tiles in float64.
"""

import functools

import numpy as np

from mercer._compute import compile as _compile
from mercer._compute.compile import EXACT, compiled, dispatcher, fingerprint, specialised, wide
from mercer._compute.memory import allocate
from mercer._compute.profile import apply_profile
from mercer._compute.threads import check_cancelled, run_tasks
from mercer._compute.tile import COINCIDENCE

_COLUMNS = 512
# Rows and columns of a tile that is transposed: the lines of cache that it touches are used up.
_SIDE = 32
# Bytes of a tile: half of a second-level cache of 2 MB, and enough rows for BLAS to run at its full speed.
_TILE = 1 << 20
# Up to here differences cost no more than a matrix product with so short a sum, and they are exact for close points.
_DIRECT = 8
# Coordinates that the loop over differences takes at a time; rows are padded by zeros.
_LANES = 4
# Kernel values that take less time than handing them out.
_SINGLE = 1 << 16
# Numbers of weights that one task asks for at a time.
_WEIGHTS = 1 << 22


def tile(profile, kind, parameters, X, Z, order=0):
    """Return the block of profile values k^(order)(s_ij).

    Parameters
    ----------
    profile : function (xp, s, *parameters, order=0)
        Compiled with ``xp`` the module ``mercer._compute.fastmath``.
    kind : {"radial", "dot"}
        Whether s is the squared distance or the inner product.
    parameters : tuple of numbers
    X : C-contiguous array (n, d), float32 or float64
        For distances, centred near 0: beyond 8 coordinates their error is a few eps (|x|^2 + |z|^2).
    Z : array (m, d) of the same type
        The very same array as X gives an exactly symmetric block with an exact diagonal, at half the cost.
    order : int
        Of the derivative of the profile.

    Returns
    -------
    array (n, m) in the type of X

    Raises
    ------
    TypeError
        When the profile uses what compiled code cannot.
    """
    plan = _Plan(profile, kind, parameters, X, Z, order)
    K = allocate((len(X), len(Z)), X.dtype)

    def fill(rows):
        left = plan.left(rows)
        for j, columns in enumerate(plan.columns):
            if plan.mirrored and columns.start >= rows.stop:
                break
            plan.values(left, rows, j, K[rows], columns.start)

    plan.run(fill)
    if plan.mirrored:
        plan.run(lambda rows: mirror(K, rows.start, rows.stop))
    return K


def matmul(profile, kind, parameters, X, Z, V, pieces=None, keep=None):
    """Return K(X, Z) @ V without storing K, in one sum or in several.

    Parameters
    ----------
    profile, kind, parameters, X, Z
        As for ``tile``.
    V : array (m, p)
        Rounded to the type of X.
    pieces : list of slice, optional
        Runs of rows of Z that are summed over apart from each other.
    keep : callable (key, function) -> function(), optional
        Keeps what is prepared of Z, for the next product with it.

    Returns
    -------
    array (n, p) in the type of X
        With q pieces (n, q p): p columns K(X, Z[piece]) @ V[piece] for one piece after the other.

    Notes
    -----
    Costs n m (2 d + 2 p + about 30) operations and a copy of Z.
    """
    plan = _Plan(profile, kind, parameters, X, Z, pieces=pieces, keep=keep)
    V = np.ascontiguousarray(V, X.dtype)
    result = np.empty((len(X), plan.n_pieces, V.shape[1]), X.dtype)

    def multiply(rows):
        left = plan.left(rows)
        total = np.zeros((plan.n_pieces, len(left), V.shape[1]))
        part = np.empty(total.shape[1:], X.dtype)
        blocks = plan.blocks(len(left))
        for j, columns in enumerate(plan.columns):
            block = blocks[j]
            plan.values(left, rows, j, block)
            total[plan.owners[j]] += np.matmul(block, V[columns], out=part)
        result[rows] = total.transpose(1, 0, 2)

    plan.run(multiply)
    return result.reshape(len(X), plan.n_pieces * V.shape[1])


def gradient(profile, kind, parameters, X, Z, W):
    """Return the gradient of sum_ij W_ij k(s_ij) in every x_i.

    For distances sum_j 2 W_ij k'(s_ij) (x_i - z_j), for products sum_j W_ij k'(s_ij) z_j. Distances at which k' is
    infinite (a kink at 0) contribute 0.

    Parameters
    ----------
    profile, kind, parameters, X, Z
        As for ``tile``.
    W : array (n, m), or callable slice of rows -> array (rows, m)
        A callable is called from several threads.

    Returns
    -------
    array (n, d) in the type of X
        Summed in float64.
    """
    plan = _Plan(profile, kind, parameters, X, Z, order=1, row_bound=_WEIGHTS // max(1, len(Z)) or 1)
    weights_of = W if callable(W) else W.__getitem__
    result = np.empty_like(X)

    def differentiate(rows):
        left, weights = plan.left(rows), weights_of(rows)
        mass, total = np.zeros(len(left)), np.zeros((len(left), X.shape[1]))
        blocks = plan.blocks(len(left))
        for j, columns in enumerate(plan.columns):
            block = blocks[j]
            plan.values(left, rows, j, block)
            pull = np.array(weights[:, columns], np.float64, order="C")
            _weigh(block, pull, mass, plan.radial)
            total += pull @ Z[columns].astype(np.float64, copy=False)
        result[rows] = 2 * (mass[:, None] * X[rows] - total) if plan.radial else total

    plan.run(differentiate)
    return result


class _Plan:
    """How a block is cut into tiles, and how one tile of profile values is computed."""

    def __init__(self, profile, kind, parameters, X, Z, order=0, row_bound=None, pieces=None, keep=None):
        self.X, self.radial = X, kind == "radial"
        self.mirrored = X is Z
        self._direct = self.radial and X.shape[1] <= _DIRECT
        most = _TILE // (_COLUMNS * X.itemsize)
        # few rows are cut finer, so that there is work for several threads; little work is one task
        fine = len(X) if len(X) * len(Z) <= _SINGLE else max(16, -(-len(X) // 8))
        self._step = max(1, min(row_bound or most, most, fine))
        pieces = [slice(0, len(Z))] if pieces is None else pieces
        cuts = [_cut(piece.stop, _COLUMNS, piece.start) for piece in pieces]
        self.columns = [columns for cut in cuts for columns in cut]
        self.n_pieces, self.owners = len(cuts), [owner for owner, cut in enumerate(cuts) for _ in cut]
        if keep is None:
            self._rights = self._prepared(Z)
        else:
            key = "prepared", kind, tuple((columns.start, columns.stop) for columns in self.columns)
            self._rights = keep(key, lambda: self._prepared(Z))
        self._parameters = _typed(parameters, X.dtype)
        # an infinite slope at 0 turns the rounding of a distance near 0 into an error a thousand times larger
        self._kinked = self.radial and not self._direct and _has_kink(profile, parameters, X.dtype)
        kind = ("direct" if self._direct else "clamped") if self.radial else "plain"
        self._finish = compile_profile(profile, order, kind, X.dtype, len(self._parameters))

    def _prepared(self, Z):
        rights = [None] * len(self.columns)

        def prepare(j):
            # a copy always: what is kept must not keep Z
            rights[j] = np.array(self._right(Z[self.columns[j]]).T, order="C")

        run_tasks(prepare, len(rights))
        return rights

    def run(self, function):
        """Call a function of a slice of rows for all of them, on several threads."""
        tiles = _cut(len(self.X), self._step)

        def task(index):
            # whoever asked for the block checks that it is finite
            with np.errstate(all="ignore"):
                function(tiles[index])

        run_tasks(task, len(tiles))

    def blocks(self, n):
        """Return memory for n rows of each column tile: the same for all, since fresh pages cost as much as exp."""
        memory = np.empty(n * _COLUMNS, self.X.dtype)
        return [memory[: n * right.shape[1]].reshape(n, -1) for right in self._rights]

    def left(self, rows):
        """Return rows of X as ``values`` takes them."""
        X = self.X[rows]
        if self._direct:
            return _padded(X)
        return bordered(X, 1, 0) if self.radial else X

    def _right(self, Z):
        if self._direct:
            return _padded(Z)
        # [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2, so that no pass over the tile adds the norms
        return bordered(np.ascontiguousarray(Z), -2, 1) if self.radial else Z

    def values(self, left, rows, j, block, start=0):
        """Write the values for some rows and the j-th column tile into columns of ``block`` from ``start`` on."""
        check_cancelled()
        right, columns = self._rights[j], self.columns[j]
        if not self._direct:
            np.matmul(left, right, out=block[:, start : start + right.shape[1]])
            if self._kinked:
                _recompute_coincident(left, right, block, start, self.X.dtype.type(COINCIDENCE))
            if self.mirrored and self.radial:
                same = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
                block[same - rows.start, same - columns.start + start] = 0
        self._finish(left, right, block, start, self._parameters)


def _typed(parameters, dtype):
    # a parameter beyond the type would turn infinite, and 0 times it NaN: the largest number does what it means
    largest = float(np.finfo(dtype).max)
    return tuple(dtype.type(max(-largest, min(largest, value))) for value in parameters)


def _has_kink(profile, parameters, dtype):
    return not np.isfinite(apply_profile(profile, np.zeros(1, dtype), parameters, order=1)[0])


def _cut(n, step, first=0):
    return [slice(start, min(start + step, n)) for start in range(first, n, step)]


def _padded(X):
    out = np.zeros((len(X), max(1, -(-X.shape[1] // _LANES)) * _LANES), X.dtype)
    out[:, : X.shape[1]] = X
    return out


@compiled
def bordered(X, factor, place):
    """Return rows [factor x, |x|^2, 1], or [factor x, 1, |x|^2] for place 1; norms are summed in float64."""
    wide()
    n, d = X.shape
    out, factor = np.empty((n, d + 2), X.dtype), X.dtype.type(factor)
    for i in range(n):
        row, total = X[i], 0.0
        for k in range(d):
            out[i, k] = factor * row[k]
        for k in range(d):
            total += np.float64(row[k]) * np.float64(row[k])
        out[i, d + place], out[i, d + 1 - place] = total, 1.0
    return out


@functools.lru_cache(maxsize=256)
def compile_profile(profile, order, kind, dtype, n_parameters):
    """Return the compiled loop that turns columns of a block of scalars into profile values, tried on one number."""
    from numba.core.errors import NumbaError

    loop, one = _loop(profile, order, kind), np.ones((1, 1), dtype)
    try:
        loop(np.ones((1, _LANES), dtype), np.ones((_LANES, 1), dtype), one, 0, (dtype.type(1),) * n_parameters)
    except NumbaError as error:
        raise TypeError(
            f"{profile.__qualname__} cannot be compiled: use only arithmetic and the functions of its argument xp "
            f"(exp, log, sqrt, tanh, power, where, ...). Numba says: {error}"
        ) from error
    return loop


@functools.lru_cache(maxsize=256)
def _loop(profile, order, kind):
    """Return the loop over a block, not yet compiled for a type.

    ``kind`` is "plain" for scalars as they are, "clamped" for distances, "direct" for distances computed here, row by
    row, from padded points.
    """
    from mercer._compute import fastmath

    value, xp = specialised(profile, order), fastmath
    # machine code of profiles that use nothing but xp is kept on disk
    key = fingerprint(profile, order, kind, xp, _compile)
    if kind == "direct":
        return _direct_epilogue(value, xp, key)
    clamped = kind == "clamped"

    def epilogue(left, right, block, start, parameters):
        wide()
        for i in range(block.shape[0]):
            # an index that counts from 0 tells the compiler that none is negative
            row = block[i, start : start + right.shape[1]]
            for j in range(row.size):
                s = row[j]
                row[j] = value(xp, xp.maximum(s, xp.const(s, 0)) if clamped else s, *parameters)

    return dispatcher(epilogue, EXACT, cache=key is not None, key=key)


def _direct_epilogue(value, xp, key):
    def epilogue(left, right, block, start, parameters):
        wide()
        coordinates = right.shape[0]
        for i in range(block.shape[0]):
            row = block[i, start : start + right.shape[1]]
            for k in range(0, coordinates - 4, 4):
                a, b, c, d = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
                p, q, r, t = right[k], right[k + 1], right[k + 2], right[k + 3]
                for j in range(row.size):
                    s = _square(a - p[j], b - q[j], c - r[j], d - t[j])
                    row[j] = s if k == 0 else row[j] + s
            # the last four go straight into the profile, so that four or fewer take no detour through memory
            k = coordinates - 4
            a, b, c, d = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
            p, q, r, t = right[k], right[k + 1], right[k + 2], right[k + 3]
            for j in range(row.size):
                s = _square(a - p[j], b - q[j], c - r[j], d - t[j])
                if coordinates > 4:
                    s = s + row[j]
                row[j] = value(xp, s, *parameters)

    return dispatcher(epilogue, EXACT, cache=key is not None, key=key)


@functools.partial(compiled, flags=EXACT, inline=True)
def _square(a, b, c, d):
    return a * a + b * b + c * c + d * d


@compiled
def _recompute_coincident(left, right, block, start, share):
    """Replace squared distances below a share of the squared norms by sums of squared differences.

    ``left`` has rows [x, |x|^2, 1] and ``right`` columns [-2 z, 1, |z|^2].
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
    """Multiply ``pull`` by the slopes in ``block``, infinite ones as 0 on request; add the row sums to ``mass``."""
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
    """Copy the transpose of a block to ``out``.

    Parameters
    ----------
    source : array (n, m)
    out : array (m, n)
    """
    n, m = source.shape
    for top in range(0, n, _SIDE):
        for left in range(0, m, _SIDE):
            for j in range(left, min(left + _SIDE, m)):
                for i in range(top, min(top + _SIDE, n)):
                    out[j, i] = source[i, j]


@compiled
def mirror(K, start, stop):
    """Copy what lies below the diagonal in columns ``start`` to ``stop`` to the part above it.

    Parameters
    ----------
    K : array (n, n)
    start, stop : int
    """
    for first in range(start, len(K), _SIDE):
        for column in range(start, min(stop, first + _SIDE), _SIDE):
            for i in range(first, min(first + _SIDE, len(K))):
                for j in range(column, min(column + _SIDE, stop, i)):
                    K[j, i] = K[i, j]
