"""Several machines over shared points: which points each one sees, and how their coefficients are kept."""

import threading
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight

from mercer._common import check_positive, warn
from mercer._compute.points import count_points
from mercer._compute.threads import limit_threads
from mercer.solvers.svm.max_margin import widest_margin

# Hulls at this share of the squared distance of the classes' means meet.
_TOUCHING = 1e-9
# Kernel values of features that nobody scaled.
_LARGE = 1e4


@dataclass(frozen=True)
class Machine:
    """One binary machine over rows sorted by class.

    Attributes
    ----------
    rows : int array (k,)
        The sorted rows it sees.
    sign : float64 array (k,)
        1 for its positive class, -1 otherwise.
    parts : list of slice
        Its pieces of rows, one a class it tells apart; of ``sign`` likewise.
    """

    rows: np.ndarray
    sign: np.ndarray
    parts: tuple

    def span(self, part):
        """Return where a part starts and stops among all sorted rows."""
        rows = self.rows[part]
        return int(rows[0]), int(rows[-1]) + 1


@dataclass(frozen=True)
class Problem:
    """A classification problem: points that count, sorted by class.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    classes : array (c,)
    codes : int array (n,)
        Ascending.
    order : int array (n,)
        Which training row each point is.
    class_weight : array (c,)
    prices : float64 array (n,)
        C_i.
    machines : list of Machine
    """

    kernel: object
    points: object
    classes: np.ndarray
    codes: np.ndarray
    order: np.ndarray
    class_weight: np.ndarray
    prices: np.ndarray
    machines: list

    @property
    def pieces(self):
        """The runs of rows that several machines see whole, as slices."""
        return [slice(*span) for span in sorted({each.span(part) for each in self.machines for part in each.parts})]

    @property
    def dtype(self):
        """Type of coefficients: that of the points, float64 where they are not numbers."""
        dtype = getattr(self.points, "dtype", None)
        return np.float32 if dtype == np.float32 else np.float64


def machines(codes, n_classes, multi_class):
    """Return the machines of a classification problem.

    Parameters
    ----------
    codes : int array (n,)
        Classes 0 to n_classes - 1, ascending.
    n_classes : int
    multi_class : {"ovo", "ovr"}
        One machine for each pair i < j, in which i is positive, or one for each class against the rest. Two classes
        make one machine, in which class 1 is positive.

    Returns
    -------
    list of Machine
    """
    edges = np.searchsorted(codes, np.arange(n_classes + 1))
    everything = np.arange(len(codes))
    if n_classes == 2 or multi_class == "ovr":
        positive = [1] if n_classes == 2 else range(n_classes)
        return [Machine(everything, np.where(codes == c, 1.0, -1.0), (slice(0, len(codes)),)) for c in positive]
    return [_pair(everything, edges, i, j) for i, j in combinations(range(n_classes), 2)]


def _pair(everything, edges, i, j):
    own, other = everything[edges[i] : edges[i + 1]], everything[edges[j] : edges[j + 1]]
    sign = np.concatenate([np.ones(len(own)), -np.ones(len(other))])
    parts = slice(0, len(own)), slice(len(own), len(sign))
    return Machine(np.concatenate([own, other]), sign, parts)


def pack(coefs, codes, n_classes, paired):
    """Return the coefficients of all machines as a block of few columns.

    Parameters
    ----------
    coefs : list of float64 array (k,)
        For each machine, over its rows.
    codes : int array (n,)
        Sorted classes.
    n_classes : int
    paired : bool
        One machine for each pair of three classes or more. A row is then in n_classes - 1 of them, and column k of
        its coefficients belongs to the k-th other class.

    Returns
    -------
    float64 array (n, n_classes - 1), or (n, number of machines)
    """
    if not paired:
        return np.column_stack(coefs)
    edges = np.searchsorted(codes, np.arange(n_classes + 1))
    packed = np.zeros((len(codes), n_classes - 1))
    for (i, j), coef in zip(combinations(range(n_classes), 2), coefs, strict=True):
        size = edges[i + 1] - edges[i]
        packed[edges[i] : edges[i + 1], j - 1] = coef[:size]
        packed[edges[j] : edges[j + 1], i] = coef[size:]
    return packed


