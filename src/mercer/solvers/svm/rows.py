"""Kernel rows for a solver: blocks by matrix products, and a square of rows that is filled as they are asked for."""

import numpy as np

from mercer._compute import loops
from mercer._compute.loops import transpose
from mercer._compute.points import subtract_centre, take_points
from mercer._compute.profile import parameters
from mercer._compute.threads import run_tasks
from mercer.gram import Gram
from mercer.solvers.svm.working_set import LANES, subtract

# Columns of a task, and kernel values of a tile: both sides of the product and the result stay in cache.
_TASK_COLUMNS = 512
_TILE = 1 << 16
# Operations below which one thread is as fast as a pool.
_THREADED = 1 << 22
# Points up to which float32 saves nothing that anyone notices.
_FEW = 1000
# Points of the sample that rounding is measured on.
_SAMPLE = 128


def rows_of(kernel, points, accuracy):
    """Return kernel rows of points, in float32 where they are many and its rounding is small.

    Parameters
    ----------
    kernel : Kernel
    points : points (n)
    accuracy : float
        Largest root mean square error of a kernel value, as measured on a sample of pairs.

    Returns
    -------
    FusedRows or PlainRows
        The first for kernels of one scalar on dense rows; others evaluate the kernel as it is.
    """
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
    """Rows of any kernel on any points.

    Parameters
    ----------
    kernel : Kernel
    points : points (n)

    Attributes
    ----------
    dtype : dtype
    diagonal : float64 array (n,)
    width : int
        Multiplications for a kernel value: 1, since nothing is known.
    error : float
        NaN: nobody measured it.
    """

    error = np.nan

    def __init__(self, kernel, points):
        self._gram = Gram(kernel, points)
        self._kernel, self._points, self.width = kernel, points, 1
        self.dtype = np.dtype(self._gram.dtype)
        self.diagonal = np.asarray(self._gram.diagonal(), np.float64)

    def columns(self, J):
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""

        def write(R, out):
            out[:] = self._gram[R, J]

        return write

    def square(self, J):
        """Return the kernel values between points J, exactly symmetric."""
        return np.ascontiguousarray(self._gram[J, J], self.dtype)

    def product(self, R, J, weights):
        """Return K[R, J] @ weights (len(R),) in float64, never storing K."""
        gram = Gram(self._kernel, take_points(self._points, R), take_points(self._points, J))
        return np.asarray(gram @ weights.astype(self.dtype), np.float64)


