"""Exported models with vectors in 8 or 16 bits: codes, scales and refitted coefficients, and the scores they give."""

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer._common import AnyFunction, Array, PointsLike, check_choice, record, refuse_large
from mercer._compute.points import as_dense_rows, dense
from mercer._compute.symbols import folded
from mercer.formats.portable import MappedPoints, Portable, portable, products, view_of
from mercer.solvers.svm.multiclass import pair_columns, pair_places, subproblems

# Largest code of a vector, and of a coefficient or a kernel value.
_CODE = int(np.iinfo(np.int8).max)
VALUE = int(np.iinfo(np.int16).max)
# Parts of a code, whose number is cut to an integer before it is rounded.
PARTS = 256
# Largest number of half precision.
_HALF = float(np.finfo(np.float16).max)
# Operations in NumPy, apart from functions of the same name.
_OPERATIONS = {
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Neg": np.negative,
    "Pow": np.power,
    "Max": np.maximum,
    "Min": np.minimum,
    "GreaterOrEqual": np.greater_equal,
}


@record
class Exact:
    """Vectors as numbers of the dtype of the model."""

    view: MappedPoints
    dtype: str

    def inputs(self, X: Array) -> dict[str, Array]:
        """Return the inputs of the kernel for mapped points X, by name."""
        return _inputs(X.astype(self.dtype), self.view.points.astype(self.dtype), self.view.inputs)


@record
class _Coded:
    """Vectors z = centre + scale * codes with codes (n, q), for arithmetic in float."""

    dtype: ClassVar[str] = "float32"
    view: Any

    @cached_property
    def centre(self) -> Array:
        """The middle of the range of each column (q,), a number of float32."""
        Z = self.view.points
        return _in_float32(Z.min(axis=0) + np.ptp(Z, axis=0) / 2)

    @property
    def points(self) -> Array:
        """The vectors that the codes stand for (n, q)."""
        return self.centre + self.scale * self.codes

    @property
    def _moved(self):
        return self.view.points - self.centre


@record
class Halves(_Coded):
    """Vectors z = centre + codes with codes (n, q) in half precision, which C reads as float."""

    scale: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        largest = abs(self._moved).max(initial=0)
        if largest > _HALF:
            raise ValueError(
                f'the model has the number {largest:.3g}, and dtype="float16" ends at {_HALF:.0f}; scale X.'
            )

    @cached_property
    def codes(self) -> Array:
        """The vectors from the centre (n, q)."""
        return self._moved.astype(np.float16)

    def inputs(self, X: Array) -> dict[str, Array]:
        """Return the inputs of the kernel for mapped points X, by name."""
        return _inputs(X, self.points, self.view.inputs)


