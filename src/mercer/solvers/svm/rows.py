"""Rows of the kernel matrix for a solver: `rows_of` chooses compiled ones and their precision, or those of any."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import euclidean_distances

from mercer._common import Array
from mercer._compute import loops
from mercer._compute.compile import compiled
from mercer._compute.costs import (
    BLOCK,
    COLUMNS,
    DENSE_ENTRIES,
    FLOAT64_POINTS,
    ROWS_OF_TASK,
    SINGLE,
    THREADED,
)
from mercer._compute.distances import CLOSE_SHARES
from mercer._compute.memory import allocate, blocks, cut
from mercer._compute.points import (
    PAIRED,
    Points,
    consecutive,
    count_points,
    evenly_spaced,
    subtract_centre,
    sum_squares,
    take_points,
    widened,
    without_empty_columns,
)
from mercer._compute.profile import (
    compile_profile,
    loses_digits,
    profile_address,
    profile_at_zero,
    within_range,
)
from mercer._compute.profile import has_kink as profile_has_kink
from mercer._compute.threads import run_tasks
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.forms import (
    Combination,
    combination_of,
    evaluate_form,
    flatten,
    form_of,
    is_combination,
    is_flat_combination,
)
from mercer.solvers.svm.on_demand import RawRows, Terms

# Rows whose middle half holds the centre.
_CENTRED = 32
# Loops over scalars that are known, see `loops`.
_KINDS = {"radial": "clamped", "dot": "plain"}


class Rows:
    """Kernel rows of points. R and J are the numbers of points, int arrays.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    dtype : dtype
        Of the values.
    diagonal : float64 array (n,)
        k(x, x), and the ridge of a dual, which products do not contain.
    width : int
        Multiplications for a kernel value, if known; otherwise 1.
    error : float
        Root mean square error of a value, 0 in float64.
    held : int
        Bytes of stored kernel values.
    in_call : bool
        Whether compiled code computes or copies rows where a step needs them, by ``raw`` rows.
    """

    kernel: Kernel
    points: Any
    dtype: Any
    diagonal: Array
    width: int = 1
    error: float = 0.0
    held: int = 0
    in_call: bool = False

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J, gathered once."""
        raise NotImplementedError

    def square(self, J: Array) -> Array:
        """Return the kernel values between points J, exactly symmetric, in a new array."""
        values = np.empty((len(J), len(J)), self.dtype)
        self.columns(J)(J, values)
        return values

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, summed in float64 over tiles; K is never stored."""
        total = np.zeros((len(R), *weights.shape[1:]))
        for left in range(0, len(J), COLUMNS):
            some = J[left : left + COLUMNS]
            write = self.columns(some)
            own = weights[left : left + COLUMNS].astype(self.dtype)
            step = max(1, BLOCK // len(some))
            for top in range(0, len(R), step):
                block = np.empty((len(R[top : top + step]), len(some)), self.dtype)
                write(R[top : top + step], block)
                total[top : top + step] += block @ own
        return total

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values of the points as given; K is never stored."""
        own = widened(take_points(self.points, R))
        total = np.zeros((len(R), *weights.shape[1:]))
        # copies in float64 of some points at a time
        for part in cut(len(J), max(COLUMNS, BLOCK // max(1, self.width))):
            other = widened(take_points(self.points, J[part]))
            total += Gram(self.kernel, own, other) @ weights[part]
        return total

    def raw(self, exact: bool = False) -> RawRows:
        """Return the points as compiled code computes rows from them: with ``exact`` in float64, to the last digits."""
        raise NotImplementedError

    def exact_square(self, J: Array) -> Array:
        """Return the float64 kernel values between points J as given, exactly symmetric."""
        own = widened(take_points(self.points, J))
        return np.asarray(Gram(self.kernel, own, memory=2**62).dense(), np.float64)


class PlainRows(Rows):
    """Kernel rows of any kernel on any points."""

    def __init__(self, kernel: Kernel, points: Any) -> None:
        self._gram = Gram(kernel, points)
        self.kernel = kernel
        self.points = points
        self.dtype = np.dtype(self._gram.dtype)
        self.diagonal = np.asarray(self._gram.diagonal(), np.float64)
        if self.dtype == np.float32:
            # that of rounding the largest value
            self.error = float(np.finfo(np.float32).eps * np.abs(self.diagonal).max())

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J."""

        def write(R, out):
            out[:] = self._gram[R, J]

        return write

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, in float64; K is never stored."""
        own = take_points(self.points, R)
        other = take_points(self.points, J)
        return np.asarray(Gram(self.kernel, own, other) @ weights.astype(self.dtype), np.float64)


class KnownRows(Rows):
    """Kernel rows of points whose kernel values (n, n) are all known.

    ``exact`` are rows in float64, where values have an error.
    """

    in_call = True

    def __init__(
        self,
        kernel: Any,
        points: Any,
        values: Array,
        error: float = 0.0,
        exact: RawRows | None = None,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.values = values
        self.dtype = values.dtype
        # no multiplications for a value
        self.width = 0
        self.diagonal = values.diagonal().astype(np.float64)
        self.error = error
        self.held = values.nbytes
        self._exact = exact

    @classmethod
    def of(cls, rows: Rows) -> KnownRows:
        """Return the rows with all their values, in float64 if no loop is compiled."""
        everything = np.arange(count_points(rows.points))
        if not rows.in_call:
            return cls(rows.kernel, rows.points, rows.exact_square(everything))
        values = rows.square(everything)
        return cls(rows.kernel, rows.points, values, rows.error, rows.raw(exact=True))

    @classmethod
    def given(cls, rows: Rows) -> KnownRows:
        """Return the rows of all points of a given matrix, which is not copied."""
        matrix = rows.kernel.matrix
        known = cls(rows.kernel, np.arange(len(matrix)), matrix)
        known.diagonal[rows.points] = rows.diagonal
        known.held = 0
        return known

    def raw(self, exact: bool = False) -> RawRows:
        """Return the values as compiled code copies rows from them; with ``exact`` rows in float64, if any."""
        if exact and self._exact is not None:
            return self._exact
        known = not exact or self.dtype == np.float64
        values = self.values if known else np.empty((0, 0))
        return RawRows.without_points(values, self.diagonal)

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J to ``out``."""
        chosen = consecutive(J)

        def write(R, out):
            # a few columns are gathered one by one, or whole rows would be copied first
            places = R if isinstance(chosen, slice) else R[:, None]
            out[:] = self.values[places, chosen]

        return write

    def exact_product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights with float64 kernel values, those that are known if they have no error."""
        return (
            self.product(R, J, weights) if self.error == 0 else super().exact_product(R, J, weights)
        )

    def exact_square(self, J: Array) -> Array:
        """Return the float64 kernel values between points J, those that are known if they have no error."""
        return np.array(self.square(J), np.float64) if self.error == 0 else super().exact_square(J)


# --- rows by matrix products and one compiled pass, of dense and of sparse rows of numbers ----------------------------


def rows_of(kernel: Kernel, points: Any, accuracy: float, ridge: Array | None = None) -> Rows:
    """Return the kernel rows of points, in float32 if they are many and its rounding on a sample is below ``accuracy``.

    ``accuracy`` is a root mean square error of kernel values. A ridge (n,) is added to the diagonal of float64 rows.
    Points are mapped once for a kernel of linear images or of cosines.
    """
    if ridge is not None:
        rows = rows_of(kernel, widened(points), -1.0)
        rows.diagonal = rows.diagonal + ridge
        return rows
    summed = is_combination(kernel)
    if not summed and is_flat_combination(kernel):
        return rows_of(*flatten(kernel, widened(points)), accuracy)
    if sp.issparse(points) and math.prod(points.shape) <= DENSE_ENTRIES:
        points = points.toarray()
    sparse = sp.issparse(points)
    # small distances of sparse rows are recomputed from differences where the kernel has an infinite slope at 0
    if (
        not summed
        or not (sparse or isinstance(points, np.ndarray))
        or (sparse and has_kink(combination_of(kernel)))
    ):
        return _plain_rows_of(kernel, points, accuracy)
    make = SparseRows if sparse else FusedRows
    if count_points(points) <= FLOAT64_POINTS:
        return make(kernel, points, np.float64)
    sample = widened(take_points(points, evenly_spaced(count_points(points), PAIRED)))
    radial = form_of(kernel) == "radial"
    if radial and not sparse:
        sample -= FusedRows(kernel, sample, np.float64).centre
    # without compiled code, which training may not need in both types
    with np.errstate(all="ignore"):
        blocks = (
            evaluate_form(kernel, _scalars_of(sample.astype(dtype, copy=False), radial))
            for dtype in (np.float32, np.float64)
        )
        error = _rounding_of(*blocks)
    return (
        make(kernel, points, np.float32, error)
        if error <= accuracy
        else make(kernel, points, np.float64)
    )


def _scalars_of(X, radial):
    """Return the squared distances or inner products of a few rows, computed in their type."""
    products = X @ X.T
    if sp.issparse(products):
        products = products.toarray()
    if not radial:
        return products
    squares = _squares(X).astype(X.dtype)
    return np.maximum(squares[:, None] + squares - 2 * products, 0)


def _squares(X):
    """Return the squared norms of dense or sparse rows, summed in float64."""
    return np.ravel(widened(X).power(2).sum(axis=1)) if sp.issparse(X) else sum_squares(X)


def _plain_rows_of(kernel, points, accuracy):
    """Return rows without a compiled loop; a sum or product of kernels may round distances more than values."""
    rows = PlainRows(kernel, points)
    if rows.dtype != np.float32:
        return rows
    if count_points(points) > FLOAT64_POINTS:
        sample = take_points(points, _with_neighbours(points))
        rows.error = max(
            rows.error, _rounding_of(*(kernel(each) for each in (sample, widened(sample))))
        )
        if rows.error <= accuracy:
            return rows
    return PlainRows(kernel, widened(points))


def _with_neighbours(points):
    """Return the numbers of some rows and of their nearest ones, at whose values distances are rounded most."""
    n = count_points(points)
    few = evenly_spaced(n, PAIRED // 2)
    X = widened(points)
    distances = euclidean_distances(X[few], X)
    distances[np.arange(len(few)), few] = np.inf
    return np.unique(np.concatenate([few, distances.argmin(axis=1)]))


def _rounding_of(values, exact):
    """Return the root mean square difference of two blocks of kernel values between the same points."""
    difference = np.asarray(values, np.float64) - exact
    np.fill_diagonal(difference, 0)
    return float(np.sqrt(np.mean(np.square(difference))))


def has_kink(form: Combination, dtype: Any = np.float64) -> bool:
    """Whether a sum of profiles has an infinite slope at the distance 0, where small distances need their digits."""
    return form.scalar == "radial" and any(
        profile_has_kink(term.profile, term.parameters, dtype) for term in form.terms
    )


@functools.lru_cache(maxsize=64)
def _terms_of(form, dtype):
    """Return a sum of profiles as compiled code adds them."""
    values = np.zeros((len(form.terms), max(len(term.parameters) for term in form.terms)), dtype)
    addresses = []
    for row, term in zip(values, form.terms, strict=True):
        own = len(term.parameters)
        row[:own] = within_range(term.parameters, dtype)
        addresses.append(profile_address(term.profile, _KINDS[form.scalar], dtype, own))
    factors = [*(term.factor for term in form.terms), form.constant]
    return Terms(np.array(addresses), np.array(factors, dtype), values)


class ScalarRows(Rows):
    """Kernel rows of a sum of kernels of the squared distance or the inner product, which ``scalars`` returns."""

    def __init__(self, kernel: Kernel, points: Any, dtype: Any, error: float = 0.0) -> None:
        self.points = points
        self.dtype = np.dtype(dtype)
        self.error = error
        self.kernel = kernel
        self._form = combination_of(kernel)
        self._kinked = has_kink(self._form, self.dtype)
        self._radial = self._form.scalar == "radial"
        # |x - z|^2 = |x|^2 + |z|^2 - 2 <x, z>
        self._scale = self.dtype.type(-2 if self._radial else 1)
        self._plain = kernel.scalar is not None
        self.width = points.shape[1] + 2 * self._radial
        self.diagonal = self._diagonal()

    def _diagonal(self):
        """Return k(x, x) of all points (n,), one value for a kernel of distances."""
        if self._radial:
            return np.full(
                count_points(self.points),
                self._total(lambda term: profile_at_zero(term.profile, term.parameters)),
            )
        return np.asarray(self.kernel.diagonal(Points(widened(self.points))), np.float64)

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J, gathered once."""
        scalars = self.scalars(J)
        finish = self._finisher()

        def write(R, out):
            def fill(task):
                own = slice(task * ROWS_OF_TASK, (task + 1) * ROWS_OF_TASK)
                block = scalars(R[own])
                with np.errstate(all="ignore"):
                    finish(block)
                out[own] = block

            run(fill, -(-len(R) // ROWS_OF_TASK), len(R) * len(J) * self.width)

        return write

    def scalars(self, J: Array) -> Callable[[Array], Array]:
        """Return a function of points R, to whose contiguous squared distances or inner products with points J."""
        raise NotImplementedError

    def _finisher(self):
        """Return a function that turns squared distances or inner products into kernel values, in place."""
        loops_of_terms = [self._loop(term) for term in self._form.terms]
        if self._plain:
            return loops_of_terms[0]

        def finish(block):
            total = np.full_like(block, self._form.constant)
            part = np.empty_like(block)
            for term, loop in zip(self._form.terms, loops_of_terms, strict=True):
                part[:] = block
                loop(part)
                part *= term.factor
                total += part
            block[:] = total

        return finish

    def _loop(self, term):
        """Return the compiled loop that turns squared distances or inner products into values, in place."""
        values = np.array(within_range(term.parameters, self.dtype), self.dtype)
        kind = _KINDS[self._form.scalar]
        loop = compile_profile(term.profile, 0, kind, self.dtype, len(values))
        return lambda block: loop(block, block, block, 0, values)

    def _total(self, values, multiple=1.0):
        """Return the sum of ``values(term)`` times the factors of the terms, and a multiple of the constant."""
        if self._plain:
            return values(self._form.terms[0])
        total = sum(term.factor * values(term) for term in self._form.terms)
        return total + multiple * self._form.constant


class FusedRows(ScalarRows):
    """Kernel rows of dense points: products of two factors of their squared distances or inner products."""

    in_call = True

    @functools.cached_property
    def centre(self) -> Array:
        """The mean row, each entry within the middle half of those of some rows: few far rows do not move it."""
        n, d = self.points.shape
        if not self._radial:
            return np.zeros(d)
        mean = np.add.reduce(self.points, axis=0, dtype=np.float64) / n
        some = np.sort(self.points[:: max(1, n // _CENTRED)], axis=0)
        quarter = len(some) // 4
        return np.minimum(np.maximum(mean, some[quarter]), some[-1 - quarter])

    @functools.cached_property
    def _largest(self):
        """The largest squared norm of a point about the centre."""
        parts = blocks(*self.points.shape)
        return max(float(sum_squares(self.points[each] - self.centre).max()) for each in parts)

    @functools.cached_property
    def _share(self):
        """The share of squared norms below which squared distances are computed again: 0 if no value needs that."""
        share = CLOSE_SHARES[np.finfo(self.dtype).bits]
        # the error of float32 is measured, and solutions of few points are refined by exact rows
        needed = self._kinked or (
            self._radial
            and self.dtype == np.float64
            and count_points(self.points) > FLOAT64_POINTS
            and any(
                loses_digits(term.profile, term.parameters, self.dtype, 2 * share * self._largest)
                for term in self._form.terms
            )
        )
        return self.dtype.type(share if needed else 0)

    @functools.cached_property
    def _centred(self):
        """The points about the centre, in the type of the rows."""
        return subtract_centre(self.points, self.centre, allocate(self.points.shape, self.dtype))

    @functools.cached_property
    def _norms(self):
        # those that overflow are refused with the kernel values
        with np.errstate(over="ignore"):
            return sum_squares(self._centred).astype(self.dtype)

    @functools.cached_property
    def _given(self):
        return np.ascontiguousarray(self.points, np.float64)

    def all_scalars(self) -> Array:
        """Return the squared distances or inner products of all points (n, n)."""
        n = len(self.points)
        found = allocate((n, n), self.dtype)
        strips = cut(n, ROWS_OF_TASK)
        scalars = self.scalars(np.arange(n))

        def fill(task):
            rows = np.arange(n)[strips[task]]
            found[rows] = scalars(rows)

        run(fill, len(strips), n * n * self.width)
        return found

    def columns(self, J: Array) -> Callable[[Array, Array], None]:
        """Return a function (R, out) that writes the kernel values of points R with points J, gathered once."""
        right = self._factor(J, 1)
        finish = self._finisher()

        def write(R, out):
            left = self._factor(R, 0)
            step = min(len(R), SINGLE // COLUMNS)
            # of few rows wider tiles, or Python takes longer than the product
            tiles = list(itertools.product(cut(len(R), step), cut(len(J), SINGLE // step)))

            def fill(task):
                rows, others = tiles[task]
                block = self._scalars(left[rows], right[others])
                with np.errstate(all="ignore"):
                    finish(block)
                out[rows, others] = block

            run(fill, len(tiles), len(R) * len(J) * self.width)

        return write

    def scalars(self, J: Array) -> Callable[[Array], Array]:
        """Return a function of points R, to whose contiguous squared distances or inner products with points J."""
        right = self._factor(J, 1)
        return lambda R: self._scalars(self._factor(R, 0), right)

    def _scalars(self, left, right):
        """Return the squared distances or inner products of points, given as left and right factors."""
        with np.errstate(all="ignore"):
            block = left @ right.T
        if self._share:
            # right factors hold -2 z
            X = left[:, :-2].copy()
            Z = right[:, :-2] / -2
            norms = left[:, -2].copy()
            others = right[:, -1].copy()
            loops.recompute_close(X, Z, norms, others, block, 0, self._share)
        return block

    def _factor(self, J, side):
        """Return some points about the centre as left factors (side 0) or right ones (1) of scalars."""
        X, norms = self._taken(J)
        return loops.bordered(X, norms, side) if self._radial else X

    def square(self, J: Array) -> Array:
        """Return the kernel values between points J, exactly symmetric."""
        own = self._taken(J)
        return self._total(lambda term: loops.tile(self._formula(term, own, own)))

    def product(self, R: Array, J: Array, weights: Array) -> Array:
        """Return K[R, J] @ weights, a vector or columns, summed in float64 over tiles; K is never stored."""
        left = self._taken(R)
        right = self._taken(J)
        columns = weights.reshape(len(weights), -1)

        def values(term):
            plan = loops.Plan(self._formula(term, left, right))
            return loops.products(plan, columns).astype(np.float64)

        found = self._total(values, columns.sum(axis=0))
        return found.reshape(len(R), *weights.shape[1:])

    def _taken(self, J):
        """Return some points about the centre, and their squared norms."""
        places = consecutive(J)
        return self._centred[places], self._norms[places]

    def _formula(self, term, left, right):
        (X, norms), (Z, others) = left, right
        return loops.Formula(
            term.profile, self._form.scalar, term.parameters, X, Z, norms=(norms, others)
        )

    def raw(self, exact: bool = False) -> RawRows:
        """Return the points as compiled code computes rows from them: with ``exact`` in float64, to the last digits."""
        dtype = np.dtype(np.float64) if exact else self.dtype
        share = CLOSE_SHARES[np.finfo(dtype).bits] if exact and self._radial else self._share
        return RawRows(
            _terms_of(self._form, dtype),
            self._given,
            self.centre,
            dtype.type(self._scale),
            dtype.type(share),
            self.diagonal,
            np.empty((0, 0), dtype),
        )


class SharedRows(FusedRows):
    """Kernel rows whose squared distances or inner products (n, n) are kept, for several kernels in turn."""

    def __init__(self, kernel: Kernel, points: Any, scalars: Array) -> None:
        super().__init__(kernel, points, scalars.dtype)
        self._kept = scalars

    def scalars(self, J: Array) -> Callable[[Array], Array]:
        """Return a function of points R, to whose contiguous squared distances or inner products with points J."""
        chosen = consecutive(J)
        return lambda R: np.ascontiguousarray(self._kept[R][:, chosen])

    columns = ScalarRows.columns
    product = Rows.product


class SparseRows(ScalarRows):
    """Kernel rows of sparse points: a row adds, for each of its entries, a multiple of a column of the other points."""

    def __init__(self, kernel: Kernel, points: Any, dtype: Any, error: float = 0.0) -> None:
        super().__init__(kernel, points, dtype, error)
        (self._X,) = without_empty_columns(points.astype(dtype))
        n = points.shape[0]
        used = self._X.count_nonzero(axis=0).astype(float)
        self.width = max(1, int(used @ used / n**2))
        self._squares = np.zeros(n, dtype)
        if self._radial:
            self._squares[:] = _squares(points)

    def scalars(self, J: Array) -> Callable[[Array], Array]:
        """Return a function of points R, to whose contiguous squared distances or inner products with points J."""
        chosen = consecutive(J)
        other = _arrays(self._X[chosen].tocsc())
        squares = self._squares[chosen]

        def scalars(R):
            block = np.empty((len(R), len(J)), self.dtype)
            np.add(self._squares[R, None], squares, out=block)
            _add_sparse_products(_arrays(self._X[R]), other, self._scale, block)
            return block

        return scalars


@compiled
def _add_sparse_products(given, other, factor, out):
    """Add ``factor`` times the inner products of sparse rows, given by rows, with points given by columns."""
    starts, places, values = given
    stops, rows, others = other
    for r in range(out.shape[0]):
        to = out[r]
        for a in range(starts[r], starts[r + 1]):
            k = places[a]
            x = factor * values[a]
            for b in range(stops[k], stops[k + 1]):
                to[rows[b]] += x * others[b]


def _arrays(X):
    return X.indptr, X.indices, X.data


def run(function: Callable[[int], None], n_tasks: int, work: int) -> None:
    """Call ``function(0)``, ..., ``function(n_tasks - 1)``, on several threads if there is enough work."""
    if work >= THREADED:
        run_tasks(function, n_tasks)
        return
    for task in range(n_tasks):
        function(task)