class FusedRows:
    """Rows of a kernel of the squared distance or of the inner product: one matrix product, one compiled pass.

    Parameters
    ----------
    kernel : Kernel
    points : array (n, d)
    dtype : dtype
        Of the values.
    error : float
        Root mean square error of a value, NaN where nobody measured it.

    Attributes
    ----------
    diagonal : float64 array (n,)
    width : int
        Multiplications for a kernel value.
    error : float
        As given.

    Notes
    -----
    [x, |x|^2, 1] . [-2 z, 1, |z|^2] = |x - z|^2 on centred points, of which the second factor is stored.
    """

    def __init__(self, kernel, points, dtype, error=np.nan):
        self.dtype, self.error = np.dtype(dtype), error
        self._formula = kernel.profile, kernel.scalar, parameters(kernel)
        self._radial = kernel.scalar == "radial"
        # k(x, x) of distances is the same everywhere
        some = points[:1] if self._radial else points
        self.diagonal = np.resize(np.asarray(kernel.diag(some.astype(np.float64)), np.float64), len(points))
        self.width = points.shape[1] + 2 * self._radial
        if self._radial:
            centred = np.empty(points.shape, dtype)
            subtract_centre(points, points.mean(axis=0, dtype=np.float64), centred)
            self._right = loops.bordered(centred, -2, 1)
        else:
            self._right = np.ascontiguousarray(points, dtype)

    def columns(self, J):
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``.

        Points J are gathered once, so that few rows at a time cost little; consecutive ones stay where they are.
        """
        profile, scalar, parameters = self._formula
        right = self._right[_run(J)]
        parameters = tuple(self.dtype.type(value) for value in parameters)
        kind = "clamped" if scalar == "radial" else "plain"
        finish = loops.compile_profile(profile, 0, kind, self.dtype, len(parameters))

        def write(R, out):
            left = self._left(R)
            step = min(len(left), _TILE // _TASK_COLUMNS)
            # few rows at a time, as a solver asks for them: wider tiles, or Python takes longer than the product
            width = _TILE // step // LANES * LANES

            def fill(task):
                tile = slice(task * width, (task + 1) * width)
                other = right[tile].T
                # in one piece, or the compiled loop does not run on vectors
                memory = np.empty(step * other.shape[1], self.dtype)
                with np.errstate(all="ignore"):
                    for start in range(0, len(left), step):
                        own = left[start : start + step]
                        block = memory[: len(own) * other.shape[1]].reshape(len(own), -1)
                        np.matmul(own, other, out=block)
                        finish(block, block, block, 0, parameters)
                        out[start : start + step, tile] = block

            run(fill, -(-len(right) // width), len(left) * right.size)

        return write

    def square(self, J):
        """Return the kernel values between points J, exactly symmetric."""
        X = self._centred(J)
        return loops.tile(*self._formula, X, X)

    def product(self, R, J, weights):
        """Return K[R, J] @ weights (len(R),), summed in float64 over tiles, never storing K."""
        return loops.matmul(*self._formula, self._centred(R), self._centred(J), weights[:, None])[:, 0].astype(
            np.float64
        )

    def _centred(self, J):
        # half of an even number: exact
        return self._right[J, :-2] * self.dtype.type(-0.5) if self._radial else self._right[J]

    def _left(self, J):
        if not self._radial:
            return self._right[J]
        left = self._right[J]
        left[:, :-2] *= self.dtype.type(-0.5)
        left[:, -2:] = left[:, :-3:-1]
        return left


def _run(J):
    """Return consecutive numbers as a slice, which copies nothing; others as they are."""
    if len(J) and J[-1] - J[0] == len(J) - 1 and (np.diff(J) == 1).all():
        return slice(int(J[0]), int(J[-1]) + 1)
    return J


def shared_blocks(rows, pieces, budget):
    """Return kernel values between the points of each piece, where they fit: several machines read them.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    pieces : list of slice
    budget : int
        Bytes.

    Returns
    -------
    dict of (start, stop) to array
        Empty when all of them together exceed the budget.
    """
    needed = sum((piece.stop - piece.start) ** 2 for piece in pieces) * rows.dtype.itemsize
    return {(piece.start, piece.stop): rows.square(piece) for piece in pieces} if needed <= budget else {}


def run(function, n_tasks, work):
    """Call ``function(0)``, ..., ``function(n_tasks - 1)``: on the pool of threads where there is work enough."""
    if work >= _THREADED:
        run_tasks(function, n_tasks)
        return
    for task in range(n_tasks):
        function(task)


class Square:
    """Kernel values between some points, row by row as they are needed.

    Rows lie in the order in which they were asked for, so that one matrix product writes them all and memory not
    needed is not touched.

    Parameters
    ----------
    rows : FusedRows or PlainRows
    points : int array (m,)
        The variables' points.
    memory : array
        One-dimensional, of the type of the rows and at least m^2 long; what it holds is lost.
    shared : list of (slice, array)
        Diagonal blocks that are known already: which points, and their kernel values.

    Attributes
    ----------
    values : array (m, m)
        Its first rows, as many as were asked for.
    slot : int array (m,)
        Where in ``values`` the row of each point is, -1 when it is not there yet.
    computed : int
        Kernel values computed so far.
    """

    def __init__(self, rows, points, memory, lanes=1, shared=()):
        m = len(points)
        width = -(-m // lanes) * lanes
        capacity = min(len(memory) // width, m)
        self.values = memory[: width * capacity].reshape(capacity, width)
        # the compiled loop begins with a step of 0 along the first row: it may be anything but NaN
        self.values[0] = 0
        self.slot = np.full(width, -1)
        self.computed = self._used = 0
        self._spare, self._copy = np.empty(0, int), np.empty((0, width), memory.dtype)
        self._rows, self._points, self._shared = rows, points, shared
        self._pieces = shared or [(slice(0, m), None)]
        self._columns = [None] * len(self._pieces)

    @property
    def room(self):
        """Rows that can still be computed; without end when there is memory for all."""
        if len(self.values) >= len(self._points):
            return np.inf
        return len(self.values) - self._used + len(self._spare)

    @property
    def spare(self):
        """Rows given up whose memory waits for others."""
        return len(self._spare)

    def ensure(self, wanted):
        """Compute the rows that are not there yet.

        Parameters
        ----------
        wanted : int array
            Of places in ``points``.
        """
        missing = wanted[self.slot[wanted] < 0]
        # a few at a time: rows that go to memory given up are copied there
        for start in range(0, len(missing), LANES):
            self._compute(missing[start : start + LANES])

    def _compute(self, missing):
        slots, rows = self._allocate(len(missing))
        self.slot[missing] = slots
        for k, (place, block) in enumerate(self._pieces):
            # missing is sorted, so that what a block knows of it is one piece
            first, last = np.searchsorted(missing, (place.start, place.stop)) if block is not None else (0, 0)
            if block is not None:
                rows[first:last, place] = block[missing[first:last] - place.start]
            for part in (slice(0, first), slice(last, None)):
                self._fill(k, missing[part], rows[part])
        rows[:, len(self._points) :] = 0
        # a product rounds the distance of a point to itself
        rows[np.arange(len(missing)), missing] = self._rows.diagonal[self._points[missing]]
        if rows.base is not self.values.base:
            self.values[slots] = rows

    def complete(self):
        """Compute all rows, each value once: the matrix is exactly symmetric.

        Only where nothing was asked for yet, and where memory holds them all.
        """
        m = len(self._points)
        K = self.values[:m]
        for k, (place, block) in enumerate(self._pieces):
            own = self._points[place]
            K[place, place] = self._rows.square(own) if block is None else block
            for other, _ in self._pieces[:k]:
                self._rows.columns(own)(self._points[other], K[other, place])
                transpose(K[other, place], K[place, other])
                self.computed += K[other, place].size
        K[:, m:] = 0
        K[np.arange(m), np.arange(m)] = self._rows.diagonal[self._points]
        self.slot[:m], self._used = np.arange(m), m
        self.computed += 0 if self._shared else m * m

    def exchange(self, places, points):
        """Put other points in some places: rows that are known get their values, those of the old points are lost.

        Parameters
        ----------
        places, points : int array
        """
        self.forget(places[self.slot[places] >= 0])
        self._points = self._points.copy()
        self._points[places] = points
        self._columns = [None]
        known = np.flatnonzero(self.slot >= 0)
        columns = self._rows.columns(points)
        for start in range(0, len(known), LANES):
            some = known[start : start + LANES]
            block = np.empty((len(some), len(points)), self.values.dtype)
            columns(self._points[some], block)
            self.values[self.slot[some][:, None], places] = block
            self.computed += block.size

    def forget(self, places):
        """Give up the rows of some points, so that others find room.

        Parameters
        ----------
        places : int array
            Of points whose rows are there.
        """
        self._spare = np.concatenate([self._spare, self.slot[places]])
        self.slot[places] = -1

    def _allocate(self, k):
        """Return k slots, and memory for their rows: where they lie if that is one piece, to be copied otherwise."""
        # memory that was used before costs less than memory that never was
        if len(self._spare) < k and self._used + k <= len(self.values):
            self._used += k
            return np.arange(self._used - k, self._used), self.values[self._used - k : self._used]
        slots, self._spare = self._spare[:k], self._spare[k:]
        fresh = k - len(slots)
        slots = np.concatenate([slots, np.arange(self._used, self._used + fresh)])
        self._used += fresh
        if len(self._copy) < k:
            self._copy = np.empty((k, self.values.shape[1]), self.values.dtype)
        return slots, self._copy[:k]

    def spread(self, moved, change):
        """Return K[:, moved] @ change (m,), of rows that are there, summed in float64."""
        total = np.zeros(self.values.shape[1])
        subtract(self.values, self.slot[moved], -change, total)
        return total[: len(self._points)]

    def _fill(self, k, missing, rows):
        if not len(missing):
            return
        place, _ = self._pieces[k]
        if self._columns[k] is None:
            self._columns[k] = self._rows.columns(self._points[place])
        self._columns[k](self._points[missing], rows[:, place])
        self.computed += len(missing) * (place.stop - place.start)