@record
class Bytes(_Coded):
    """Vectors z = centre + scale * codes with codes of 8 bits and scales per column; products are sums of integers.

    A point is u = (x - centre) * scale in codes of at most 16 bits with a step for each point, so that
    <x - centre, z - centre> = step * sum_j u_j codes_j with integers of 32 bits.
    """

    def __post_init__(self) -> None:
        if "absdist" in self.view.inputs:
            raise TypeError(
                'dtype="int8" has no distances |x - z|_1, which Laplacian needs; use dtype="float16".'
            )

    @cached_property
    def scale(self) -> Array:
        """The step of the codes of each column (q,), a number of float32."""
        width = abs(self._moved).max(axis=0)
        return _in_float32(np.where(width > 0, width, 1.0) / _CODE)

    @cached_property
    def codes(self) -> Array:
        """The codes of the vectors, int8 array (n, q)."""
        return np.clip(np.rint(self._moved / self.scale), -_CODE, _CODE).astype(np.int8)

    @property
    def limit(self) -> int:
        """Largest code of a point; the sum of q products stays within 32 bits."""
        return min(VALUE, (2**31 - 1) // (_CODE * len(self.centre)))

    @property
    def norms(self) -> Array:
        """Squared norms of the vectors from the centre (n,)."""
        return np.sum((self.scale * self.codes) ** 2, axis=1)

    @property
    def shifts(self) -> Array:
        """Products <centre, z> (n,)."""
        return self.points @ self.centre

    def inputs(self, X: Array) -> dict[str, Array]:
        """Return the inputs of the kernel for mapped points X, by name, as the C code computes them."""
        scale, centre, norms, shifts = (
            each.astype(np.float32) for each in (self.scale, self.centre, self.norms, self.shifts)
        )
        moved = X.astype(np.float32) - centre
        u, step = _whole(moved * scale, self.limit)
        products = step.astype(np.float32) * (u @ self.codes.astype(np.float64).T).astype(
            np.float32
        )
        found = {"dot": products + (moved @ centre)[:, None] + shifts}
        squares = np.sum(moved**2, axis=1)[:, None] + norms - 2 * products
        found["sqdist"] = np.maximum(squares, 0)
        return found | _norms(X, self.points)


@record
class Quantised:
    """An exported model with its vectors in codes, and coefficients coef_codes * coef_scale in codes of 16 bits.

    Attributes
    ----------
    exported : Portable
    vectors : dict
        Exact, Halves or Bytes of each of the views.
    coef : array (n, m), or (n, c - 1)
        As used by ``scores``; packed if that of ``exported`` is.
    coef_codes : int16 array like ``coef``, or None
    coef_scale : array (m,) or None
    """

    exported: Portable
    vectors: dict[tuple[int, ...], Exact | Halves | Bytes]
    coef: np.ndarray
    coef_codes: np.ndarray | None = None
    coef_scale: np.ndarray | None = None

    @property
    def divisor(self) -> int:
        """Power of 2 that divides products of codes, so that their sum over the vectors stays within 32 bits."""
        counts = self.exported.counts
        most = len(self.coef) if counts is None else int(np.sort(counts)[-2:].sum())
        needed = 1 << (most * VALUE**2 // 2**31).bit_length()
        # whole bytes are shifted faster than bits
        return needed if needed == 1 else max(256, needed)

    def scores(self, X: Array) -> Array:
        """Return the scores of points (n, m)."""
        K = self.kernel(X)
        coef = self.coef
        kinds = set(map(type, self.vectors.values()))
        if Bytes in kinds:
            codes, step = _whole(K, VALUE)
            K = step * codes
        elif Halves in kinds:
            # the file sums over the vectors in float
            K = K.astype(np.float32)
            coef = coef.astype(np.float32)
        return products(K, coef, self.exported.counts) + self.exported.intercept

    def kernel(self, X: Array) -> Array:
        """Return the kernel values of points and vectors, or raise a ValueError if the arithmetic overflows at X."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(self.exported.scaled(X))
        if not np.isfinite(values).all():
            raise ValueError(
                f"kernel values overflow at X, which has the number {abs(X).max():.3g}; scale X."
            )
        return values.astype(np.float64)

    def _values(self, X):
        found = {}
        for key, vectors in self.vectors.items():
            mapped = vectors.view.mapped(X)
            # the files compute kernel values in the type of the vectors, whose range is part of the result
            found[key] = {
                name: each.astype(vectors.dtype) for name, each in vectors.inputs(mapped).items()
            }

        def value(each, operands):
            name = each.operation
            if each.is_input:
                return found[view_of(each)][name]
            if name == "constant":
                return each.value
            return (_OPERATIONS.get(name) or getattr(np, name.lower()))(*operands)

        terms = self.exported.terms
        values = [
            np.broadcast_to(folded(each.expression, value), (len(X), each.last - each.first))
            for each in terms
        ]
        return np.concatenate(values, axis=1)


# How vectors are stored in types that are not those of the arithmetic.
CODED: dict[str, type[Halves] | type[Bytes]] = {"float16": Halves, "int8": Bytes}


def checked(
    model: object, dtype: str, X: PointsLike | None
) -> tuple[Portable, Array | None, Array | None]:
    """Return a model as arithmetic, the points X that an export in ``dtype`` is measured at, and their scores."""
    dtype = (
        np.dtype(dtype).name
        if isinstance(dtype, type | np.dtype) and dtype in (np.float32, np.float64)
        else dtype
    )
    check_choice("dtype", dtype, ("float64", "float32", *CODED))
    exported = portable(model, "float32" if dtype in CODED else dtype)
    if X is None:
        if dtype in CODED:
            raise ValueError(
                f'X = None must be rows for dtype="{dtype}"; give training points, which coefficients are fitted to.'
            )
        return exported, None, None
    # models of tables take missing entries
    of_table = exported.columns is not None
    known = as_dense_rows(np.nan_to_num(np.asarray(dense(X), np.float64)) if of_table else X, "X")
    if known.shape[1] != exported.n_features:
        raise ValueError(
            f"X has {known.shape[1]} features, but the model has {exported.n_features}; give rows like those of the "
            "fit."
        )
    refuse_large("X", known)
    rows = np.asarray(dense(X), np.float64)
    return exported, rows, uncoded(exported, "float64").scores(rows)


def accuracy(stored: Quantised, X: Array | None, targets: Array | None) -> dict[str, float]:
    """Return the largest error of a score at X and the share of equal labels, by name, as far as there are any."""
    if X is None:
        return {}
    found = stored.scores(X)
    measured = {"max_error": float(abs(found - targets).max())}
    if stored.exported.labels is not None:
        labels, expected = (stored.exported.places(each) for each in (found, targets))
        measured["label_agreement"] = float(np.mean(labels == expected))
    return measured


def decoded(exported: Portable, dtype: str) -> tuple[Portable, dict[Any, Any]]:
    """Return a model whose vectors are those that their codes stand for, and the codes by view.

    Views that share the vectors before their maps share the codes of these.
    """
    codes = {}
    views = {}
    shared = {}
    for key, view in exported.views.items():
        if view.source is None:
            codes[key] = CODED[dtype](view)
            views[key] = replace(view, points=codes[key].points)
            continue
        own = CODED[dtype](replace(view, points=view.source))
        codes[key], source = shared.setdefault(id(view.source), (own, own.points))
        views[key] = replace(view, points=view.mapped(source), source=source)
    return replace(exported, views=views), codes


def uncoded(exported: Portable, dtype: str) -> Quantised:
    """Return a model with vectors and points as numbers of a dtype."""
    return Quantised(
        exported, {key: Exact(view, dtype) for key, view in exported.views.items()}, exported.coef
    )


def rounded(exported: Portable) -> Portable:
    """Return a model whose coefficients and intercepts are numbers of its dtype."""
    coef, intercept = (
        exported.constant(each).astype(np.float64) for each in (exported.coef, exported.intercept)
    )
    return replace(exported, coef=coef, intercept=intercept)


def quantise(exported: Portable, kind: AnyFunction, X: Array, targets: Array) -> Quantised:
    """Return a model with vectors of a kind, ``kind(view)``, and coefficients in codes of 16 bits.

    The coefficients are refitted to the scores ``targets`` (n, m) of the points X if that lowers the sum of squared
    errors. The intercept of a one-class model is moved so that most labels at X stay.
    """
    vectors = {key: kind(view) for key, view in exported.views.items()}
    found = Quantised(exported, vectors, exported.coef)
    change = _refit(exported.counts, found.kernel(X), targets - found.scores(X))
    models = [_coded(exported, vectors, coef) for coef in (exported.coef, exported.coef + change)]
    best = min(models, key=lambda each: np.square(each.scores(X) - targets).sum())
    return _with_boundary(best, X, targets[:, 0] >= 0) if exported.answer == "inlier" else best


def _refit(counts, K, errors):
    """Return the coefficients of least squares for errors (n, m) of scores; a pair has those of its classes."""
    normal = K.T @ K
    # a share of the mean diagonal bounds what rounding adds
    normal[np.diag_indices_from(normal)] += 1e-6 * np.trace(normal) / len(normal)
    # the least norm: the values of vectors far from all points are 0
    if counts is None:
        return np.linalg.lstsq(normal, K.T @ errors)[0]
    pairs = subproblems(counts, "ovo")
    own = [np.ix_(each.points, each.points) for each in pairs]
    found = [
        np.linalg.lstsq(normal[at], K[:, at[1][0]].T @ errors[:, k])[0] for k, at in enumerate(own)
    ]
    return pairs.block(np.concatenate(found))


def _with_boundary(model, X, inside):
    """Return a one-class model with the intercept for which the labels of most points X are ``inside`` (n,).

    Many points are on the boundary of such a model, where any error changes their labels.
    """
    scores = model.scores(X)[:, 0]
    order = np.argsort(scores)
    # numbers of equal labels if the boundary is below the first point, the second, ..., above the last
    equal = np.cumsum(np.append(inside.sum(), np.where(inside[order], -1, 1)))
    if equal.max() <= np.count_nonzero(inside == (scores >= 0)):
        return model
    best = equal.argmax()
    ordered = scores[order]
    between = np.concatenate([2 * ordered[:1], ordered, 2 * ordered[-1:]])[best : best + 2].mean()
    return replace(
        model, exported=replace(model.exported, intercept=model.exported.intercept - between)
    )


def _whole(values, limit):
    """Return each row as whole numbers up to a limit times a step, rounded as the C code does in float."""
    values = values.astype(np.float32)
    # a point at the centre has codes 0
    largest = np.maximum(abs(values).max(axis=1, keepdims=True), np.float32(1e-30))
    parts = np.trunc(values * (np.float32(PARTS * limit) / largest))
    return np.floor((parts.astype(np.float64) + PARTS // 2) / PARTS), largest.astype(
        np.float64
    ) / limit


def _coded(exported, vectors, coef):
    counts = exported.counts
    own = slice(None)
    largest = abs(coef).max(axis=0)
    if counts is not None:
        # the coefficients of a pair have one scale
        classes = np.maximum.reduceat(abs(coef), np.cumsum(counts) - counts, axis=0).ravel()
        largest = np.maximum(*(classes[each] for each in pair_places(len(counts))))
        own = np.repeat(pair_columns(len(counts)), counts, axis=0)
    scale = largest / VALUE
    scale = _in_float32(np.where(scale > 0, scale, 1.0))
    codes = np.clip(np.rint(coef / scale[own]), -VALUE, VALUE).astype(np.int16)
    return Quantised(exported, vectors, codes * scale[own], codes, scale)


def _in_float32(values):
    """Return numbers of float32, in float64."""
    return values.astype(np.float32).astype(np.float64)


def _inputs(X, Z, wanted):
    found = _norms(X, Z)
    if "dot" in wanted:
        found["dot"] = X @ Z.T
    if "sqdist" in wanted:
        found["sqdist"] = np.stack([np.sum((X - z) ** 2, axis=1) for z in Z], axis=1)
    if "absdist" in wanted:
        found["absdist"] = np.stack([np.sum(abs(X - z), axis=1) for z in Z], axis=1)
    return found


def _norms(X, Z):
    return {"sqnorm_x": np.sum(X**2, axis=1)[:, None], "sqnorm_z": np.sum(Z**2, axis=1)}
