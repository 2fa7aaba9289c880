"""The perceptron in dual variables: its record of mistakes, and the coefficients, votes and margins that follow."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import Array, record
from mercer._compute.register import storable
from mercer._progress import notify
from mercer.expansion import Expansion
from mercer.gram import Gram


@storable
@record
class Mistakes:
    """The mistakes of a perceptron, in the order in which it made them.

    Attributes
    ----------
    rows : integer array (t,)
        The example of each mistake.
    signs : array (t,)
        Its label, +1 or -1; the weight vector is sum_t signs[t] phi(x_rows[t]).
    times : integer array (t,)
        Number of examples presented before it.
    seen : int
        Number of examples presented in all.
    n_iter : int
        Passes over the examples.
    last : int
        Mistakes of the last pass: 0 when the examples are separated.
    """

    rows: np.ndarray
    signs: np.ndarray
    times: np.ndarray
    seen: int
    n_iter: int
    last: int


def learn(
    gram: Gram | Array, y: Array, orders: Iterator[Any] | list[Array], values: Array | None = None
) -> Mistakes:
    """Present examples until a pass makes no mistake: alpha_j <- alpha_j + y_j where y_j sum_i alpha_i k_ij <= 0.

    ``orders`` gives the order of the examples of each pass, ``values`` the decision values of an earlier vector.
    Herbrich, *Learning kernel classifiers* (2002), algorithm 2, prints < 0, which never leaves alpha = 0.
    """
    values = np.zeros(len(y)) if values is None else np.array(values, np.float64)
    rows = []
    times = []
    seen = 0
    passes = 0
    last = 0
    for order in orders:
        last = 0
        for position, j in _wrong(order, y, values):
            values += y[j] * gram[:, [j]][:, 0]
            rows.append(j)
            times.append(seen + position)
            last += 1
        seen = seen + len(order)
        passes = passes + 1
        if notify("passes", mistakes=last) or last == 0:
            break
    rows = np.array(rows, dtype=np.intp)
    return Mistakes(rows, y[rows], np.array(times, dtype=np.intp), seen, passes, last)


def _wrong(order, y, values):
    """Yield position and index of each mistake of a pass; the caller updates the decision values in between."""
    position = 0
    while (wrong := y[order[position:]] * values[order[position:]] <= 0).any():
        position += int(wrong.argmax())
        yield position, order[position]
        position += 1


def among(mistakes: Mistakes, examples: Array) -> Mistakes:
    """Return the mistakes with rows counted among sorted examples that contain them."""
    return replace(mistakes, rows=np.searchsorted(examples, mistakes.rows))


def joined(earlier: Mistakes, later: Mistakes, n_earlier: int) -> Mistakes:
    """Return the mistakes of two runs in turn, over the ``n_earlier`` points of the first and then of the second."""
    return Mistakes(
        np.concatenate([earlier.rows, later.rows + n_earlier]),
        np.concatenate([earlier.signs, later.signs]),
        np.concatenate([earlier.times, later.times + earlier.seen]),
        earlier.seen + later.seen,
        earlier.n_iter + later.n_iter,
        later.last,
    )


def final(mistakes: Mistakes, n: int) -> Array:
    """Return the coefficients (n,) of the last vector, the sum of signs of each example."""
    return np.bincount(mistakes.rows, mistakes.signs, minlength=n)


def averaged(mistakes: Mistakes, n: int) -> Array:
    """Return the coefficients (n,) of the mean over the T examples presented: a mistake at time t has (T - t) / T."""
    weights = mistakes.signs * (mistakes.seen - mistakes.times) / max(mistakes.seen, 1)
    return np.bincount(mistakes.rows, weights, minlength=n)


def votes(K: Array, mistakes: Mistakes) -> Array:
    """Return the mean vote (n_test,) in [-1, 1] of all vectors, from kernel values (n_test, n); O(n_test t).

    Each vector counts for the examples it survived (Freund and Schapire, *Large margin classification using the
    perceptron algorithm*, 1999, fig. 1).
    """
    survived = np.diff(mistakes.times, append=mistakes.seen)
    values = np.cumsum(K[:, mistakes.rows] * mistakes.signs, axis=1, dtype=np.float64)
    return (np.sign(values) @ survived / max(mistakes.seen, 1)).astype(K.dtype)


def margins(w: Expansion, points: Array, signs: list[Array]) -> tuple[Array, Array]:
    """Return the margins min_j y_j <w, phi_j> / |w| (m,) of m vectors and the mistake bounds (max |phi_j| / margin)^2.

    The bound of a margin that is not positive is infinite (Novikoff, *On convergence proofs on perceptrons*, 1962).
    """
    lengths = w.norms().astype(np.float64)
    lengths[lengths == 0] = np.inf
    margin = (np.transpose(signs) * w(points)).min(axis=0) / lengths
    bound = np.full(len(margin), np.inf)
    np.divide(
        float(np.max(w.kernel.diag(points))),
        margin**2,
        out=bound,
        where=(margin > 0) & (margin**2 > 0),
    )
    return margin, bound
