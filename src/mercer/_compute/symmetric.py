"""Symmetric matrices of kernel values: each tile below the diagonal is computed once and serves as its transpose too.

Tiles are cut by the number of points alone, and sums have a fixed order: the number of threads changes no result.
"""

import numpy as np

from mercer._compute.costs import COLUMNS, TASKS
from mercer._compute.loops import mirror
from mercer._compute.memory import allocate, cut
from mercer._compute.points import positions
from mercer._compute.threads import check_cancelled, count_threads, run_tasks


def products(plan, V):
    """Return K(X, X) @ V (n, p) without storing K; half of its values are computed, see ``loops.products``."""
    return _multiply(lambda i: _computed(plan, i), np.ascontiguousarray(V, plan.X.dtype))


def _computed(plan, i):
    """Return the function of j and memory that computes a tile of rows i, which are prepared once."""
    rows = plan.columns[i]
    left = plan.left(rows)

    def tile(j, memory):
        width = _size(plan.columns[j])
        block = memory[: len(left) * width].reshape(len(left), width)
        plan.values(left, rows, j, block)
        return block

    return tile


def _multiply(tiles, V):
    """Return the product of a symmetric matrix with V (n, p), summed in float64 over tiles, in the type of V.

    ``tiles(i)`` returns a function of j <= i and memory: rows i and columns j of the matrix.
    """
    places = cut(len(V), COLUMNS)
    total = np.zeros(V.shape)
    memories = []
    for i, rows in enumerate(places):
        tile = tiles(i)
        tasks = min(TASKS, i + 1)
        sums = np.zeros((tasks, _size(rows), V.shape[1]))

        def multiply(task, i=i, rows=rows, tile=tile, tasks=tasks, sums=sums):
            # new pages take as long as exp
            memory = memories.pop() if memories else np.empty(COLUMNS * COLUMNS, V.dtype)
            for j in range(task, i + 1, tasks):
                check_cancelled()
                block = tile(j, memory)
                sums[task] += block @ V[places[j]]
                if i > j:
                    # no other task has these columns
                    total[places[j]] += block.T @ V[rows]
            memories.append(memory)

        # the caller checks that values are finite
        with np.errstate(all="ignore"):
            run_tasks(multiply, tasks)
        total[rows] += sums.sum(axis=0)
    return total.astype(V.dtype, copy=False)


class Stored:
    """A symmetric matrix (n, n) in memory: its tiles on and below the diagonal, one after the other.

    An operator, see ``linalg.operators``; products are computed in its type and summed in float64.
    """

    __array_ufunc__ = None

    def __init__(self, n, dtype):
        self.shape = (n, n)
        self.dtype = np.dtype(dtype)
        self.places = cut(n, COLUMNS)
        self._values = allocate(count_values(n), dtype)

    def tile(self, i, j):
        """Return rows i and columns j <= i, counted in tiles."""
        height = _size(self.places[i])
        width = _size(self.places[j])
        start = _start(i, j, height)
        return self._values[start : start + height * width].reshape(height, width)

    def __matmul__(self, V):
        return _multiply(
            lambda i: lambda j, _: self.tile(i, j), np.ascontiguousarray(V, self.dtype)
        )

    def diagonal(self):
        """Return the diagonal (n,)."""
        return self._entries(*[np.arange(self.shape[0])] * 2)

    def __getitem__(self, index):
        rows, columns = (positions(each, self.shape[0]) for each in index)
        return self._entries(rows[:, None], columns)

    def _entries(self, rows, columns):
        above = np.minimum(rows, columns)
        below = np.maximum(rows, columns)
        tiles = below // COLUMNS, above // COLUMNS
        height, width = (np.minimum(COLUMNS, self.shape[0] - COLUMNS * tile) for tile in tiles)
        return self._values[_start(*tiles, height) + below % COLUMNS * width + above % COLUMNS]

    def dense(self):
        """Return the matrix in float64."""
        K = np.empty(self.shape)
        for i, rows in enumerate(self.places):
            for j, columns in enumerate(self.places[: i + 1]):
                tile = self.tile(i, j)
                K[rows, columns] = tile
                K[columns, rows] = tile.T
        return K


def stored(plan):
    """Return the values of the plan of a symmetric matrix, each computed once."""
    K = Stored(len(plan.X), plan.X.dtype)

    def fill(task):
        # the longest rows first
        i = len(K.places) - 1 - task
        left = plan.left(K.places[i])
        for j in range(i + 1):
            plan.values(left, K.places[i], j, K.tile(i, j))
        mirror(K.tile(i, i), 0, len(left))

    with np.errstate(all="ignore"):
        run_tasks(fill, len(K.places))
    return K


def stored_blocks(dense, kernel, X):
    """Return the values of a kernel at all pairs of points, each computed once by the function of a backend."""
    K = Stored(len(X), X.dtype)
    for i, rows in enumerate(K.places):
        Y = X.take(rows)
        for j, columns in enumerate(K.places[: i + 1]):
            K.tile(i, j)[:] = dense(kernel, Y, Y if j == i else X.take(columns))
    return K


def count_values(n):
    """Return the number of values that `Stored` holds for a matrix of order n."""
    last = (n - 1) // COLUMNS
    height = n - last * COLUMNS
    return _start(last, last, height) + height * height


def working_bytes(n, columns):
    """Return the bytes of tiles and sums in a product of a matrix of order n in float64 with some columns."""
    tasks = min(TASKS, -(-n // COLUMNS))
    return 8 * COLUMNS * (count_threads() * COLUMNS + tasks * columns)


def _start(i, j, height):
    """Return the place of the first value of a tile of some height; all rows of tiles above are full."""
    return i * (i + 1) // 2 * COLUMNS * COLUMNS + j * COLUMNS * height


def _size(places):
    return places.stop - places.start