def pair_columns(n_classes):
    """Return, for each class, the columns of pairs that its packed coefficients belong to.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    int array (n_classes, n_classes - 1)
    """
    column = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    return np.array([[column[min(i, j), max(i, j)] for j in range(n_classes) if j != i] for i in range(n_classes)])


def unpack(packed, codes, n_classes):
    """Return packed coefficients with one column a machine, zeros where a machine does not see a row.

    Parameters
    ----------
    packed : array (n, n_classes - 1)
    codes : int array (n,)
        Classes of the rows.
    n_classes : int

    Returns
    -------
    array (n, n_classes (n_classes - 1) / 2)
    """
    full = np.zeros((len(packed), n_classes * (n_classes - 1) // 2), packed.dtype)
    np.put_along_axis(full, pair_columns(n_classes)[codes], packed, axis=1)
    return full


def check_price(C):
    """Raise unless C is a number above 0; infinity is one."""
    if not (isinstance(C, Real) and np.inf == C):
        check_positive("C", C)


def weights(sample_weight, n):
    """Return the weights of n samples in float64, 1 where there are none given.

    Raises
    ------
    ValueError
        For weights that are no numbers, a wrong number of them, one that is negative or not finite (the first is
        named), or none above 0.
    """
    if sample_weight is None:
        return np.ones(n)
    try:
        given = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight must be numbers, one a sample, got {sample_weight!r:.40}. Weights of classes are the "
            "parameter class_weight of a classifier."
        ) from None
    given = np.full(n, float(given)) if given.ndim == 0 else given
    if given.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {given.shape}.")
    if len(given) != n:
        raise ValueError(f"sample_weight has {len(given)} values for {n} samples; they must be equal.")
    bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}] = {given[bad[0]]} must be finite and at least 0.")
    if not given.any():
        raise ValueError("sample_weight is zero for all samples; give some of them a positive weight.")
    return given


def class_weights(class_weight, classes, y, sample_weight):
    """Return the factor of C for each class; "balanced" counts samples by their weights."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.array([sample_weight[y == label].sum() for label in classes])
        return counts.sum() / (len(classes) * counts)
    factors = compute_class_weight(class_weight, classes=classes, y=y)
    bad = np.flatnonzero(~(np.isfinite(factors) & (factors > 0)))
    if len(bad):
        raise ValueError(f"class_weight of {classes[bad[0]]} is {factors[bad[0]]}; it must be finite and above 0.")
    return factors


def votes(scores, n_classes):
    """Return how many pairs each class wins (n, c)."""
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.arange(len(first))
    # a pair that is lost counts for the second class
    moved = np.zeros((len(pairs), n_classes), np.float32)
    moved[pairs, first], moved[pairs, second] = 1, -1
    won = (scores > 0).astype(np.float32)
    return (won @ moved).astype(int) + np.bincount(second, minlength=n_classes)


def separated(problem, rows, dual, tol, *, shared=(), **means):  # noqa: ARG001 - classes are groups of their own here
    """Return the solution of a machine without slack, in units of its margin.

    Parameters
    ----------
    problem : Problem
    rows : FusedRows or PlainRows
    dual : Dual
    tol : float
    **means
        As for `mercer.solvers.svm.two_constraints.solve_sums`.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        Where the hulls of the classes meet, with two points of them as evidence.
    """
    # weights of means: a bound of 2 is never met
    bounded = replace(dual, lower=np.maximum(dual.lower, -2.0), upper=np.minimum(dual.upper, 2.0))
    found, margin, unit = widest_margin(problem.kernel, problem.points, rows, bounded, 1.0, tol, _TOUCHING, **means)
    if margin > _TOUCHING * unit:
        return in_margins(found, margin)
    rest = max(0.0, float(found.coef @ (margin * dual.target - found.scores)))
    first, second = (_mean_of(problem, dual, side * found.coef) for side in (1, -1))
    raise ValueError(
        f"C = inf needs classes that can be separated: {first} and {second} are {np.sqrt(rest):.3g} apart in feature "
        f"space, where the means of the classes are {np.sqrt(unit):.3g} apart, and no margin is wider than half of "
        "that. Give a finite C."
    )


def _mean_of(problem, dual, weights):
    """Name a weighted mean of the points that have a weight."""
    used = np.flatnonzero(weights > 0)
    largest = dual.points[used[np.argsort(-weights[used])[:3]]]
    labels = np.unique(problem.classes[problem.codes[dual.points[used]]])
    rows = ", ".join(str(row) for row in problem.order[largest])
    return f"a weighted mean of {len(used)} points of {', '.join(map(str, labels))} (the heaviest in rows {rows})"


def in_margins(solution, margin):
    """Return a solution in units of its margin."""
    return replace(
        solution, coef=solution.coef / margin, scores=solution.scores / margin, bias=solution.bias / margin,
        violation=solution.violation / margin,
    )  # fmt: skip


def alone(train, k):
    """Train one of several machines that are under way at a time, in one thread."""
    with limit_threads(1):
        train(k)


class Report:
    """Tells callbacks how the machines fare, from any thread; one that says stop once stops all of them.

    Parameters
    ----------
    step : callable (i, **info)
    """

    def __init__(self, step):
        self._step, self._lock, self._count, self._stopped = step, threading.Lock(), 0, False

    def __call__(self, violation):
        """Report a violation; return whether to stop."""
        with self._lock:
            self._count += 1
            self._stopped |= bool(self._step(self._count - 1, violation=violation))
            return self._stopped


def alike(X, points):
    """Return dense rows as sparse ones where the points they meet are sparse."""
    return sp.csr_matrix(X) if sp.issparse(points) and not sp.issparse(X) else X


def warn_rounded(name, kernel, points, size, tol):
    """Warn where kernel values are so large that their rounding moves scores by more than the tolerance.

    Parameters
    ----------
    name : str
        Of the estimator.
    kernel : Kernel
    points : points (k)
        Those with coefficients.
    size : float
        Root of the sum of squares of the coefficients.
    tol : float
        In units of the scores.
    """
    largest = float(np.abs(kernel.diag(points)).max()) if count_points(points) else 0.0
    noise = float(np.finfo(np.float64).eps) * largest * float(size)
    if noise > tol:
        warn(
            f"{name} knows its scores to {noise:.1g} only, which is above {tol:.3g}: k(x, x) is up to {largest:.1g}, "
            "and is rounded. Features far from the origin do this: subtract their mean (StandardScaler).",
            ConvergenceWarning,
        )


def remedy(gain, kernel, points):
    """Return what to do about a solver that stopped early; ``gain`` is NaN unless it stopped since it gained no more.

    Parameters
    ----------
    gain : float
        Relative gain of the objective in its last round.
    kernel : Kernel
    points : points (k)
        Those with coefficients.

    Returns
    -------
    str
    """
    largest = float(np.abs(kernel.diag(points)).max()) if count_points(points) else 0.0
    scale, slack = "scale the features (StandardScaler)", "allow more slack (smaller C, larger nu or epsilon)"
    if largest > _LARGE:
        scale = f"k(x, x) is up to {largest:.1g}, next to which C leaves hardly any slack: {scale}"
    if np.isnan(gain):
        return f"{scale}, {slack} or raise max_iter."
    return (
        f"the last round of steps changed the objective by a relative {gain:.1g}, so that more steps will not help; "
        f"{scale} or {slack}."
    )
